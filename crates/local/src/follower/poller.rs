//! Poller of one mapping. The poller delivers one batch at a time, in stream order.
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::join;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::spawn_blocking,
    time::{Instant, sleep},
};
use uuid::Uuid;

use super::{
    Context,
    batch::{Batch, Record},
    destination::{Condition, GivenUp, key},
    verdict::{self, Verdict},
};
use crate::{
    hostile::{Batches, Injected, Notes, Shard, noting},
    lambda::{Failure, Lambda},
    store::Position,
    template::{ACCOUNT, Mapping, REGION},
};

/// First interval between reads. The interval doubles after each empty read.
const FIRST_POLL: Duration = Duration::from_millis(10);
const LONGEST_POLL: Duration = Duration::from_millis(40);
/// Maximum number of records per read.
const MAX_READ: usize = 1000;
// Shortest and longest pause between retries. AWS waits up to a minute, which would be too slow for
// local work.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const SHARD: &str = "shardId-00000001";

type Stopped = watch::Receiver<bool>;

/// Poller of a mapping, with its progress in the stream.
pub(crate) struct EventSourcePoller {
    name: String,
    id: Uuid,
    lambda: Arc<Lambda>,
    mapping: Mapping,
    context: Context,
    progress: Mutex<Progress>,
    shard: Shard,
    /// Faults of the batches.
    faults: Option<Batches>,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    position: Position,
    delivered: u64,
    filtered: u64,
    given_up: u64,
    failed_batches: u64,
    retries: u64,
}

impl EventSourcePoller {
    pub(crate) fn new(
        name: String,
        position: Position,
        lambda: Arc<Lambda>,
        mapping: Mapping,
        context: Context,
    ) -> Self {
        let progress = Mutex::new(Progress { position, ..Progress::default() });
        Self { name, id: Uuid::new_v4(), lambda, mapping, context, progress, shard: Shard::WHOLE, faults: None }
    }

    /// Reads only a part of the stream, with faults.
    pub(super) fn of_shard(self, shard: Shard, faults: Batches) -> Self {
        Self { shard, faults: Some(faults), ..self }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.mapping.enabled
    }

    /// Delivers batches until the poller is stopped.
    pub(crate) async fn follow(self: Arc<Self>, mut stopped: Stopped) {
        while let Some(batch) = self.gather(&mut stopped).await {
            self.deliver(batch, &mut stopped).await;
            if *stopped.borrow() {
                break;
            }
        }
    }

