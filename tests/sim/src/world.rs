//! The services of a case, and the actors around them: clients, stream pollers, schedules and
//! object events.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use events::Claims;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use local::in_process::{Asked, InProcess, Invoked};
use serde_json::{Value, json};
use system_tests::openapi::Allowed;
use template::{Mapping, Schedule};
use tokio::time::{sleep, timeout};

use crate::{
    clock,
    draw::Draw,
    faults::{Net, RUNNING, Running},
    spent::Spent,
    trace::{Trace, lock},
};

const LONGEST_CALL: Duration = Duration::from_secs(30);
/// Maximum lag of a replica in the hostile mode.
const MAX_LAG: SignedDuration = SignedDuration::from_secs(5);
/// Number of shards of each stream. Each shard has its own pollers.
const SHARDS: u64 = 2;
/// Attempts of a client. The last attempts are without faults.
const MAX_ATTEMPTS: u32 = 40;

/// A caller with the claims of a token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) name: String,
    claims: Claims,
}

impl Caller {
    pub(crate) fn new(name: &str, claims: &Value) -> Self {
        Self { name: name.to_owned(), claims: claims.as_object().cloned().unwrap_or_default() }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    /// Path, with the query after `?`.
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    /// Null if the request has no body.
    pub(crate) body: Value,
}

impl Ask {
    pub(crate) fn of(method: &'static str, path: impl Into<String>) -> Self {
        Self::with(method, path, Value::Null)
    }

    pub(crate) fn with(method: &'static str, path: impl Into<String>, body: Value) -> Self {
        Self { method, path: path.into(), key: None, body }
    }

    pub(crate) fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// The status. 0 if the client gave up.
    pub(crate) status: u64,
    pub(crate) body: Value,
    pub(crate) headers: Value,
}

impl Reply {
    /// The problem type without its prefix.
    pub(crate) fn problem(&self) -> &str {
        self.body["type"].as_str().unwrap_or_default().trim_start_matches("/problems/")
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    pub(crate) label: String,
    pub(crate) caller: String,
    pub(crate) ask: Ask,
    pub(crate) reply: Reply,
    /// All responses, in their order. An attempt without a response is absent.
    pub(crate) replies: Vec<Reply>,
    pub(crate) attempts: u32,
    /// Position of the first attempt among all events of the case.
    pub(crate) begin: u64,
    /// Position of the oldest state that an eventually consistent read of the request can show.
    pub(crate) oldest: u64,
    pub(crate) end: u64,
    pub(crate) began: Timestamp,
    pub(crate) ended: Timestamp,
}

pub(crate) struct World {
    pub(crate) stack: InProcess,
    pub(crate) net: Arc<Net>,
    pub(crate) trace: Trace,
    history: Mutex<Vec<Exchange>>,
    violations: Mutex<Vec<String>>,
    trespasses: Mutex<BTreeSet<String>>,
    events: AtomicU64,
    /// The times of the events, in order.
    moments: Mutex<Vec<(Timestamp, u64)>>,
    progress: Mutex<BTreeMap<String, i64>>,
    busy: AtomicU64,
    spent: Mutex<Vec<Spent>>,
}

impl World {
    pub(crate) fn new(stack: InProcess, net: &Arc<Net>) -> Arc<Self> {
        Arc::new(Self {
            stack,
            net: Arc::clone(net),
            trace: net.trace.clone(),
            history: Mutex::default(),
            violations: Mutex::default(),
            trespasses: Mutex::default(),
            events: AtomicU64::new(0),
            moments: Mutex::default(),
            progress: Mutex::default(),
            busy: AtomicU64::new(0),
            spent: Mutex::default(),
        })
    }

    pub(crate) fn table(&self, name: &str) -> String {
        let tables = &self.stack.template().tables;
        let found = tables.iter().find(|table| table.name.rsplit_once('-').is_some_and(|(_, end)| end == name));
        found.map(|table| table.name.clone()).unwrap_or_default()
    }

    pub(crate) fn items(&self, name: &str) -> Vec<Value> {
        self.stack.items(&self.table(name)).unwrap_or_else(|error| {
            self.violation(format!("table {name} can't be read: {error}"));
            Vec::new()
        })
    }

