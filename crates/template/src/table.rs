//! Tables, as `CreateTable` requests.
use serde_json::{Map, Value, json};

use super::node::{Node, Result, Value as Content, fault};
use super::{ACCOUNT, REGION};

const WHAT: &str = "AWS::DynamoDB::Table";
const READ: [&str; 8] = [
    "TableName",
    "BillingMode",
    "AttributeDefinitions",
    "KeySchema",
    "GlobalSecondaryIndexes",
    "StreamSpecification",
    "TimeToLiveSpecification",
    "DeletionProtectionEnabled",
];
const MEANINGLESS: [&str; 3] = ["PointInTimeRecoverySpecification", "SSESpecification", "WarmThroughput"];

const VIEWS: [&str; 4] = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"];
/// Label of every local stream. In AWS, the label is the creation time of the stream.
pub const STREAM_LABEL: &str = "2026-01-01T00:00:00.000";

/// Table with its stream and TTL settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Physical name.
    pub name: String,
    /// Body of the `CreateTable` request.
    pub definition: Value,
    /// ARN of the stream, if the table has a stream.
    pub stream: Option<String>,
    /// TTL attribute, if TTL is enabled.
    pub expires_by: Option<String>,
}

/// ARN of a table's stream.
pub fn stream_arn(table: &str) -> String {
    format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{table}/stream/{STREAM_LABEL}")
}

impl Table {
    pub(crate) fn read(name: String, table: &Node) -> Result<Self> {
        table.only(WHAT, &READ, &MEANINGLESS)?;
        let billing = table.need(WHAT, "BillingMode")?;
        if billing.text()? != "PAY_PER_REQUEST" {
            return fault(billing.line, "the local stack supports only PAY_PER_REQUEST tables");
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
        if let Some(protection) = table.get("DeletionProtectionEnabled") {
            definition["DeletionProtectionEnabled"] = json!(protection.flag()?);
        }
        let view = view(table)?;
        if let Some(view) = &view {
            definition["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": view});
        }
        let stream = view.map(|_| stream_arn(&name));
        Ok(Self { name, definition, stream, expires_by: expires_by(table)? })
    }
}

fn view(table: &Node) -> Result<Option<String>> {
    let Some(stream) = table.get("StreamSpecification") else { return Ok(None) };
    stream.only("StreamSpecification", &["StreamViewType"], &[])?;
    let view = stream.need("StreamSpecification", "StreamViewType")?;
    match view.text()? {
        text if VIEWS.contains(&text) => Ok(Some(text.to_owned())),
        _ => fault(view.line, format!("StreamViewType must be one of {}", VIEWS.join(", "))),
    }
}

fn expires_by(table: &Node) -> Result<Option<String>> {
    let Some(ttl) = table.get("TimeToLiveSpecification") else { return Ok(None) };
    ttl.only("TimeToLiveSpecification", &["AttributeName", "Enabled"], &[])?;
    let attribute = ttl.need("TimeToLiveSpecification", "AttributeName")?.text()?;
    Ok(ttl.need("TimeToLiveSpecification", "Enabled")?.flag()?.then(|| attribute.to_owned()))
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
