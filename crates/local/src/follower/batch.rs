//! Batches of stream records. Each batch is the event of one invocation.
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use engine::store::Position;

/// Maximum payload of an invocation in bytes.
const LARGEST_PAYLOAD: usize = 6 * 1024 * 1024;
// Size of `{"Records":[]}`. Each record adds one byte for a comma.
const ENVELOPE: usize = 14;

/// Stream record in the format of Lambda events.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) position: Position,
    pub(crate) value: Value,
}

impl Record {
    /// Returns `None` if the record has no valid sequence number. The engine assigns a number to
    /// each record.
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

    /// Whether the record is older than `age`.
    pub(crate) fn is_older_than(&self, age: Duration, now: Timestamp) -> bool {
        SignedDuration::try_from(age).is_ok_and(|age| now.duration_since(self.time()) > age)
    }
}

/// Records that are delivered together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) records: Vec<Record>,
    /// Number of retries.
    pub(crate) retries: u32,
    pub(crate) size: usize,
}

impl Batch {
    /// Adds the record. Returns it if the payload would become too large.
    pub(crate) fn take(&mut self, record: Record) -> Result<(), Record> {
        let size = self.size + record.value.to_string().len() + 1;
        if size + ENVELOPE > LARGEST_PAYLOAD && !self.records.is_empty() {
            return Err(record);
        }
        self.size = size;
        self.records.push(record);
        Ok(())
    }

    pub(crate) fn event(&self) -> Value {
        json!({"Records": self.records.iter().map(|record| &record.value).collect::<Vec<_>>()})
    }

    /// Removes and returns the first `count` records. Resets the number of retries of the remaining
    /// batch.
    pub(crate) fn cut(&mut self, count: usize) -> Vec<Record> {
        let rest = self.records.split_off(count);
        self.retries = 0;
        std::mem::replace(&mut self.records, rest)
    }

    /// Splits the batch into halves. A split does not count as a retry.
    pub(crate) fn halves(mut self) -> [Self; 2] {
        let retries = self.retries;
        let first = self.cut(self.records.len() / 2);
        [Self { records: first, retries, ..Self::default() }, Self { retries, ..self }]
    }
}