    pub(crate) fn violation(&self, text: impl Into<String>) {
        let text = text.into();
        self.trace.add("check", format!("VIOLATION {text}"));
        lock(&self.violations).push(text);
    }

    pub(crate) fn spent(&self) -> Vec<Spent> {
        std::mem::take(&mut *lock(&self.spent))
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        lock(&self.violations).clone()
    }

    /// All finished requests, in the order of their first attempts.
    pub(crate) fn history(&self) -> Vec<Exchange> {
        let mut history = lock(&self.history).clone();
        history.sort_by_key(|exchange| exchange.begin);
        history
    }

    /// Position among all events of the case.
    pub(crate) fn event(&self) -> u64 {
        self.events.fetch_add(1, Ordering::Relaxed)
    }

    /// A position before the first event at this time or later.
    fn before(&self, time: Timestamp) -> u64 {
        let moments = lock(&self.moments);
        let first = moments.partition_point(|(at, _)| *at < time);
        moments[first..].iter().map(|(_, position)| position.saturating_sub(1)).min().unwrap_or(u64::MAX)
    }

    /// Sends a request, and repeats it until the outcome is known.
    pub(crate) async fn ask(&self, label: &str, caller: &Caller, ask: Ask) -> Reply {
        let (begin, asked_at) = (self.event(), clock::now());
        lock(&self.moments).push((asked_at, begin));
        let mut pauses = Draw::of(self.net.seed, &format!("{label} pauses"));
        let (mut replies, mut attempts) = (Vec::new(), 0);
        let reply = loop {
            let reply = self.attempt(&format!("{label}.{attempts}"), caller, &ask).await;
            attempts += 1;
            replies.extend(reply.clone());
            match reply {
                Some(reply) if !matches!(reply.status, 429 | 500 | 502 | 503 | 504) => break reply,
                _ if attempts == MAX_ATTEMPTS => {
                    self.violation(format!(
                        "{label}: {} {} has no outcome after {attempts} attempts",
                        ask.method, ask.path
                    ));
                    break Reply::default();
                }
                _ => {}
            }
            sleep(Duration::from_millis(pauses.between(100, 1_500) * u64::from(attempts.min(20)))).await;
        };
        let (end, ended) = (self.event(), clock::now());
        lock(&self.moments).push((ended, end));
        let exchange = Exchange {
            label: label.to_owned(),
            caller: caller.name.clone(),
            ask,
            reply: reply.clone(),
            replies,
            attempts,
            begin,
            oldest: self.before(asked_at - MAX_LAG).min(begin),
            end,
            began: asked_at,
            ended,
        };
        lock(&self.history).push(exchange);
        reply
    }

    /// Sends the request, and the same one again at the same time if `twice` is set.
    pub(crate) async fn ask_twice(&self, label: &str, caller: &Caller, ask: Ask, twice: bool) -> Reply {
        if !twice {
            return self.ask(label, caller, ask).await;
        }
        let again = format!("{label}t");
        futures::join!(self.ask(label, caller, ask.clone()), self.ask(&again, caller, ask)).0
    }

    /// Sends a request that must be refused with one of these statuses.
    pub(crate) async fn trespass(&self, label: &str, caller: &Caller, ask: Ask, refusals: &[u64]) {
        lock(&self.trespasses).insert(label.to_owned());
        let text = format!("{label}: {} may {} {}", caller.name, ask.method, ask.path);
        let Reply { status, body, .. } = self.ask(label, caller, ask).await;
        if !refusals.contains(&status) {
            self.violation(format!("{text}: {status} {body}"));
        }
    }

    pub(crate) fn is_trespass(&self, exchange: &Exchange) -> bool {
        lock(&self.trespasses).contains(&exchange.label)
    }

    /// Reports a request that was refused although it was allowed.
    pub(crate) fn check_refusal(&self, exchange: &Exchange) {
        if exchange.reply.status == 403 && !self.is_trespass(exchange) {
            let Exchange { label, caller, ask, reply, .. } = exchange;
            self.violation(format!("{label}: {caller} is refused {}: {}", ask.path, reply.body));
        }
    }

