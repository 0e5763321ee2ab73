//! The network between the functions and the AWS services. It delays calls, and adds faults.
//!
//! A call that has been sent arrives, even if its function has stopped waiting for it.
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use aws_sdk_dynamodb::config::{
    RuntimeComponents, SharedHttpClient,
    http::{HttpRequest, HttpResponse},
};
use aws_smithy_runtime_api::client::{
    http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    result::ConnectorError,
};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use function::{Diagnostic, Invocation};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, oneshot},
    time::sleep,
};

use crate::{
    clock,
    draw::Draw,
    trace::{Trace, lock},
};

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The connection breaks before the call arrives.
    Unsent,
    /// The connection breaks after the effect of the call.
    Lost,
    Throttled,
    /// DynamoDB answers 500 without an effect.
    Failed,
    /// DynamoDB answers 500 after the effect.
    FailedAfter,
    /// Another transaction uses an item of the call.
    Conflict,
    /// The call arrives after the timeout of its attempt.
    Late,
    KilledBefore,
    /// The function is killed after the effect of the call.
    KilledAfter,
    /// The function stops running for seconds, and then continues.
    Frozen,
    /// DynamoDB processes only a part of a batch.
    Unprocessed,
    /// The request of a client does not arrive.
    RequestLost,
    /// The response to a client does not arrive.
    AnswerLost,
    /// A batch of stream records is delivered twice.
    Repeated,
}

/// Length of an outage in milliseconds. Adjacent outages are one.
const OUTAGE: u128 = 4_000;
const DURING_OUTAGES: [Fault; 4] = [Fault::Failed, Fault::Failed, Fault::FailedAfter, Fault::Throttled];

const ALL: [Fault; 11] = [
    Fault::Unsent,
    Fault::Lost,
    Fault::Throttled,
    Fault::Failed,
    Fault::FailedAfter,
    Fault::Conflict,
    Fault::Late,
    Fault::KilledBefore,
    Fault::KilledAfter,
    Fault::Frozen,
    Fault::Unprocessed,
];

#[derive(Debug, Clone, Default)]
pub(crate) struct Rates {
    kinds: Vec<Fault>,
    /// Probability of a fault in thousandths of all calls.
    calls: u64,
    /// Probability in thousandths that a client gets no response.
    pub(crate) clients: u64,
    /// Probability in thousandths that a batch of stream records is repeated.
    pub(crate) batches: u64,
    slowness: u64,
    /// Probability in thousandths of a long latency.
    stalls: u64,
    /// Share in thousandths of the seconds in which most calls fail.
    outages: u64,
    /// Faults of the hostile layer, which also reads old states (docs/hostile.md).
    pub(crate) hostile: hostile::Rates,
}

/// Name of a condition, whether the case has it, and how it is left out.
type Condition = (&'static str, bool, fn(&mut Rates));

impl Rates {
    /// The conditions that can be left out.
    fn optional(&self) -> [Condition; 8] {
        [
            ("stale reads", self.hostile.stale > 0.0, |rates| rates.hostile.stale = 0.0),
            ("index lag", self.hostile.lag > 0.0, |rates| rates.hostile.lag = 0.0),
            ("overlap", self.hostile.overlap > 0.0, |rates| rates.hostile.overlap = 0.0),
            ("short pages", self.hostile.short_page > 0.0, |rates| rates.hostile.short_page = 0.0),
            ("stalls", self.stalls > 0, |rates| rates.stalls = 0),
            ("slowness", self.slowness > 1, |rates| rates.slowness = 1),
            ("outages", self.outages > 0, |rates| rates.outages = 0),
            ("stream and schedule faults", self.batches > 0, |rates| rates.batches = 0),
        ]
    }

    pub(crate) fn leave_out(&mut self, names: &BTreeSet<String>) {
        for (_, _, leave_out) in self.optional().into_iter().filter(|(name, ..)| names.contains(*name)) {
            leave_out(self);
        }
    }

    pub(crate) fn conditions(&self) -> Vec<&'static str> {
        self.optional().into_iter().filter_map(|(name, has, _)| has.then_some(name)).collect()
    }

    /// Factor of the delays of stream records.
    pub(crate) fn delay(&self) -> u64 {
        self.slowness.max(1)
    }

    /// The faults of a case. Each case has some kinds of faults, and some cases have none.
    pub(crate) fn drawn(draw: &mut Draw) -> Self {
        let calls = *draw.one(&[0, 5, 15, 40, 80]);
        let most = *draw.one(&[300, 500, 800]);
        Self {
            kinds: ALL.into_iter().filter(|_| draw.happens(most)).collect(),
            calls,
            clients: *draw.one(&[0, 20, 80]),
            batches: *draw.one(&[0, 100, 400]),
            slowness: *draw.one(&[1, 1, 3, 10]),
            stalls: *draw.one(&[0, 10, 50, 150]),
            outages: *draw.one(&[0, 0, 60, 200]),
            hostile: hostile::Rates {
                stale: *draw.one(&[0.0, 0.5, 1.0]),
                lag: *draw.one(&[0.0, 0.3, 1.0]),
                overlap: *draw.one(&[0.0, 1.0]),
                short_page: *draw.one(&[0.0, 0.0, 0.2]),
                ..hostile::Rates::default()
            },
        }
    }
}

