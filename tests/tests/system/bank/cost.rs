//! Compares the capacity units that each access pattern consumes with its declared cost. Each table
//! and index is checked separately, with small and large items and with both projections.

use aws_sdk_dynamodb::types::AttributeValue;
use bank::{Case, MAX_BYTES, job_key};
use jobs::Job;
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client,
    bank::{Row, payment, payments, put, scheduled_at, stack, transactions, upload, without_jobs},
    dynamo, http,
    patterns::{cost_of, labels},
    text,
    units::{consumed, declared},
    until,
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
        assert!(matches!(answer.status, 200..=202), "{function}: {}", answer.body);
        assert_eq!(consumed(answer), declared(&cost_of(&bank::patterns(), function, case)), "{function} of {case:?}");
        self.0.insert(function.to_owned());
    }

    /// Asserts that all patterns were measured, except the execution, whose test is in
    /// `execution.rs`.
    fn assert_all(&self) {
        let mut all = labels(&bank::patterns());
        all.retain(|label| !label.starts_with("execute-payment"));
        assert_eq!(self.0, all);
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
        let stack = without_jobs().parameter("IndexProjection", name).start().await.expect("a stack");
        let row = measure_all_patterns(&stack, projection, 12, "T-1").await;
        assert!(bytes(&row) < 1_024);
    }
}

#[tokio::test]
async fn largest_payment_consumes_its_declared_cost() {
    for (name, projection) in PROJECTIONS {
        let stack = without_jobs().parameter("IndexProjection", name).start().await.expect("a stack");
        let most = largest(&Client::operator(&stack)).await;
        let row = measure_all_patterns(&stack, projection, most, &"\u{1F4B6}".repeat(128)).await;
        // A payment that an operator reports on has no attempts. Its version has one digit as text,
        // and four digits take three bytes. This one is no retry.
        let missing = 2 + "Attempts".len() + 2 + "RetryOf".len() + "20261201T093000Z-".len() + 32;
        assert_eq!(bytes(&row), MAX_BYTES - missing, "the largest accepted payment must fill 8 KB");
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
    measured.assert("list-overdue-payments", &one().await, &client.get("/bank/payments/overdue").await);
    measured.assert("get-day not closed", &one().await, &client.get("/bank/days/2099-12-01").await);
    measure_dispatch(stack, projection, &mut measured, data).await;
    measure_import(stack, projection, &mut measured, data).await;
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
    measure_close(stack, projection, &mut measured, data).await;
    measure_retry(stack, projection, &mut measured, data).await;
    measured.assert_all();
    row
}

/// Measures the dispatch, its job and the dispatch switch with a payment of another account, which
/// is deleted at the end.
async fn measure_dispatch(stack: &Stack, projection: Projection, measured: &mut Measured, data: usize) {
    let client = Client::operator(stack);
    let read = client.get("/bank/dispatching").await;
    measured.assert("get-dispatching", &case(projection, &only_payment(stack).await, 0), &read);
    let new = client.post("/bank/accounts/A-2/payments", &new(data)).await;
    assert_eq!(new.status, 201, "{}", new.body);
    let dispatched = client.invoke("dispatch-due-payments", &scheduled_at(TIME)).await;
    assert_eq!(dispatched.body, json!({"claimed": 1, "retried": 0, "left": false}));
    let rows = payments(stack).await;
    let row = rows.iter().find(|row| row["PK"] == "A-2").expect("the payment");
    measured.assert("dispatch-due-payments", &case(projection, row, 1), &dispatched);
    assert!(row["GSI1SK"].starts_with("PENDING#"), "{row:?}");
    delete(stack, row).await;

    let nothing = case(projection, row, 0);
    let started = client.post("/bank/dispatches", &json!({})).await;
    measured.assert("start-dispatch", &nothing, &started);
    let path = started.headers["location"].to_str().expect("text").to_owned();
    let continued = client.invoke("continue-bank-job", &starts(text(&started.body, "jobId"))).await;
    measured.assert("continue-bank-job, dispatch", &nothing, &continued);
    measured.assert("get-bank-job", &nothing, &client.get(&path).await);
    let failed = fail(stack, &path).await;
    measured.assert("retry-bank-job", &nothing, &client.post(&failed, &json!({})).await);
    let set = client.put("/bank/dispatching", &json!({"enabled": true})).await;
    measured.assert("set-dispatching", &nothing, &set);
}

/// Measures an import of one payment of another account, which is deleted at the end.
async fn measure_import(stack: &Stack, projection: Projection, measured: &mut Measured, data: usize) {
    let client = Client::operator(stack);
    let row = only_payment(stack).await;
    let line = json!({"id": "K-1", "accountId": "A-3", "scheduledTime": TIME,
        "data": {"amount": "1.00", "currency": "USD", "note": "x".repeat(data.saturating_sub(100))}});
    upload(stack, "inbox/cost.jsonl", &[], line.to_string()).await;
    let started = until(&client, "/bank/imports/cost", |answer| answer.status == 200).await;
    measured.assert("get-import", &case(projection, &row, 0), &started);
    // The event of a later run.
    let http = http();
    let object = http.head(format!("{}/{}/inbox/cost.jsonl", stack.services_url(), stack.inbox().expect("a bucket")));
    let object = object.send().await.expect("an object");
    let event = json!({"Records": [{"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": {
        "bucket": {"name": stack.inbox()},
        "object": {"key": "inbox/cost.jsonl", "size": 1, "eTag": object.headers()["etag"].to_str().expect("a tag"), "sequencer": "FF"},
    }}]});
    let begun = client.invoke("import-payments", &event).await;
    measured.assert("import-payments", &case(projection, &row, 0), &begun);
    let keys = json!({"PK": {"S": "IMPORT#cost"}, "SK": {"S": "RUN#FF"}});
    let step = json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]});
    let continued = client.invoke("continue-bank-job", &step).await;
    let rows = payments(stack).await;
    let row = rows.iter().find(|row| row["PK"] == "A-3").expect("the payment");
    measured.assert("continue-bank-job, import", &case(projection, row, 1), &continued);
    delete(stack, row).await;
    let table = dynamo(stack).table(stack.table("BankJobs").expect("a table"));
    let key = table::Key::new(&"IMPORT#cost", &"RUN#FF");
    let failed = table.update(key).set(Job::STATE, &"failed").remove(Job::RUN);
    dynamo(stack).write(failed).await.expect("failed");
    let retried = client.post("/bank/imports/cost/retry", &json!({})).await;
    measured.assert("retry-import", &case(projection, row, 0), &retried);
}