    pub(crate) fn bucket(&self, name: &str) -> String {
        let mut buckets = self.stack.template().buckets.iter();
        buckets.find(|bucket| bucket.ends_with(&format!("-{name}"))).cloned().unwrap_or_default()
    }

    /// The objects of a bucket whose keys start with the prefix.
    pub(crate) fn objects(&self, bucket: &str, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        self.stack.objects(&self.bucket(bucket), prefix).unwrap_or_default()
    }

    /// Puts an object into a bucket, as a client does.
    pub(crate) fn upload(&self, label: &str, bucket: &str, key: &str, content: &[u8]) {
        self.trace.add(label, format!("uploads {key} with {} bytes", content.len()));
        if let Err(error) = self.stack.put_object(bucket, key, content) {
            self.violation(format!("{label}: {error}"));
        }
        self.net.wrote.notify_waiters();
    }

    /// Sends a request once. `None` if the client gets no response.
    async fn attempt(&self, label: &str, caller: &Caller, ask: &Ask) -> Option<Reply> {
        let body = (!ask.body.is_null()).then(|| ask.body.to_string());
        let key = ask.key.as_ref().map_or_else(String::new, |key| format!(" key {key}"));
        let shown = body.as_deref().unwrap_or_default();
        self.trace.add(label, format!("{} asks {} {}{key} {shown}", caller.name, ask.method, ask.path));
        if self.net.strikes(&format!("{label}/unsent"), self.net.rates.clients) {
            self.trace.add(label, "gets no answer [request lost]");
            return None;
        }
        let skew =
            i64::try_from(Draw::of(self.net.seed, &format!("{label} skew")).below(200)).unwrap_or_default() - 100;
        let now = clock::now() + SignedDuration::from_millis(if self.net.is_quiet() { 0 } else { skew });
        let asked = Asked {
            method: ask.method,
            path: &ask.path,
            key: ask.key.as_deref(),
            accept: None,
            body,
            claims: &caller.claims,
            now,
            id: label,
        };
        let (function, event) = match self.stack.event(&asked) {
            Ok(event) => event,
            Err(status) => {
                self.trace.add(label, format!("gets {status} from the gateway"));
                return Some(Reply { status: status.into(), ..Reply::default() });
            }
        };
        let invoked = timeout(LONGEST_CALL, self.invoke(label, &function, event)).await;
        let reply = match invoked {
            Err(_) => Reply { status: 503, ..Reply::default() },
            Ok(Err(())) => Reply { status: 500, ..Reply::default() },
            Ok(Ok(answer)) => {
                let reply = reply(&answer);
                let kind = reply.headers["content-type"].as_str().unwrap_or_default();
                for fault in Allowed::get().faults(ask.method, &ask.path, reply.status, kind, &reply.body) {
                    self.violation(format!(
                        "{label}: the answer of {} {} does not match openapi.yaml: {fault}",
                        ask.method, ask.path
                    ));
                }
                if reply.status == 500 {
                    self.violation(format!("{label}: {function} answered 500: {}", reply.body));
                }
                reply
            }
        };
        let short = short(&reply.body);
        if self.net.strikes(&format!("{label}/lost"), self.net.rates.clients) {
            self.trace.add(label, format!("gets no answer, but the answer was {} {short} [answer lost]", reply.status));
            return None;
        }
        self.trace.add(label, format!("gets {} {short}", reply.status));
        Some(reply)
    }

