//! Increases the number of shards from 5 to 7 while payments are scheduled and listed. If the
//! number of shards to read increases first, no payment is missed (docs/decisions/indexes.md).

use local::{Builder, Stack};
use std::{collections::BTreeSet, sync::atomic::AtomicBool};
use system_tests::{
    Client,
    bank::{payments, schedule, stack},
    growth::{ENTRIES, Growth},
    text, texts,
};

const NEW: &str = "2099-12-01T09:30:00Z";
const DUE: &str = "/bank/payments/due?date=2099-12-01&limit=40";

fn sharded(write: usize, read: usize) -> Builder {
    stack().parameter("WriteShards", write.to_string()).parameter("ReadShards", read.to_string())
}

/// Starts a second stack that shares the tables of the first, with different numbers of shards.
async fn beside(first: &Stack, write: usize, read: usize) -> Stack {
    sharded(write, read).dynamo_endpoint(first.dynamo_url()).start().await.expect("a stack")
}

async fn write(client: &Client, number: usize) -> String {
    text(&schedule(client, &format!("A-{}", number % 3), NEW).await, "paymentId").to_owned()
}

async fn list(client: &Client) -> Vec<String> {
    texts(&client.all(DUE).await.0, "paymentId").into_iter().map(str::to_owned).collect()
}

/// Shards that contain a payment.
async fn shards(stack: &Stack) -> BTreeSet<String> {
    payments(stack).await.into_iter().map(|row| row["GSI1PK"].clone()).collect()
}

#[tokio::test]
async fn no_payment_is_missed_if_readers_read_new_shards_first() {
    let old = sharded(5, 5).start().await.expect("a stack");
    let (between, grown) = (beside(&old, 5, 7).await, beside(&old, 7, 7).await);
    let due = Growth::new(write, list);
    due.step("before", &[&old], &[&old]).await;
    due.step("readers change", &[&old, &between], &[&old, &between]).await;
    due.step("writers change", &[&between, &grown], &[&between, &grown]).await;
    due.step("after", &[&grown], &[&between, &grown]).await;
    for _ in 0..100 {
        due.write(&grown).await;
        if shards(&old).await.len() == 7 {
            break;
        }
    }
    assert_eq!(shards(&old).await, (0..7).map(|shard| shard.to_string()).collect());
    due.misses_nothing(&between, &AtomicBool::new(true), "at the end").await;
    let (items, _) = Client::operator(&old).all(DUE).await;
    assert!(items.len() < due.written().len(), "a reader of 5 shards must miss payments on 7 shards");
}

#[tokio::test]
async fn cursor_stays_valid_when_shards_are_added() {
    let old = sharded(5, 5).start().await.expect("a stack");
    let grown = beside(&old, 7, 7).await;
    let due = Growth::new(write, list);
    for _ in 0..3 {
        due.write(&old).await;
    }
    let first = Client::operator(&old).get(DUE).await;
    let cursor = first.body["nextCursor"].as_str().expect("a next page");
    let rest = Client::operator(&grown).get(&format!("{DUE}&cursor={cursor}")).await;
    assert_eq!(rest.status, 200, "{}", rest.body);
    let both = [&first, &rest].map(|page| page.body["items"].as_array().cloned().expect("items")).concat();
    let ids: BTreeSet<String> = texts(&both, "paymentId").into_iter().map(str::to_owned).collect();
    assert_eq!((both.len(), ids), (3 * ENTRIES, due.written()));
}

#[tokio::test]
async fn stack_rejects_more_write_shards_than_read_shards() {
    let cases = [(6, 5, "WRITE_SHARDS ≤ READ_SHARDS"), (0, 5, "WriteShards"), (5, 101, "ReadShards")];
    for (write, read, reason) in cases {
        let error = sharded(write, read).start().await.expect_err("it must not start").to_string();
        assert!(error.contains(reason), "{error}");
    }
}
