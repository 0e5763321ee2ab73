//! Helpers for tests of the cart. A test chooses the time of each request.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may panic")]

use crate::{Client, clock::At, dynamo, parsed};
use aws_sdk_dynamodb::types::AttributeValue;
use cart::Product;
use jiff::Timestamp;
use local::{Builder, Stack};
use money::Money;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use table::BatchWrite;

/// Statuses that customers can see.
pub const STATUSES: [&str; 3] = ["ACTIVE", "SAVED", "PURCHASED"];
/// Maximum number of ACTIVE items in a cart.
pub const MAX_ITEMS: usize = cart::MAX_ITEMS;
/// Maximum number of cart items that a checkout moves itself. A job moves the items of larger
/// orders.
pub const MAX_MOVED_AT_ONCE: usize = cart::MAX_MOVED_AT_ONCE;

/// Path of a cart item.
pub fn path(cart_item: &Value) -> String {
    let member = |name: &str| cart_item[name].as_str().expect("a text").to_owned();
    format!("/cart/accounts/{}/items/{}", member("accountId"), member("itemId"))
}

/// Path of an account's cart items.
pub fn items_of(account: &str) -> String {
    format!("/cart/accounts/{account}/items")
}

/// Path of an account's checkout.
pub fn checkout_of(account: &str) -> String {
    format!("/cart/accounts/{account}/checkout")
}

/// Stack of the cart, and a client with the operator scope. The test can choose the time of each
/// request.
#[derive(Debug)]
pub struct Shop {
    /// Stack of the cart.
    pub stack: Stack,
    /// Client with the operator scope, at the current time.
    pub now: Client,
}

impl Shop {
    /// Starts a shop in which an unchanged cart item expires after `days` days.
    pub async fn open(days: u32) -> Self {
        let stack = stocked(stack().parameter("CartDays", days.to_string())).await;
        let now = Client::operator(&stack);
        Self { stack, now }
    }

    /// Returns a client with the operator scope that sends its requests at the time `now`.
    pub fn at(&self, now: Timestamp) -> At<'_> {
        At::new(&self.stack, &self.now, now)
    }
}

/// The product of the tests with this SKU. It costs 12.49 USD.
pub fn product(sku: &str) -> Product {
    let price = Money::new(parsed("12.49"), parsed("USD")).expect("a price");
    Product::new(parsed(sku), parsed("Product"), price, true)
}

/// The product of the tests with this SKU, for 400 JPY.
pub fn in_yen(sku: &str) -> Product {
    Product { price: Money::new(parsed("400"), parsed("JPY")).expect("a price"), ..product(sku) }
}

/// The stack of the cart alone.
pub fn stack() -> Builder {
    crate::stack().stacks(["cart"])
}

/// Puts products directly into the table.
pub async fn put_products(stack: &Stack, products: impl IntoIterator<Item = Product>) {
    let dynamo = dynamo(stack);
    let table = dynamo.table(stack.table("Products").expect("a table"));
    let mut batch = BatchWrite::default();
    for product in products {
        batch.put(&table, &product).expect("a product");
    }
    dynamo.batch_write(batch).await.expect("products");
}

/// Puts products with these SKUs.
pub async fn stock(stack: &Stack, skus: impl IntoIterator<Item = impl AsRef<str>>) {
    put_products(stack, skus.into_iter().map(|sku| product(sku.as_ref()))).await;
}

/// Puts the products that most tests of the cart use: `tea`, `sku-0`, `S-0` and so on.
async fn stock_all(stack: &Stack) {
    const NAMES: &str = "tea cup pot left a b c d e f";
    let numbered = (0..520).flat_map(|number| [format!("sku-{number}"), format!("S-{number}")]);
    stock(stack, NAMES.split_whitespace().map(str::to_owned).chain(numbered)).await;
}

/// Starts a stack with products.
pub async fn stocked(builder: Builder) -> Stack {
    let stack = builder.start().await.expect("a stack");
    stock_all(&stack).await;
    stack
}

