//! The bank's payments as tests make them: through the API, or straight into the table where there are many.

use crate::{Answer, Client, stack};
use bank::Payment;
use jiff::{SignedDuration, Timestamp};
use keys::{Second, bank::PaymentId};
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use table::{BatchWrite, Dynamo, JsonText, Table};

/// Makes a test of each function for either projection of the sharded index.
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

/// A stack whose sharded index has the projection, and its operator.
pub async fn stack_with(projection: &str) -> (Stack, Client) {
    let stack = stack().parameter("IndexProjection", projection).start().await.expect("a stack");
    let operator = Client::operator(&stack);
    (stack, operator)
}

/// Schedules a payment, and answers it.
pub async fn schedule(client: &Client, account: &str, time: &str) -> Value {
    let new = json!({"scheduledTime": time, "data": {"of": account, "at": time}});
    let answer = client.post(&format!("/bank/accounts/{account}/payments"), &new).await;
    assert_eq!(answer.status, 201, "{account} at {time}: {}", answer.body);
    answer.body
}

/// Where a payment is.
#[must_use]
pub fn path(payment: &Value) -> String {
    format!("/bank/accounts/{}/payments/{}", text(payment, "accountId"), text(payment, "paymentId"))
}

/// A member that is a text.
#[must_use]
pub fn text<'a>(item: &'a Value, member: &str) -> &'a str {
    item[member].as_str().expect("a text")
}

/// That member of every item.
#[must_use]
pub fn texts<'a>(items: &'a [Value], member: &str) -> Vec<&'a str> {
    items.iter().map(|item| text(item, member)).collect()
}

/// Asks for a move of a payment; PROCESSED takes the transaction id along.
pub async fn ask_to_move(client: &Client, payment: &Value, status: &str, transaction: &str) -> Answer {
    let body = match status {
        "PROCESSED" => json!({"status": status, "transactionId": transaction}),
        _ => json!({"status": status}),
    };
    client.patch(&path(payment), &body).await
}

/// Moves a payment from SCHEDULED to the status, and answers it.
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

/// Archives everything processed up to the end of the date, and answers how many that were.
pub async fn archive(client: &Client, date: &str) -> u64 {
    let answer = client.invoke("archive-processed-payments", &json!({"date": date})).await;
    assert_eq!(answer.body["left"], json!(false), "{}", answer.body);
    answer.body["moved"].as_u64().expect("a number")
}

/// Everything that both tables hold.
pub async fn stored(stack: &Stack) -> BTreeSet<String> {
    let client = stack.client().expect("a client");
    let mut stored = BTreeSet::new();
    for table in stack.tables() {
        let mut pages = client.scan().table_name(table).into_paginator().items().send();
        while let Some(item) = pages.next().await {
            let item: std::collections::BTreeMap<_, _> = item.expect("an item").into_iter().collect();
            stored.insert(format!("{table} {item:?}"));
        }
    }
    stored
}

/// Our own calls to the engine, past the functions.
#[must_use]
pub fn dynamo(stack: &Stack) -> Dynamo {
    Dynamo::new(&stack.client().expect("a client"))
}

/// The table of the payments.
#[must_use]
pub fn payments(stack: &Stack) -> Table {
    dynamo(stack).table(stack.table("PaymentScheduler").expect("a table"))
}

/// A payment on a shard, to be put straight into the table.
#[must_use]
pub fn payment(account: &str, due: Timestamp, shard: usize) -> Payment {
    let second = Second::containing(due).expect("a second");
    let data: JsonText = serde_json::from_value(json!("{\"amount\":\"12.50\"}")).expect("data");
    let (account, shard) = (account.parse().expect("an account"), shard.to_string().parse().expect("a shard"));
    Payment::scheduled(account, PaymentId::new(second, Timestamp::now()), shard, data, second)
}

/// Puts the payments straight into the table.
pub async fn put(stack: &Stack, payments: &[Payment]) {
    let (dynamo, table) = (dynamo(stack), self::payments(stack));
    let mut batch = BatchWrite::default();
    for payment in payments {
        batch.put(&table, payment).expect("an item");
    }
    dynamo.batch_write(batch).await.expect("written");
}

/// So many seconds after the start of the day.
#[must_use]
pub fn second_of(day: &str, second: i64) -> Timestamp {
    let start: Timestamp = format!("{day}T00:00:00Z").parse().expect("a day");
    start + SignedDuration::from_secs(second)
}
