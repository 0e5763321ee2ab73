//! Tests of all listeners of a stack.
use std::{net::Ipv4Addr, time::Duration};

use axum::body::Body;
use engine::server::PATIENCE;
use http::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::*;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
  Lake:
    Type: AWS::S3::Bucket
";
/// Far beyond the time that any of these tests needs.
const AGES: Duration = Duration::from_mins(2);
const SHORT: Duration = Duration::from_millis(50);

async fn start(patience: Duration) -> Stack {
    Stack::of_text(TEMPLATE).functions([]).patience(patience).start().await.unwrap()
}

/// A request that each listener answers.
fn path_of(listener: &str) -> &'static str {
    match listener {
        "api" => "/_local/health",
        "dynamodb" => "/",
        _ => "/local-lake/key",
    }
}

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

#[tokio::test]
async fn every_listener_refuses_web_pages() {
    let stack = start(PATIENCE).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut pages = vec![
        ("origin", "https://example.com"),
        ("origin", "null"),
        ("host", "example.com"),
        ("host", "127.0.0.1.example.com:3000"),
        ("sec-fetch-site", "cross-site"),
    ];
    for (listener, url) in stack.listeners() {
        if listener != "api" {
            pages.push(("origin", "http://localhost:5173"));
        }
        for (name, value) in &pages {
            for method in [Method::GET, Method::POST, Method::PUT, Method::OPTIONS] {
                let request = http.request(method.clone(), format!("{url}{}", path_of(listener))).header(*name, *value);
                let scan = request.header("x-amz-target", "DynamoDB_20120810.Scan");
                let response = scan.header("access-control-request-method", "POST").body("{}").send().await.unwrap();
                assert_eq!(response.status(), 403, "{listener} {method} {name}: {value}");
                let granted = response.headers().keys().find(|name| name.as_str().starts_with("access-control"));
                assert_eq!(granted, None, "{listener} {method} {name}: {value}");
            }
        }
    }
    stack.stop().await;
}