    /// Invokes a function once. The error is a killed, frozen or failed invocation.
    pub(crate) async fn invoke(&self, label: &str, function: &str, event: Value) -> Result<Value, ()> {
        let running = Running::new(label.to_owned(), function);
        let was_quiet = self.net.is_quiet();
        self.busy.fetch_add(1, Ordering::Relaxed);
        let Invoked { answer, usage } = RUNNING.scope(Arc::clone(&running), self.stack.invoke(function, event)).await;
        self.busy.fetch_sub(1, Ordering::Relaxed);
        if usage.unreadable > 0 {
            self.violation(format!("{label}: {function} found items that it can't read: {:?}", usage.unreadable_items));
        }
        if answer.as_ref().is_ok_and(|answer| matches!(answer["statusCode"].as_u64(), Some(200..=299))) {
            lock(&self.spent).push(Spent::of(label, function, &usage));
        }
        answer.map_err(|(kind, message)| {
            self.trace.add(label, format!("{function} failed: {kind} {message}"));
            let is_excused = running.was_killed()
                || matches!(kind.as_str(), "Sandbox.Timedout" | "throttled" | "unavailable")
                    && (running.had_faults() || !was_quiet || !self.net.is_quiet());
            if !is_excused {
                self.violation(format!("{label}: {function} failed without a fault: {kind} {message}"));
            }
        })
    }

    /// Starts the pollers of all mappings, the schedules and the object events.
    pub(crate) fn start(self: &Arc<Self>) {
        for lambda in &self.stack.template().lambdas {
            for mapping in lambda.mappings.iter().filter(|mapping| mapping.enabled) {
                for shard in 0..SHARDS {
                    let poller = Poller {
                        world: Arc::clone(self),
                        function: lambda.name.clone(),
                        mapping: mapping.clone(),
                        shard,
                        label: format!("{}~{}.{shard}", lambda.name, mapping.name),
                    };
                    tokio::spawn(poller.run());
                }
            }
            for schedule in &lambda.schedules {
                tokio::spawn(Arc::clone(self).tick(lambda.name.clone(), schedule.clone()));
            }
        }
        if self.stack.template().lambdas.iter().any(|lambda| !lambda.objects.is_empty()) {
            tokio::spawn(Arc::clone(self).deliver_objects());
        }
        tokio::spawn(Arc::clone(self).expire());
    }

    /// Deletes expired items some time after their expiry, as TTL does.
    async fn expire(self: Arc<Self>) {
        let mut draw = Draw::of(self.net.seed, "ttl");
        loop {
            sleep(Duration::from_secs(draw.between(20, 1_800))).await;
            match self.stack.expire(clock::now()) {
                Ok(0) => {}
                Ok(count) => {
                    self.trace.add("ttl", format!("deletes {count} items"));
                    self.net.wrote.notify_waiters();
                }
                Err(error) => self.violation(format!("TTL failed: {error}")),
            }
        }
    }

    /// Fires a schedule, sometimes late, twice or not at all.
    async fn tick(self: Arc<Self>, function: String, schedule: Schedule) {
        for number in 0_u64.. {
            let now = clock::now();
            let due = next(&schedule.expression, now);
            let Some(due) = due else { return };
            // A jump of the clock can pass several due times.
            while clock::now() < due {
                let left = due.duration_since(clock::now()).unsigned_abs();
                sleep(left.min(Duration::from_mins(1))).await;
            }
            let label = format!("{function}@{number}");
            let mut draw = Draw::of(self.net.seed, &label);
            let (skipped, twice, late) = (draw.happens(30), draw.happens(50), draw.between(0, 3_000));
            if !self.net.is_quiet() && skipped && self.net.rates.batches > 0 {
                self.trace.add(&label, "is not fired");
                continue;
            }
            sleep(Duration::from_millis(late)).await;
            let times = if twice && !self.net.is_quiet() && self.net.rates.batches > 0 { 2 } else { 1 };
            for time in 0..times {
                let world = Arc::clone(&self);
                let (function, label) = (function.clone(), format!("{label}.{time}"));
                let event = InProcess::schedule_event("local-Rule", due);
                tokio::spawn(async move {
                    world.trace.add(&label, format!("fires for {due}"));
                    // EventBridge repeats a failed invocation.
                    for attempt in 0..3 {
                        if world.invoke(&format!("{label}.{attempt}"), &function, event.clone()).await.is_ok() {
                            break;
                        }
                        sleep(Duration::from_secs(20)).await;
                    }
                });
            }
        }
    }

