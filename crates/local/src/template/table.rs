//! Tables, as the `CreateTable` request that makes them.
use serde_json::{Map, Value, json};

use super::node::{Node, Result, Value as Content, fault};

const WHAT: &str = "AWS::DynamoDB::Table";
const READ: [&str; 5] = ["TableName", "BillingMode", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes"];
const MEANINGLESS: [&str; 6] = [
    "DeletionProtectionEnabled",
    "PointInTimeRecoverySpecification",
    "SSESpecification",
    "WarmThroughput",
    "StreamSpecification",
    "TimeToLiveSpecification",
];

/// A table with its physical name.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The physical name.
    pub name: String,
    /// The body of the `CreateTable` call.
    pub definition: Value,
}

impl Table {
    pub(crate) fn read(name: String, table: &Node) -> Result<Self> {
        table.only(WHAT, &READ, &MEANINGLESS)?;
        let billing = table.need(WHAT, "BillingMode")?;
        if billing.text()? != "PAY_PER_REQUEST" {
            return fault(billing.line, "the local stack knows PAY_PER_REQUEST tables only");
        }
        let mut definition = json!({
            "TableName": name,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes(table.need(WHAT, "AttributeDefinitions")?)?,
            "KeySchema": key(table.need(WHAT, "KeySchema")?)?,
        });
        if let Some(indexes) = table.get("GlobalSecondaryIndexes") {
            let indexes: Result<Vec<_>> = indexes.list()?.iter().map(index).collect();
            let indexes = indexes?;
            if !indexes.is_empty() {
                definition["GlobalSecondaryIndexes"] = Value::Array(indexes);
            }
        }
        Ok(Self { name, definition })
    }
}

fn attributes(list: &Node) -> Result<Value> {
    let read = |item: &Node| as_json(item.only("an attribute", &["AttributeName", "AttributeType"], &[])?);
    list.list()?.iter().map(read).collect()
}

fn key(list: &Node) -> Result<Value> {
    let read = |item: &Node| as_json(item.only("a key", &["AttributeName", "KeyType"], &[])?);
    list.list()?.iter().map(read).collect()
}

fn index(index: &Node) -> Result<Value> {
    index.only("an index", &["IndexName", "KeySchema", "Projection"], &["WarmThroughput"])?;
    let projection = index.need("an index", "Projection")?;
    projection.only("a projection", &["ProjectionType", "NonKeyAttributes"], &[])?;
    Ok(json!({
        "IndexName": index.need("an index", "IndexName")?.text()?,
        "KeySchema": key(index.need("an index", "KeySchema")?)?,
        "Projection": as_json(projection)?,
    }))
}

fn as_json(node: &Node) -> Result<Value> {
    match &node.value {
        Content::Text(text) => Ok(Value::String(text.clone())),
        Content::List(items) => items.iter().map(as_json).collect(),
        Content::Map(entries) => {
            let pairs = entries.iter().map(|entry| Ok((entry.key.clone(), as_json(&entry.node)?)));
            Ok(Value::Object(pairs.collect::<Result<Map<_, _>>>()?))
        }
    }
}
