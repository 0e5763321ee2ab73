//! A real binary under the Lambda Runtime API: init, an event, a faulty event, the next one, and its log.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use axum::{
    Router,
    extract::{Path, State},
    http::HeaderMap,
    response::IntoResponse,
    routing::{get, post},
};
use serde_json::{Value, json};
use std::{process::Stdio, sync::Arc};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::{Mutex, mpsc},
};

/// The runtime's side of the API: events go out in order, answers and errors come back.
struct Runtime {
    address: String,
    events: mpsc::Sender<String>,
    answers: mpsc::Receiver<(&'static str, Value)>,
}

#[derive(Clone)]
struct Shared {
    events: Arc<Mutex<mpsc::Receiver<String>>>,
    answers: mpsc::Sender<(&'static str, Value)>,
}

impl Runtime {
    async fn start() -> Self {
        let (events, outgoing) = mpsc::channel(8);
        let (incoming, answers) = mpsc::channel(8);
        let shared = Shared { events: Arc::new(Mutex::new(outgoing)), answers: incoming };
        let routes = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/{outcome}", post(answer))
            .with_state(shared);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, events, answers }
    }

    async fn invoke(&mut self, event: String) -> (&'static str, Value) {
        self.events.send(event).await.expect("a runtime");
        self.answers.recv().await.expect("an answer")
    }
}

async fn next(State(shared): State<Shared>) -> impl IntoResponse {
    let event = shared.events.lock().await.recv().await.unwrap_or_default();
    let deadline = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let headers = [
        ("lambda-runtime-aws-request-id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd".to_owned()),
        ("lambda-runtime-deadline-ms", (deadline.as_millis() + 10_000).to_string()),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-1:123456789012:function:f".to_owned()),
    ];
    (headers, event)
}

async fn answer(
    State(shared): State<Shared>,
    Path((_, outcome)): Path<(String, String)>,
    _: HeaderMap,
    body: String,
) -> impl IntoResponse {
    let outcome = if outcome == "response" { "response" } else { "error" };
    let _ = shared.answers.send((outcome, serde_json::from_str(&body).unwrap_or_default())).await;
    axum::http::StatusCode::ACCEPTED
}

fn lambda(runtime: &str, dynamo: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedule-payment"));
    let environment = [
        ("AWS_LAMBDA_RUNTIME_API", runtime),
        ("AWS_LAMBDA_FUNCTION_NAME", "schedule-payment"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
        ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamo),
        ("PAYMENTS_TABLE", "local-PaymentScheduler"),
        ("TRANSACTIONS_TABLE", "local-TransactionHistory"),
        ("WRITE_SHARDS", "5"),
        ("READ_SHARDS", "5"),
        ("DUE_INDEX", "GSI1"),
    ];
    command.env_clear().envs(environment).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

async fn log_lines(mut child: Child) -> Vec<Value> {
    let stdout = child.stdout.take().expect("its output");
    child.kill().await.expect("a running Lambda");
    let mut lines = BufReader::new(stdout).lines();
    let mut log = Vec::new();
    while let Some(line) = lines.next_line().await.expect("text") {
        log.push(serde_json::from_str(&line).unwrap_or_else(|_| json!({ "not JSON": line })));
    }
    log
}

fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[tokio::test]
async fn a_binary_answers_recovers_and_logs_without_payment_data() {
    let stack = local::Stack::builder(root().join("template.yaml")).start().await.expect("a stack");
    let mut runtime = Runtime::start().await;
    let child = lambda(&runtime.address, stack.dynamo_url()).spawn().expect("a Lambda");
    let event = std::fs::read_to_string(root().join("events/bank/schedule-payment.json")).expect("an event");

    let (outcome, answer) = runtime.invoke(event.clone()).await;
    assert_eq!((outcome, &answer["statusCode"]), ("response", &json!(201)), "{answer}");
    assert_eq!(runtime.invoke("{\"no\": \"event\"}".to_owned()).await.0, "error");
    let (outcome, again) = runtime.invoke(event).await;
    assert_eq!((outcome, &again["body"]), ("response", &answer["body"]), "a repeated event gets the first answer");

    let log = log_lines(child).await;
    let text = serde_json::to_string(&log).expect("JSON");
    let answered: Vec<&Value> = log.iter().filter(|line| line["fields"]["message"] == "answered").collect();
    assert_eq!(answered.len(), 2, "{text}");
    let spans = |line: &Value, name: &str| line["spans"].to_string().contains(name);
    assert!(spans(answered[0], "\"cold_start\":true") && spans(answered[1], "\"cold_start\":false"), "{text}");
    assert!(
        spans(answered[0], "\"request_id\":\"8476a536") && spans(answered[0], "\"function\":\"schedule-payment\""),
        "{text}"
    );
    assert!(
        log.iter().any(|line| line["Table"] == "local-PaymentScheduler"
            && line["Index"] == "GSI1"
            && line.get("WriteUnits").is_some()),
        "{text}"
    );
    assert!(log.iter().any(|line| line.get("LatencyMs").is_some() && line["Function"] == "schedule-payment"), "{text}");
    let body: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
    for secret in [body["accountId"].to_string(), body["paymentId"].to_string(), body["data"].to_string()] {
        assert!(!text.contains(secret.trim_matches('"')), "{secret} stands in the log: {text}");
    }
    assert!(!text.contains("not JSON"), "{text}");
    stack.stop().await;
}

#[tokio::test]
async fn a_missing_setting_ends_it_with_a_line_that_names_it() {
    let output = lambda("127.0.0.1:9", "http://127.0.0.1:9")
        .env_remove("WRITE_SHARDS")
        .env("DUE_INDEX", "GSI7")
        .output()
        .await
        .expect("an end");
    assert!(!output.status.success());
    let line: Value = serde_json::from_slice(&output.stdout).expect("one line of JSON");
    let faults = line["fields"]["faults"].to_string();
    assert!(faults.contains("WRITE_SHARDS is missing") && line["level"] == "ERROR", "{line}");
}
