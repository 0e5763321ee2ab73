//! Helpers for tests of the bank. They create payments through the API, or put payments directly
//! into the table.

use crate::{Answer, Client, changed, dynamo, http, random, text, until};
use aws_sdk_dynamodb::types::AttributeValue;
use bank::{ImportedFile, Payment};
use function::percent_encoded;
use intake::Format;
use jiff::{SignedDuration, Timestamp};
use jobs::Job;
use keys::{
    TimestampSeconds,
    bank::{DueSort, PaymentId, Status},
};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use table::{BatchWrite, JsonText, Table};

/// Generates two tests from each function, one for each projection of the sharded index.
#[macro_export]
macro_rules! on_both_projections {
    ($($name:ident)+) => {
        mod keys_only {
            $(#[tokio::test] async fn $name() { super::$name("KEYS_ONLY").await; })+
        }
        mod all {
            $(#[tokio::test] async fn $name() { super::$name("ALL").await; })+
        }
    };
}

/// The stack of the bank alone.
pub fn stack() -> Builder {
    crate::stack().stacks(["bank"])
}

/// A stack whose bank executes no payments.
pub fn unexecuted() -> Builder {
    stack().parameter("TransactionService", "none")
}

/// A bank stack that hands payments to the executor, and without the event source mapping of the
/// executor. The test invokes the executor itself. The service is `http` at the URL.
pub fn handed_over(url: &str) -> Builder {
    let mapping = "        Payments:\n          Type: DynamoDB\n          Properties:\n";
    let bank = changed("bank", (mapping, 1), &format!("{mapping}            Enabled: false\n"));
    with_service(bank, url)
}

/// Sets the URL of the service that executes payments.
pub fn with_service(bank: Builder, url: &str) -> Builder {
    let secret = "arn:aws:secretsmanager:us-east-1:000000000000:secret:bank";
    let bank = bank.parameter("TransactionService", "http").parameter("TransactionServiceUrl", url);
    bank.parameter("TransactionServiceSecretArn", secret)
}

/// Starts a stack with the given projection of the sharded index. Returns the stack and an
/// operator's client.
pub async fn stack_with(projection: &str) -> (Stack, Client) {
    let stack = unexecuted().parameter("IndexProjection", projection).start().await.expect("a stack");
    let operator = Client::operator(&stack);
    (stack, operator)
}

/// A bank stack without the event source mapping of the jobs. The test invokes the job function
/// itself.
pub fn without_jobs() -> Builder {
    let mapping = "        Jobs:\n          Type: DynamoDB\n          Properties:\n";
    changed("bank", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}

/// Schedules a payment and returns it.
pub async fn schedule(client: &Client, account: &str, time: &str) -> Value {
    let new = json!({"scheduledTime": time, "data": {"of": account, "at": time}});
    let answer = client.post(&format!("/bank/accounts/{account}/payments"), &new).await;
    assert_eq!(answer.status, 201, "{account} at {time}: {}", answer.body);
    answer.body
}

/// Path of a payment.
pub fn path(payment: &Value) -> String {
    format!("/bank/accounts/{}/payments/{}", text(payment, "accountId"), text(payment, "paymentId"))
}

/// Requests a status change of a payment. The request includes the transaction id if the status is
/// `PROCESSED`.
pub(crate) async fn ask_to_move(client: &Client, payment: &Value, status: &str, transaction: &str) -> Answer {
    let body = match status {
        "PROCESSED" => json!({"status": status, "transactionId": transaction}),
        _ => json!({"status": status}),
    };
    client.patch(&path(payment), &body).await
}

/// Moves a `SCHEDULED` payment to the status through all intermediate statuses, and returns the
/// payment.
pub async fn bring_to(client: &Client, payment: &Value, status: &str, transaction: &str) -> Value {
    let steps: &[&str] = match status {
        "SCHEDULED" => &[],
        "PROCESSED" => &["PENDING", "PROCESSED"],
        "FAILED" => &["PENDING", "FAILED"],
        other => &[other],
    };
    let mut payment = payment.clone();
    for step in steps {
        let answer = ask_to_move(client, &payment, step, transaction).await;
        assert_eq!(answer.status, 200, "{step}: {}", answer.body);
        payment = answer.body;
    }
    payment
}

/// Archives the settled payments that are due by the end of the date. Returns the number of moved
/// payments.
pub async fn archive(client: &Client, date: &str) -> u64 {
    let answer = client.invoke("archive-settled-payments", &json!({"date": date})).await;
    assert_eq!(answer.body["left"], json!(false), "{}", answer.body);
    answer.body["moved"].as_u64().expect("a number")
}

/// The event of a schedule at the given time.
pub fn scheduled_at(time: &str) -> Value {
    json!({"detail-type": "Scheduled Event", "time": time})
}

/// The event of a stream for a new item with these keys.
pub fn inserted(partition: &str, sort: &str) -> Value {
    let keys = json!({"PK": {"S": partition}, "SK": {"S": sort}});
    json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]})
}

/// Returns a value as text, with the members of maps in order.
fn in_order(value: &AttributeValue) -> String {
    match value {
        AttributeValue::M(members) => {
            let members: BTreeMap<_, _> = members.iter().map(|(name, value)| (name, in_order(value))).collect();
            format!("{members:?}")
        }
        AttributeValue::L(values) => format!("{:?}", values.iter().map(in_order).collect::<Vec<_>>()),
        other => format!("{other:?}"),
    }
}