    pub(crate) fn report(&self) -> Result<Value, String> {
        let progress = self.progress().clone();
        let pending = self.context.store.count_after(&self.mapping.table, progress.position)?;
        Ok(json!({
            "function": self.lambda.spec.name,
            "name": self.mapping.name,
            "table": self.mapping.table,
            "enabled": self.mapping.enabled,
            "pending": pending,
            "delivered": progress.delivered,
            "filtered": progress.filtered,
            "failedBatches": progress.failed_batches,
            "retries": progress.retries,
            "givenUp": progress.given_up,
        }))
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Collects the next batch, until it is full or its batching window ends. Returns `None` if the
    /// poller is stopped.
    async fn gather(&self, stopped: &mut Stopped) -> Option<Batch> {
        let mut batch = Batch::after(self.progress().position);
        let (mut window, mut poll) = (None, FIRST_POLL);
        loop {
            let limit = (self.mapping.batch_size - batch.records.len()).min(MAX_READ);
            let records = self.read(batch.end, limit).await;
            let is_last = records.len() < limit;
            if !self.fill(&mut batch, records) || batch.records.len() == self.mapping.batch_size {
                return Some(batch);
            }
            if batch.records.is_empty() && batch.end > self.progress().position {
                self.pass(&batch);
                batch = Batch::after(batch.end);
            }
            if !batch.records.is_empty() {
                let ends = *window.get_or_insert_with(|| Instant::now() + self.mapping.window);
                // Without a batching window, a batch contains only records that are already in the
                // stream.
                if Instant::now() >= ends && (is_last || !self.mapping.window.is_zero()) {
                    return Some(batch);
                }
            }
            if is_last {
                pause(poll, stopped).await.ok()?;
                poll = (poll * 2).min(LONGEST_POLL);
            }
        }
    }

    async fn read(&self, after: Position, limit: usize) -> Vec<Value> {
        let (store, table) = (self.context.store.clone(), self.mapping.table.clone());
        let read = spawn_blocking(move || store.changes(&table, after, limit)).await;
        read.unwrap_or_else(|error| Err(error.to_string())).unwrap_or_else(|error| {
            tracing::error!(mapping = self.name, error, "the stream can't be read");
            Vec::new()
        })
    }

    /// Adds the records that match the filters to the batch. Returns `false` if a record did not
    /// fit into the batch.
    fn fill(&self, batch: &mut Batch, records: Vec<Value>) -> bool {
        for record in records.into_iter().filter_map(Record::of) {
            if !self.shard.has(&record.value) {
                batch.end = record.position;
            } else if !self.mapping.wants(&record.value) {
                batch.filtered += 1;
                batch.end = record.position;
            } else if !batch.take(record) {
                return false;
            }
        }
        true
    }

    /// Delivers the batch, as a whole or in parts, until each record is delivered or discarded.
    async fn deliver(&self, batch: Batch, stopped: &mut Stopped) {
        let (end, filtered) = (batch.end, batch.filtered);
        let mut parts = vec![batch];
        while let Some(mut part) = parts.pop() {
            self.give_up_old(&mut part);
            if part.records.is_empty() {
                continue;
            }
            let verdict = self.invoke(&part).await;
            let done = match verdict {
                Verdict::Done => part.records.len(),
                Verdict::From(index) => index,
                Verdict::Failed => 0,
            };
            if done > 0 {
                self.delivered(&part.cut(done));
            }
            if verdict == Verdict::Done {
                continue;
            }
            parts.extend(self.after_failure(part, verdict));
            let retries = parts.last().map_or(0, |part| part.retries);
            if !parts.is_empty() && pause(pause_before(retries), stopped).await.is_err() {
                return;
            }
        }
        self.pass(&Batch { filtered, ..Batch::after(end) });
    }

    async fn invoke(&self, batch: &Batch) -> Verdict {
        let Some(faults) = &self.faults else { return self.invoke_once(batch, Vec::new()).await };
        let fate = faults.next(&batch.event());
        let mut injected = Vec::from_iter(fate.twice.clone());
        if let Some((delay, late)) = fate.delay {
            sleep(delay).await;
            injected.push(late);
        }
        let first = self.invoke_once(batch, injected.clone());
        let verdict = match fate.twice {
            Some(_) => join(first, self.invoke_once(batch, injected)).await.0,
            None => first.await,
        };
        if let (Verdict::Done, Some((events, again))) = (verdict, fate.again) {
            for event in events {
                noting(Notes::new(Mutex::new(vec![again.clone()])), self.lambda.invoke(event)).await;
            }
        }
        verdict
    }

    async fn invoke_once(&self, batch: &Batch, faults: Vec<Injected>) -> Verdict {
        let invoked = noting(Notes::new(Mutex::new(faults)), self.lambda.invoke(batch.event())).await;
        match invoked.answer {
            Ok(answer) if self.mapping.reports_failures => verdict::read(&answer, &batch.records),
            Ok(_) => Verdict::Done,
            Err(Failure { kind, message }) => {
                tracing::debug!(mapping = self.name, kind, message, "a function failed for a batch");
                Verdict::Failed
            }
        }
    }

    /// Returns the batches to deliver next, in reverse order. Empty if the batch was discarded.
    fn after_failure(&self, mut part: Batch, verdict: Verdict) -> Vec<Batch> {
        self.progress().failed_batches += 1;
        let next = match verdict {
            Verdict::Failed if self.mapping.bisects && part.records.len() > 1 => {
                let [first, second] = part.halves();
                vec![second, first]
            }
            // Some records succeeded. The remaining records form a new batch.
            Verdict::From(index) if index > 0 => vec![part],
            _ if self.mapping.retries.is_some_and(|most| part.retries >= most) => {
                self.give_up(&part, Condition::RetryAttemptsExhausted, verdict == Verdict::Failed);
                return Vec::new();
            }
            _ => {
                part.retries += 1;
                vec![part]
            }
        };
        self.progress().retries += 1;
        next
    }

    /// Discards the first records if they exceed the maximum age. Later records are younger.
    fn give_up_old(&self, part: &mut Batch) {
        let Some(age) = self.mapping.record_age else { return };
        let (now, retries) = (Timestamp::now(), part.retries);
        let old = part.records.iter().take_while(|record| record.is_older_than(age, now)).count();
        if old > 0 {
            let records = part.cut(old);
            let end = records.last().map_or(part.end, |record| record.position);
            let given_up = Batch { records, retries, ..Batch::after(end) };
            self.give_up(&given_up, Condition::RecordAgeExceeded, retries > 0);
            part.retries = retries;
        }
    }

    fn give_up(&self, batch: &Batch, condition: Condition, function_error: bool) {
        let now = Timestamp::now();
        if let Some(bucket) = &self.mapping.failure_bucket {
            let name = &self.lambda.spec.name;
            let given_up = GivenUp {
                batch,
                condition,
                function_error,
                function_arn: &format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"),
                stream_arn: &crate::template::stream_arn(&self.mapping.table),
                shard: SHARD,
            };
            let document = given_up.document(now).to_string();
            let put = self.context.lake.put(bucket, &key(self.id, SHARD, now), document.as_bytes());
            if let Err(error) = put {
                tracing::error!(
                    mapping = self.name,
                    ?error,
                    "a discarded batch can't be written to the failure destination"
                );
            }
        }
        tracing::warn!(mapping = self.name, records = batch.records.len(), ?condition, "a batch was discarded");
        let mut progress = self.progress();
        progress.given_up += count(&batch.records);
        self.move_to(&mut progress, batch.records.last().map(|record| record.position));
    }

    fn delivered(&self, records: &[Record]) {
        let mut progress = self.progress();
        progress.delivered += count(records);
        self.move_to(&mut progress, records.last().map(|record| record.position));
    }

    /// Moves the checkpoint to the end of a finished batch.
    fn pass(&self, batch: &Batch) {
        let mut progress = self.progress();
        progress.filtered += batch.filtered;
        self.move_to(&mut progress, Some(batch.end));
    }

    fn move_to(&self, progress: &mut Progress, position: Option<Position>) {
        let Some(position) = position.filter(|position| *position > progress.position) else { return };
        progress.position = position;
        if let Err(error) = self.context.positions.set(&self.name, position) {
            tracing::error!(mapping = self.name, %error, "the checkpoint can't be stored");
        }
    }
}

fn count(records: &[Record]) -> u64 {
    u64::try_from(records.len()).unwrap_or(u64::MAX)
}

fn pause_before(retries: u32) -> Duration {
    if retries == 0 { Duration::ZERO } else { (FIRST_PAUSE * 2_u32.pow((retries - 1).min(8))).min(LONGEST_PAUSE) }
}

/// Sleeps for `time`. Returns an error if the poller is stopped in the meantime.
async fn pause(time: Duration, stopped: &mut Stopped) -> Result<(), ()> {
    if *stopped.borrow() {
        return Err(());
    }
    tokio::select! {
        () = sleep(time) => Ok(()),
        _ = stopped.changed() => Err(()),
    }
}