async fn delete(stack: &Stack, row: &Row) {
    let client = stack.client().expect("a client");
    let key = |name: &str| AttributeValue::S(row[name].clone());
    let delete = client.delete_item().table_name(stack.table("PaymentScheduler").expect("a table"));
    delete.key("PK", key("PK")).key("SK", key("SK")).send().await.expect("deleted");
}

/// Measures the close of the day before [`TIME`], which has one payment.
async fn measure_close(stack: &Stack, projection: Projection, measured: &mut Measured, data: usize) {
    let client = Client::operator(stack);
    let mut processed = payment("A-2", "2099-11-30T10:00:00Z", Status::Processed, 0);
    processed.data = serde_json::from_value(json!(format!("\"{}\"", "x".repeat(data - 2)))).expect("data");
    put(stack, &[processed]).await;
    let one = case(projection, &only_payment(stack).await, 1);
    let closing = client.invoke("close-day", &scheduled_at("2099-12-01T00:15:00Z")).await;
    measured.assert("close-day", &one, &closing);
    let closed = client.invoke("continue-bank-job", &starts(text(&closing.body, "jobId"))).await;
    measured.assert("continue-bank-job, close", &one, &closed);
    measured.assert("get-day", &one, &client.get("/bank/days/2099-11-30").await);
    let started = client.post("/bank/days/2020-01-01/close", &json!({})).await;
    measured.assert("start-close", &one, &started);
}

/// Measures the retry of a failed payment, before and after its archive.
async fn measure_retry(stack: &Stack, projection: Projection, measured: &mut Measured, data: usize) {
    let client = Client::operator(stack);
    for (function, archived) in [("retry-payment", false), ("retry-payment archived", true)] {
        let new = client.post("/bank/accounts/A-3/payments", &new(data)).await;
        let path = new.headers["location"].to_str().expect("text").to_owned();
        for status in ["PENDING", "FAILED"] {
            assert_eq!(client.patch(&path, &json!({"status": status})).await.status, 200);
        }
        let failed = payments(stack).await.into_iter().find(|row| row["GSI1SK"].starts_with("FAILED#"));
        let one = case(projection, &failed.expect("the payment"), 1);
        if archived {
            client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
        }
        measured.assert(function, &one, &client.post(&format!("{path}/retry"), &json!({})).await);
        client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
    }
}

/// The stream event for a new job.
fn starts(job: &str) -> Value {
    let keys = json!({"PK": {"S": format!("JOB#{job}")}, "SK": {"S": "JOB"}});
    json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]})
}

/// Marks a job as failed. Returns the path that retries it.
async fn fail(stack: &Stack, path: &str) -> String {
    let id = path.rsplit('/').next().expect("an id").parse().expect("a job id");
    let table = dynamo(stack).table(stack.table("BankJobs").expect("a table"));
    let failed = table.update(job_key(&id)).set(Job::STATE, &"failed").remove(Job::RUN);
    dynamo(stack).write(failed).await.expect("failed");
    format!("{path}/retry")
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
