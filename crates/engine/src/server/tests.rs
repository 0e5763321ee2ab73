use std::sync::Mutex;

use http::{HeaderMap, Request, header};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    sync::Notify,
};

use super::*;

/// Far beyond the time that any of these tests needs.
const AGES: Duration = Duration::from_mins(2);
const SHORT: Duration = Duration::from_millis(50);

async fn connect(url: &str) -> TcpStream {
    TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap()
}

/// Everything that the server sends until it closes the connection.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    // A server may reset a connection whose request it has not read to the end.
    let _ = timeout(AGES, stream.read_to_end(&mut text)).await.expect("the server closes the connection");
    String::from_utf8_lossy(&text).into_owned()
}

/// The clock is paused, and no socket is involved.
#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_ends_after_the_patience() {
    let service = Service { endpoint: Arc::new(Slow::default()), hosts: Arc::new([]), patience: PATIENCE };
    let byte = |()| async {
        sleep(PATIENCE / 3 * 2).await;
        Some((Ok::<_, io::Error>("x"), ()))
    };
    let never = stream::pending::<Result<Bytes, io::Error>>();
    for body in [Body::from_stream(never), Body::from_stream(stream::unfold((), byte))] {
        let request = Request::post("/").header("host", "localhost").body(body).unwrap();
        let start = tokio::time::Instant::now();
        let response = service.respond((Ipv4Addr::LOCALHOST, 1).into(), request).await;
        assert_eq!((response.status().as_u16(), start.elapsed()), (408, PATIENCE));
    }
}

/// Endpoint that answers when it is told to, and keeps the headers of its requests.
#[derive(Default)]
struct Slow {
    arrived: Notify,
    go_on: Notify,
    seen: Mutex<Vec<HeaderMap>>,
}

impl Endpoint for Slow {
    const MAX_BODY: usize = 10;
    const ORIGINS: Origins = Origins::None;

    async fn answer(&self, request: Received) -> Response {
        self.seen.lock().unwrap().push(request.parts.headers);
        self.arrived.notify_one();
        self.go_on.notified().await;
        Response::new(request.body.into())
    }

    fn refuse(refusal: Refusal) -> Response {
        let mut response = Response::new(refusal.detail().into());
        *response.status_mut() = refusal.status();
        response
    }
}

#[tokio::test]
async fn a_running_request_outlives_the_patience_and_a_half_closed_connection() {
    let port = Port::bind(0).await.unwrap();
    let (url, slow) = (format!("http://{}", port.address), Arc::new(Slow::default()));
    let server = Server::start(port, Arc::clone(&slow), SHORT);
    let stream = loop {
        let mut stream = connect(&url).await;
        let request = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi";
        // On a busy machine, the idle connection may have ended before the request arrived.
        if stream.write_all(request).await.is_err() || stream.shutdown().await.is_err() {
            continue;
        }
        let mut closed = [0];
        tokio::select! {
            () = slow.arrived.notified() => break stream,
            _ = stream.peek(&mut closed) => {}
        }
    };
    // The server closes an idle connection when the patience has passed.
    assert_eq!(rest(connect(&url).await).await, "");
    slow.go_on.notify_one();
    let answer = rest(stream).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nhi"), "{answer}");
    assert_eq!(slow.seen.lock().unwrap()[0][header::HOST], "localhost");
    server.stop().await;
}
