//! Faults: a proxy in front of DynamoDB that records every call and lets it fail, and functions that die.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use crate::random;
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

/// One call to DynamoDB as it came.
#[derive(Debug, Clone)]
pub struct Call {
    /// Its number, from 1, since the rule was given.
    pub number: usize,
    /// Its number, from 1, among those of its action.
    pub nth: usize,
    /// Such as `Query`.
    pub action: String,
    /// The table; of a batch or a transaction the first.
    pub table: Option<String>,
    /// The index of a query.
    pub index: Option<String>,
    /// The whole request.
    pub body: Value,
}

/// Before or after the engine did what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The engine never hears of it.
    Before,
    /// The engine did it, and nobody hears of that.
    After,
}

/// Both.
pub const MOMENTS: [Moment; 2] = [Moment::Before, Moment::After];

/// What becomes of a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The engine answers.
    None,
    /// The connection closes.
    Lost(Moment),
    /// The caller dies: the connection closes, and so does that of every later call.
    Death(Moment),
    /// Nobody answers.
    Silence,
    /// The engine hears of it when the calls are released, even if its sender has given up.
    Held,
    /// The engine never hears of it, and this is the answer.
    Refused(StatusCode, Value),
    /// The engine does the first so many keys or writes of a batch; the others come back unprocessed.
    Partly(usize),
    /// A query lacks so many of its first items, as while a transaction is being written.
    Torn(usize),
}

impl Fault {
    /// DynamoDB failed inside.
    #[must_use]
    pub fn internal() -> Self {
        refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", Vec::new())
    }

