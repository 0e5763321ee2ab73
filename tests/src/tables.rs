//! What stands in the tables of a stack, past its functions.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use aws_sdk_dynamodb::types::AttributeValue;
use bank::Payment;
use keys::{
    Second,
    bank::{DueSort, PaymentId, Status},
};
use local::{CONSUMED, Stack};
use serde_json::Value;
use std::collections::BTreeMap;
use table::{BatchWrite, Dynamo, Units, cost::Cost};

use crate::Answer;

/// An item; every attribute of the bank's tables is a string.
pub type Row = BTreeMap<String, String>;

/// The items of that `Type` in the table whose name ends so, strongly consistent.
pub async fn rows(stack: &Stack, table: &str, kind: &str) -> Vec<Row> {
    let client = stack.client().expect("a client");
    let table = stack.table(table).expect("a table");
    let mut pages = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
    let mut rows = Vec::new();
    while let Some(item) = pages.next().await {
        let text = |value: AttributeValue| value.as_s().expect("a string").clone();
        let row: Row = item.expect("an item").into_iter().map(|(name, value)| (name, text(value))).collect();
        rows.extend(Some(row).filter(|row| row["Type"] == kind));
    }
    rows
}

/// The payments.
pub async fn payments(stack: &Stack) -> Vec<Row> {
    rows(stack, "PaymentScheduler", "Payment").await
}

/// The transactions.
pub async fn transactions(stack: &Stack) -> Vec<Row> {
    rows(stack, "TransactionHistory", "Transaction").await
}

/// A payment of the account that stands so, on a shard; PROCESSED ones have transaction ids of their own.
#[must_use]
pub fn payment(account: &str, time: &str, status: Status, shard: usize) -> Payment {
    let time: Second = time.parse().expect("a time");
    let id = PaymentId::new(time, time.instant());
    let shard = shard.to_string().parse().expect("a shard");
    let data = serde_json::from_value("{\"amount\": 1}".into()).expect("data");
    let mut payment = Payment::scheduled(account.parse().expect("an account"), id, shard, data, time);
    payment.due = DueSort { status, payment: id };
    if status == Status::Processed {
        payment.transaction_id = Some(format!("T-{id}").parse().expect("a transaction id"));
    }
    payment
}

/// Puts the payments as they are, past the functions.
pub async fn put(stack: &Stack, payments: &[Payment]) {
    let dynamo = Dynamo::new(&stack.client().expect("a client"));
    let table = dynamo.table(stack.table("PaymentScheduler").expect("a table"));
    let mut batch = BatchWrite::default();
    for payment in payments {
        batch.put(&table, payment).expect("writable");
    }
    dynamo.batch_write(batch).await.expect("all of them");
}

/// Read and write units by place, such as `PaymentScheduler/GSI1`.
pub type Consumed = BTreeMap<String, (Units, Units)>;

/// What the call consumed, by its header; the index that carries all attributes counts as `GSI1`.
#[must_use]
pub fn consumed(answer: &Answer) -> Consumed {
    let header = answer.headers.get(CONSUMED).expect("the local gateway says it");
    let rows: Vec<Value> = serde_json::from_slice(header.as_bytes()).expect("JSON");
    let mut sums = Consumed::new();
    for row in &rows {
        let table = row["table"].as_str().expect("a table");
        let table = table.rsplit('-').next().unwrap_or(table);
        let place = match row["index"].as_str() {
            Some("GSI1All") => format!("{table}/GSI1"),
            Some(index) => format!("{table}/{index}"),
            None => table.to_owned(),
        };
        let sum = sums.entry(place).or_default();
        *sum = (sum.0 + units(&row["read"]), sum.1 + units(&row["write"]));
    }
    sums
}

/// The same of what a pattern declares.
#[must_use]
pub fn declared(cost: &Cost) -> Consumed {
    let places = cost.places().filter(|(_, read, write)| *read + *write != Units::ZERO);
    places.map(|(place, read, write)| (place.to_owned(), (read, write))).collect()
}

fn units(value: &Value) -> Units {
    let text = value.to_string();
    let (whole, half) = text.split_once('.').unwrap_or((&text, "0"));
    Units::whole(whole.parse().expect("a number")) + Units::halves(u64::from(half.starts_with('5')))
}
