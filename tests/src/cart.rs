//! The cart as its tests use it: through the functions, at times that the test chooses.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

pub mod model;

use crate::{Client, clock::At, stack};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::Stack;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The statuses that customers see.
pub const STATUSES: [&str; 3] = ["ACTIVE", "SAVED", "PURCHASED"];
/// Lines that may be ACTIVE in one cart.
pub const MAX_LINES: usize = cart::MAX_LINES;

/// Where a line is.
#[must_use]
pub fn path(line: &Value) -> String {
    let member = |name: &str| line[name].as_str().expect("a text").to_owned();
    format!("/cart/accounts/{}/items/{}", member("accountId"), member("itemId"))
}

/// Where the lines of an account are.
#[must_use]
pub fn items_of(account: &str) -> String {
    format!("/cart/accounts/{account}/items")
}

/// Where a cart is bought.
#[must_use]
pub fn checkout_of(account: &str) -> String {
    format!("/cart/accounts/{account}/checkout")
}

/// A stack whose carts are used at chosen times, and its operator.
#[derive(Debug)]
pub struct Shop {
    /// The stack.
    pub stack: Stack,
    /// Its operator, at the time that it is.
    pub now: Client,
}

impl Shop {
    /// A shop where a line that is left alone stays so many days.
    pub async fn open(days: u32) -> Self {
        let stack = stack().parameter("CartDays", days.to_string()).start().await.expect("a stack");
        let now = Client::operator(&stack);
        Self { stack, now }
    }

    /// The operator at a time.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> At<'_> {
        At::new(&self.stack, &self.now, now)
    }
}

/// Every item of the table, past the functions, by its key.
pub async fn stored(stack: &Stack) -> BTreeMap<(String, String), Value> {
    let client = stack.client().expect("a client");
    let table = stack.table("Cart").expect("a table");
    let mut items = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
    let mut stored = BTreeMap::new();
    while let Some(item) = items.next().await {
        let item = json(AttributeValue::M(item.expect("an item")));
        let text = |name: &str| item[name].as_str().expect("a text").to_owned();
        stored.insert((text("PK"), text("SK")), item);
    }
    stored
}

fn json(value: AttributeValue) -> Value {
    match value {
        AttributeValue::S(text) => text.into(),
        AttributeValue::N(number) => serde_json::from_str(&number).expect("a number"),
        AttributeValue::Bool(truth) => truth.into(),
        AttributeValue::M(members) => members.into_iter().map(|(name, value)| (name, json(value))).collect(),
        AttributeValue::L(values) => values.into_iter().map(json).collect(),
        other => unreachable!("no item has {other:?}"),
    }
}

impl At<'_> {
    /// Adds so many of a product, and answers the line.
    pub async fn add(self, account: &str, sku: &str, quantity: u32) -> Value {
        let answer = self.post(&items_of(account), &json!({"sku": sku, "quantity": quantity})).await;
        assert!(matches!(answer.status, 200 | 201), "{account} {sku} {quantity}: {}", answer.body);
        answer.body
    }

    /// Moves a line, and answers it.
    pub async fn bring_to(self, line: &Value, status: &str) -> Value {
        let answer = self.patch(&path(line), &json!({"status": status})).await;
        assert_eq!(answer.status, 200, "{line} to {status}: {}", answer.body);
        answer.body
    }

    /// Buys a cart, and answers its lines.
    pub async fn check_out(self, account: &str) -> Vec<Value> {
        let answer = self.post(&checkout_of(account), &json!({})).await;
        assert_eq!(answer.status, 200, "{account}: {}", answer.body);
        answer.body["items"].as_array().expect("items").clone()
    }

    /// An account's lines by status.
    pub async fn of_account(self, account: &str, status: &str) -> Vec<Value> {
        self.all(&format!("{}?status={status}", items_of(account))).await.0
    }

    /// All accounts' lines of a product by status.
    pub async fn of_sku(self, sku: &str, status: &str) -> Vec<Value> {
        self.all(&format!("/cart/skus/{sku}/items?status={status}")).await.0
    }
}