    /// Delivers the events of created objects.
    async fn deliver_objects(self: Arc<Self>) {
        for number in 0_u64.. {
            let wrote = self.net.wrote.notified();
            let events = self.stack.object_events();
            if events.is_empty() {
                wrote.await;
                continue;
            }
            for (index, event) in events.iter().enumerate() {
                for attempt in 0..4 {
                    let label = format!("{}!{number}.{index}.{attempt}", event.function);
                    if self.invoke(&label, &event.function, event.event.clone()).await.is_ok() {
                        break;
                    }
                    sleep(Duration::from_mins(1)).await;
                }
                self.stack.handled(event);
            }
        }
    }

    /// Whether all pollers have delivered all records, and no function is running.
    pub(crate) fn is_idle(&self) -> bool {
        let lambdas = &self.stack.template().lambdas;
        let mappings = lambdas.iter().flat_map(|lambda| lambda.mappings.iter().map(move |mapping| (lambda, mapping)));
        let is_done = |lambda: &str, mapping: &Mapping| {
            (0..SHARDS).all(|shard| {
                let label = format!("{lambda}~{}.{shard}", mapping.name);
                let position = lock(&self.progress).get(&label).copied().unwrap_or_default();
                self.stack.changes(&mapping.table, position, 1).is_ok_and(|rest| rest.is_empty())
            })
        };
        self.busy.load(Ordering::Relaxed) == 0
            && self.stack.object_events().is_empty()
            && mappings.filter(|(_, mapping)| mapping.enabled).all(|(lambda, mapping)| is_done(&lambda.name, mapping))
    }

    /// All changes of a table with their positions. The engine returns at most 1,000 at once.
    pub(crate) fn changes(&self, table: &str) -> Vec<(i64, Value)> {
        let table = self.table(table);
        let mut all = Vec::<(i64, Value)>::new();
        loop {
            let position = all.last().map_or(0, |(position, _)| *position);
            let page = self.stack.changes(&table, position, usize::MAX).unwrap_or_default();
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    pub(crate) fn dump(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for table in &self.stack.template().tables {
            for mut item in self.stack.items(&table.name).unwrap_or_default() {
                // The entity tag of an imported object has the time of its file.
                remove_tags(&mut item);
                rows.push(format!("{} {item}", table.name));
            }
        }
        rows
    }
}

/// The next due time of a schedule after `now`. `None` if the expression is unknown.
fn next(expression: &str, now: Timestamp) -> Option<Timestamp> {
    let every = |seconds: i64| Timestamp::from_second((now.as_second() / seconds + 1) * seconds).ok();
    let inner = |prefix: &str| expression.strip_prefix(prefix)?.strip_suffix(')');
    if let Some(rate) = inner("rate(") {
        let (count, unit) = rate.split_once(' ')?;
        let seconds = if unit.starts_with("minute") { 60 } else { 3_600 };
        return every(count.parse::<i64>().ok()? * seconds);
    }
    let fields: Vec<_> = inner("cron(")?.split(' ').collect();
    if let Some(minutes) = fields[0].strip_prefix("0/") {
        return every(minutes.parse::<i64>().ok()? * 60);
    }
    let (minute, hour): (i8, i8) = (fields[0].parse().ok()?, fields[1].parse().ok()?);
    let today = now.to_zoned(TimeZone::UTC);
    let due = today.date().at(hour, minute, 0, 0).to_zoned(TimeZone::UTC).ok()?;
    let due = if due.timestamp() > now { due } else { due.checked_add(jiff::Span::new().days(1)).ok()? };
    Some(due.timestamp())
}

/// Removes the attributes `Tag` at any depth.
fn remove_tags(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.remove("Tag");
            members.values_mut().for_each(remove_tags);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_tags),
        _ => {}
    }
}

fn reply(answer: &Value) -> Reply {
    let body = answer["body"].as_str().unwrap_or_default();
    let parsed = if body.is_empty() { Value::Null } else { serde_json::from_str(body).unwrap_or_else(|_| body.into()) };
    Reply { status: answer["statusCode"].as_u64().unwrap_or(200), body: parsed, headers: answer["headers"].clone() }
}

fn short(body: &Value) -> String {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    text.chars().take(400).collect()
}

struct Poller {
    world: Arc<World>,
    function: String,
    mapping: Mapping,
    shard: u64,
    label: String,
}

impl Poller {
    async fn run(self) {
        let mut position = 0;
        for number in 0_u64.. {
            let wrote = self.world.net.wrote.notified();
            let mut draw = Draw::of(self.world.net.seed, &format!("{} {number}", self.label));
            let most = self.mapping.batch_size.min(usize::try_from(draw.between(1, 40)).unwrap_or(1));
            let read = self.world.stack.changes(&self.mapping.table, position, most).unwrap_or_default();
            let Some(end) = read.last().map(|(position, _)| *position) else {
                lock(&self.world.progress).insert(self.label.clone(), position);
                wrote.await;
                sleep(Duration::from_millis(draw.between(5, 250) * self.world.net.rates.delay())).await;
                continue;
            };
            let wanted = read.into_iter().map(|(_, record)| record);
            let wanted = wanted.filter(|record| self.is_own(record) && InProcess::wants(&self.mapping, record));
            let mut batch: Vec<Value> = wanted.collect();
            let time = clock::now().as_second();
            for record in &mut batch {
                record["dynamodb"]["ApproximateCreationDateTime"] = time.into();
            }
            if !batch.is_empty() {
                let label = format!("{}#{number}", self.label);
                let again = format!("{label}.again");
                self.reorder(&mut batch, &mut draw);
                let repeats = self.world.net.strikes(&format!("{label}/repeat"), self.world.net.rates.batches);
                if repeats && draw.happens(500) {
                    futures::join!(self.deliver(&label, batch.clone()), self.deliver(&again, batch));
                } else {
                    self.deliver(&label, batch.clone()).await;
                    if repeats {
                        self.deliver(&again, batch).await;
                    }
                }
            }
            position = end;
            lock(&self.world.progress).insert(self.label.clone(), position);
        }
    }

