//! The calls of the functions: service, action, table and keys.
use std::collections::BTreeMap;

use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use serde_json::{Map, Value};

use template::Table;

/// Names of the key attributes of a table and of its indexes.
#[derive(Debug, Clone)]
pub(super) struct Schema {
    key: Vec<String>,
    pub(super) indexes: BTreeMap<String, Vec<String>>,
}

/// Schemas by table.
pub(super) type Schemas = BTreeMap<String, Schema>;

pub(super) fn schemas(tables: &[Table]) -> Schemas {
    let names = |schema: &Value| -> Vec<String> {
        let keys = schema["KeySchema"].as_array().into_iter().flatten();
        keys.filter_map(|key| key["AttributeName"].as_str()).map(str::to_owned).collect()
    };
    let schema = |definition: &Value| {
        let indexes = definition["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
        let indexes = indexes.filter_map(|index| Some((index["IndexName"].as_str()?.to_owned(), names(index))));
        Schema { key: names(definition), indexes: indexes.collect() }
    };
    tables.iter().map(|table| (table.name.clone(), schema(&table.definition))).collect()
}

impl Schema {
    /// The primary key of an item or of a key.
    pub(super) fn key(&self, item: &Value) -> Value {
        self.key.iter().map(|name| (name.clone(), item[name].clone())).collect::<Map<_, _>>().into()
    }

    /// Partition key and sort key in the table or in an index, as texts. `None` if an index does
    /// not contain the item.
    pub(super) fn position(&self, item: &Value, index: Option<&str>) -> Option<(String, String)> {
        let names = index.map_or(Some(&self.key), |index| self.indexes.get(index))?;
        let value = |name: &String| item.get(name).map(scalar);
        let sort = names.get(1).map_or(Some(String::new()), value)?;
        Some((names.first().and_then(value)?, sort))
    }
}

/// The text of a key attribute.
pub(super) fn scalar(value: &Value) -> String {
    let text = value.as_object().and_then(|value| value.values().next()?.as_str());
    text.map_or_else(|| value.to_string(), str::to_owned)
}

/// An item that a call reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub(super) table: String,
    pub(super) key: String,
}

/// Kind of a DynamoDB call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `GetItem`.
    Get,
    /// A query or a scan.
    Pages,
    /// `BatchGetItem`.
    BatchGet,
    /// `TransactGetItems`.
    TransactGet,
    /// A write of one item.
    Write,
    /// `BatchWriteItem`.
    BatchWrite,
    /// `TransactWriteItems`.
    TransactWrite,
    /// Another DynamoDB call, such as a description of a table.
    Other,
    /// `PutRecordBatch` of Firehose, or `PutEvents` of EventBridge.
    Batch,
    /// A call of S3 or of another service.
    Service,
}

/// A call of a function.
#[derive(Debug, Clone)]
pub struct Call {
    /// The kind.
    pub kind: Kind,
    /// The action, such as `Query`. For S3, the method and the path.
    pub action: String,
    /// The body. Null for S3.
    pub body: Value,
    /// The table, or the service and the resource.
    pub place: String,
}

impl Call {
    pub(super) fn of(request: &HttpRequest) -> Self {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let Some((service, action)) = target.split_once('.') else { return Self::of_s3(request) };
        let body: Value = request.body().bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let kind = match (service.starts_with("DynamoDB_"), action) {
            (true, "GetItem") => Kind::Get,
            (true, "Query" | "Scan") => Kind::Pages,
            (true, "BatchGetItem") => Kind::BatchGet,
            (true, "TransactGetItems") => Kind::TransactGet,
            (true, "PutItem" | "UpdateItem" | "DeleteItem") => Kind::Write,
            (true, "BatchWriteItem") => Kind::BatchWrite,
            (true, "TransactWriteItems") => Kind::TransactWrite,
            (true, _) => Kind::Other,
            (false, "PutRecordBatch" | "PutEvents") => Kind::Batch,
            (false, _) => Kind::Service,
        };
        let resource = body["DeliveryStreamName"].as_str().map(str::to_owned);
        let place = resource.or_else(|| table(&body)).unwrap_or_else(|| service.to_owned());
        Self { kind, action: action.to_owned(), body, place }
    }

