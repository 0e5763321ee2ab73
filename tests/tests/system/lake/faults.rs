//! Checks that no change is lost because of a fault, and that the table can be rebuilt from the
//! rows.

use super::{
    driver::{Drive, drive, invoke, lowest_failure, service},
    model::{Cart, rebuilt},
    stub::{Call, Fault, Stub, Taken},
};
use fastrand::Rng;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Returns whether the call contains a row that Firehose rejects permanently.
fn refuses(call: &Call) -> bool {
    !call.is_put && call.text.contains("REFUSED")
}

/// Returns a rule that injects every kind of fault. Sometimes the rule loses several calls in a
/// row.
fn failing(seed: u64) -> impl FnMut(&Call) -> Fault + Send {
    let (mut rng, mut dead) = (Rng::with_seed(seed), 0);
    move |call: &Call| {
        dead = if dead == 0 && rng.u8(0..120) == 0 { 9 } else { usize::saturating_sub(dead, 1) };
        match rng.u8(0..100) {
            _ if dead > 0 => Fault::Lost,
            0..5 => Fault::Throttled,
            5..8 => Fault::Internal,
            8..11 => Fault::Lost,
            _ if refuses(call) => Fault::Invalid,
            11..15 => Fault::AnswerLost,
            15..35 if !call.is_put => Fault::Without(|record| record % 3 == 0),
            _ => Fault::None,
        }
    }
}

/// Checks that each change is exported or stored in the failure bucket, and that the table can be
/// rebuilt from the rows.
fn check(cart: &Cart, taken: &Taken) {
    assert_eq!(taken.too_much, 0, "a call exceeded a limit");
    let mut rows: BTreeMap<String, Value> = BTreeMap::new();
    for row in taken.rows() {
        let id = row["event_id"].as_str().expect("an id").to_owned();
        let first = rows.entry(id).or_insert_with(|| row.clone());
        assert_eq!(*first, row, "rows with the same event id must be equal");
    }
    let arrived: BTreeMap<&str, &str> =
        rows.iter().map(|(id, row)| (id.as_str(), row["operation"].as_str().expect("an operation"))).collect();
    let expected: BTreeMap<&str, &str> =
        cart.expected.iter().map(|(id, operation)| (id.as_str(), *operation)).collect();
    assert!(arrived == expected, "{} arrived, {} were expected", arrived.len(), expected.len());
    let rows: Vec<Value> = rows.into_values().collect();
    assert!(rebuilt(&rows) == cart.table(), "the rebuilt table differs");
    let kept: BTreeSet<String> =
        taken.objects.values().map(|object| object["record"]["eventID"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(kept, cart.unsendable);
    for (key, object) in &taken.objects {
        assert!(key.starts_with("failures/unsendable/2026/01/") && object["reason"].is_string(), "{key}: {object}");
    }
}

async fn run(changes: usize, seed: u64, largest: usize, kills: bool) -> Drive {
    let cart = Cart::after(changes, seed);
    let stub = Stub::start(failing(seed)).await;
    let (mut sizes, mut deaths) = (Rng::with_seed(seed + 1), Rng::with_seed(seed + 2));
    let polls = || (kills && deaths.bool()).then(|| deaths.usize(0..25));
    let drive = drive(&service(&stub), &cart.records, || sizes.usize(1..=largest), polls).await;
    check(&cart, &stub.taken());
    drive
}

#[tokio::test]
async fn loses_no_change_when_the_delivery_stream_fails() {
    let drive = run(5_000, 1, 500, false).await;
    assert!(drive.redelivered > 0, "{drive:?}");
}

#[tokio::test]
async fn loses_no_change_when_the_function_is_killed() {
    let drive = run(5_000, 2, 120, true).await;
    assert!(drive.killed > 5, "{drive:?}");
}

/// Processes eight shards concurrently, as Lambda does for a large table.
#[tokio::test]
#[ignore = "minutes: make test-slow"]
async fn loses_none_of_a_hundred_thousand_changes() {
    let shards = (0..8).map(|shard| run(12_500, 100 + 10 * shard, 500, true));
    for drive in futures::future::join_all(shards).await {
        assert!(drive.killed > 0, "{drive:?}");
    }
}

#[tokio::test]
async fn sends_every_row_once_and_bills_at_most_ten_percent_extra() {
    let cart = Cart::after(5_000, 4);
    let stub = Stub::start(|call| if refuses(call) { Fault::Invalid } else { Fault::None }).await;
    let drive = drive(&service(&stub), &cart.records, || 1_000, || None).await;
    let taken = stub.taken();
    check(&cart, &taken);
    assert_eq!((drive.invocations, taken.rows().len()), (cart.records.len().div_ceil(1_000), cart.expected.len()));
    let (bytes, billed) = (taken.records.iter().map(String::len).sum::<usize>(), taken.billed());
    println!("{} rows, {bytes} bytes, {billed} billed in {} records", cart.expected.len(), taken.records.len());
    // If Firehose rejects a row, the record of this row is split. The limit allows for the
    // additional records.
    assert!(billed * 100 <= bytes * 110, "{billed} of {bytes}");
}

fn insertions(count: usize) -> Value {
    let records = Cart::after(4 * count, 5).records;
    let is_plain = |record: &&Value| {
        record["eventName"] == "INSERT"
            && record["dynamodb"]["Keys"]["SK"]["S"].as_str().is_some_and(|sort| sort.starts_with("ACTIVE"))
    };
    let is_good = |record: &&Value| {
        record["dynamodb"]["NewImage"]["Quantity"]["N"].is_string()
            && record["dynamodb"]["NewImage"]["Sku"]["S"].as_str().is_some_and(|sku| sku.starts_with("SKU-"))
    };
    json!({"Records": records.iter().filter(is_plain).filter(is_good).take(count).collect::<Vec<_>>()})
}

#[tokio::test]
async fn batch_fails_with_fewer_attempts_near_the_deadline_when_firehose_throttles() {
    let stub = Stub::start(|_| Fault::Throttled).await;
    let event = insertions(20);
    let invocation = invoke(&service(&stub), event.clone(), Duration::from_millis(1_500)).await;
    // With more time, it makes six attempts, with pauses of at least 2.5 seconds between them.
    assert!(stub.taken().batches < 6, "{} attempts", stub.taken().batches);
    let first = event["Records"][0]["dynamodb"]["SequenceNumber"].as_str().map(str::to_owned);
    assert_eq!(lowest_failure(invocation), first);
}

#[tokio::test]
async fn batch_fails_when_firehose_rejects_every_row() {
    let stub = Stub::start(|call| if call.is_put { Fault::None } else { Fault::Invalid }).await;
    let event = insertions(50);
    let first = event["Records"][0]["dynamodb"]["SequenceNumber"].as_str().map(str::to_owned);
    assert_eq!(lowest_failure(invoke(&service(&stub), event, Duration::from_mins(1)).await), first);
    assert!(stub.taken().objects.is_empty());
}

#[tokio::test]
async fn change_is_redelivered_when_the_failure_bucket_fails() {
    let stub = Stub::start(|call| if call.is_put { Fault::Throttled } else { Fault::None }).await;
    let mut event = insertions(3);
    event["Records"][1]["dynamodb"]["NewImage"]["Quantity"] = json!({"S": "many"});
    let second = event["Records"][1]["dynamodb"]["SequenceNumber"].as_str().map(str::to_owned);
    assert_eq!(lowest_failure(invoke(&service(&stub), event, Duration::from_mins(1)).await), second);
    assert_eq!(stub.taken().rows().len(), 2, "valid changes are sent");
}
