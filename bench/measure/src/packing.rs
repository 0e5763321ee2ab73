//! Compares packed Firehose records with one record per change. Compares the number of records and
//! calls, and the billed volume.

use crate::calls::count;
use lake::pack::{Record, Row, calls, records};
use serde_json::{Value, json};

/// Sizes of a change in bytes. The largest is close to the maximum size of a DynamoDB item.
const BYTES: [usize; 7] = [300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000];
/// Maximum number of changes in a batch.
const MAX_CHANGES: usize = 1_000;
/// Maximum size of a batch in bytes.
const MAX_BYTES: usize = 6_000_000;

pub(crate) fn measure() -> Value {
    BYTES.into_iter().map(of_size).collect()
}

fn of_size(bytes: usize) -> Value {
    let changes = MAX_CHANGES.min(MAX_BYTES / bytes);
    let rows = || (0..changes).map(|place| Row { place, json: "x".repeat(bytes) });
    let (packed, too_large) = records(rows());
    let (alone, none): (Vec<_>, Vec<_>) = rows().map(|row| records([row])).unzip();
    assert!(too_large.is_empty() && none.iter().all(Vec::is_empty), "every row fits");
    let alone: Vec<Record> = alone.into_iter().flatten().collect();
    json!({"bytes": bytes, "changes": changes, "packed": sent(packed), "alone": sent(alone)})
}

fn sent(records: Vec<Record>) -> Value {
    let sum = |of: fn(&Record) -> usize| count(records.iter().map(of).sum());
    let (bytes, billed, records_sent) = (sum(Record::bytes), sum(Record::billed), count(records.len()));
    json!({"records": records_sent, "calls": count(calls(records).len()), "bytes": bytes, "billed": billed})
}
