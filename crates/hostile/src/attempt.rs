//! One attempt of a call, with its faults.
use std::{sync::Arc, time::Duration};

use aws_smithy_runtime_api::client::{
    http::{HttpConnector, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use fastrand::Rng;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{
    Hostile, answers,
    conflicts::{Conflict, Held},
    dice::{happens, time},
    invocation::{Run, note},
    partitions::{Place, Position, Use},
    request::{Call, Kind, Target},
};
use engine::store::Change;

const SLOW: Duration = Duration::from_secs(1);
/// Maximum delay of a call whose connection is broken.
const LATE: Duration = Duration::from_secs(5);
/// Maximum time that a transaction takes longer, before and after its effect. Two transactions of
/// the same item therefore overlap, as on AWS.
const TWO_PHASES: Duration = Duration::from_millis(20);
/// Maximum time between the deadline of a frozen invocation and its continuation.
const THAW: Duration = Duration::from_secs(2);
/// Maximum number of items in a short page.
const SHORT: i64 = 8;

type Answer = Result<HttpResponse, ConnectorError>;

/// Moment of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    Before,
    After,
}

/// The random decisions about an attempt. All of them are drawn at the start, so that a decision
/// does not depend on the others.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each fault happens or not, independently of the others")]
struct Fate {
    kill: Option<Moment>,
    freeze: Option<Moment>,
    slow: bool,
    stuck: Option<Moment>,
    lost_before: bool,
    late: bool,
    error: Option<Moment>,
    throttle: bool,
    conflict: bool,
    unprocessed: bool,
    short_page: bool,
    partial_put: bool,
    stale: bool,
    lost_after: bool,
}

impl Fate {
    fn draw(rng: &mut Rng, rates: &super::Rates) -> Self {
        let moment = |rng: &mut Rng, rate| {
            let moment = if rng.bool() { Moment::Before } else { Moment::After };
            happens(rng, rate).then_some(moment)
        };
        Self {
            kill: moment(rng, rates.kill),
            freeze: moment(rng, rates.freeze),
            slow: happens(rng, rates.slow),
            stuck: moment(rng, rates.stuck),
            lost_before: happens(rng, rates.lost_before),
            late: happens(rng, rates.late),
            error: moment(rng, rates.error),
            throttle: happens(rng, rates.throttle),
            conflict: happens(rng, rates.conflict),
            unprocessed: happens(rng, rates.unprocessed),
            short_page: happens(rng, rates.short_page),
            partial_put: happens(rng, rates.partial_put),
            stale: happens(rng, rates.stale),
            lost_after: happens(rng, rates.lost_after),
        }
    }
}

pub(super) struct Attempt {
    hostile: Arc<Hostile>,
    inner: SharedHttpConnector,
    call: Call,
    rng: Rng,
    fate: Fate,
}

impl Attempt {
    pub(super) fn new(hostile: Arc<Hostile>, inner: SharedHttpConnector, call: Call) -> Self {
        let mut rng = hostile.dice.next(&call.place);
        let fate = Fate::draw(&mut rng, &hostile.rates());
        Self { hostile, inner, call, rng, fate }
    }

    /// Sends the call.
    pub(super) async fn run(mut self, request: HttpRequest) -> Answer {
        self.interrupt(Moment::Before).await;
        if self.fate.slow {
            let pause = time(&mut self.rng, SLOW);
            self.note("slow", format!("{} ms", pause.as_millis()));
            sleep(pause).await;
        }
        if let Some(moment) = self.fate.stuck {
            self.note("stuck", if moment == Moment::After { "after the effect" } else { "before the effect" });
            if moment == Moment::After {
                // The response is never delivered, whatever it is.
                let _ = self.take_effect(request).await;
            }
            return std::future::pending().await;
        }
        if self.fate.lost_before {
            self.note("lost-before", "");
            return Err(answers::lost());
        }
        if self.fate.late
            && let Some(copy) = request.try_clone()
        {
            return Err(self.send_late(copy));
        }
        if self.fate.error == Some(Moment::Before) {
            self.note("error", "before the effect");
            return Ok(answers::error(&self.call, &mut self.rng));
        }
        let answer = self.take_effect(request).await;
        self.interrupt(Moment::After).await;
        if self.fate.error == Some(Moment::After) {
            self.note("error", "after the effect");
            return Ok(answers::error(&self.call, &mut self.rng));
        }
        if self.fate.lost_after {
            self.note("lost-after", "");
            return Err(answers::lost());
        }
        answer
    }

    fn note(&self, fault: &'static str, detail: impl Into<String>) {
        note(self.hostile.record(fault, &format!("{} {}", self.call.action, self.call.place), detail));
    }

    /// Kills or freezes the execution environment.
    async fn interrupt(&mut self, moment: Moment) {
        let Some(run) = Run::current() else { return };
        let name = if moment == Moment::Before { "before the call" } else { "after the call" };
        if self.fate.kill == Some(moment) {
            self.note("kill", name);
            run.kill().await;
        }
        if self.fate.freeze == Some(moment) {
            self.note("freeze", name);
            let longer = time(&mut self.rng, THAW);
            run.freeze(longer).await;
        }
    }

    /// Lets the call take effect later, and returns the error of a broken connection.
    fn send_late(mut self, request: HttpRequest) -> ConnectorError {
        let delay = time(&mut self.rng, LATE);
        self.note("late", format!("takes effect after {} ms", delay.as_millis()));
        tokio::spawn(async move {
            sleep(delay).await;
            // The caller no longer listens.
            let _ = self.take_effect(request).await;
        });
        answers::lost()
    }

    /// Executes the call, unless it is throttled or conflicts with another one.
    async fn take_effect(&mut self, request: HttpRequest) -> Answer {
        match self.call.kind {
            Kind::Batch => return self.put_part(request).await,
            Kind::Service | Kind::Other => return self.inner.call(request).await,
            _ => {}
        }
        let targets = self.call.targets(&self.hostile.schemas);
        if let Some(refusal) = self.refuse(&targets) {
            return Ok(refusal);
        }
        let held = match self.start(&targets) {
            Ok(held) => held,
            Err(Conflict::SameToken) => {
                self.note("overlap", "the transaction is in progress");
                return Ok(answers::in_progress());
            }
            Err(Conflict::Items(hit)) if self.call.kind == Kind::BatchWrite => {
                self.note("overlap", "items of the batch are part of a transaction");
                return self.send_part(request, &hit.iter().map(|hit| !hit).collect::<Vec<_>>()).await;
            }
            Err(Conflict::Items(hit)) => {
                self.note("overlap", "an item is part of a transaction in progress");
                return Ok(answers::conflict(&self.call, &hit));
            }
        };
        let is_long = self.call.kind == Kind::TransactWrite && held.is_some();
        self.pause_if(is_long).await;
        let answer = self.execute(request, targets.len()).await;
        self.pause_if(is_long).await;
        drop(held);
        answer
    }

    fn start(&self, targets: &[Target]) -> Result<Option<Held>, Conflict> {
        if self.hostile.rates().overlap <= 0.0 {
            return Ok(None);
        }
        self.hostile.progress.start(&self.call, targets.to_vec()).map(Some)
    }

    async fn pause_if(&mut self, is_long: bool) {
        if is_long {
            let pause = time(&mut self.rng, TWO_PHASES);
            sleep(pause).await;
        }
    }

    /// Returns the response to a call that is throttled, or that conflicts with a call of another
    /// system.
    fn refuse(&mut self, targets: &[Target]) -> Option<HttpResponse> {
        let one = |rng: &mut Rng| {
            let hit = rng.usize(..targets.len().max(1));
            (0..targets.len()).map(|number| number == hit).collect::<Vec<_>>()
        };
        let can_conflict = matches!(self.call.kind, Kind::Write | Kind::TransactWrite | Kind::TransactGet);
        if self.fate.conflict && can_conflict && !self.hostile.progress.is_done(&self.call) {
            self.note("conflict", "");
            return Some(answers::conflict(&self.call, &one(&mut self.rng)));
        }
        if self.fate.throttle {
            self.note("throttle", "");
            let hit = one(&mut self.rng);
            return Some(answers::throttled(&self.call, &hit, &mut self.rng));
        }
        let hit = self.exhausted(targets);
        if hit.contains(&true) {
            self.note("partition", "a partition has no capacity");
            return Some(answers::throttled(&self.call, &hit, &mut self.rng));
        }
        None
    }

    /// Returns the items whose partitions have no capacity. The partitions of the indexes count for
    /// writes.
    fn exhausted(&self, targets: &[Target]) -> Vec<bool> {
        let hostile = &self.hostile;
        if hostile.rates().partition <= 0.0 {
            return Vec::new();
        }
        let (now, mut partitions) = (Instant::now(), hostile.partitions());
        if !self.call.is_write() {
            let read = self.positions(targets).into_iter();
            return read.map(|(place, position)| !partitions.admits(&place, &position, Use::Read, now)).collect();
        }
        let mut is_exhausted = |target: &Target, number| {
            let mut admits = |place: &Place, image: &Value| {
                let schema = hostile.schemas.get(&place.0);
                let position = schema.and_then(|schema| schema.position(image, place.1.as_deref()));
                position.is_none_or(|position| partitions.admits(place, &Position::new(position), Use::Write, now))
            };
            let Ok(key) = serde_json::from_str::<Value>(&target.key) else { return false };
            if !admits(&(target.table.clone(), None), &key) {
                return true;
            }
            let Some(schema) = hostile.schemas.get(&target.table).filter(|schema| !schema.indexes.is_empty()) else {
                return false;
            };
            let image = self.call.new_item(number).or_else(|| hostile.replica.as_ref()?.current(&target.table, &key));
            let Some(image) = image else { return false };
            schema.indexes.keys().any(|index| !admits(&(target.table.clone(), Some(index.clone())), &image))
        };
        targets.iter().enumerate().map(|(number, target)| is_exhausted(target, number)).collect()
    }

    /// The positions that a call reads.
    fn positions(&self, targets: &[Target]) -> Vec<(Place, Position)> {
        let call = &self.call;
        if let Some(partition) = call.partition() {
            let place = (call.place.clone(), call.index().map(str::to_owned));
            return vec![(place, Position::new((partition, String::new())))];
        }
        let of = |target: &Target| {
            let key = serde_json::from_str(&target.key).ok()?;
            let position = self.hostile.schemas.get(&target.table)?.position(&key, None)?;
            Some(((target.table.clone(), None), Position::new(position)))
        };
        targets.iter().filter_map(of).collect()
    }

    /// Executes the call by the service or by a replica.
    async fn execute(&mut self, mut request: HttpRequest, size: usize) -> Answer {
        if self.fate.unprocessed && size > 1 && matches!(self.call.kind, Kind::BatchGet | Kind::BatchWrite) {
            let first = self.rng.usize(..size);
            let is_sent: Vec<bool> = (0..size).map(|number| number == first || self.rng.bool()).collect();
            if is_sent.contains(&false) {
                self.note("unprocessed", format!("{} of {size}", is_sent.iter().filter(|sent| !**sent).count()));
                return self.send_part(request, &is_sent).await;
            }
        }
        if self.fate.short_page && self.call.kind == Kind::Pages {
            self.shorten(&mut request);
        }
        self.send(request).await
    }

    /// Lowers the limit of a query or a scan.
    fn shorten(&mut self, request: &mut HttpRequest) {
        let limit = self.call.body["Limit"].as_i64();
        let short = self.rng.i64(1..=SHORT);
        if limit.is_none_or(|limit| short < limit) {
            self.note("short-page", format!("at most {short} items"));
            self.call.body["Limit"] = json!(short);
            answers::set_body(request, &self.call.body);
        }
    }

    async fn send(&mut self, request: HttpRequest) -> Answer {
        let hostile = Arc::clone(&self.hostile);
        let is_index = self.call.index().is_some();
        if let Some(replica) = &hostile.replica
            && self.call.is_eventual()
            && (is_index || self.fate.stale)
        {
            replica_reads_all(&hostile);
            if let Some(reply) = replica.read(&self.call) {
                if reply.is_old {
                    self.note(if is_index { "lag" } else { "stale" }, "an older state");
                }
                self.charge(&reply.body, &[]);
                return Ok(answers::response(reply.status, reply.body));
            }
        }
        let (response, body) = answers::read(self.inner.call(request).await?).await?;
        let changes = if self.call.is_write() { replica_reads_all(&hostile) } else { Vec::new() };
        if response.status().as_u16() == StatusCode::OK.as_u16() {
            self.hostile.progress.done(&self.call);
            self.charge(&String::from_utf8_lossy(&body), &changes);
        }
        Ok(response)
    }

    /// Sends a part of a batch, and returns the others as unprocessed.
    async fn send_part(&mut self, mut request: HttpRequest, is_sent: &[bool]) -> Answer {
        let is_read = self.call.kind == Kind::BatchGet;
        let tables = self.call.body["RequestItems"].clone();
        let (sent, left) = answers::split(&tables, |number| is_sent.get(number).copied().unwrap_or_default());
        let mut response = answers::response(StatusCode::OK, "{}");
        if !sent.is_empty() {
            self.call.body["RequestItems"] = sent.into();
            answers::set_body(&mut request, &self.call.body);
            response = self.send(request).await?;
        }
        if response.status().as_u16() != StatusCode::OK.as_u16() {
            return Ok(response);
        }
        let (mut response, body) = answers::read(response).await?;
        let mut answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        answers::add_unprocessed(&mut answer, if is_read { "UnprocessedKeys" } else { "UnprocessedItems" }, left);
        answers::with_body(&mut response, &answer);
        Ok(response)
    }

    /// Puts the records, or only a part of them.
    async fn put_part(&mut self, mut request: HttpRequest) -> Answer {
        if self.fate.throttle {
            self.note("throttle", "");
            return Ok(answers::error(&self.call, &mut self.rng));
        }
        let [member, count, results] = match &*self.call.action {
            "PutEvents" => ["Entries", "FailedEntryCount", "Entries"],
            _ => ["Records", "FailedPutCount", "RequestResponses"],
        };
        let records = self.call.body[member].as_array().cloned().unwrap_or_default();
        let is_sent: Vec<bool> = records.iter().map(|_| !self.fate.partial_put || self.rng.bool()).collect();
        if !is_sent.contains(&false) {
            return self.inner.call(request).await;
        }
        let failed = is_sent.iter().filter(|sent| !**sent).count();
        self.note("partial-put", format!("{failed} of {}", records.len()));
        let sent: Vec<Value> =
            records.into_iter().zip(&is_sent).filter(|(_, sent)| **sent).map(|(one, _)| one).collect();
        let mut done = Vec::new();
        if !sent.is_empty() {
            self.call.body[member] = sent.into();
            answers::set_body(&mut request, &self.call.body);
            let (response, body) = answers::read(self.inner.call(request).await?).await?;
            if response.status().as_u16() != StatusCode::OK.as_u16() {
                return Ok(response);
            }
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            done = answer[results].as_array().cloned().unwrap_or_default();
        }
        let mut done = done.into_iter();
        let failure = json!({"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."});
        let each = is_sent.iter().map(|sent| if *sent { done.next().unwrap_or_default() } else { failure.clone() });
        let answer = json!({count: failed, "Encrypted": false, results: each.collect::<Vec<_>>()});
        Ok(answers::response(StatusCode::OK, answer.to_string()))
    }

    /// Counts the consumed units of the call in the partitions.
    fn charge(&self, body: &str, changes: &[Change]) {
        if self.hostile.rates().partition <= 0.0 {
            return;
        }
        let answer: Value = serde_json::from_str(body).unwrap_or_default();
        let all = match &answer["ConsumedCapacity"] {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        for capacity in all {
            let Some(table) = capacity["TableName"].as_str() else {
                // The caller did not ask for the consumed units.
                self.charge_place(&(self.call.place.clone(), self.call.index().map(str::to_owned)), 1.0, changes);
                continue;
            };
            let own = capacity["Table"]["CapacityUnits"].as_f64();
            let mut units: Vec<(Option<String>, f64)> =
                vec![(None, own.or_else(|| capacity["CapacityUnits"].as_f64()).unwrap_or_default())];
            for (index, used) in capacity["GlobalSecondaryIndexes"].as_object().into_iter().flatten() {
                units.push((Some(index.clone()), used["CapacityUnits"].as_f64().unwrap_or_default()));
            }
            for (index, units) in units.into_iter().filter(|(_, units)| *units > 0.0) {
                self.charge_place(&(table.to_owned(), index), units, changes);
            }
        }
    }

    /// Divides units of a table or an index among the items of the call.
    fn charge_place(&self, place: &Place, units: f64, changes: &[Change]) {
        let (hostile, now) = (&self.hostile, Instant::now());
        let kind = if self.call.is_write() { Use::Write } else { Use::Read };
        let targets = self.call.targets(&hostile.schemas);
        let positions: Vec<Position> = if kind == Use::Write && place.1.is_some() {
            let Some(schema) = hostile.schemas.get(&place.0) else { return };
            let position = |image: &Value| schema.position(image, place.1.as_deref()).map(Position::new);
            let own = changes.iter().filter(|change| change.table == place.0);
            own.filter_map(|change| change.new.as_ref().or(change.old.as_ref())).filter_map(position).collect()
        } else {
            let read = self.positions(&targets).into_iter();
            read.filter(|(of, _)| of == place).map(|(_, position)| position).collect()
        };
        let share = units / f64::from(u32::try_from(positions.len().max(1)).unwrap_or(u32::MAX));
        let mut partitions = hostile.partitions();
        for position in positions {
            partitions.charge(place, position, kind, share, now);
        }
    }
}

/// Lets the replicas see all changes so far.
fn replica_reads_all(hostile: &Hostile) -> Vec<Change> {
    let observed =
        hostile.replica.as_ref().map(|replica| replica.observe(&hostile.rates(), &hostile.dice, &hostile.schemas));
    observed.unwrap_or_default()
}
