//! Poller of one mapping. The poller has as many lanes as the mapping's `ParallelizationFactor`.
//! Each lane delivers one batch at a time.
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::join;
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::{JoinError, JoinSet, spawn_blocking},
    time::sleep,
};
use uuid::Uuid;

use super::{
    Context,
    batch::{Batch, Record},
    destination::{Condition, GivenUp, key},
    queue::{Queue, Waiting},
    verdict::{self, Verdict},
};
use crate::lambda::Lambda;
use console::Failure;
use engine::store::Position;
use hostile::{Batches, Injected, Notes, Shard, noting};
use template::{ACCOUNT, Mapping, REGION};

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
    /// Name of the table's partition key.
    partition_key: String,
    /// Faults of the batches.
    faults: Option<Batches>,
}

#[derive(Debug, Clone, Default)]
struct Progress {
    /// The checkpoint. No record before it is in the queue or in a lane.
    position: Position,
    /// Position of the last record that was read.
    read_to: Position,
    /// Positions of the records in the queue and in the lanes.
    open: BTreeSet<Position>,
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
        let progress = Mutex::new(Progress { position, read_to: position, ..Progress::default() });
        let partition_key = context.store.partition_key(&mapping.table);
        let (id, shard, faults) = (Uuid::new_v4(), Shard::WHOLE, None);
        Self { name, id, lambda, mapping, context, progress, shard, partition_key, faults }
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
        let (mut queue, mut lanes, mut poll) = (Queue::default(), JoinSet::new(), FIRST_POLL);
        while !*stopped.borrow() {
            while let Some(ended) = lanes.try_join_next() {
                self.end_lane(&mut queue, ended);
            }
            let is_last = self.fill(&mut queue).await;
            while let free @ 1.. = self.mapping.lanes - lanes.len()
                && let Some((keys, batch)) = queue.take(free, &self.mapping)
            {
                lanes.spawn(Arc::clone(&self).run_lane(keys, batch, stopped.clone()));
                poll = FIRST_POLL;
            }
            if !is_last {
                continue;
            }
            tokio::select! {
                Some(ended) = lanes.join_next() => self.end_lane(&mut queue, ended),
                () = sleep(poll) => poll = (poll * 2).min(LONGEST_POLL),
                changed = stopped.changed() => if changed.is_err() { break },
            }
        }
        while lanes.join_next().await.is_some() {}
    }

    fn end_lane(&self, queue: &mut Queue, ended: Result<Vec<String>, JoinError>) {
        match ended {
            Ok(keys) => queue.delivered(keys),
            // The records remain open, and the next start delivers them.
            Err(error) => tracing::error!(mapping = self.name, %error, "the delivery of a batch failed"),
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

    /// Reads the next records into the queue. Returns whether the queue now has all records.
    async fn fill(&self, queue: &mut Queue) -> bool {
        if queue.is_full() {
            return true;
        }
        let after = self.progress().read_to;
        let records = self.read(after, MAX_READ).await;
        let is_last = records.len() < MAX_READ;
        let mut progress = self.progress();
        for record in records.into_iter().filter_map(Record::of) {
            progress.read_to = record.position;
            if !self.shard.has(&record.value) {
                continue;
            }
            if self.mapping.wants(&record.value) {
                progress.open.insert(record.position);
                queue.push(self.key_of(&record), record);
            } else {
                progress.filtered += 1;
            }
        }
        self.move_on(&mut progress);
        is_last
    }

    /// The partition key of a record. A single lane delivers all records in the order of the
    /// stream, as if they had the same key.
    fn key_of(&self, record: &Record) -> String {
        if self.mapping.lanes == 1 {
            return String::new();
        }
        record.value["dynamodb"]["Keys"][&self.partition_key].to_string()
    }

    async fn read(&self, after: Position, limit: usize) -> Vec<Value> {
        let (store, table) = (self.context.store.clone(), self.mapping.table.clone());
        let read = spawn_blocking(move || store.changes(&table, after, limit)).await;
        read.unwrap_or_else(|error| Err(error.to_string())).unwrap_or_else(|error| {
            tracing::error!(mapping = self.name, error, "the stream can't be read");
            Vec::new()
        })
    }

    /// Delivers the records in one batch, or in several if the payload would be too large. Returns
    /// the keys of the records.
    async fn run_lane(self: Arc<Self>, keys: Vec<String>, waiting: Vec<Waiting>, mut stopped: Stopped) -> Vec<String> {
        let mut batch = Batch::default();
        for Waiting { position, record } in waiting {
            let record = match record {
                Some(record) => record,
                None => match self.read_again(position, &mut stopped).await {
                    Ok(record) => record,
                    Err(()) => return keys,
                },
            };
            if let Err(record) = batch.take(record) {
                self.deliver(std::mem::take(&mut batch), &mut stopped).await;
                let _ = batch.take(record);
            }
        }
        self.deliver(batch, &mut stopped).await;
        keys
    }

    /// Reads the content of a record that the queue has not kept. Returns an error if the poller is
    /// stopped.
    async fn read_again(&self, position: Position, stopped: &mut Stopped) -> Result<Record, ()> {
        loop {
            match self.read(position.before(), 1).await.into_iter().find_map(Record::of) {
                Some(record) => return Ok(record),
                None => pause(LONGEST_PAUSE, stopped).await?,
            }
        }
    }

    /// Delivers the batch, as a whole or in parts, until each record is delivered or discarded.
    async fn deliver(&self, batch: Batch, stopped: &mut Stopped) {
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
        let (now, retries) = (function::now(), part.retries);
        let old = part.records.iter().take_while(|record| record.is_older_than(age, now)).count();
        if old > 0 {
            let given_up = Batch { records: part.cut(old), retries, ..Batch::default() };
            self.give_up(&given_up, Condition::RecordAgeExceeded, retries > 0);
            part.retries = retries;
        }
    }

    fn give_up(&self, batch: &Batch, condition: Condition, function_error: bool) {
        let now = function::now();
        if let Some(bucket) = &self.mapping.failure_bucket {
            let name = &self.lambda.spec.name;
            let given_up = GivenUp {
                batch,
                condition,
                function_error,
                function_arn: &format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}"),
                stream_arn: &template::stream_arn(&self.mapping.table),
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
        self.close(&mut progress, &batch.records);
    }

    fn delivered(&self, records: &[Record]) {
        let mut progress = self.progress();
        progress.delivered += count(records);
        self.close(&mut progress, records);
    }

    fn close(&self, progress: &mut Progress, records: &[Record]) {
        for record in records {
            progress.open.remove(&record.position);
        }
        self.move_on(progress);
    }

    /// Moves the checkpoint to the first open record.
    fn move_on(&self, progress: &mut Progress) {
        let position = progress.open.first().map_or(progress.read_to, |first| first.before());
        if position <= progress.position {
            return;
        }
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
