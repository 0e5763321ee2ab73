//! Events of stored facts, for other systems (docs/events/README.md).
//!
//! A service declares its events as an enum that implements [`Facts`]. A stream function turns each
//! record into at most one fact ([`events`]), and [`Bus::publish`] sends the events to the
//! EventBridge bus of the parameter `EventBusName` (docs/decisions/events.md).
#![deny(clippy::disallowed_methods)]

mod bus;
mod failure_bucket;

pub use bus::Bus;
pub use failure_bucket::FailureBucket;

use function::{Error, Record};
use keys::TimestampMillis;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the schemas. Changes are compatible, so the version has never changed.
const VERSION: u32 = 1;

/// The events of a service: an enum with a struct variant for each type of event. The name of a
/// variant is the detail type.
pub trait Facts: Serialize + JsonSchema {
    /// Source of the events, such as `cart`.
    const SOURCE: &'static str;
}

/// An event that can be published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    source: String,
    detail_type: String,
    detail: Detail,
    /// Sequence number of the stream record.
    record: String,
    /// Primary key of the changed item. Events with the same key are published in order.
    item: String,
}

/// The member `detail` of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Detail {
    /// Id of the event. A repeat has the same id.
    id: String,
    /// Time of the change.
    time: TimestampMillis,
    /// Version of the schema.
    version: u32,
    /// The fact.
    data: Value,
}

impl Event {
    /// Sequence number of the stream record.
    pub fn record(&self) -> &str {
        &self.record
    }

    fn of<F: Facts>(record: &Record, fact: &F) -> Option<Self> {
        let event = Self::read(record, fact);
        if event.is_none() {
            function::count("UnreadableItems", 1);
            tracing::error!(sequence_number = record.sequence_number(), "a stream record has no id, key or time");
        }
        event
    }

    fn read<F: Facts>(record: &Record, fact: &F) -> Option<Self> {
        let Ok(Value::Object(fact)) = serde_json::to_value(fact) else { return None };
        let (detail_type, data) = fact.into_iter().next()?;
        let time = TimestampMillis::containing(record.created_at()?).ok()?;
        Some(Self {
            source: F::SOURCE.to_owned(),
            detail_type,
            detail: Detail { id: record.id()?.to_owned(), time, version: VERSION, data },
            record: record.sequence_number().to_owned(),
            item: format!("{}\n{}", record.partition_key()?, record.sort_key()?),
        })
    }
}

/// Returns the events of stream records, in order. `fact` returns the fact of a record, or `None`
/// if other systems are not told of the change.
///
/// An unreadable record has no event. It is counted as an unreadable item, which triggers an alarm.
pub fn events<F: Facts>(records: &[Record], fact: impl Fn(&Record) -> Result<Option<F>, Error>) -> Vec<Event> {
    // `fact` counts an unreadable image.
    let event = |record| Event::of(record, &fact(record).ok()??);
    records.iter().filter_map(event).collect()
}