/// Reads every item of the table directly.
pub async fn items(stack: &Stack) -> Vec<HashMap<String, AttributeValue>> {
    let (client, table) = (stack.client().expect("a client"), stack.table("Cart").expect("a table"));
    let pages = client.scan().table_name(table).consistent_read(true).into_paginator();
    pages.items().send().collect::<Result<_, _>>().await.expect("the items")
}

/// Reads every item of the table directly, by its key.
pub async fn stored(stack: &Stack) -> BTreeMap<(String, String), Value> {
    let items = items(stack).await.into_iter().map(|item| json(AttributeValue::M(item)));
    let text = |item: &Value, name: &str| item[name].as_str().expect("a text").to_owned();
    items.map(|item| ((text(&item, "PK"), text(&item, "SK")), item)).collect()
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
    /// Adds a quantity of a product and returns the cart item.
    pub async fn add(self, account: &str, sku: &str, quantity: u32) -> Value {
        let answer = self.post(&items_of(account), &json!({"sku": sku, "quantity": quantity})).await;
        assert!(matches!(answer.status, 200 | 201), "{account} {sku} {quantity}: {}", answer.body);
        answer.body
    }

    /// Changes the status of a cart item and returns the changed item. To purchase it alone, saves
    /// the other items of the cart for the time of the checkout.
    pub async fn bring_to(self, cart_item: &Value, status: &str) -> Value {
        if ["PURCHASED", "SHIPPED"].contains(&status) {
            let bought = self.buy(cart_item).await;
            if status == "PURCHASED" {
                return bought;
            }
            let member = |name: &str| bought[name].as_str().expect("a text").to_owned();
            let order = format!("/cart/accounts/{}/orders/{}", member("accountId"), member("orderId"));
            assert_eq!(self.patch(&order, &json!({"status": status})).await.status, 200);
            return self.get(&path(cart_item)).await.body;
        }
        let answer = self.patch(&path(cart_item), &json!({"status": status})).await;
        assert_eq!(answer.status, 200, "{cart_item} to {status}: {}", answer.body);
        answer.body
    }

    async fn buy(self, cart_item: &Value) -> Value {
        let change = async |cart_item: &Value, status: &str| {
            let answer = self.patch(&path(cart_item), &json!({"status": status})).await;
            assert_eq!(answer.status, 200, "{cart_item} to {status}: {}", answer.body);
        };
        let account = cart_item["accountId"].as_str().expect("an account");
        let others = self.of_account(account, "ACTIVE").await;
        let others: Vec<_> = others.iter().filter(|other| other["itemId"] != cart_item["itemId"]).collect();
        for other in &others {
            change(other, "SAVED").await;
        }
        change(cart_item, "ACTIVE").await;
        self.check_out(account).await;
        for other in &others {
            change(other, "ACTIVE").await;
        }
        self.get(&path(cart_item)).await.body
    }

    /// Buys a cart and returns the purchased cart items.
    pub async fn check_out(self, account: &str) -> Vec<Value> {
        let answer = self.post(&checkout_of(account), &json!({})).await;
        assert_eq!(answer.status, 200, "{account}: {}", answer.body);
        let mut bought = self.of_account(account, "PURCHASED").await;
        bought.retain(|cart_item| cart_item["orderId"] == answer.body["orderId"]);
        let ids = |items: &[Value]| items.iter().map(|item| item["itemId"].clone()).collect::<Vec<_>>();
        let lines = answer.body["items"].as_array().expect("items");
        assert_eq!(ids(&bought), ids(lines), "the lines of the order, and the purchased items");
        bought
    }

    /// Lists an account's cart items with a status.
    pub async fn of_account(self, account: &str, status: &str) -> Vec<Value> {
        self.all(&format!("{}?status={status}", items_of(account))).await.0
    }

    /// Lists the cart items of a product with a status, across all accounts.
    pub async fn of_sku(self, sku: &str, status: &str) -> Vec<Value> {
        self.all(&format!("/cart/skus/{sku}/items?status={status}")).await.0
    }
}
