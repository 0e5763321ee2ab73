//! Fault injection: a proxy in front of DynamoDB that records calls and makes them fail, and
//! functions that crash.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use crate::{http, random};
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition, TokenBucket};
use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use function::{Context, Function, Invocation, Service};
use local::{Builder, Stack};
use serde_json::{Map, Value, json};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use table::Dynamo;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// A recorded call to DynamoDB.
#[derive(Debug, Clone)]
pub struct Call {
    /// The number of the call since the rule was set, starting at 1.
    pub number: usize,
    /// The number of the call among the calls with the same action, starting at 1.
    pub nth: usize,
    /// The action, such as `Query`.
    pub action: String,
    /// The table. For a batch or a transaction, its first table.
    pub table: Option<String>,
    /// The index of a query.
    pub index: Option<String>,
    /// The complete request body.
    pub body: Value,
}

/// Whether a fault happens before or after DynamoDB executes the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// DynamoDB does not receive the call.
    Before,
    /// DynamoDB executes the call, and its response is lost.
    After,
}

/// Both moments.
pub const MOMENTS: [Moment; 2] = [Moment::Before, Moment::After];

/// The outcome of a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// DynamoDB responds normally.
    None,
    /// The connection closes.
    Lost(Moment),
    /// The caller crashes: the proxy closes the connections of this call and of all later calls.
    Death(Moment),
    /// The proxy holds the call until [`Proxy::release`]. DynamoDB then receives the call, even if
    /// its sender has given up.
    Held,
    /// The proxy returns this response, and DynamoDB does not receive the call.
    Refused(StatusCode, Value),
    /// DynamoDB processes only this number of keys or writes of a batch. The proxy returns the
    /// others as unprocessed.
    Partly(usize),
    /// The proxy removes this number of items from the start of a query result. A query that runs
    /// during a transaction can return such a result.
    Torn(usize),
}

impl Fault {
    /// The response to a call that fails with a server error.
    pub fn internal() -> Self {
        refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", Vec::new())
    }

    /// The response to a call that exceeds the throughput of a table or an index.
    pub fn throttled() -> Self {
        refused(StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException", Vec::new())
    }

    /// The response to a cancelled transaction, with a reason code for each of its changes.
    pub fn cancelled(codes: &[&str]) -> Self {
        refused(StatusCode::BAD_REQUEST, "TransactionCanceledException", codes.to_vec())
    }
}

fn refused(status: StatusCode, kind: &str, codes: Vec<&str>) -> Fault {
    let reasons: Vec<Value> = codes.into_iter().map(|code| json!({"Code": code})).collect();
    let mut body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": "injected"});
    if !reasons.is_empty() {
        body["CancellationReasons"] = reasons.into();
    }
    Fault::Refused(status, body)
}

type Rule = Box<dyn FnMut(&Call) -> Fault + Send>;

struct Shared {
    engine: String,
    http: reqwest::Client,
    record: Mutex<Record>,
    dead: watch::Sender<bool>,
    /// Number of calls that DynamoDB is executing.
    busy: watch::Sender<usize>,
    /// Number of calls that wait for their release.
    held: watch::Sender<usize>,
    released: watch::Sender<bool>,
}

struct Record {
    rule: Rule,
    calls: Vec<Call>,
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A proxy in front of DynamoDB. It stops when it is dropped.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy that records and forwards every call.
    pub async fn start(engine: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            engine: engine.to_owned(),
            http: http(),
            record: Mutex::new(Record { rule: Box::new(|_| Fault::None), calls: Vec::new() }),
            dead: watch::Sender::new(false),
            busy: watch::Sender::new(0),
            held: watch::Sender::new(0),
            released: watch::Sender::new(false),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async { axum::serve(listener, router).await.expect("serves") });
        Self { url, shared, server }
    }

    /// The address of the proxy.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets the rule for the next calls. Clears the recorded calls and ends a simulated crash.
    pub fn rule(&self, rule: impl FnMut(&Call) -> Fault + Send + 'static) {
        *self.shared.record() = Record { rule: Box::new(rule), calls: Vec::new() };
        self.shared.dead.send_replace(false);
        self.shared.released.send_replace(false);
    }

    /// Forwards every call from now on, and clears the recorded calls.
    pub fn heal(&self) {
        self.rule(|_| Fault::None);
    }

    /// The calls since the rule was set.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.record().calls.clone()
    }

    /// The number of calls with this action.
    pub fn count(&self, action: &str) -> usize {
        self.shared.record().calls.iter().filter(|call| call.action == action).count()
    }

    /// Waits for a [`Fault::Death`].
    pub async fn death(&self) {
        until(&self.shared.dead, |dead| *dead).await;
    }

    /// Waits until at least `calls` calls are held.
    pub async fn held(&self, calls: usize) {
        until(&self.shared.held, |held| *held >= calls).await;
    }

    /// Releases the held calls and all later ones.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// Releases the held calls and waits until DynamoDB has executed them, even if their senders
    /// have given up.
    pub async fn arrive(&self) {
        self.release();
        until(&self.shared.held, |held| *held == 0).await;
    }

    /// Waits until DynamoDB has executed all calls that reached it.
    pub async fn quiet(&self) {
        until(&self.shared.busy, |busy| *busy == 0).await;
    }
}

