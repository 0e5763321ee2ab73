//! The records that go to a function in one invocation.
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::store::Position;

/// What an invocation takes at most.
const LARGEST_PAYLOAD: usize = 6 * 1024 * 1024;
// `{"Records":[]}`, and a comma a record.
const ENVELOPE: usize = 14;

/// One change, as functions get it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) position: Position,
    pub(crate) value: Value,
}

impl Record {
    /// None for what has no number; the engine gives each one.
    pub(crate) fn of(value: Value) -> Option<Self> {
        Position::of(&value).map(|position| Self { position, value })
    }

    pub(crate) fn number(&self) -> &str {
        self.value["dynamodb"]["SequenceNumber"].as_str().unwrap_or_default()
    }

    pub(crate) fn time(&self) -> Timestamp {
        let seconds = self.value["dynamodb"]["ApproximateCreationDateTime"].as_i64().unwrap_or_default();
        Timestamp::from_second(seconds).unwrap_or_default()
    }

    /// Whether it is older than that.
    pub(crate) fn is_older_than(&self, age: Duration, now: Timestamp) -> bool {
        SignedDuration::try_from(age).is_ok_and(|age| now.duration_since(self.time()) > age)
    }
}

/// Records that belong together until they are delivered or given up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) records: Vec<Record>,
    /// The last change that was seen for it, whether it was let through or not.
    pub(crate) end: Position,
    pub(crate) filtered: u64,
    /// How often it was tried again.
    pub(crate) retries: u32,
    pub(crate) size: usize,
}

impl Batch {
    pub(crate) fn after(end: Position) -> Self {
        Self { end, ..Self::default() }
    }

    /// Takes the record; not when the payload would be too large with it.
    pub(crate) fn take(&mut self, record: Record) -> bool {
        let size = self.size + record.value.to_string().len() + 1;
        if size + ENVELOPE > LARGEST_PAYLOAD && !self.records.is_empty() {
            return false;
        }
        self.size = size;
        self.end = record.position;
        self.records.push(record);
        true
    }

    pub(crate) fn event(&self) -> Value {
        json!({"Records": self.records.iter().map(|record| &record.value).collect::<Vec<_>>()})
    }

    /// Cuts the first records off; what stays is a batch that was not tried yet.
    pub(crate) fn cut(&mut self, count: usize) -> Vec<Record> {
        let rest = self.records.split_off(count);
        self.retries = 0;
        std::mem::replace(&mut self.records, rest)
    }

    /// Both halves. That it was halved is no retry.
    pub(crate) fn halves(mut self) -> [Self; 2] {
        let retries = self.retries;
        let end = self.end;
        let first = self.cut(self.records.len() / 2);
        let last = first.last().map_or(end, |record| record.position);
        [Self { records: first, end: last, retries, ..Self::default() }, Self { retries, ..self }]
    }
}
