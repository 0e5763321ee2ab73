//! Compares the capacity units that each access pattern consumes with its declared cost. Each table
//! and index is checked separately, with small and large items and with both projections.

use bank::{Case, MAX_BYTES};
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client,
    bank::{Row, payment, payments, put, transactions},
    patterns::{cost_of, labels},
    stack,
    units::{consumed, declared},
};
use table::Projection;

const ACCOUNT: &str = "/bank/accounts/A-1/payments";
const TIME: &str = "2099-12-01T09:30:00Z";
const SHARDS: usize = 5;
const PROJECTIONS: [(&str, Projection); 2] = [("KEYS_ONLY", Projection::KeysOnly), ("ALL", Projection::All)];

/// Size of an item as DynamoDB counts it: attribute names and values. All values are strings.
fn bytes(row: &Row) -> usize {
    row.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Returns the input of the cost functions for items as large as `row`.
fn case(projection: Projection, row: &Row, items: usize) -> Case {
    let entry = row.iter().filter(|(name, _)| ["PK", "SK", "GSI1PK", "GSI1SK"].contains(&name.as_str()));
    let entry = entry.map(|(name, value)| name.len() + value.len()).sum();
    Case { item: bytes(row), entry, projection, shards: SHARDS, items, keyed: false }
}

/// Names of the access patterns that were measured.
#[derive(Default)]
struct Measured(BTreeSet<String>);

impl Measured {
    fn assert(&mut self, function: &str, case: &Case, answer: &Answer) {
        assert!(matches!(answer.status, 200 | 201), "{function}: {}", answer.body);
        assert_eq!(consumed(answer), declared(&cost_of(&bank::patterns(), function, case)), "{function} of {case:?}");
        self.0.insert(function.to_owned());
    }

    fn assert_all(&self) {
        assert_eq!(self.0, labels(&bank::patterns()));
    }
}

/// Returns the size of the largest `data` that the bank accepts in a payment.
async fn largest(client: &Client) -> usize {
    let post = async |bytes: usize| client.post(ACCOUNT, &new(bytes)).await;
    let refused = post(MAX_BYTES).await;
    assert_eq!(refused.status, 413);
    let detail = refused.body["detail"].as_str().expect("a detail");
    let most = detail.split(' ').filter_map(|word| word.parse().ok()).next_back().expect("a number");
    assert_eq!(post(most + 1).await.status, 413);
    most
}

/// Returns a request whose `data` has this size, including the quotes.
fn new(bytes: usize) -> Value {
    json!({"scheduledTime": TIME, "data": "x".repeat(bytes - 2)})
}

async fn only_payment(stack: &Stack) -> Row {
    payments(stack).await.pop().expect("a payment")
}

#[tokio::test]
async fn small_payment_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = stack().parameter("IndexProjection", name).start().await.expect("a stack");
        let row = measure_all_patterns(&stack, projection, 12, "T-1").await;
        assert!(bytes(&row) < 1_024);
    }
}

#[tokio::test]
async fn largest_payment_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = stack().parameter("IndexProjection", name).start().await.expect("a stack");
        let most = largest(&Client::operator(&stack)).await;
        let row = measure_all_patterns(&stack, projection, most, &"\u{1F4B6}".repeat(128)).await;
        assert_eq!(bytes(&row), MAX_BYTES, "the largest accepted payment must have exactly 8 KB");
    }
}

/// Measures every access pattern on one payment. Returns the payment as stored before the archive
/// moved it.
async fn measure_all_patterns(stack: &Stack, projection: Projection, data: usize, transaction: &str) -> Row {
    let (client, mut measured) = (Client::operator(stack), Measured::default());
    let scheduled = client.post(ACCOUNT, &new(data)).await;
    let one = async || case(projection, &only_payment(stack).await, 1);
    measured.assert("schedule-payment", &one().await, &scheduled);
    let path = scheduled.headers["location"].to_str().expect("text").to_owned();
    let range = format!("{ACCOUNT}?from={TIME}&to={TIME}");
    measured.assert("list-account-payments", &one().await, &client.get(&range).await);
    measured.assert("list-due-payments", &one().await, &client.get("/bank/payments/due?date=2099-12-01").await);
    measured.assert("get-payment", &one().await, &client.get(&path).await);
    let moved = client.patch(&path, &json!({"status": "PENDING"})).await;
    measured.assert("update-payment-status", &one().await, &moved);
    let processed = client.patch(&path, &json!({"status": "PROCESSED", "transactionId": transaction})).await;
    measured.assert("update-payment-status to PROCESSED", &one().await, &processed);
    let row = only_payment(stack).await;
    let archived = client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
    measured.assert("archive-settled-payments", &case(projection, &row, 1), &archived);
    let one = case(projection, &transactions(stack).await.pop().expect("a transaction"), 1);
    measured.assert("get-payment archived", &one, &client.get(&path).await);
    let of_account = client.get("/bank/accounts/A-1/transactions").await;
    measured.assert("list-account-transactions", &one, &of_account);
    let of_date = client.get("/bank/transactions?date=2099-12-01").await;
    measured.assert("list-transactions-by-date", &one, &of_date);
    let found = client.get(&format!("/bank/transactions/{transaction}")).await;
    measured.assert("find-transaction", &one, &found);
    measured.assert_all();
    row
}

#[tokio::test]
async fn idempotency_key_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = stack().parameter("IndexProjection", name).start().await.expect("a stack");
        let scheduled = Client::operator(&stack).post_once(ACCOUNT, "K", &new(7_000)).await;
        let keyed = Case { keyed: true, ..case(projection, &only_payment(&stack).await, 1) };
        Measured::default().assert("schedule-payment", &keyed, &scheduled);
    }
}

#[tokio::test]
async fn page_of_four_items_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = stack().parameter("IndexProjection", name).start().await.expect("a stack");
        let (client, mut measured) = (Client::operator(&stack), Measured::default());
        let several: Vec<_> = (0..4).map(|shard| payment("A-1", TIME, Status::Processed, shard)).collect();
        put(&stack, &several).await;
        let four = case(projection, &only_payment(&stack).await, 4);
        let range = format!("{ACCOUNT}?from={TIME}&to={TIME}");
        measured.assert("list-account-payments", &four, &client.get(&range).await);
        let due = client.get("/bank/payments/due?date=2099-12-01&status=PROCESSED").await;
        measured.assert("list-due-payments", &four, &due);
        let archived = client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
        measured.assert("archive-settled-payments", &four, &archived);
        let four = case(projection, &transactions(&stack).await.pop().expect("a transaction"), 4);
        let of_date = client.get("/bank/transactions?date=2099-12-01").await;
        measured.assert("list-transactions-by-date", &four, &of_date);
        let of_account = client.get("/bank/accounts/A-1/transactions").await;
        measured.assert("list-account-transactions", &four, &of_account);
    }
}