#[derive(Debug)]
pub(crate) struct Net {
    pub(crate) seed: u64,
    pub(crate) trace: Trace,
    pub(crate) rates: Rates,
    /// Faults that do not happen, by the label of their call.
    muted: BTreeSet<String>,
    quiet: AtomicBool,
    happened: Mutex<Vec<(String, Fault)>>,
    calls: AtomicU32,
    /// Notified after each write. Pollers wait for it. A `watch` channel would wake them in a
    /// random order.
    pub(crate) wrote: Notify,
}

#[derive(Debug)]
pub(crate) struct Running {
    label: String,
    function: String,
    calls: AtomicU32,
    killed: Notify,
    was_killed: AtomicBool,
    frozen: Mutex<Option<tokio::time::Instant>>,
    had_faults: AtomicBool,
}

impl Running {
    pub(crate) fn new(label: String, function: &str) -> Arc<Self> {
        Arc::new(Self {
            label,
            function: function.to_owned(),
            calls: AtomicU32::new(0),
            killed: Notify::new(),
            was_killed: AtomicBool::new(false),
            frozen: Mutex::default(),
            had_faults: AtomicBool::new(false),
        })
    }

    pub(crate) fn was_killed(&self) -> bool {
        self.was_killed.load(Ordering::Relaxed)
    }

    pub(crate) fn had_faults(&self) -> bool {
        self.had_faults.load(Ordering::Relaxed)
    }

    fn kill(&self) {
        self.was_killed.store(true, Ordering::Relaxed);
        self.killed.notify_one();
    }
}

tokio::task_local! {
    pub(crate) static RUNNING: Arc<Running>;
}

