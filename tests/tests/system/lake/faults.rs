//! Checks that no change is lost because of a fault of Firehose or S3. The contract kills the
//! function at each call.

use super::{
    driver::{invoke, lowest_failure, service},
    stub::{Call, Fault, Stub},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use system_tests::{events::event, text};

const MINUTE: Duration = Duration::from_mins(1);

/// Copies of the first record of the event, which inserts a cart item. Each has its own ids.
fn insertions(count: u64) -> Vec<Value> {
    let first = event("export-changes", "")["Records"][0].clone();
    let numbered = |number: u64| {
        let mut record = first.clone();
        record["eventID"] = format!("{number:032x}").into();
        record["dynamodb"]["SequenceNumber"] = (4_421_584_500_000_000_017 + number).to_string().into();
        record
    };
    (0..count).map(numbered).collect()
}

fn sequence_number(record: &Value) -> Option<String> {
    record["dynamodb"]["SequenceNumber"].as_str().map(str::to_owned)
}

/// Injects every kind of fault in turn. Rejects a batch with a row of the product `REFUSED`
/// permanently. Loses eleven calls in a row, so that a batch is delivered again.
fn failing(call: &Call) -> Fault {
    match call.number % 12 {
        _ if (40..51).contains(&call.number) => Fault::Lost,
        0 => Fault::Throttled,
        2 => Fault::Internal,
        4 => Fault::Lost,
        _ if !call.is_put && call.text.contains("REFUSED") => Fault::Invalid,
        6 => Fault::AnswerLost,
        8 | 10 if !call.is_put => Fault::Without(|record| record % 3 == 0),
        _ => Fault::None,
    }
}

#[tokio::test(start_paused = true)]
async fn loses_no_change_when_the_delivery_stream_fails() {
    let mut records = insertions(1_500);
    let mut unsendable = BTreeSet::new();
    for (number, attribute, value) in [(7, "Quantity", "many"), (8, "Sku", "REFUSED"), (500, "Sku", "REFUSED")] {
        records[number]["dynamodb"]["NewImage"][attribute] = json!({"S": value});
        unsendable.insert(text(&records[number], "eventID").to_owned());
    }
    let stub = Stub::new(failing);
    let (service, mut next, mut redelivered) = (service(&stub), 0, 0);
    let mut sizes = [1, 7, 300, 1_000].into_iter().cycle();
    // Lambda delivers the records of a shard in order, and delivers a batch again from its first
    // failed record.
    while next < records.len() {
        let size = sizes.next().unwrap_or(1);
        let batch = &records[next..records.len().min(next + size)];
        match lowest_failure(invoke(&service, json!({ "Records": batch }), MINUTE).await) {
            None => next += batch.len(),
            failed => {
                next += batch.iter().position(|record| sequence_number(record) == failed).expect("a record");
                redelivered += 1;
                assert!(redelivered < 100, "the shard is never completed: {next}");
            }
        }
    }
    assert!(redelivered > 0, "{redelivered}");
    let taken = stub.taken();
    let rows = taken.rows();
    let arrived: BTreeSet<_> = rows.iter().map(|row| text(row, "event_id").to_owned()).collect();
    let all: BTreeSet<_> = records.iter().map(|record| text(record, "eventID").to_owned()).collect();
    assert!(arrived == &all - &unsendable, "{} of {} changes arrived", arrived.len(), all.len());
    let different: BTreeSet<_> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(different.len(), arrived.len(), "rows with the same event id must be equal");
    let kept: BTreeSet<_> =
        taken.objects.values().map(|object| text(&object["record"], "eventID").to_owned()).collect();
    assert_eq!(kept, unsendable);
    for (key, object) in &taken.objects {
        assert!(key.starts_with("failures/unsendable/2026/01/") && object["reason"].is_string(), "{key}: {object}");
    }
}

#[tokio::test(start_paused = true)]
async fn batch_fails_with_fewer_attempts_near_the_deadline_when_firehose_throttles() {
    let records = insertions(20);
    for (time, attempts) in [(Duration::from_millis(1_500), 2..6), (MINUTE, 6..7)] {
        let stub = Stub::new(|_| Fault::Throttled);
        let invocation = invoke(&service(&stub), json!({ "Records": records }), time).await;
        assert_eq!(lowest_failure(invocation), sequence_number(&records[0]));
        assert!(attempts.contains(&stub.taken().batches), "{} attempts", stub.taken().batches);
    }
}

#[tokio::test(start_paused = true)]
async fn batch_fails_when_firehose_rejects_every_row() {
    let stub = Stub::new(|call| if call.is_put { Fault::None } else { Fault::Invalid });
    let records = insertions(50);
    let invocation = invoke(&service(&stub), json!({ "Records": records }), MINUTE).await;
    assert_eq!(lowest_failure(invocation), sequence_number(&records[0]));
    assert!(stub.taken().objects.is_empty());
}

#[tokio::test(start_paused = true)]
async fn change_is_redelivered_when_the_failure_bucket_fails() {
    let stub = Stub::new(|call| if call.is_put { Fault::Throttled } else { Fault::None });
    let mut records = insertions(3);
    records[1]["dynamodb"]["NewImage"]["Quantity"] = json!({"S": "many"});
    let invocation = invoke(&service(&stub), json!({ "Records": records }), MINUTE).await;
    assert_eq!(lowest_failure(invocation), sequence_number(&records[1]));
    assert_eq!(stub.taken().rows().len(), 2, "valid changes are sent");
}
