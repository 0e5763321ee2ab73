//! A model of `DynamoDB` in memory, which can be copied in microseconds. Calls are atomic, and each
//! query is one page.
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use super::expression::{accepts, updated};

pub(super) type Item = Map<String, Value>;
type Place = (String, String, String);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub(super) action: String,
    pub(super) body: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer(pub(crate) u16, pub(crate) Value);

/// All items, with a hash of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Store {
    items: BTreeMap<Arc<Place>, Arc<Item>>,
    pub(super) hash: u64,
    /// Number of employees with a seat.
    pub(super) seated: usize,
}

fn place(table: &Value, key: &Value) -> Place {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    (text(table), text(&key["PK"]["S"]), text(&key["SK"]["S"]))
}

fn hash_of(place: &Place, item: &Item) -> u64 {
    let one = |name: &String, value: &Value| {
        let mut hasher = DefaultHasher::new();
        (place, name, value.to_string()).hash(&mut hasher);
        hasher.finish()
    };
    item.iter().fold(0, |hash, (name, value)| hash ^ one(name, value))
}

fn has_seat((_, _, sort): &Place, item: &Item) -> bool {
    sort.starts_with("Registration#") && item.contains_key("Ticket") && !item.contains_key("Absence")
}

impl Store {
    pub(super) fn items(&self) -> impl Iterator<Item = (&Place, &Item)> {
        self.items.iter().map(|(place, item)| (&**place, &**item))
    }

    fn get(&self, place: &Place) -> Item {
        self.items.get(place).map_or_else(Item::new, |item| (**item).clone())
    }

    fn set(&mut self, place: Place, item: Option<Item>) {
        if let Some(old) = self.items.get(&place) {
            self.hash ^= hash_of(&place, old);
            self.seated -= usize::from(has_seat(&place, old));
        }
        match item {
            Some(item) => {
                self.hash ^= hash_of(&place, &item);
                self.seated += usize::from(has_seat(&place, &item));
                self.items.insert(Arc::new(place), Arc::new(item));
            }
            None => drop(self.items.remove(&place)),
        }
    }

    pub(super) fn execute(&mut self, Call { action, body }: &Call) -> Answer {
        match action.as_str() {
            "GetItem" => {
                let found = self.items.get(&place(&body["TableName"], &body["Key"]));
                Answer(200, found.map_or_else(|| json!({}), |item| json!({"Item": **item})))
            }
            "BatchGetItem" => {
                let mut found = json!({});
                for (table, keys) in body["RequestItems"].as_object().expect("tables") {
                    let keys = keys["Keys"].as_array().expect("keys").iter();
                    let items = keys.filter_map(|key| self.items.get(&place(&table.as_str().into(), key)));
                    found[table] = items.map(|item| json!(**item)).collect();
                }
                Answer(200, json!({"Responses": found, "UnprocessedKeys": {}}))
            }
            "Query" => self.query(body),
            "TransactWriteItems" => {
                let changes: Vec<(&str, &Value)> =
                    body["TransactItems"].as_array().expect("changes").iter().map(one).collect();
                let refused: Vec<_> = changes.iter().map(|(kind, change)| self.refusal(kind, change)).collect();
                if refused.iter().all(Option::is_none) {
                    changes.iter().for_each(|(kind, change)| self.change(kind, change));
                    return Answer(200, json!({}));
                }
                let reason = |item: Option<Item>| match item {
                    Some(item) => json!({"Code": "ConditionalCheckFailed", "Message": "failed", "Item": item}),
                    None => json!({"Code": "None"}),
                };
                let reasons: Vec<_> = refused.into_iter().map(reason).collect();
                let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
                Answer(400, json!({"__type": kind, "message": "cancelled", "CancellationReasons": reasons}))
            }
            "PutItem" | "UpdateItem" | "DeleteItem" => {
                let kind = action.trim_end_matches("Item");
                if let Some(item) = self.refusal(kind, body) {
                    let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
                    return Answer(400, json!({"__type": kind, "message": "failed", "Item": item}));
                }
                self.change(kind, body);
                match body["ReturnValues"].as_str() {
                    Some("ALL_NEW") => {
                        Answer(200, json!({"Attributes": self.get(&place(&body["TableName"], &body["Key"]))}))
                    }
                    _ => Answer(200, json!({})),
                }
            }
            other => panic!("{other} {body}"),
        }
    }

    /// The stored item, if the condition of the change fails.
    fn refusal(&self, kind: &str, change: &Value) -> Option<Item> {
        let key = if kind == "Put" { &change["Item"] } else { &change["Key"] };
        let item = self.get(&place(&change["TableName"], key));
        (!accepts(change, "ConditionExpression", &item)).then_some(item)
    }

    fn change(&mut self, kind: &str, change: &Value) {
        let of_key = |key| place(&change["TableName"], &change[key]);
        match kind {
            "Put" => self.set(of_key("Item"), change["Item"].as_object().cloned()),
            "Update" => self.set(of_key("Key"), Some(updated(change, self.get(&of_key("Key"))))),
            "Delete" => self.set(of_key("Key"), None),
            _ => {}
        }
    }

    fn query(&self, body: &Value) -> Answer {
        assert_eq!(body["KeyConditionExpression"], "#p = :p AND #s BETWEEN :from AND :to");
        assert!(body["IndexName"].is_null() && body["ScanIndexForward"] == true, "{body}");
        let text = |value: &Value| value["S"].as_str().expect("a text").to_owned();
        let values = &body["ExpressionAttributeValues"];
        let start = &body["ExclusiveStartKey"];
        let from = if start.is_null() { text(&values[":from"]) } else { format!("{}\u{1}", text(&start["SK"])) };
        let table = body["TableName"].as_str().expect("a table").to_owned();
        let range = |sort| (table.clone(), text(&values[":p"]), sort);
        let (from, to) = (range(from), range(text(&values[":to"])));
        let mut found = if from <= to { self.items.range::<Place, _>(from..=to).collect() } else { Vec::new() };
        let limit = body["Limit"].as_u64().map_or(usize::MAX, |limit| usize::try_from(limit).expect("a limit"));
        let last = (found.len() >= limit).then(|| &**found[limit - 1].0);
        let last = last.map(|(_, partition, sort)| json!({"PK": {"S": partition}, "SK": {"S": sort}}));
        found.truncate(limit);
        let scanned = found.len();
        found.retain(|(_, item)| accepts(body, "FilterExpression", item));
        let mut answer = json!({"Count": found.len(), "ScannedCount": scanned});
        if body["Select"] != "COUNT" {
            answer["Items"] = found.iter().map(|(_, item)| json!(***item)).collect();
        }
        if let Some(last) = last {
            answer["LastEvaluatedKey"] = last;
        }
        Answer(200, answer)
    }
}

/// The kind of a change in a transaction, and the change.
fn one(change: &Value) -> (&str, &Value) {
    let (kind, change) = change.as_object().and_then(|change| change.iter().next()).expect("a change");
    (kind, change)
}