    fn is_own(&self, record: &Value) -> bool {
        let key = record["dynamodb"]["Keys"]["PK"]["S"].as_str().unwrap_or_default();
        key.bytes().map(u64::from).sum::<u64>() % SHARDS == self.shard
    }

    /// Changes the order of records of different items.
    fn reorder(&self, batch: &mut [Value], draw: &mut Draw) {
        if self.world.net.is_quiet() || self.world.net.rates.batches == 0 {
            return;
        }
        for _ in 0..batch.len() {
            let at = draw.index(batch.len());
            if at > 0 && batch[at]["dynamodb"]["Keys"] != batch[at - 1]["dynamodb"]["Keys"] {
                batch.swap(at, at - 1);
            }
        }
    }

    /// Delivers the batch until each record succeeds.
    async fn deliver(&self, label: &str, batch: Vec<Value>) {
        let mut parts = vec![batch];
        for attempt in 0_u32..100 {
            let Some(part) = parts.pop() else { return };
            let label = format!("{label}.{attempt}");
            let shown: Vec<_> = part.iter().map(shown).collect();
            self.world.trace.add(&label, format!("{} receives {}", self.function, shown.join(", ")));
            let answer = self.world.invoke(&label, &self.function, json!({"Records": part})).await;
            match answer {
                Ok(answer) if self.mapping.reports_failures => match InProcess::failed_from(&answer, &part) {
                    None => continue,
                    Some(first) => parts.push(part[first..].to_vec()),
                },
                Ok(_) => continue,
                Err(()) if self.mapping.bisects && part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second.to_vec(), first.to_vec()]);
                }
                Err(()) => parts.push(part),
            }
            sleep(Duration::from_millis(200 * u64::from(attempt.min(50) + 1))).await;
        }
        if !parts.is_empty() {
            self.world.violation(format!("{label}: {} gave up a batch of the stream", self.function));
        }
    }
}

fn shown(record: &Value) -> String {
    let key = |name: &str| record["dynamodb"]["Keys"][name]["S"].as_str().unwrap_or_default();
    format!("{} {}|{}", record["eventName"].as_str().unwrap_or_default(), key("PK"), key("SK"))
}