async fn until<T>(state: &watch::Sender<T>, condition: impl FnMut(&T) -> bool) {
    state.subscribe().wait_for(condition).await.expect("the proxy keeps the sender");
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    if *shared.dead.borrow() {
        close();
    }
    match decide(&shared, &headers, &body) {
        Fault::None => forward(&shared, &headers, body).await,
        Fault::Lost(moment) => {
            happen(&shared, &headers, body, moment).await;
            close()
        }
        Fault::Death(moment) => {
            happen(&shared, &headers, body, moment).await;
            shared.dead.send_replace(true);
            close()
        }
        Fault::Held => hold(&shared, &headers, body).await,
        Fault::Refused(status, body) => (status, [(header::CONTENT_TYPE, JSON)], body.to_string()).into_response(),
        Fault::Partly(done) => partly(&shared, &headers, &body, done).await,
        Fault::Torn(missing) => torn(&shared, &headers, body, missing).await,
    }
}

const JSON: &str = "application/x-amz-json-1.0";

/// Closes the connection without a response. The panic ends the server's task for this connection.
fn close() -> ! {
    std::panic::resume_unwind(Box::new("closed"))
}

fn decide(shared: &Shared, headers: &HeaderMap, body: &Bytes) -> Fault {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let target = headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
    let action = target.rsplit('.').next().unwrap_or_default().to_owned();
    let mut record = shared.record();
    let nth = record.calls.iter().filter(|call| call.action == action).count() + 1;
    let (number, table) = (record.calls.len() + 1, table(&body));
    let call = Call { number, nth, action, table, index: text(&body["IndexName"]), body };
    let fault = (record.rule)(&call);
    record.calls.push(call);
    fault
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn table(body: &Value) -> Option<String> {
    let of_batch = || body["RequestItems"].as_object()?.keys().next().cloned();
    let of_transaction =
        || body["TransactItems"][0].as_object()?.values().next().and_then(|item| text(&item["TableName"]));
    text(&body["TableName"]).or_else(of_batch).or_else(of_transaction)
}

async fn happen(shared: &Arc<Shared>, headers: &HeaderMap, body: Bytes, moment: Moment) {
    if moment == Moment::After {
        forward(shared, headers, body).await;
    }
}

/// Holds the call in a separate task, so that DynamoDB receives it even if its sender gives up.
async fn hold(shared: &Arc<Shared>, headers: &HeaderMap, body: Bytes) -> Response {
    let (shared, headers) = (Arc::clone(shared), headers.clone());
    shared.held.send_modify(|held| *held += 1);
    let sent = tokio::spawn(async move {
        until(&shared.released, |released| *released).await;
        let answer = forward(&shared, &headers, body).await;
        shared.held.send_modify(|held| *held -= 1);
        answer
    });
    sent.await.expect("the call is forwarded")
}

/// Forwards the call in a separate task, so that it completes even if its sender crashes.
async fn forward(shared: &Arc<Shared>, headers: &HeaderMap, body: Bytes) -> Response {
    let (shared, mut headers) = (Arc::clone(shared), headers.clone());
    for own in [header::HOST, header::CONTENT_LENGTH, header::CONNECTION] {
        headers.remove(own);
    }
    shared.busy.send_modify(|busy| *busy += 1);
    let sent = tokio::spawn(async move {
        let answer = shared.http.post(&shared.engine).headers(headers).body(body).send().await;
        let answer = answer.expect("the engine answers");
        let (status, body) = (answer.status(), answer.bytes().await.expect("a body"));
        shared.busy.send_modify(|busy| *busy -= 1);
        (status, [(header::CONTENT_TYPE, JSON)], body).into_response()
    });
    sent.await.expect("the engine answers")
}

/// Forwards the first `done` requests of a batch and returns the rest as unprocessed.
async fn partly(shared: &Arc<Shared>, headers: &HeaderMap, body: &Bytes, done: usize) -> Response {
    let mut body: Value = serde_json::from_slice(body).expect("JSON");
    let tables = body["RequestItems"].as_object().cloned().expect("a batch");
    let (sent, left) = split(tables, done);
    let reads = left.values().chain(sent.values()).any(Value::is_object);
    let unprocessed = if reads { "UnprocessedKeys" } else { "UnprocessedItems" };
    let mut answer = if sent.is_empty() {
        json!({"Responses": {}})
    } else {
        body["RequestItems"] = sent.into();
        read(forward(shared, headers, body.to_string().into()).await).await
    };
    answer[unprocessed] = left.into();
    ([(header::CONTENT_TYPE, JSON)], answer.to_string()).into_response()
}

async fn torn(shared: &Arc<Shared>, headers: &HeaderMap, body: Bytes, missing: usize) -> Response {
    let mut answer = read(forward(shared, headers, body).await).await;
    let items = answer["Items"].as_array_mut().expect("a query result");
    items.drain(..missing.min(items.len()));
    ([(header::CONTENT_TYPE, JSON)], answer.to_string()).into_response()
}

async fn read(answer: Response) -> Value {
    let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// Splits a batch into its first `done` requests and the rest, both grouped by table.
fn split(tables: Map<String, Value>, mut done: usize) -> (Map<String, Value>, Map<String, Value>) {
    let (mut sent, mut left) = (Map::new(), Map::new());
    for (table, requests) in tables {
        let list = |requests: &Value| requests.get("Keys").unwrap_or(requests).as_array().cloned().expect("a list");
        let with = |list: &[Value]| match &requests {
            Value::Object(reads) => {
                let mut reads = reads.clone();
                reads.insert("Keys".to_owned(), list.into());
                Value::Object(reads)
            }
            _ => list.into(),
        };
        let list = list(&requests);
        let (first, others) = list.split_at(done.min(list.len()));
        done -= first.len();
        for (part, list) in [(&mut sent, first), (&mut left, others)] {
            if !list.is_empty() {
                part.insert(table.clone(), with(list));
            }
        }
    }
    (sent, left)
}

/// Two stacks on one DynamoDB. One of them reaches DynamoDB only through a proxy.
pub struct Twins {
    /// The stack that uses DynamoDB directly.
    pub healthy: Stack,
    /// The stack that uses the proxy.
    pub faulty: Stack,
    /// The proxy.
    pub proxy: Proxy,
}

impl Twins {
    /// Starts both stacks from the same builder.
    pub async fn start(builder: impl Fn() -> Builder) -> Self {
        let healthy = builder().start().await.expect("a stack");
        let proxy = Proxy::start(healthy.dynamo_url()).await;
        let faulty = builder().dynamo_endpoint(proxy.url()).start().await.expect("a stack");
        Self { healthy, faulty, proxy }
    }

    /// Starts a function of the template as a separate process behind the proxy.
    pub fn process(&self, name: &str, function: &Function) -> Process<'_> {
        Process::start(&self.healthy, &self.proxy, name, function)
    }
}

/// A function that can crash. After a crash, it runs no retries and no clean-up.
pub struct Process<'a> {
    service: Service,
    proxy: &'a Proxy,
}

