//! Damaged items: what each reader answers if it meets an item that cannot be read. The result is
//! compared with the result of the same request on undamaged items.

use crate::{Asks, faults, patterns};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use local::Stack;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// The attributes of an item.
pub type Item = BTreeMap<String, AttributeValue>;

/// A kind of damage to one attribute.
#[derive(Debug, Clone, Copy)]
pub enum Damage {
    /// The attribute is missing.
    Missing,
    /// The attribute has another type.
    Type,
    /// The attribute is a string that cannot be parsed.
    Value,
}

/// All kinds of damage.
pub const DAMAGES: [Damage; 3] = [Damage::Missing, Damage::Type, Damage::Value];

/// Damages an attribute of the only item of the table for which `is_it` returns true. Returns the
/// partition key and the sort key of the item.
pub async fn damage(
    stack: &Stack,
    table: &str,
    is_it: impl Fn(&Item) -> bool,
    attribute: &str,
    damage: Damage,
) -> (String, String) {
    let (client, table) = (stack.client().expect("a client"), stack.table(table).expect("a table"));
    let pages = client.scan().table_name(table).consistent_read(true).into_paginator();
    let items: Vec<_> = pages.items().send().collect::<Result<_, _>>().await.expect("items");
    let items = items.into_iter().map(|item| item.into_iter().collect::<Item>());
    let mut found = items.filter(is_it);
    let (mut item, None) = (found.next().expect("the item"), found.next()) else {
        unreachable!("several items match");
    };
    item.remove(attribute);
    let value = match damage {
        Damage::Missing => None,
        Damage::Type => Some(AttributeValue::L(Vec::new())),
        Damage::Value => Some(AttributeValue::S("damaged".to_owned())),
    };
    item.extend(value.map(|value| (attribute.to_owned(), value)));
    let key = (text(&item, "PK"), text(&item, "SK"));
    client.put_item().table_name(table).set_item(Some(item.into_iter().collect())).send().await.expect("written");
    key
}

/// The value of a string attribute, or an empty string.
pub fn text(item: &Item, attribute: &str) -> String {
    item.get(attribute).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default()
}

/// The response of a function, and the keys of the items that it could not read. The invocation
/// writes these keys to the log.
#[derive(Debug)]
pub struct Reading {
    /// The status. 200 for a function that is not called over HTTP.
    pub status: u64,
    /// The body.
    pub body: Value,
    /// Partition and sort keys of the unreadable items.
    pub logged: Vec<(String, String)>,
}

impl Reading {
    /// The number of items in the response.
    pub fn count(&self) -> usize {
        self.body["items"].as_array().map_or(0, Vec::len)
    }
}

/// The expected effect of the damaged item on a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// The same response as without the damage.
    None,
    /// One item less, `skipped` is 1, and the log has the key.
    Skipped,
    /// The request succeeds without the item, and the log has the key.
    Passed,
    /// 500, and the log has the key.
    Failed,
}

impl Effect {
    /// Compares a reading with the reading of undamaged items.
    pub fn check(self, damaged: &Reading, healthy: &Reading, key: &(String, String), when: &str) {
        assert!(healthy.status < 500 && healthy.logged.is_empty(), "{when}: {healthy:?}");
        let logged = !damaged.logged.is_empty() && damaged.logged.iter().all(|logged| logged == key);
        match self {
            Self::None => {
                let equal = (damaged.status, damaged.count(), damaged.body.get("skipped"))
                    == (healthy.status, healthy.count(), healthy.body.get("skipped"));
                assert!(equal && damaged.logged.is_empty(), "{when}: {damaged:?}, not {healthy:?}");
            }
            Self::Skipped => {
                assert_eq!((damaged.status, &damaged.body["skipped"]), (200, &1.into()), "{when}: {damaged:?}");
                let (is, was) = (moved(damaged), moved(healthy));
                assert_eq!((damaged.count() + is + 1, logged), (healthy.count() + was, true), "{when}: {damaged:?}");
            }
            Self::Passed => {
                let succeeded = [damaged, healthy].iter().all(|reading| matches!(reading.status, 200 | 201));
                assert!(succeeded && logged, "{when}: {damaged:?}, not {healthy:?}");
            }
            Self::Failed => assert_eq!((damaged.status, logged), (500, true), "{when}: {damaged:?}"),
        }
    }
}

/// The number of items that a job moved.
fn moved(reading: &Reading) -> usize {
    reading.body["moved"].as_u64().and_then(|moved| moved.try_into().ok()).unwrap_or_default()
}

/// Sends a request of an operator to the function of its route.
pub async fn request(stack: &Stack, asks: &Asks<'_>) -> Reading {
    let of_route = |pattern: &function::Declared| {
        pattern.routes().iter().any(|route| format!("{} {}", route.method, route.path) == asks.route)
    };
    let pattern = patterns::all().into_iter().find(of_route).expect("a route");
    invoke(stack, pattern.name, asks.at(Timestamp::now())).await
}

/// Invokes a function. A failed invocation has the status 500.
pub async fn invoke(stack: &Stack, name: &str, event: Value) -> Reading {
    let service = faults::service(stack, stack.dynamo_url(), name, &patterns::function_named(name));
    let invocation = service.call(event, faults::within(Duration::from_secs(10))).await;
    let (status, body) = match invocation.answer {
        Err(_) => (500, Value::Null),
        Ok(answer) => match answer["statusCode"].as_u64() {
            Some(status) => {
                let body = answer["body"].as_str().and_then(|body| serde_json::from_str(body).ok());
                (status, body.unwrap_or_default())
            }
            None => (200, answer),
        },
    };
    let items = invocation.usage.unreadable_items.into_iter();
    let logged =
        items.map(|(_, key)| key.expect("a key")).map(|key| (key.partition().to_owned(), key.sort().to_owned()));
    Reading { status, body, logged: logged.collect() }
}
