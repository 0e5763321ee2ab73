//! The Lambda Runtime API for tests. It delivers events to a real binary as Lambda does.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use axum::{
    Router,
    extract::{Path, State},
    response::IntoResponse,
    routing::{get, post},
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    process::Stdio,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::{Mutex, mpsc},
};

/// Maximum time to wait for a response. A function that crashed never responds.
const PATIENCE: Duration = Duration::from_mins(1);

/// The server side of the Runtime API. It delivers events in order, and receives responses and
/// errors.
pub struct Runtime {
    /// The value for `AWS_LAMBDA_RUNTIME_API`.
    pub address: String,
    events: mpsc::Sender<String>,
    answers: mpsc::Receiver<(&'static str, Value)>,
}

#[derive(Clone)]
struct Shared {
    events: Arc<Mutex<mpsc::Receiver<String>>>,
    answers: mpsc::Sender<(&'static str, Value)>,
}

impl Runtime {
    /// Starts the API on a free port.
    pub async fn start() -> Self {
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

    /// Sends an event to the function. Returns `response` or `error`, and the body of the response
    /// or error.
    pub async fn invoke(&mut self, event: String) -> (&'static str, Value) {
        self.events.send(event).await.expect("a runtime");
        let answer = tokio::time::timeout(PATIENCE, self.answers.recv()).await.expect("an answer in time");
        answer.expect("an answer")
    }
}

async fn next(State(shared): State<Shared>) -> impl IntoResponse {
    let event = shared.events.lock().await.recv().await.unwrap_or_default();
    let deadline = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
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
    body: String,
) -> impl IntoResponse {
    let outcome = if outcome == "response" { "response" } else { "error" };
    let _ = shared.answers.send((outcome, serde_json::from_str(&body).unwrap_or_default())).await;
    axum::http::StatusCode::ACCEPTED
}

/// The command that runs the binary with Lambda's environment variables and those in `environment`.
/// The output is piped.
pub fn command(binary: impl AsRef<OsStr>, function: &str, runtime: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(binary);
    let own = [
        ("AWS_LAMBDA_RUNTIME_API", runtime),
        ("AWS_LAMBDA_FUNCTION_NAME", function),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
        ("AWS_LAMBDA_LOG_FORMAT", "JSON"),
        ("AWS_REGION", "us-east-1"),
        ("METRICS_NAMESPACE", "local/service"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
    ];
    command.env_clear().envs(own).envs(environment.iter().copied()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

/// Stops the function and returns the lines of its log as JSON. A line that is not JSON becomes
/// `{"not JSON": line}`.
pub async fn log_lines(mut child: Child) -> Vec<Value> {
    let stdout = child.stdout.take().expect("piped output");
    child.kill().await.expect("a running Lambda");
    let mut lines = BufReader::new(stdout).lines();
    let mut log = Vec::new();
    while let Some(line) = lines.next_line().await.expect("text") {
        log.push(serde_json::from_str(&line).unwrap_or_else(|_| json!({ "not JSON": line })));
    }
    log
}