    fn of_s3(request: &HttpRequest) -> Self {
        let uri = request.uri().parse::<http::Uri>().unwrap_or_default();
        let bucket = uri.path().trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
        let action = format!("{} {}", request.method(), uri.path());
        Self { kind: Kind::Service, action, body: Value::Null, place: bucket }
    }

    /// Whether it is a call of DynamoDB.
    pub fn is_dynamodb(&self) -> bool {
        !matches!(self.kind, Kind::Batch | Kind::Service)
    }

    /// Whether it writes items.
    pub fn is_write(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::BatchWrite | Kind::TransactWrite)
    }

    pub(super) fn index(&self) -> Option<&str> {
        self.body["IndexName"].as_str()
    }

    /// Whether the call accepts an older state.
    pub(super) fn is_eventual(&self) -> bool {
        let is_weak = |read: &Value| read["ConsistentRead"] != true;
        match self.kind {
            Kind::Get | Kind::Pages => is_weak(&self.body),
            Kind::BatchGet => self.body["RequestItems"].as_object().is_some_and(|tables| tables.values().all(is_weak)),
            _ => false,
        }
    }

    /// The partition key of a query.
    pub(super) fn partition(&self) -> Option<String> {
        let condition = self.body["KeyConditionExpression"].as_str()?;
        let value = condition.split(|letter: char| letter.is_whitespace() || letter == ')');
        let value = value.into_iter().find(|word| word.starts_with(':'))?;
        Some(scalar(&self.body["ExpressionAttributeValues"][value]))
    }

    /// The new item of a put, by its number in the request.
    pub(super) fn new_item(&self, number: usize) -> Option<Value> {
        let part = match self.kind {
            Kind::Write => Some(&self.body),
            Kind::TransactWrite => self.body["TransactItems"][number].get("Put"),
            Kind::BatchWrite => {
                let tables = self.body["RequestItems"].as_object()?;
                tables.values().flat_map(list_of).nth(number)?.get("PutRequest")
            }
            _ => None,
        };
        part?.get("Item").cloned()
    }

    /// The items that the call names, in the order of the request.
    pub(super) fn targets(&self, schemas: &Schemas) -> Vec<Target> {
        let target = |table: &str, call: &Value| {
            let item = ["Key", "Item"].iter().find_map(|part| call.get(part)).unwrap_or(call);
            let key = schemas.get(table).map_or_else(|| item.clone(), |schema| schema.key(item));
            Target { table: table.to_owned(), key: key.to_string() }
        };
        if let Some(parts) = self.body["TransactItems"].as_array() {
            let parts = parts.iter().filter_map(Value::as_object).flat_map(Map::values);
            return parts.map(|call| target(call["TableName"].as_str().unwrap_or_default(), call)).collect();
        }
        if let Some(tables) = self.body["RequestItems"].as_object() {
            let parts = tables.iter().flat_map(|(table, list)| list_of(list).iter().map(move |part| (table, part)));
            return parts.map(|(table, part)| target(table, inner(part))).collect();
        }
        let named = self.body.get("Key").or_else(|| self.body.get("Item"));
        named.map(|_| target(&self.place, &self.body)).into_iter().collect()
    }
}

/// The keys or the writes of one table in a batch.
pub(super) fn list_of(list: &Value) -> &[Value] {
    list.get("Keys").unwrap_or(list).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The put or the delete of a batch write, or the key of a batch read.
fn inner(part: &Value) -> &Value {
    ["PutRequest", "DeleteRequest"].iter().find_map(|kind| part.get(kind)).unwrap_or(part)
}

fn table(body: &Value) -> Option<String> {
    let of_batch = || body["RequestItems"].as_object()?.keys().next().cloned();
    let of_transaction = || {
        let parts = body["TransactItems"][0].as_object()?;
        parts.values().next()?["TableName"].as_str().map(str::to_owned)
    };
    body["TableName"].as_str().map(str::to_owned).or_else(of_batch).or_else(of_transaction)
}