/// Runs an invocation so that a fault can kill or freeze it.
pub(crate) fn fragile(work: BoxFuture<'static, Invocation>) -> BoxFuture<'static, Invocation> {
    let Ok(running) = RUNNING.try_with(Arc::clone) else { return work };
    let scope = Arc::clone(&running);
    Box::pin(RUNNING.scope(scope, async move {
        let mut work = work;
        let thawing = std::future::poll_fn(|context| {
            // A frozen process runs none of its tasks and sees none of its timers.
            let until = *lock(&running.frozen);
            if let Some(until) = until {
                let left = until.saturating_duration_since(tokio::time::Instant::now());
                if !left.is_zero() {
                    let waker = context.waker().clone();
                    tokio::spawn(async move {
                        sleep(left).await;
                        waker.wake();
                    });
                    return std::task::Poll::Pending;
                }
                *lock(&running.frozen) = None;
            }
            work.as_mut().poll(context)
        });
        tokio::select! {
            biased;
            () = running.killed.notified() => {
                let error_type = "Runtime.ExitError".to_owned();
                let killed = Diagnostic { error_type, error_message: "killed".to_owned() };
                Invocation { answer: Err(killed), usage: table::Usage::default() }
            }
            done = thawing => done,
        }
    }))
}

impl Net {
    pub(crate) fn new(seed: u64, trace: Trace, rates: Rates, muted: BTreeSet<String>) -> Arc<Self> {
        Arc::new(Self {
            seed,
            trace,
            rates,
            muted,
            quiet: AtomicBool::new(true),
            happened: Mutex::default(),
            calls: AtomicU32::new(0),
            wrote: Notify::new(),
        })
    }

    pub(crate) fn set_quiet(&self, quiet: bool) {
        self.quiet.store(quiet, Ordering::Relaxed);
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet.load(Ordering::Relaxed)
    }

    pub(crate) fn happened(&self) -> Vec<(String, Fault)> {
        lock(&self.happened).clone()
    }

    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether a fault with this probability happens at this place.
    pub(crate) fn strikes(&self, label: &str, thousandths: u64) -> bool {
        let strikes =
            !self.is_quiet() && !self.muted.contains(label) && Draw::of(self.seed, label).happens(thousandths);
        if strikes {
            let fault = match label.rsplit('/').next() {
                Some("unsent") => Fault::RequestLost,
                Some("lost") => Fault::AnswerLost,
                _ => Fault::Repeated,
            };
            lock(&self.happened).push((label.to_owned(), fault));
        }
        strikes
    }

    /// The fault of a call during an outage. Few calls succeed.
    fn outage(&self, label: &str) -> Option<Fault> {
        let window = clock::elapsed() / OUTAGE;
        let is_out = Draw::of(self.seed, &format!("outage {window}")).happens(self.rates.outages);
        let mut draw = Draw::of(self.seed, &format!("{label} outage"));
        (is_out && draw.happens(900)).then(|| *draw.one(&DURING_OUTAGES))
    }

    fn fault(&self, label: &str, draw: &mut Draw, call: &Call) -> Option<Fault> {
        let fault =
            (draw.happens(self.rates.calls) && !self.rates.kinds.is_empty()).then(|| *draw.one(&self.rates.kinds));
        let fault = self.outage(label).or(fault);
        let fits = |fault: &Fault| match fault {
            Fault::Conflict => call.is_write && call.is_dynamodb && call.action != "BatchWriteItem",
            Fault::Throttled => call.is_dynamodb,
            Fault::Unprocessed => call.action.starts_with("Batch"),
            _ => true,
        };
        let fault = fault.filter(|fault| !self.is_quiet() && !self.muted.contains(label) && fits(fault))?;
        lock(&self.happened).push((label.to_owned(), fault));
        Some(fault)
    }
}

#[derive(Debug)]
pub(crate) struct Network<T> {
    inner: T,
    net: Arc<Net>,
}

impl Network<SharedHttpClient> {
    pub(crate) fn around(inner: SharedHttpClient, net: &Arc<Net>) -> SharedHttpClient {
        SharedHttpClient::new(Self { inner, net: Arc::clone(net) })
    }
}

impl HttpClient for Network<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Network { inner, net: Arc::clone(&self.net) })
    }
}

impl HttpConnector for Network<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Ok(running) = RUNNING.try_with(Arc::clone) else { return self.inner.call(request) };
        let net = Arc::clone(&self.net);
        let number = running.calls.fetch_add(1, Ordering::Relaxed);
        net.calls.fetch_add(1, Ordering::Relaxed);
        let label = format!("{}/{number}", running.label);
        let mut draw = Draw::of(net.seed, &label);
        let call = Call::of(&request);
        let fault = net.fault(&label, &mut draw, &call);
        let mut latency = || {
            let stall = draw.happens(net.rates.stalls) && !net.is_quiet();
            let base = if stall { draw.between(20, 600) } else { draw.between(1, 6) };
            Duration::from_millis(base * net.rates.slowness.max(1))
        };
        let (before, after) = (latency(), latency());
        let freeze = Duration::from_millis(draw.between(500, 12_000));
        running.had_faults.fetch_or(fault.is_some(), Ordering::Relaxed);
        let inner = self.inner.clone();
        HttpConnectorFuture::new(async move {
            if fault == Some(Fault::KilledBefore) {
                net.trace.add(&label, format!("{} {} killed before", running.function, call.text));
                running.kill();
                return std::future::pending().await;
            }
            if fault == Some(Fault::Frozen) {
                *lock(&running.frozen) = Some(tokio::time::Instant::now() + freeze);
            }
            let (send, receive) = oneshot::channel();
            tokio::spawn(async move {
                sleep(before).await;
                if fault == Some(Fault::Late) {
                    sleep(Duration::from_millis(2_500)).await;
                }
                let answer = carry(&inner, request, &call, fault).await;
                let outcome = outcome(&answer);
                let fault_text = fault.map_or_else(String::new, |fault| format!(" [{fault:?}]"));
                net.trace.add(&label, format!("{} {} -> {outcome}{fault_text}", running.function, call.text));
                if call.is_write {
                    net.wrote.notify_waiters();
                }
                if fault == Some(Fault::KilledAfter) {
                    running.kill();
                    return;
                }
                sleep(after).await;
                // The function may have stopped waiting.
                let _ = send.send(answer);
            });
            match receive.await {
                Ok(answer) => answer,
                Err(_) => std::future::pending().await,
            }
        })
    }
}

