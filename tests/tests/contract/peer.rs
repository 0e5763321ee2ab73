//! AWS's DynamoDB Local beside the embedded engine (docs/dynamodb-local.md). It receives the same
//! calls, and must return the same responses and keep the same items.

use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, PoisonError},
};
use template::Table;
use ureq::Agent;
use uuid::Uuid;

/// An item with the name of its table.
type Stored = (String, Value);

#[derive(Debug)]
pub(crate) struct Peer {
    http: Agent,
    url: String,
    authorization: String,
    tables: Vec<String>,
    differences: Mutex<Vec<String>>,
}

impl Peer {
    /// Creates the tables with these items.
    pub(crate) fn start(url: &str, tables: &[Table], items: &[Stored]) -> Self {
        let http = Agent::config_builder().http_status_as_error(false).proxy(None).build();
        // DynamoDB Local verifies no signature, and has a database for each access key and region.
        let credential = format!("{}/20200101/any/dynamodb/aws4_request", Uuid::new_v4().simple());
        let peer = Self {
            http: http.into(),
            url: url.to_owned(),
            authorization: format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=none"),
            tables: tables.iter().map(|table| table.name.clone()).collect(),
            differences: Mutex::default(),
        };
        for table in tables {
            peer.must("CreateTable", &table.definition);
        }
        for item in items {
            peer.put(item);
        }
        peer
    }

    /// Sends a call that the engine has answered, and compares the response.
    pub(crate) fn compare(&self, target: &str, request: &[u8], status: u16, response: &[u8]) {
        let (status_here, mut here) = self.send(target, request);
        let mut there = serde_json::from_slice(response).unwrap_or_default();
        for body in [&mut there, &mut here] {
            simplify(body);
        }
        if (status, &there) != (status_here, &here) {
            let request = String::from_utf8_lossy(request);
            self.differs(format!("{target} {request}: the engine: {status} {there}, the peer: {status_here} {here}"));
        }
    }

    /// Compares all items with those of the engine, and replaces them.
    pub(crate) fn replace(&self, present: &[Stored], new: &[Stored]) {
        let stored: Vec<_> = self.tables.iter().flat_map(|table| self.items(table)).collect();
        let [stored, present, new] = [&stored[..], present, new].map(by_key);
        for key in stored.keys().chain(present.keys()) {
            let [here, there] = [&stored, &present].map(|items| items.get(key).map(|(_, item)| simple(item)));
            if here != there {
                self.differs(format!("{key}: the engine: {there:?}, the peer: {here:?}"));
            }
        }
        for (key, (table, item)) in &stored {
            if !new.contains_key(key) {
                let key = json!({"PK": item["PK"], "SK": item["SK"]});
                self.must("DeleteItem", &json!({"TableName": table, "Key": key}));
            }
        }
        for (key, item) in new {
            if stored.get(&key).is_none_or(|(_, stored)| simple(stored) != simple(&item.1)) {
                self.put(item);
            }
        }
    }

    /// The differences since the last call of this function.
    pub(crate) fn differences(&self) -> Vec<String> {
        mem::take(&mut self.differences.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn put(&self, (table, item): &Stored) {
        self.must("PutItem", &json!({"TableName": table, "Item": item}));
    }

    fn items(&self, table: &str) -> Vec<Stored> {
        let (mut items, mut start) = (Vec::new(), Value::Null);
        loop {
            let mut scan = json!({"TableName": table, "ConsistentRead": true});
            if !start.is_null() {
                scan["ExclusiveStartKey"] = start;
            }
            let mut page = self.must("Scan", &scan);
            let found = page["Items"].as_array_mut().map(mem::take).unwrap_or_default();
            items.extend(found.into_iter().map(|item| (table.to_owned(), item)));
            start = page["LastEvaluatedKey"].take();
            if start.is_null() {
                return items;
            }
        }
    }

    fn must(&self, action: &str, body: &Value) -> Value {
        let (status, answer) = self.send(&format!("DynamoDB_20120810.{action}"), body.to_string().as_bytes());
        assert_eq!(status, 200, "{action} {body}: {answer}");
        answer
    }

    /// Sends a call. Blocks the thread, so that the paused clock stands still.
    fn send(&self, target: &str, body: &[u8]) -> (u16, Value) {
        let call = self.http.post(&self.url).header("x-amz-target", target);
        let call = call.header("content-type", "application/x-amz-json-1.0").header("x-amz-date", "20200101T000000Z");
        let mut answer = call.header("authorization", &self.authorization).send(body).expect("a response");
        let body = answer.body_mut().read_to_vec().expect("a body");
        (answer.status().as_u16(), serde_json::from_slice(&body).unwrap_or_default())
    }

    fn differs(&self, difference: String) {
        self.differences.lock().unwrap_or_else(PoisonError::into_inner).push(difference);
    }
}

fn by_key(items: &[Stored]) -> BTreeMap<String, &Stored> {
    items.iter().map(|stored| (format!("{} {} {}", stored.0, stored.1["PK"], stored.1["SK"]), stored)).collect()
}

fn simple(item: &Value) -> Value {
    let mut item = item.clone();
    simplify(&mut item);
    item
}

/// Removes what may differ: units, messages, the order of sets, and that of the items of an equal
/// key.
fn simplify(body: &mut Value) {
    match body {
        Value::Object(members) => {
            for name in ["ConsumedCapacity", "ItemCollectionMetrics", "message", "Message"] {
                members.remove(name);
            }
            members.retain(|name, value| !(name.starts_with("Unprocessed") && value == &Value::Object(Map::new())));
            members.values_mut().for_each(simplify);
            if let Some(kind) = members.get("__type").and_then(Value::as_str) {
                members["__type"] = kind.rsplit('#').next().unwrap_or_default().into();
            }
            if let Some(Value::String(number)) = members.get_mut("N") {
                *number = plain(number);
            }
            for name in ["Items", "SS", "NS"] {
                if let Some(Value::Array(list)) = members.get_mut(name) {
                    list.sort_by_key(Value::to_string);
                }
            }
            if let Some(Value::Object(tables)) = members.get_mut("Responses") {
                for list in tables.values_mut().filter_map(Value::as_array_mut) {
                    list.sort_by_key(Value::to_string);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// A number without zeros at the end of its fraction, which DynamoDB Local keeps.
fn plain(number: &str) -> String {
    match number.split_once('.') {
        Some(_) => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => number.to_owned(),
    }
}
