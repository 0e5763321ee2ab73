//! Shards grown from 5 to 7 while payments are scheduled and listed: readers first, and nothing is missed.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use futures::future::{join, join_all};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use system_tests::{Client, bank::payments, stack};

const NEW: &str = "2099-12-01T09:30:00Z";
const DUE: &str = "/bank/payments/due?date=2099-12-01&limit=40";
/// Payments of each writer in each step.
const PAYMENTS: usize = 16;

fn sharded(write: usize, read: usize) -> Builder {
    stack().parameter("WriteShards", write.to_string()).parameter("ReadShards", read.to_string())
}

/// A stack of so many shards on the engine of another.
async fn beside(first: &Stack, write: usize, read: usize) -> Stack {
    sharded(write, read).dynamo_endpoint(first.dynamo_url()).start().await.expect("a stack")
}

/// The ids of what is answered so far. A list that starts later has all of them.
#[derive(Default)]
struct Scheduled(Mutex<BTreeSet<String>>);

impl Scheduled {
    fn now(&self) -> BTreeSet<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn schedule(&self, writer: &Stack) {
        let client = Client::operator(writer);
        for number in 0..PAYMENTS {
            let path = format!("/bank/accounts/A-{}/payments", number % 3);
            let answer = client.post(&path, &json!({"scheduledTime": NEW, "data": number})).await;
            let id = id(&answer.body);
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        }
    }
}

fn id(payment: &Value) -> String {
    payment["paymentId"].as_str().expect("an id").to_owned()
}

/// Lists until told to stop, and once more: each time nothing is missed and nothing comes twice.
async fn misses_nothing(reader: &Stack, scheduled: &Scheduled, done: &AtomicBool, step: &str) {
    let client = Client::operator(reader);
    for _ in 0..1_000 {
        let last = done.load(Ordering::SeqCst);
        let before = scheduled.now();
        let (items, _) = client.all(DUE).await;
        let listed: BTreeSet<String> = items.iter().map(id).collect();
        assert_eq!(listed.len(), items.len(), "{step}: a payment came twice");
        let missed: Vec<_> = before.difference(&listed).collect();
        assert!(missed.is_empty(), "{step}: {} of {} are missed", missed.len(), before.len());
        if last {
            return;
        }
    }
}

/// Schedules by the writers while the readers list.
async fn step(name: &str, writers: &[&Stack], readers: &[&Stack], scheduled: &Scheduled) {
    let done = AtomicBool::new(false);
    let writing = async {
        join_all(writers.iter().map(|writer| scheduled.schedule(writer))).await;
        done.store(true, Ordering::SeqCst);
    };
    let reading = join_all(readers.iter().map(|reader| misses_nothing(reader, scheduled, &done, name)));
    join(writing, reading).await;
}

/// The shards that hold a payment.
async fn shards(stack: &Stack) -> BTreeSet<String> {
    payments(stack).await.into_iter().map(|row| row["GSI1PK"].clone()).collect()
}

#[tokio::test]
async fn readers_first_and_nothing_is_missed_at_any_moment() {
    let old = sharded(5, 5).start().await.expect("a stack");
    let (between, grown) = (beside(&old, 5, 7).await, beside(&old, 7, 7).await);
    let scheduled = Scheduled::default();
    step("before", &[&old], &[&old], &scheduled).await;
    step("readers change", &[&old, &between], &[&old, &between], &scheduled).await;
    step("writers change", &[&between, &grown], &[&between, &grown], &scheduled).await;
    step("after", &[&grown], &[&between, &grown], &scheduled).await;
    for _ in 0..100 {
        scheduled.schedule(&grown).await;
        if shards(&old).await.len() == 7 {
            break;
        }
    }
    assert_eq!(shards(&old).await, (0..7).map(|shard| shard.to_string()).collect());
    misses_nothing(&between, &scheduled, &AtomicBool::new(true), "at the end").await;
    let (items, _) = Client::operator(&old).all(DUE).await;
    assert!(items.len() < scheduled.now().len(), "a reader of 5 shards can't see 7: the order of the steps matters");
}

#[tokio::test]
async fn a_list_goes_on_where_a_reader_of_fewer_shards_stopped() {
    let old = sharded(5, 5).start().await.expect("a stack");
    let grown = beside(&old, 7, 7).await;
    let scheduled = Scheduled::default();
    for _ in 0..3 {
        scheduled.schedule(&old).await;
    }
    let first = Client::operator(&old).get(DUE).await;
    let cursor = first.body["nextCursor"].as_str().expect("more");
    let rest = Client::operator(&grown).get(&format!("{DUE}&cursor={cursor}")).await;
    assert_eq!(rest.status, 200, "{}", rest.body);
    let items = |answer: &Value| answer["items"].as_array().expect("items").iter().map(id).collect::<Vec<_>>();
    let both = [items(&first.body), items(&rest.body)].concat();
    assert_eq!((both.len(), both.iter().cloned().collect()), (3 * PAYMENTS, scheduled.now()));
}

#[tokio::test]
async fn writers_must_not_be_ahead_of_readers() {
    for (write, read) in [(6, 5), (7, 5), (100, 99)] {
        let error = sharded(write, read).start().await.expect_err("it must not start").to_string();
        assert!(error.contains("WRITE_SHARDS ≤ READ_SHARDS"), "{error}");
    }
    for (write, read, name) in [(0, 5, "WriteShards"), (5, 101, "ReadShards")] {
        let error = sharded(write, read).start().await.expect_err("it must not start").to_string();
        assert!(error.contains(name), "{error}");
    }
}
