//! Tests that increase the number of shards of the status index from 1 to 3, while transactions are
//! posted and listed.

use local::Stack;
use std::{collections::BTreeSet, sync::atomic::AtomicBool};
use system_tests::{
    Client,
    growth::Growth,
    ledger::{Books, TRANSACTIONS, id, payment, status_shards},
    text,
};

const PAIRS: usize = 8;
const LIST: &str = "/ledger/transactions?limit=40";

/// Starts a second stack with different shard counts on the same DynamoDB.
async fn beside(first: &Stack, write: u16, read: u16) -> Stack {
    status_shards(write, read).dynamo_endpoint(first.dynamo_url()).start().await.expect("a stack")
}

/// Reads the partition keys of the status index that have transactions.
async fn partitions(books: &Books) -> BTreeSet<String> {
    let partition = |item: &system_tests::ledger::Item| item.get("GSI1PK").and_then(|key| key.as_s().ok()).cloned();
    books.stored().await.iter().filter_map(partition).filter(|key| key.starts_with("STATUS#")).collect()
}

#[tokio::test]
async fn readers_miss_no_transaction_while_shards_are_added() {
    let books = Books::of(status_shards(1, 1).start().await.expect("a stack")).await;
    let mut pairs = Vec::new();
    for _ in 0..PAIRS {
        pairs.push((books.source("USD").await, books.account("ann").await));
    }
    let write = async |client: &Client, number: usize| {
        let (debit, credit) = &pairs[number % PAIRS];
        let key = fastrand::u64(..).to_string();
        id(&client.post_once(TRANSACTIONS, &key, &payment(debit, credit, "1.00")).await, "transactionId")
    };
    let list = async |client: &Client| {
        let (transactions, _) = client.all(LIST).await;
        transactions.iter().map(|transaction| text(transaction, "transactionId").to_owned()).collect()
    };
    let (old, posted) = (&books.stack, Growth::new(write, list));
    let (between, grown) = (beside(old, 1, 3).await, beside(old, 3, 3).await);
    posted.step("before", &[old], &[old]).await;
    posted.step("readers change", &[old, &between], &[old, &between]).await;
    posted.step("writers change", &[&between, &grown], &[&between, &grown]).await;
    posted.step("after", &[&grown], &[&between, &grown]).await;
    for _ in 0..100 {
        if partitions(&books).await.len() == 3 {
            break;
        }
        posted.write(&grown).await;
    }
    assert_eq!(partitions(&books).await.len(), 3);
    posted.misses_nothing(&between, &AtomicBool::new(true), "at the end").await;
    let (listed, _) = Client::operator(old).all(LIST).await;
    assert!(listed.len() < posted.written().len(), "a reader of one shard must miss transactions of the others");
}

#[tokio::test]
async fn rejects_more_write_shards_than_read_shards() {
    let error = status_shards(3, 2).start().await.expect_err("it must not start").to_string();
    assert!(error.contains("STATUS_WRITE_SHARDS ≤ STATUS_READ_SHARDS"), "{error}");
}