/// The client closes its side of the connection after each request.
#[tokio::test]
async fn every_listener_rejects_ambiguous_hosts_and_answers_half_closed_connections() {
    let stack = start(PATIENCE).await;
    for (listener, url) in stack.listeners() {
        let path = path_of(listener);
        for (head, status) in [
            (format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n"), if listener == "services" { 404 } else { 200 }),
            (format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n"), 400),
            (format!("GET {path} HTTP/1.1\r\n"), 400),
            (format!("GET http://example.com{path} HTTP/1.1\r\nHost: localhost\r\n"), 400),
        ] {
            let mut stream = connect(url).await;
            stream.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let answer = rest(stream).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{listener} {head:?}: {answer}");
        }
    }
    stack.stop().await;
}

/// The next test is about bodies.
#[tokio::test]
async fn every_listener_ends_half_sent_requests() {
    let stack = start(SHORT).await;
    for (listener, url) in stack.listeners() {
        for part in ["", "G", "PRI * HT", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/1.1\r\nHost: loc"] {
            let mut stream = connect(url).await;
            stream.write_all(part.as_bytes()).await.unwrap();
            let answer = rest(stream).await;
            assert!(!answer.starts_with("HTTP/1.1 2"), "{listener} {part:?}: {answer}");
        }
    }
    stack.stop().await;
}

#[tokio::test]
async fn every_listener_speaks_http_2() {
    let stack = start(PATIENCE).await;
    for (listener, url) in stack.listeners() {
        let stream = TokioIo::new(connect(url).await);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
        let connection = tokio::spawn(connection);
        let send =
            |host: &str| Request::get(format!("http://{host}{}", path_of(listener))).body(Body::empty()).unwrap();
        let answer = sender.send_request(send("localhost:1")).await.unwrap();
        assert_eq!(answer.status(), if listener == "services" { 404 } else { 200 }, "{listener}");
        let foreign = sender.send_request(send("example.com")).await.unwrap();
        assert_eq!(foreign.status(), 403, "{listener}");
        drop(sender);
        timeout(AGES, connection).await.unwrap().unwrap().unwrap();
    }
    stack.stop().await;
}

/// Further address of the loopback interface.
#[cfg(target_os = "linux")]
const FURTHER: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_further_address_and_its_hosts_need_the_option() {
    let listening = async |address| Stack::of_text(TEMPLATE).functions([]).listen(address).start().await.unwrap();
    let [closed, open] = [listening(None).await, listening(Some(FURTHER)).await];
    let desktop = listening(Some(Ipv4Addr::LOCALHOST.into())).await;
    // Status of a `Scan` without a signature. None if nothing listens.
    let scan = async |stack: &Stack, address: &str, host: &str, (name, value): (&'static str, &str)| {
        let port = stack.dynamo_url().rsplit(':').next().unwrap();
        let request = reqwest::Client::builder().no_proxy().build().unwrap().post(format!("http://{address}:{port}/"));
        let request = request.header("host", format!("{host}:{port}")).header(name, value);
        let scan = request.header("x-amz-target", "DynamoDB_20120810.Scan").body("{}");
        scan.send().await.ok().map(|response| response.status().as_u16())
    };
    let plain = ("x-plain", "");
    for (host, status) in [
        ("127.0.0.2", 400),
        ("Host.Docker.Internal", 400),
        ("localhost", 400),
        ("example.com", 403),
        ("127.0.0.3", 403),
    ] {
        assert_eq!(scan(&open, "127.0.0.2", host, plain).await, Some(status), "{host}");
        assert_eq!(scan(&closed, "127.0.0.2", host, plain).await, None, "{host}");
        let status = if host == "localhost" { 400 } else { 403 };
        for stack in [&open, &closed] {
            assert_eq!(scan(stack, "127.0.0.1", host, plain).await, Some(status), "{host}");
        }
    }
    for page in [("origin", "null"), ("origin", "http://127.0.0.2:8000"), ("sec-fetch-site", "cross-site")] {
        assert_eq!(scan(&open, "127.0.0.2", "127.0.0.2", page).await, Some(403), "{page:?}");
    }
    assert_eq!(scan(&desktop, "127.0.0.1", "host.docker.internal", plain).await, Some(400));
    assert_eq!(scan(&desktop, "127.0.0.1", "example.com", plain).await, Some(403));
    for stack in [closed, open, desktop] {
        stack.stop().await;
    }
}

#[tokio::test]
async fn the_dynamodb_port_serves_firehose_and_s3() {
    let stack = start(PATIENCE).await;
    let (url, http) = (stack.dynamo_url(), reqwest::Client::builder().no_proxy().build().unwrap());
    let object = format!("{url}/local-lake/a/key");
    assert_eq!(http.put(&object).body("content").send().await.unwrap().status(), 200);
    assert_eq!(http.get(&object).send().await.unwrap().text().await.unwrap(), "content");
    let deliver = http.post(url).header("x-amz-target", "Firehose_20150804.PutRecordBatch");
    let answer = deliver.body("{\"DeliveryStreamName\": \"none\", \"Records\": []}").send().await.unwrap();
    assert_eq!(answer.status(), 400);
    let text = answer.text().await.unwrap();
    assert!(text.contains("ResourceNotFoundException"), "{text}");
    // Only its signature tells the list of the buckets from the health check of DynamoDB.
    let credential = "AWS4-HMAC-SHA256 Credential=local/20261201/us-east-1/s3/aws4_request";
    let buckets = http.get(url).header("authorization", credential).send().await.unwrap().text().await.unwrap();
    assert!(buckets.contains("<Name>local-lake</Name>"), "{buckets}");
    assert!(http.get(url).send().await.unwrap().text().await.unwrap().starts_with("healthy: dynamodb."));
    // The limit of DynamoDB is lower than that of S3.
    let large = vec![b'x'; 17 * 1024 * 1024];
    assert_eq!(http.put(&object).body(large.clone()).send().await.unwrap().status(), 200);
    let scan = http.post(url).header("x-amz-target", "DynamoDB_20120810.Scan").body(large);
    assert_eq!(scan.send().await.unwrap().status(), 413);
    stack.stop().await;
}

#[tokio::test]
async fn functions_use_the_configured_endpoints() {
    let export = "  Export:\n    Type: AWS::Serverless::Function\n    Properties: {CodeUri: target/lambda/export}\n";
    // The error has the endpoints. Those of the local stack are in all other tests.
    let bind: Bind = Box::new(|_, clients| {
        let url = |service: &str| clients.config(service).endpoint_url().map(str::to_owned);
        Err(format!("{:?}", [url("firehose"), url("s3")]))
    });
    let builder = Stack::of_text(format!("{TEMPLATE}{export}")).bound(vec![("export".to_owned(), bind)]);
    let error = builder.firehose_endpoint("http://f").s3_endpoint("http://s").start().await.unwrap_err().to_string();
    assert!(error.contains(r#"[Some("http://f"), Some("http://s")]"#), "{error}");
}
