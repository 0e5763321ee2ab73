//! A query is not a snapshot: it may return one item of a transaction and miss another. This never
//! occurs in the embedded engine. The test simulates it: it removes items and puts them back.

use aws_sdk_dynamodb::{Client as Engine, types::AttributeValue};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use system_tests::{Client, cart::twins, faults::Twins};

type Item = HashMap<String, AttributeValue>;

const ITEMS: &str = "/cart/accounts/A-1/items";

struct Table {
    engine: Engine,
    name: String,
}

impl Table {
    fn of(twins: &Twins) -> Self {
        let engine = twins.healthy.client().expect("a client");
        Self { engine, name: twins.healthy.table("Cart").expect("a table").to_owned() }
    }

    /// Returns the items whose sort key starts with the prefix.
    async fn items(&self, prefix: &str) -> Vec<Item> {
        let items = self.engine.scan().table_name(&self.name).consistent_read(true).send().await.expect("items").items;
        let is_of = |item: &Item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with(prefix));
        items.unwrap_or_default().into_iter().filter(is_of).collect()
    }

    async fn take_away(&self, item: &Item) {
        let key = ["PK", "SK"].map(|name| (name.to_owned(), item[name].clone()));
        let delete = self.engine.delete_item().table_name(&self.name).set_key(Some(key.into()));
        delete.send().await.expect("deleted");
    }

    async fn put_back(&self, item: &Item) {
        let put = self.engine.put_item().table_name(&self.name).set_item(Some(item.clone()));
        put.send().await.expect("written");
    }
}

/// Waits until the functions have called the API action `times` times.
async fn called(twins: &Twins, action: &str, times: usize) {
    for _ in 0..12_000 {
        if twins.proxy.count(action) >= times {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    unreachable!("only {} calls of {action}", twins.proxy.count(action));
}

fn tea(quantity: u32) -> Value {
    json!({"sku": "tea", "quantity": quantity})
}

#[tokio::test]
async fn read_waits_for_an_item_whose_pointer_is_already_visible() {
    let twins = twins().await;
    let (healthy, through) = (Client::operator(&twins.healthy), Client::operator(&twins.faulty));
    let cart_item = healthy.post(ITEMS, &tea(2)).await.body;
    let path = format!("{ITEMS}/{}", cart_item["itemId"].as_str().expect("an id"));
    let saved = healthy.patch(&path, &json!({"status": "SAVED"})).await.body;
    let table = Table::of(&twins);
    let late = table.items("SAVED#").await;
    table.take_away(&late[0]).await;
    let reading = tokio::spawn(async move { through.get(&path).await });
    called(&twins, "GetItem", 6).await;
    table.put_back(&late[0]).await;
    let read = reading.await.expect("an answer");
    assert_eq!((read.status, &read.body), (200, &saved));
}