impl<'a> Process<'a> {
    /// Starts a function of the stack's template. The function reaches DynamoDB only through the
    /// proxy.
    pub fn start(stack: &Stack, proxy: &'a Proxy, name: &str, function: &Function) -> Self {
        Self::of(service(stack, proxy.url(), name, function), proxy)
    }

    /// Wraps a service that reaches DynamoDB through the proxy.
    pub fn of(service: Service, proxy: &'a Proxy) -> Self {
        Self { service, proxy }
    }

    /// Invokes the function with a timeout. Returns `None` if it crashed.
    pub async fn run(&self, event: &Value, timeout: Duration) -> Option<Invocation> {
        let invocation = tokio::select! {
            biased;
            () = self.proxy.death() => None,
            invocation = self.service.call(event.clone(), within(timeout)) => Some(invocation),
        };
        self.proxy.quiet().await;
        invocation
    }
}

/// A function of the stack's template with its permissions, which calls DynamoDB at `endpoint`.
///
/// The SDK's retry pauses are short, and its retry quota is unlimited, because many tests lose
/// responses.
pub fn service(stack: &Stack, endpoint: &str, name: &str, function: &Function) -> Service {
    service_at(stack, endpoint, stack.services_url(), name, function)
}

/// The same function, which calls S3 at `s3`.
pub fn service_at(stack: &Stack, endpoint: &str, s3: &str, name: &str, function: &Function) -> Service {
    let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == name);
    let lambda = lambda.expect("a function of the template");
    let settings = lambda.environment.clone().into_iter().collect();
    let client = stack.client_of(lambda);
    let allowance = RetryPartition::custom("process").token_bucket(TokenBucket::unlimited()).build();
    let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(10));
    let client = client.config().to_builder().endpoint_url(endpoint).retry_config(retries).retry_partition(allowance);
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::from_conf(client.build()), random());
    let clients = stack.clients_of(lambda).with_dynamo(dynamo).at("s3", s3);
    function.bind(&settings, clients).expect("valid settings")
}

/// An invocation context with a deadline after `timeout`.
pub fn within(timeout: Duration) -> Context {
    let mut context = Context::default();
    context.deadline = epoch_millis(SystemTime::now() + timeout);
    context
}

fn epoch_millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("before the year 584556049")
}
