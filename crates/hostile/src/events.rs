//! Faults of events: stream batches, created objects and schedules.
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fastrand::Rng;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{
    Hostile, Injected,
    dice::{happens, time},
};

/// Maximum delay of a stream batch.
const DELAY: Duration = Duration::from_secs(2);
/// Maximum delay of an event of a created object.
const OBJECT_DELAY: Duration = Duration::from_secs(3);
/// Maximum delay of a schedule. EventBridge fires rules within the minute.
const SCHEDULE_DELAY: Duration = Duration::from_mins(1);
/// Maximum number of batches that a poller delivers again.
const MAX_AGAIN: usize = 3;

/// The part of a stream that a poller reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Number of the shard, starting at 0.
    pub number: u8,
    /// Number of shards of the stream.
    pub of: u8,
}

impl Shard {
    /// The whole stream.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// Whether the shard contains a record. All records of an item are in the same shard.
    pub fn has(self, record: &Value) -> bool {
        if self.of == 1 {
            return true;
        }
        let digest = Sha256::digest(record["dynamodb"]["Keys"].to_string());
        digest.first().is_some_and(|byte| byte % self.of == self.number)
    }
}

/// The faults of the batches of one poller.
pub struct Batches {
    hostile: Arc<Hostile>,
    place: String,
    /// The last events, oldest first.
    last: Mutex<VecDeque<Value>>,
}

/// The faults of one batch.
#[derive(Debug, Default)]
pub struct BatchFate {
    /// The batch is delivered late.
    pub delay: Option<(Duration, Injected)>,
    /// The batch is delivered twice at the same time.
    pub twice: Option<Injected>,
    /// Events that are delivered again, and at last the batch itself.
    pub again: Option<(Vec<Value>, Injected)>,
}

impl Batches {
    /// Draws the faults of a batch.
    pub fn next(&self, event: &Value) -> BatchFate {
        let (hostile, rates) = (&self.hostile, self.hostile.rates());
        let mut rng = hostile.dice.next(&self.place);
        let delay = happens(&mut rng, rates.delay).then(|| time(&mut rng, DELAY));
        let (twice, rewind) = (happens(&mut rng, rates.twice), happens(&mut rng, rates.rewind));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.push_back(event.clone());
        if last.len() > MAX_AGAIN {
            last.pop_front();
        }
        let record = |fault, detail: String| hostile.record(fault, &self.place, detail);
        BatchFate {
            delay: delay.map(|delay| (delay, record("delay", format!("{} ms", delay.as_millis())))),
            twice: twice.then(|| record("twice", "delivered twice at the same time".to_owned())),
            again: rewind.then(|| {
                let count = rng.usize(1..=last.len());
                let events = last.iter().skip(last.len() - count).cloned().collect();
                (events, record("rewind", format!("the last {count} batches were delivered again")))
            }),
        }
    }
}

impl Hostile {
    /// The shards of the stream of a mapping.
    pub fn shards(&self, mapping: &str) -> Vec<Shard> {
        let of = if happens(&mut self.dice.next(mapping), self.rates.pollers) { 2 } else { 1 };
        (0..of).map(|number| Shard { number, of }).collect()
    }

    /// The faults of the batches of a poller.
    pub fn batches(self: &Arc<Self>, poller: &str) -> Batches {
        Batches { hostile: Arc::clone(self), place: poller.to_owned(), last: Mutex::default() }
    }

    /// The times after which an event of a created object is delivered.
    pub fn object(&self, function: &str) -> (Vec<Duration>, Vec<Injected>) {
        let place = format!("objects/{function}");
        let mut rng = self.dice.next(&place);
        let (twice, late) = (self.rates().object_twice, self.rates().object_late);
        self.firings(&mut rng, &place, ("object-twice", twice), ("object-late", late, OBJECT_DELAY))
    }

    /// The times after which a schedule fires. Empty if it does not fire.
    pub fn schedule(&self, function: &str) -> (Vec<Duration>, Vec<Injected>) {
        let place = format!("schedule/{function}");
        let mut rng = self.dice.next(&place);
        if happens(&mut rng, self.rates().schedule_missed) {
            return (Vec::new(), vec![self.record("schedule-missed", &place, "did not fire")]);
        }
        let (twice, late) = (self.rates().schedule_twice, self.rates().schedule_late);
        self.firings(&mut rng, &place, ("schedule-twice", twice), ("schedule-late", late, SCHEDULE_DELAY))
    }

    fn firings(
        &self,
        rng: &mut Rng,
        place: &str,
        (twice, twice_rate): (&'static str, f64),
        (late, late_rate, longest): (&'static str, f64, Duration),
    ) -> (Vec<Duration>, Vec<Injected>) {
        let mut injected = Vec::new();
        let mut first = Duration::ZERO;
        if happens(rng, late_rate) {
            first = time(rng, longest);
            injected.push(self.record(late, place, format!("{} ms late", first.as_millis())));
        }
        let mut times = vec![first];
        if happens(rng, twice_rate) {
            times.push(first + time(rng, Duration::from_secs(1)));
            injected.push(self.record(twice, place, "delivered twice"));
        }
        (times, injected)
    }
}
