//! Recorded calls of DynamoDB, as the steps of an access pattern.

use console::calls::{is_read, replaced, text, units_of};
use serde_json::Value;

/// A call with its response.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    pub(crate) action: String,
    pub(crate) request: Value,
    pub(crate) response: Value,
}

/// The calls as steps. Queries of several partitions, such as the shards of an index, are one step.
pub(crate) fn steps_of(calls: &[Recorded]) -> Vec<String> {
    let mut steps = Vec::new();
    for equal in calls.chunk_by(|one, other| one.without_partition() == other.without_partition()) {
        let step = equal[0].step();
        steps.push(if equal.len() == 1 {
            step
        } else {
            format!("{} times, with other partition keys: {step} each", equal.len())
        });
    }
    steps
}

impl Recorded {
    /// The query without the value of its partition key. Other calls are not equal.
    fn without_partition(&self) -> String {
        let Self { action, request, .. } = self;
        if action != "Query" {
            return format!("{request} {self:p}");
        }
        let mut request = request.clone();
        let condition = request["KeyConditionExpression"].as_str().unwrap_or_default().to_owned();
        let value = condition.split_whitespace().find(|word| word.starts_with(':')).unwrap_or_default();
        request["ExpressionAttributeValues"][value] = Value::Null;
        format!("{request}{}", self.units())
    }

    /// The call as a step: operation, place, key, condition, consistency and units.
    pub(crate) fn step(&self) -> String {
        let Self { action, request, .. } = self;
        let text = match action.as_str() {
            "Query" => query(request),
            "GetItem" => format!("get {}, {}", target(request, &request["Key"]), consistency(request)),
            "BatchGetItem" => batch(request),
            "BatchWriteItem" => {
                let tables = members(&request["RequestItems"]);
                let written = tables.map(|(table, writes)| format!("{} items of {}", count(writes), place(table)));
                format!("write {}", written.collect::<Vec<_>>().join(" and "))
            }
            "TransactWriteItems" => {
                let parts = request["TransactItems"].as_array().into_iter().flatten().flat_map(members);
                let parts = parts.map(|(kind, part)| format!("\n   - {}", write(kind, part)));
                return format!("one transaction{}{}", self.units(), parts.collect::<String>());
            }
            of_one_item => write(of_one_item.trim_end_matches("Item"), request),
        };
        text + &self.units()
    }

    /// The consumed units of each table and index.
    fn units(&self) -> String {
        let places = units_of(&self.response).into_iter();
        let unit = if is_read(&self.action) { "R" } else { "W" };
        let shown: Vec<String> = places.map(|(name, units)| format!("{} {units} {unit}", plain(&name))).collect();
        if shown.is_empty() { String::new() } else { format!(": {}", shown.join(", ")) }
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn count(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

/// The name of a table without the name of the stack.
fn plain(table: &str) -> &str {
    table.rsplit('-').next().unwrap_or(table)
}

fn place(table: &str) -> String {
    format!("`{}`", plain(table))
}

/// The place and the key of an item.
fn target(request: &Value, key: &Value) -> String {
    let table = request["TableName"].as_str().unwrap_or_default();
    format!("{} {}", place(table), key_of(key))
}

fn key_of(key: &Value) -> String {
    format!("PK = `{}`, SK = `{}`", text(&key["PK"]), text(&key["SK"]))
}

fn consistency(request: &Value) -> &'static str {
    if request["ConsistentRead"] == true { "strongly consistent" } else { "eventually consistent" }
}

fn query(request: &Value) -> String {
    let table = plain(request["TableName"].as_str().unwrap_or_default());
    let place = request["IndexName"].as_str().map_or_else(|| table.to_owned(), |index| format!("{table}/{index}"));
    let order = if request["ScanIndexForward"] == false { ", descending" } else { "" };
    let limit = request["Limit"].as_u64().map_or_else(String::new, |limit| format!(", at most {limit}"));
    let condition = replaced(request["KeyConditionExpression"].as_str().unwrap_or_default(), request, '`');
    format!("query `{place}` {condition}{order}{limit}, {}", consistency(request))
}

fn batch(request: &Value) -> String {
    let tables = members(&request["RequestItems"]).map(|(table, read)| {
        let keys: Vec<String> = read["Keys"].as_array().into_iter().flatten().map(key_of).collect();
        let first = keys.first().cloned().unwrap_or_default();
        let items = if keys.len() == 1 { first } else { format!("{} items, such as {first}", keys.len()) };
        format!("{} {items}, {}", place(table), consistency(read))
    });
    format!("get {}", tables.collect::<Vec<_>>().join(" and "))
}

fn write(kind: &str, request: &Value) -> String {
    let key = if request["Key"].is_object() { &request["Key"] } else { &request["Item"] };
    let verb = if kind == "ConditionCheck" { "check".to_owned() } else { kind.to_lowercase() };
    let condition = request["ConditionExpression"].as_str();
    let condition = condition.map_or_else(String::new, |text| format!(", if {}", replaced(text, request, '`')));
    format!("{verb} {}{condition}", target(request, key))
}