/// Returns a value as text. A boolean and a map of texts have as many bytes as in DynamoDB.
fn as_text(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) | AttributeValue::N(text) => text.clone(),
        AttributeValue::Bool(value) => u8::from(*value).to_string(),
        AttributeValue::M(members) => {
            let members: BTreeSet<String> =
                members.iter().map(|(name, value)| format!("{name}={}", as_text(value))).collect();
            format!("M{{{}}}", members.into_iter().collect::<String>())
        }
        other => in_order(other),
    }
}

/// Table `PaymentScheduler`.
pub fn payments_table(stack: &Stack) -> Table {
    dynamo(stack).table(stack.table("PaymentScheduler").expect("a table"))
}

/// Creates a `SCHEDULED` payment on the given shard, without storing it.
pub fn scheduled_payment(account: &str, due: Timestamp, shard: usize) -> Payment {
    let second = TimestampSeconds::containing(due).expect("a second");
    let data: JsonText = serde_json::from_value(json!("{\"amount\":\"12.50\"}")).expect("data");
    let (account, shard) = (account.parse().expect("an account"), shard.to_string().parse().expect("a shard"));
    Payment::scheduled(account, PaymentId::new(second, Timestamp::now(), &random()), shard, data, second)
}

/// Puts the payments directly into the table.
pub async fn put(stack: &Stack, payments: &[Payment]) {
    let (dynamo, table) = (dynamo(stack), payments_table(stack));
    let mut batch = BatchWrite::default();
    for payment in payments {
        batch.put(&table, payment).expect("an item");
    }
    dynamo.batch_write(batch).await.expect("written");
}

/// Returns the time `second` seconds after the start of the day.
pub fn second_of(day: &str, second: i64) -> Timestamp {
    let start: Timestamp = format!("{day}T00:00:00Z").parse().expect("a day");
    start + SignedDuration::from_secs(second)
}

/// An item: its attribute values by name, as text.
pub type Row = BTreeMap<String, String>;

/// Reads all items with the given `Type` from a table, with strong consistency.
pub async fn rows(stack: &Stack, table: &str, kind: &str) -> Vec<Row> {
    let client = stack.client().expect("a client");
    let table = stack.table(table).expect("a table");
    let mut pages = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
    let mut rows = Vec::new();
    while let Some(item) = pages.next().await {
        let item = item.expect("an item");
        if item.get("Type").and_then(|value| value.as_s().ok()).is_none_or(|of| of != kind) {
            continue;
        }
        rows.push(item.into_iter().map(|(name, value)| (name, as_text(&value))).collect());
    }
    rows
}

/// Reads all payments.
pub async fn payments(stack: &Stack) -> Vec<Row> {
    rows(stack, "PaymentScheduler", "Payment").await
}

/// Reads all transactions.
pub async fn transactions(stack: &Stack) -> Vec<Row> {
    rows(stack, "TransactionHistory", "Transaction").await
}

/// Creates a payment with the given status on the given shard, without storing it. If the status is
/// `PROCESSED`, the payment gets a unique transaction id.
pub fn payment(account: &str, time: &str, status: Status, shard: usize) -> Payment {
    let time: TimestampSeconds = time.parse().expect("a time");
    let id = PaymentId::new(time, time.instant(), &random());
    let shard = shard.to_string().parse().expect("a shard");
    let data = serde_json::from_value("{\"amount\": 1}".into()).expect("data");
    let mut payment = Payment::scheduled(account.parse().expect("an account"), id, shard, data, time);
    payment.due = DueSort { status, payment: id };
    if status == Status::Processed {
        payment.transaction_id = Some(format!("T-{id}").parse().expect("a transaction id"));
    }
    payment
}

/// Stores an object in the inbox.
pub async fn upload(stack: &Stack, key: &str, metadata: &[(&str, &str)], content: impl Into<Vec<u8>>) {
    let bucket = stack.inbox().expect("a bucket");
    let http = http();
    let path: Vec<String> = key.split('/').map(|part| percent_encoded(part).to_string()).collect();
    let mut put = http.put(format!("{}/{bucket}/{}", stack.services_url(), path.join("/"))).body(content.into());
    for (name, value) in metadata {
        put = put.header(format!("x-amz-meta-{name}"), *value);
    }
    let answer = put.send().await.expect("an answer");
    assert_eq!(answer.status(), 200, "{key}");
}

/// Uploads a file, and waits until its import has ended. Returns the import.
pub async fn import(stack: &Stack, file: &str, metadata: &[(&str, &str)], content: impl Into<Vec<u8>>) -> Value {
    let client = Client::operator(stack);
    let path = format!("/bank/imports/{}", percent_encoded(Format::stem(file)));
    let before = client.get(&path).await.body["run"].clone();
    upload(stack, &format!("inbox/{file}"), metadata, content).await;
    let is_over =
        |answer: &Answer| answer.status == 200 && answer.body["run"] != before && answer.body["status"] != "running";
    until(&client, &path, is_over).await.body
}

/// Puts the first run of an import, which never ends. Returns its job.
pub async fn put_run(stack: &Stack, import: &str, started_at: &str) -> Job {
    let file = ImportedFile {
        import: import.parse().expect("an id"),
        run: "FF".parse().expect("a run"),
        bucket: "local-inbox".to_owned(),
        key: format!("inbox/{import}.csv"),
        tag: "t".to_owned(),
    };
    let job = file.job(&"start", started_at.parse().expect("a time")).expect("a job");
    let dynamo = dynamo(stack);
    let table = dynamo.table(stack.table("BankJobs").expect("a table"));
    dynamo.write(table.put_new(&job).expect("an item")).await.expect("a run");
    job
}

/// The lines of the report of an import.
pub fn report(stack: &Stack, import: &Value) -> Vec<Value> {
    let path = text(import, "report").strip_prefix("s3://").expect("a location");
    let report = std::fs::read_to_string(stack.lake().join(path)).expect("a report");
    report.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}
