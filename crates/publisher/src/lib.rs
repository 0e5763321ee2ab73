//! Events of stored facts, for other systems (docs/events/README.md).
//!
//! A service declares its events as an enum that implements [`Facts`]. A stream function turns each
//! record into its facts, and [`Bus::publish`] sends their events to the EventBridge bus of the
//! parameter `EventBusName` (docs/decisions/events.md).
#![deny(clippy::disallowed_methods)]

mod bus;
mod failure_bucket;

pub use bus::Bus;
pub use failure_bucket::FailureBucket;

use function::{Error, Record};
use keys::TimestampMillis;
use schemars::JsonSchema;
use serde::Serialize;
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
#[derive(Debug)]
struct Event {
    source: String,
    detail_type: String,
    detail: Detail,
    /// Sequence number of the stream record.
    record: String,
    /// Primary key of the changed item. Events with the same key are published in order.
    item: String,
}

/// The member `detail` of an event.
#[derive(Debug, Serialize)]
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
    fn of<F: Facts>(record: &Record, place: usize, fact: &F) -> Option<Self> {
        let event = Self::read(record, place, fact);
        if event.is_none() {
            function::count("UnreadableItems", 1);
            tracing::error!(sequence_number = record.sequence_number(), "a stream record has no id, key or time");
        }
        event
    }

    fn read<F: Facts>(record: &Record, place: usize, fact: &F) -> Option<Self> {
        let record_id = record.id()?;
        let id = if place == 0 { record_id.to_owned() } else { format!("{record_id}-{}", place + 1) };
        let Ok(Value::Object(fact)) = serde_json::to_value(fact) else { return None };
        let (detail_type, data) = fact.into_iter().next()?;
        let time = TimestampMillis::containing(record.created_at()?).ok()?;
        Some(Self {
            source: F::SOURCE.to_owned(),
            detail_type,
            detail: Detail { id, time, version: VERSION, data },
            record: record.sequence_number().to_owned(),
            item: format!("{}\n{}", record.partition_key()?, record.sort_key()?),
        })
    }
}

/// Returns the events of stream records, in order. `facts` returns the facts of a record, or none
/// if other systems are not told of the change. A repeated record must have the same facts.
///
/// The first event of a record has the id of the record. The id of the second one ends in `-2`.
///
/// An unreadable record has no event. It is counted as an unreadable item, which triggers an alarm.
fn events<F: Facts, I: IntoIterator<Item = F>>(
    records: &[Record],
    facts: impl Fn(&Record) -> Result<I, Error>,
) -> Vec<Event> {
    // `facts` counts an unreadable image.
    let of_record = |record| {
        let facts = facts(record).into_iter().flatten().enumerate();
        facts.filter_map(move |(place, fact)| Event::of(record, place, &fact))
    };
    records.iter().flat_map(of_record).collect()
}
