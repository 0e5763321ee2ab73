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

use aws_sdk_dynamodb::config::{SharedHttpClient, http::HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use function::{Diagnostic, Invocation};
use futures::future::BoxFuture;
use hostile::{
    Call,
    Fault::{Conflict, Failed, FailedAfter, KilledAfter, KilledBefore, Late, Lost, Throttled, Unprocessed, Unsent},
    Kind, Plan, Planner, Watch, planned,
};
use serde_json::Value;
use tokio::{sync::Notify, time::sleep};

use crate::{
    clock,
    draw::Draw,
    trace::{Trace, lock},
};

/// A fault of a call, of a client or of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    Call(hostile::Fault),
    /// The function stops running for seconds, and then continues.
    Frozen,
    /// The request of a client does not arrive.
    RequestLost,
    /// The response to a client does not arrive.
    AnswerLost,
    /// A batch of stream records is delivered twice.
    Repeated,
}

/// Length of an outage in milliseconds. Adjacent outages are one.
const OUTAGE: u128 = 4_000;
const DURING_OUTAGES: [Fault; 4] =
    [Fault::Call(Failed), Fault::Call(Failed), Fault::Call(FailedAfter), Fault::Call(Throttled)];

const ALL: [Fault; 11] = [
    Fault::Call(Unsent),
    Fault::Call(Lost),
    Fault::Call(Throttled),
    Fault::Call(Failed),
    Fault::Call(FailedAfter),
    Fault::Call(Conflict),
    Fault::Call(Late),
    Fault::Call(KilledBefore),
    Fault::Call(KilledAfter),
    Fault::Frozen,
    Fault::Call(Unprocessed),
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
        // The event bus rejects entries of a call instead of the call.
        let fault = self.outage(label).or(fault).map(|fault| match fault {
            Fault::Call(Conflict | Throttled) if call.action == "PutEvents" => Fault::Call(Unprocessed),
            fault => fault,
        });
        let fits = |fault: &Fault| match fault {
            Fault::Call(Conflict) => matches!(call.kind, Kind::Write | Kind::TransactWrite),
            Fault::Call(Throttled) => call.is_dynamodb(),
            Fault::Call(Unprocessed) => {
                matches!(call.kind, Kind::BatchGet | Kind::BatchWrite) || call.action == "PutEvents"
            }
            _ => true,
        };
        let fault = fault.filter(|fault| !self.is_quiet() && !self.muted.contains(label) && fits(fault))?;
        lock(&self.happened).push((label.to_owned(), fault));
        Some(fault)
    }
}

impl Net {
    /// The client with this network.
    pub(crate) fn around(self: &Arc<Self>, inner: SharedHttpClient) -> SharedHttpClient {
        planned(inner, Arc::clone(self))
    }
}

impl Planner for Net {
    fn plan(self: &Arc<Self>, call: &Call) -> Option<Plan> {
        let running = RUNNING.try_with(Arc::clone).ok()?;
        let number = running.calls.fetch_add(1, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        let label = format!("{}/{number}", running.label);
        let mut draw = Draw::of(self.seed, &label);
        let fault = self.fault(&label, &mut draw, call);
        let mut latency = || {
            let stall = draw.happens(self.rates.stalls) && !self.is_quiet();
            let base = if stall { draw.between(20, 600) } else { draw.between(1, 6) };
            Duration::from_millis(base * self.rates.slowness.max(1))
        };
        let (before, after) = (latency(), latency());
        let freeze = Duration::from_millis(draw.between(500, 12_000));
        running.had_faults.fetch_or(fault.is_some(), Ordering::Relaxed);
        if fault == Some(Fault::Frozen) {
            *lock(&running.frozen) = Some(tokio::time::Instant::now() + freeze);
        }
        let of_call = match fault {
            Some(Fault::Call(fault)) => Some(fault),
            _ => None,
        };
        let watch = Box::new(Traced { net: Arc::clone(self), running, label, fault });
        Some(Plan { fault: of_call, before, after, watch })
    }
}

/// Traces a call, and kills its function.
#[derive(Debug)]
struct Traced {
    net: Arc<Net>,
    running: Arc<Running>,
    label: String,
    fault: Option<Fault>,
}

impl Watch for Traced {
    fn ended(&self, call: &Call, answer: Option<&Result<HttpResponse, ConnectorError>>) {
        let outcome = answer.map_or_else(|| "killed before".to_owned(), |answer| format!("-> {}", outcome(answer)));
        let fault = match self.fault {
            Some(Fault::Call(fault)) if answer.is_some() => format!(" [{fault:?}]"),
            Some(Fault::Frozen) => " [Frozen]".to_owned(),
            _ => String::new(),
        };
        self.net.trace.add(&self.label, format!("{} {} {outcome}{fault}", self.running.function, text(call)));
        if answer.is_some() && (call.is_write() || is_write_of_s3(call)) {
            self.net.wrote.notify_waiters();
        }
    }

    fn killed(&self) {
        self.running.kill();
    }
}

/// Whether the call changes an object.
fn is_write_of_s3(call: &Call) -> bool {
    call.body.is_null() && !call.action.starts_with("GET ")
}

/// A call, as the trace shows it.
fn text(call: &Call) -> String {
    if !call.body.is_null() {
        return format!("{} {}", call.action, keys(&call.body));
    }
    // The engine draws the id of a stream record, which names a record that was not published.
    match call.action.split_once("/unsendable/") {
        Some((place, _)) => format!("s3 {place}/unsendable/…"),
        None => format!("s3 {}", call.action),
    }
}

fn json_of(body: &SdkBody) -> Value {
    body.bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default()
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
