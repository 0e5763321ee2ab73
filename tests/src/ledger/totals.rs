//! The daily totals of a ledger, and the events of the function that counts transactions.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use super::{Books, Item};
use crate::changed;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::{Builder, Stack};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// The name of the function that counts transactions.
pub const COUNT: &str = "react-to-transactions";

/// The table of totals.
pub const TOTALS: &str = "Totals";

/// The sums of a total: debits and credits in cents, and the number of transactions.
pub type Sums = (i64, i64, i64);

/// Configures a stack in which the event source mapping of the stream is disabled. The test invokes
/// the function itself.
pub fn without_counting() -> Builder {
    let mapping = "        Transactions:\n          Type: DynamoDB\n          Properties:\n";
    changed("ledger", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}

/// Reads all items of the table `Totals`.
pub async fn stored_totals(stack: &Stack) -> Vec<Item> {
    let table = stack.table(TOTALS).expect("a table");
    let scan = stack.client().expect("a client").scan().table_name(table).consistent_read(true);
    scan.into_paginator().items().send().collect::<Result<_, _>>().await.expect("items")
}

/// Returns the totals over all shards. The name of a total consists of its scope, date, types and
/// currency.
pub async fn totals(stack: &Stack) -> BTreeMap<String, Sums> {
    let mut totals = BTreeMap::<_, Sums>::new();
    for item in stored_totals(stack).await.iter().filter(|item| item["Type"] == text("Total")) {
        let of = |name: &str| item[name].as_s().expect("a text").as_str();
        let (scope, _) = of("PK").rsplit_once('#').expect("a shard");
        let day = of("SK").split('#').nth(1).expect("a date");
        let name = [scope, day, of("TransactionType"), of("AccountType"), of("Currency")].join(" ");
        let sums = totals.entry(name).or_default();
        sums.0 += cents(&item["Debits"]);
        sums.1 += cents(&item["Credits"]);
        sums.2 += item["Transactions"].as_n().expect("a number").parse::<i64>().expect("a number");
    }
    totals
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn cents(number: &AttributeValue) -> i64 {
    let number = number.as_n().expect("a number");
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    format!("{whole}{fraction:0<2}").parse().expect("cents")
}

/// Returns the value in DynamoDB JSON.
fn json_of(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::L(values) => json!({"L": values.iter().map(json_of).collect::<Vec<_>>()}),
        other => unreachable!("no header has the value {other:?}"),
    }
}

/// Returns the stream event for the insertion of these items, now. The sequence number of a record
/// is its index.
pub fn insertions<'a>(items: impl IntoIterator<Item = &'a Item>) -> Value {
    insertions_at(items, Timestamp::now())
}

/// Returns the stream event for the insertion of these items at a time.
pub fn insertions_at<'a>(items: impl IntoIterator<Item = &'a Item>, time: Timestamp) -> Value {
    let record = |(index, item): (usize, &Item)| {
        let image: Map<String, Value> = item.iter().map(|(name, value)| (name.clone(), json_of(value))).collect();
        let keys = json!({"PK": image["PK"], "SK": image["SK"]});
        json!({
            "eventName": "INSERT",
            "dynamodb": {
                "ApproximateCreationDateTime": time.as_second(), "SequenceNumber": index.to_string(),
                "Keys": keys, "NewImage": image,
            },
        })
    };
    json!({"Records": items.into_iter().enumerate().map(record).collect::<Vec<_>>()})
}

impl Books {
    /// Reads the headers of all transactions, sorted by key.
    pub async fn headers(&self) -> Vec<Item> {
        let mut headers = self.stored().await;
        headers.retain(|item| item["Type"] == text("Transaction"));
        headers.sort_by_key(|header| header["PK"].as_s().expect("a key").clone());
        headers
    }
}
