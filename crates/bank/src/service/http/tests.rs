use super::*;
use crate::Payment;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_secretsmanager::config::{Credentials, SharedCredentialsProvider};
use keys::{Random, TimestampMillis};
use serde_json::{Value, json};
use std::sync::{LazyLock, Mutex as Lock, PoisonError};
use table::Dynamo;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::sleep,
};

/// The client of all tests. In a debug build, reading the root certificates takes seconds.
static HTTP: LazyLock<HttpClient> = LazyLock::new(|| HttpClient::new().expect("root certificates"));

/// A request as the server received it.
#[derive(Debug, Clone)]
struct Call {
    /// Names and values of the headers, in lower case and as received.
    headers: Vec<(String, String)>,
    body: Value,
}

impl Call {
    fn header(&self, name: &str) -> &str {
        let header = self.headers.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

/// The answer to a request.
enum Answer {
    /// Sends these bytes.
    Bytes(Vec<u8>),
    /// Sends these bytes after a pause.
    Slowly(Vec<u8>),
    /// Sends these bytes, and then nothing more.
    Stuck(Vec<u8>),
    /// Closes the connection.
    Closed,
}

type Script = Arc<dyn Fn(usize, &Call) -> Answer + Send + Sync>;

/// A server that answers each request by a script. Its answers are bytes, so it can break the rules
/// of HTTP.
struct Server {
    url: String,
    calls: Arc<Lock<Vec<Call>>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(script: impl Fn(usize, &Call) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/pay", listener.local_addr().expect("an address"));
        let (calls, script): (Arc<Lock<Vec<Call>>>, Script) = (Arc::default(), Arc::new(script));
        let kept = Arc::clone(&calls);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&kept), Arc::clone(&script)));
            }
        });
        Self { url, calls, task }
    }

    fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(stream: TcpStream, calls: Arc<Lock<Vec<Call>>>, script: Script) {
    let mut stream = BufReader::new(stream);
    while let Some(call) = read(&mut stream).await {
        let number = {
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(call.clone());
            calls.len()
        };
        let sent = match script(number, &call) {
            Answer::Bytes(bytes) => stream.write_all(&bytes).await,
            Answer::Slowly(bytes) => {
                sleep(Duration::from_millis(100)).await;
                stream.write_all(&bytes).await
            }
            Answer::Stuck(bytes) => {
                let _ = stream.write_all(&bytes).await;
                return std::future::pending().await;
            }
            Answer::Closed => return,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Call> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => headers.extend(line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()))),
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or("0", |(_, value)| value);
    let mut body = vec![0; length.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    Some(Call { headers, body: serde_json::from_slice(&body).ok()? })
}

fn answer(status: u16, body: &str) -> Vec<u8> {
    let more = if (300..400).contains(&status) { "location: http://127.0.0.1:1/elsewhere\r\n" } else { "" };
    format!("HTTP/1.1 {status} any\r\n{more}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn paid(number: usize) -> String {
    json!({"transactionId": format!("T-{number}"), "more": true}).to_string()
}

/// A Secrets Manager with one secret, whose value is `secret-` and the number of the call.
async fn secrets() -> Server {
    Server::start(|number, call| {
        assert_eq!(call.header("x-amz-target"), "secretsmanager.GetSecretValue");
        assert_eq!(call.body["SecretId"], "arn:secret");
        Answer::Bytes(answer(200, &json!({"SecretString": format!("secret-{number}\n")}).to_string()))
    })
    .await
}

fn service(server: &Server, secrets: &Server) -> HttpService {
    let credentials = SharedCredentialsProvider::new(Credentials::new("key", "secret", None, None, "test"));
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(credentials)
        .build();
    let dynamo = Dynamo::new(
        &aws_sdk_dynamodb::Client::new(&config.to_builder().endpoint_url("http://127.0.0.1:1").build()),
        Random::seeded(1),
    );
    let clients = Clients::new(dynamo, config).at("secretsmanager", &secrets.url);
    HttpService {
        http: HTTP.clone(),
        url: server.url.parse().expect("a URL"),
        timeout: Duration::from_secs(30),
        secret: Arc::new(Secret::new(&clients, "arn:secret".to_owned())),
    }
}

fn payment(seed: u64) -> Payment {
    let time: TimestampSeconds = "2026-12-01T09:30:00Z".parse().expect("a time");
    let id = PaymentId::new(time, time.instant(), &Random::seeded(seed));
    let data = serde_json::from_value(json!("{\"to\":\"IBAN\"}")).expect("data");
    Payment::scheduled("A-1".parse().expect("an account"), id, "0".parse().expect("a shard"), data, time)
}

async fn pay(service: &HttpService, payment: &Payment) -> Outcome {
    let now: TimestampMillis = "2026-12-01T09:30:00.000Z".parse().expect("a time");
    let (random, until) = (Random::seeded(2), Deadline::after(Duration::from_mins(1)));
    service.execute(&Order { payment, by_operator: false, now, until, random: &random }).await
}

/// Pays with a server that gives one answer to all calls.
async fn pay_with(script: impl Fn(usize, &Call) -> Answer + Send + Sync + 'static) -> (Outcome, Vec<Call>) {
    let (server, secrets) = (Server::start(script).await, secrets().await);
    let outcome = pay(&service(&server, &secrets), &payment(1)).await;
    (outcome, server.calls())
}

fn completed(id: &str) -> Outcome {
    Outcome::Completed(id.parse().expect("an id"))
}

#[tokio::test]
async fn posts_the_payment_under_its_id() {
    let (outcome, calls) = pay_with(|number, _| Answer::Slowly(answer(201, &paid(number)))).await;
    assert_eq!(outcome, completed("T-1"));
    let [call] = &calls[..] else { panic!("{calls:?}") };
    let id = payment(1).id().to_string();
    assert_eq!((call.header("idempotency-key"), call.header("authorization")), (id.as_str(), "Bearer secret-1"));
    assert_eq!(call.header("content-type"), "application/json");
    let body =
        json!({"paymentId": id, "accountId": "A-1", "scheduledTime": "2026-12-01T09:30:00Z", "data": {"to": "IBAN"}});
    assert_eq!(call.body, body);
}

#[tokio::test]
async fn only_final_statuses_reject_a_payment() {
    let body = json!({"detail": "No such\naccount.", "title": "Other"}).to_string();
    for status in [400, 404, 410, 422] {
        let body = body.clone();
        let (outcome, _) = pay_with(move |_, _| Answer::Bytes(answer(status, &body))).await;
        assert_eq!(outcome, Outcome::rejected(&format!("The transaction service answered {status}. No such account.")));
    }
    for status in [301, 302, 307, 308, 401, 402, 403, 405, 408, 409, 413, 418, 425, 429, 451, 500, 501, 502, 503, 504] {
        let body = body.clone();
        let (outcome, calls) = pay_with(move |_, _| Answer::Bytes(answer(status, &body))).await;
        assert!(matches!(outcome, Outcome::Unavailable(_)), "{status}: {outcome:?}");
        assert!(calls.len() == 1 || matches!(status, 401 | 403), "{status} was repeated: {calls:?}");
    }
}

#[tokio::test]
async fn an_answer_without_a_valid_transaction_id_is_no_outcome() {
    let long = json!({"transactionId": "T".repeat(129)}).to_string();
    let huge = json!({"transactionId": "T-1", "more": "x".repeat(MAX_BYTES)}).to_string();
    let bodies = [
        "",
        "{}",
        "null",
        "[]",
        r#"["T-1"]"#,
        r#" ["T-1"]"#,
        "T-1",
        r#"{"transactionId": 1}"#,
        r#"{"transactionId": ""}"#,
        r#"{"transactionId": "T 1"}"#,
        r#"{"transactionId": "T-1""#,
        r#"{"transaction_id": "T-1"}"#,
        r#"{"transactionId": "T-1", "transactionId": "T-2"}"#,
        "\u{0}",
        "<html></html>",
        &long,
        &huge,
    ];
    for body in bodies.map(str::to_owned) {
        let sent = body.clone();
        let (outcome, _) = pay_with(move |_, _| Answer::Bytes(answer(200, &sent))).await;
        assert!(matches!(outcome, Outcome::Unavailable(_)), "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_rejection_needs_no_readable_body() {
    let huge = "x".repeat(1024 * 1024);
    for body in ["", "null", "<html></html>", r#"{"detail": 7}"#, &huge].map(str::to_owned) {
        let (outcome, _) = pay_with(move |_, _| Answer::Bytes(answer(422, &body))).await;
        assert_eq!(outcome, Outcome::rejected("The transaction service answered 422."));
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_unavailable() {
    let endless = b"HTTP/1.1 200 any\r\ncontent-length: 1000\r\n\r\n{".to_vec();
    for bytes in [Vec::new(), b"HTTP/1.1 200".to_vec(), endless] {
        let (server, secrets) = (Server::start(move |_, _| Answer::Stuck(bytes.clone())).await, secrets().await);
        let impatient = HttpService { timeout: Duration::from_millis(200), ..service(&server, &secrets) };
        let outcome = pay(&impatient, &payment(1)).await;
        assert!(matches!(outcome, Outcome::Unavailable(_)), "{outcome:?}");
    }
    let (outcome, _) = pay_with(|_, _| Answer::Closed).await;
    assert!(matches!(outcome, Outcome::Unavailable(_)), "{outcome:?}");
    let (outcome, _) = pay_with(|_, _| Answer::Bytes(b"not HTTP\r\n\r\n".to_vec())).await;
    assert!(matches!(outcome, Outcome::Unavailable(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_second_answer_is_not_the_answer_to_the_next_payment() {
    let twice = |number, _: &Call| Answer::Bytes([answer(200, &paid(number)), answer(200, &paid(number))].concat());
    let (server, secrets) = (Server::start(twice).await, secrets().await);
    let service = service(&server, &secrets);
    for number in 1..=5 {
        assert_eq!(pay(&service, &payment(number)).await, completed(&format!("T-{number}")));
    }
}

#[tokio::test]
async fn the_secret_is_read_once_and_again_when_it_is_rejected() {
    let needs = |number: usize, call: &Call| match (number, call.header("authorization")) {
        (1..=3, "Bearer secret-1") | (_, "Bearer secret-2") => Answer::Bytes(answer(200, &paid(number))),
        _ => Answer::Bytes(answer(403, "")),
    };
    let (server, secrets) = (Server::start(needs).await, secrets().await);
    let service = service(&server, &secrets);
    service.warm_up().await;
    for id in ["T-1", "T-2", "T-3"] {
        assert_eq!(pay(&service, &payment(1)).await, completed(id));
    }
    assert_eq!(secrets.calls().len(), 1);
    // The fourth call is rejected, and the fifth has the new secret.
    assert_eq!(pay(&service, &payment(1)).await, completed("T-5"));
    assert_eq!((secrets.calls().len(), server.calls().len()), (2, 5));
    let shown = format!("{service:?}");
    assert!(!shown.contains("secret-"), "{shown}");
}

#[tokio::test]
async fn without_a_secret_no_call_is_made() {
    for body in [json!({}), json!({"SecretString": ""})].map(|body| body.to_string()) {
        let server = Server::start(|number, _| Answer::Bytes(answer(200, &paid(number)))).await;
        let secrets = Server::start(move |_, _| Answer::Bytes(answer(200, &body))).await;
        let outcome = pay(&service(&server, &secrets), &payment(1)).await;
        assert!(matches!(outcome, Outcome::Unavailable(_)), "{outcome:?}");
        assert!(server.calls().is_empty());
    }
}

#[test]
fn the_url_must_be_https() {
    for good in
        ["https://pay.example", "https://pay.example:8443/v1?x=1", "http://127.0.0.1:9000/", "http://localhost/"]
    {
        assert!(good.parse::<ServiceUrl>().is_ok(), "{good}");
    }
    for bad in [
        "",
        "pay.example",
        "/pay",
        "http://pay.example",
        "http://127.0.0.1.example",
        "ftp://pay.example",
        "https://",
        "https://a b",
    ] {
        assert!(bad.parse::<ServiceUrl>().is_err(), "{bad}");
    }
}