async fn carry(
    inner: &SharedHttpConnector,
    request: HttpRequest,
    call: &Call,
    fault: Option<Fault>,
) -> Result<HttpResponse, ConnectorError> {
    let broken = || Err(ConnectorError::io("the connection broke".into()));
    match fault {
        Some(Fault::Unsent) => broken(),
        Some(Fault::Throttled) => Ok(refused(400, "ProvisionedThroughputExceededException", "throttled")),
        Some(Fault::Failed) => Ok(refused(500, "InternalServerError", "failed")),
        Some(Fault::Conflict) => Ok(call.conflict()),
        Some(Fault::Lost) => inner.call(request).await.and_then(|_| broken()),
        Some(Fault::FailedAfter) => inner.call(request).await.map(|_| refused(500, "InternalServerError", "failed")),
        Some(Fault::Unprocessed) => partly(inner, request).await,
        _ => inner.call(request).await,
    }
}

/// Sends the first half of a batch. The response names the rest as unprocessed.
async fn partly(inner: &SharedHttpConnector, mut request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let mut body = json_of(request.body());
    let mut rest = json!({});
    for (table, batch) in body["RequestItems"].as_object_mut().into_iter().flatten() {
        match batch {
            Value::Array(writes) if writes.len() > 1 => {
                writes.sort_by_cached_key(Value::to_string);
                rest[table] = writes.split_off(writes.len().div_ceil(2)).into();
            }
            Value::Object(reads) => {
                let mut others = reads.clone();
                if let Some(keys) = reads["Keys"].as_array_mut().filter(|keys| keys.len() > 1) {
                    keys.sort_by_cached_key(Value::to_string);
                    others["Keys"] = keys.split_off(keys.len().div_ceil(2)).into();
                    rest[table] = others.into();
                }
            }
            _ => {}
        }
    }
    let left = if request.headers().get("x-amz-target").is_some_and(|target| target.ends_with("BatchGetItem")) {
        "UnprocessedKeys"
    } else {
        "UnprocessedItems"
    };
    *request.body_mut() = SdkBody::from(body.to_string());
    let answer = inner.call(request).await?;
    let mut body = json_of(answer.body());
    if answer.status().is_success() {
        body[left] = rest;
    }
    Ok(response(answer.status(), &body))
}

fn json_of(body: &SdkBody) -> Value {
    body.bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
}

fn refused(status: u16, kind: &str, message: &str) -> HttpResponse {
    let kind = format!("com.amazonaws.dynamodb.v20120810#{kind}");
    response(StatusCode::try_from(status).expect("a status"), &json!({"__type": kind, "message": message}))
}