    /// The capacity is used up.
    #[must_use]
    pub fn throttled() -> Self {
        refused(StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException", Vec::new())
    }

    /// The rate of the account or of a partition is used up.
    #[must_use]
    pub fn throttling() -> Self {
        refused(StatusCode::BAD_REQUEST, "ThrottlingException", Vec::new())
    }

    /// A write met a transaction.
    #[must_use]
    pub fn conflict() -> Self {
        refused(StatusCode::BAD_REQUEST, "TransactionConflictException", Vec::new())
    }

    /// The same transaction is still under way: its sender gave up waiting and sent it again.
    #[must_use]
    pub fn in_progress() -> Self {
        refused(StatusCode::BAD_REQUEST, "TransactionInProgressException", Vec::new())
    }

    /// A transaction was cancelled, with a code for each of its changes.
    #[must_use]
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
    /// Calls that the engine works at.
    busy: watch::Sender<usize>,
    /// Calls that wait for the release.
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

/// A proxy in front of an engine. Dropping it ends it.
pub struct Proxy {
    url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

impl Proxy {
    /// A proxy that lets every call through.
    pub async fn start(engine: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            engine: engine.to_owned(),
            http: reqwest::Client::builder().no_proxy().build().expect("a client"),
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

    /// Where it is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// From now on this becomes of each call; the record and the numbers start again, and the dead live.
    pub fn rule(&self, rule: impl FnMut(&Call) -> Fault + Send + 'static) {
        *self.shared.record() = Record { rule: Box::new(rule), calls: Vec::new() };
        self.shared.dead.send_replace(false);
        self.shared.released.send_replace(false);
    }

    /// From now on every call comes through.
    pub fn heal(&self) {
        self.rule(|_| Fault::None);
    }

    /// The calls since the rule was given.
    #[must_use]
    pub fn calls(&self) -> Vec<Call> {
        self.shared.record().calls.clone()
    }

    /// How many of the calls were of the action.
    #[must_use]
    pub fn count(&self, action: &str) -> usize {
        self.shared.record().calls.iter().filter(|call| call.action == action).count()
    }

    /// Waits for a [`Fault::Death`].
    pub async fn death(&self) {
        until(&self.shared.dead, |dead| *dead).await;
    }

    /// Waits until so many calls are held.
    pub async fn held(&self, calls: usize) {
        until(&self.shared.held, |held| *held >= calls).await;
    }

    /// Lets the calls go that are held, and all later ones.
    pub fn release(&self) {
        self.shared.released.send_replace(true);
    }

    /// Lets the calls go that are held, and waits until the engine is done with them, whether or not anybody waits for that.
    pub async fn arrive(&self) {
        self.release();
        until(&self.shared.held, |held| *held == 0).await;
    }

    /// Waits until the engine is done with what has reached it.
    async fn quiet(&self) {
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
        Fault::Silence => std::future::pending().await,
        Fault::Held => hold(&shared, &headers, body).await,
        Fault::Refused(status, body) => (status, [(header::CONTENT_TYPE, JSON)], body.to_string()).into_response(),
        Fault::Partly(done) => partly(&shared, &headers, &body, done).await,
        Fault::Torn(missing) => torn(&shared, &headers, body, missing).await,
    }
}

const JSON: &str = "application/x-amz-json-1.0";

/// Closes the connection without an answer: the server ends the task of a connection that unwinds.
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

/// A task of its own, because what was sent arrives even when its sender has given up.
async fn hold(shared: &Arc<Shared>, headers: &HeaderMap, body: Bytes) -> Response {
    let (shared, headers) = (Arc::clone(shared), headers.clone());
    shared.held.send_modify(|held| *held += 1);
    let sent = tokio::spawn(async move {
        until(&shared.released, |released| *released).await;
        let answer = forward(&shared, &headers, body).await;
        shared.held.send_modify(|held| *held -= 1);
        answer
    });
    sent.await.expect("it arrives")
}

/// A task of its own, because what is on its way arrives even when its sender has died.
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

/// Sends the first `done` of a batch on, and adds the others to what the engine says.
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
    let items = answer["Items"].as_array_mut().expect("a query's answer");
    items.drain(..missing.min(items.len()));
    ([(header::CONTENT_TYPE, JSON)], answer.to_string()).into_response()
}

async fn read(answer: Response) -> Value {
    let bytes = axum::body::to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
    serde_json::from_slice(&bytes).expect("JSON")
}

/// The first `done` keys or writes of a batch, and the others, each still by table.
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

/// One engine, a stack on it, and a stack that reaches the same engine through a proxy only.
pub struct Twins {
    /// Goes straight to the engine.
    pub healthy: Stack,
    /// Goes through the proxy.
    pub faulty: Stack,
    /// The proxy.
    pub proxy: Proxy,
}

impl Twins {
    /// Starts both, each as the closure says.
    pub async fn start(builder: impl Fn() -> Builder) -> Self {
        let healthy = builder().start().await.expect("a stack");
        let proxy = Proxy::start(healthy.dynamo_url()).await;
        let faulty = builder().dynamo_endpoint(proxy.url()).start().await.expect("a stack");
        Self { healthy, faulty, proxy }
    }

    /// A function of the template as a process of its own, behind the proxy.
    #[must_use]
    pub fn process(&self, name: &str, function: &Function) -> Process<'_> {
        Process::start(&self.healthy, &self.proxy, name, function)
    }
}

/// A function that can die: nothing of it goes on, no retry and no clean-up.
pub struct Process<'a> {
    service: Service,
    proxy: &'a Proxy,
}

impl<'a> Process<'a> {
    /// A function of the stack's template that reaches the stack's engine through the proxy only.
    #[must_use]
    pub fn start(stack: &Stack, proxy: &'a Proxy, name: &str, function: &Function) -> Self {
        Self::of(service(stack, proxy.url(), name, function), proxy)
    }

    /// That function, which reaches the engine through the proxy.
    #[must_use]
    pub fn of(service: Service, proxy: &'a Proxy) -> Self {
        Self { service, proxy }
    }

    /// Invokes the function with so much time; none where it died.
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

/// A function of the stack's template, with its permissions, that finds DynamoDB there. The SDK's pauses are short, and its allowance of retries has no
/// end: what the dead used up is not missing.
#[must_use]
pub fn service(stack: &Stack, endpoint: &str, name: &str, function: &Function) -> Service {
    let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == name);
    let lambda = lambda.expect("a function of the template");
    let settings = lambda.environment.clone().into_iter().collect();
    let client = stack.client_of(lambda);
    let allowance = RetryPartition::custom("process").token_bucket(TokenBucket::unlimited()).build();
    let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(10));
    let client = client.config().to_builder().endpoint_url(endpoint).retry_config(retries).retry_partition(allowance);
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::from_conf(client.build()), random());
    function.bind(&settings, dynamo).expect("right settings")
}

/// An invocation that must have answered by then.
#[must_use]
pub fn within(timeout: Duration) -> Context {
    let mut context = Context::default();
    context.deadline = epoch_millis(SystemTime::now() + timeout);
    context
}

fn epoch_millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("before the year 584556049")
}