fn response(status: StatusCode, body: &Value) -> HttpResponse {
    let mut response = HttpResponse::new(status, SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

fn outcome(answer: &Result<HttpResponse, ConnectorError>) -> String {
    match answer {
        Err(_) => "no answer".to_owned(),
        Ok(response) if response.status().is_success() => response.status().as_u16().to_string(),
        Ok(response) => {
            let body = json_of(response.body());
            let kind = body["__type"].as_str().unwrap_or_default();
            let reasons = body["CancellationReasons"].as_array().into_iter().flatten();
            let reasons: Vec<_> =
                reasons.map(|reason| reason["Code"].as_str().unwrap_or("?").get(..4).unwrap_or("?")).collect();
            let reasons = if reasons.is_empty() { String::new() } else { format!(" {}", reasons.join(",")) };
            format!("{} {}{reasons}", response.status().as_u16(), kind.rsplit('#').next().unwrap_or_default())
        }
    }
}

/// A call, as the trace shows it.
#[derive(Debug)]
struct Call {
    action: String,
    text: String,
    is_write: bool,
    is_dynamodb: bool,
    parts: usize,
}

impl Call {
    fn of(request: &HttpRequest) -> Self {
        let target = request.headers().get("x-amz-target").and_then(|target| target.split_once('.'));
        let Some((service, action)) = target else {
            let path =
                request.uri().split_once("//").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
            let path = path.split('?').next().unwrap_or_default();
            let (action, is_write) = (request.method().to_owned(), request.method() != "GET");
            return Self { text: format!("s3 {action} {path}"), action, is_write, is_dynamodb: false, parts: 0 };
        };
        let body = json_of(request.body());
        let parts = body["TransactItems"].as_array().map_or(0, Vec::len);
        Self {
            action: action.to_owned(),
            text: format!("{action} {}", keys(&body)),
            is_write: !matches!(action, "GetItem" | "BatchGetItem" | "Query" | "Scan" | "TransactGetItems"),
            is_dynamodb: service.starts_with("DynamoDB"),
            parts,
        }
    }

    fn conflict(&self) -> HttpResponse {
        if self.parts == 0 {
            return refused(400, "TransactionConflictException", "conflict");
        }
        let mut reasons = vec![json!({"Code": "None"}); self.parts];
        reasons[0] = json!({"Code": "TransactionConflict", "Message": "conflict"});
        let body = json!({
            "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
            "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]",
            "CancellationReasons": reasons,
        });
        response(StatusCode::try_from(400).expect("a status"), &body)
    }
}

fn table(call: &Value) -> &str {
    let name = call["TableName"].as_str().unwrap_or_default();
    name.rsplit_once('-').map_or(name, |(_, name)| name)
}

fn key(key: &Value) -> String {
    let part = |name: &str| key[name]["S"].as_str().unwrap_or_default();
    format!("{}|{}", part("PK"), part("SK"))
}

/// Tables and keys of a request.
fn keys(body: &Value) -> String {
    let named = |call: &Value| ["Key", "Item"].iter().find_map(|name| call.get(*name)).map(key).unwrap_or_default();
    let one = |call: &Value| format!("{} {}", table(call), named(call));
    if let Some(parts) = body["TransactItems"].as_array() {
        let parts = parts.iter().filter_map(Value::as_object).flatten();
        return parts.map(|(kind, call)| format!("{kind} {}", one(call))).collect::<Vec<_>>().join(", ");
    }
    if let Some(tables) = body["RequestItems"].as_object() {
        let mut all: Vec<String> = Vec::new();
        for (name, batch) in tables {
            let name = name.rsplit_once('-').map_or(name.as_str(), |(_, name)| name);
            let reads = batch["Keys"].as_array().into_iter().flatten().map(|read| format!("{name} {}", key(read)));
            let writes = batch.as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
            let writes = writes.map(|(kind, write)| format!("{kind} {name} {}", named(write)));
            all.extend(reads.chain(writes));
        }
        all.sort();
        return all.join(", ");
    }
    if body.get("KeyConditionExpression").is_some() {
        let mut values: Vec<_> = body["ExpressionAttributeValues"].as_object().into_iter().flatten().collect();
        values.sort_by_key(|(name, _)| name.as_str());
        let values: Vec<_> = values.into_iter().filter_map(|(_, value)| value["S"].as_str()).collect();
        let index = body["IndexName"].as_str().unwrap_or("-");
        return format!("{} {index} {}", table(body), values.join(" "));
    }
    one(body)
}
