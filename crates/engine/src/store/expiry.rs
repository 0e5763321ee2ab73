//! TTL: deletes expired items, and adds the service's user identity to their stream records.
use std::sync::PoisonError;

use dynoxide::{actions::delete_item::DeleteItemRequest, actions::scan::ScanRequest, errors::DynoxideError};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Position, Store, make::request};
use template::Table;

const IDENTITY: &str = r#"{"type":"Service","principalId":"dynamodb.amazonaws.com"}"#;
const COMPLETE: &str = "UPDATE _stream_records SET user_identity = ?1 WHERE table_name = ?2
    AND CAST(sequence_number AS INTEGER) = ?3";
// Maximum number of stream records to search for the deletion. Concurrent writes may add records
// before it.
const MAX_CONCURRENT: usize = 1000;

impl Store {
    /// Deletes the items that have expired at the time `then`. `None` means now. Returns the number
    /// of deleted items.
    pub fn sweep(&self, then: Option<Timestamp>) -> Result<usize, String> {
        let Some(then) = then else { return self.database.sweep_ttl().map_err(|error| error.to_string()) };
        // The engine's own TTL supports only the current time. This code therefore deletes the
        // items itself, and adds the user identity to the stream records.
        let mut deleted = 0;
        for table in self.tables.iter() {
            if let Some(attribute) = &table.expires_by {
                deleted += self.sweep_table(table, attribute, then)?;
            }
        }
        Ok(deleted)
    }

    fn sweep_table(&self, table: &Table, attribute: &str, then: Timestamp) -> Result<usize, String> {
        let condition = json!({
            "TableName": table.name,
            "ExpressionAttributeNames": {"#expires": attribute},
            "ExpressionAttributeValues": {":then": {"N": then.as_second().to_string()}},
        });
        let (mut deleted, mut start) = (0, Value::Null);
        loop {
            let mut scan = condition.clone();
            scan["FilterExpression"] = json!("#expires < :then");
            if !start.is_null() {
                scan["ExclusiveStartKey"] = start;
            }
            let page = self.database.scan(request::<ScanRequest>(&scan)?).map_err(|error| error.to_string())?;
            let page = serde_json::to_value(page).map_err(|error| error.to_string())?;
            for item in page["Items"].as_array().into_iter().flatten() {
                deleted += usize::from(self.expire(table, item, &condition)?);
            }
            start = page["LastEvaluatedKey"].clone();
            if start.is_null() {
                return Ok(deleted);
            }
        }
    }

    /// Deletes the item if it is still expired, and adds the service's user identity to its stream
    /// record.
    fn expire(&self, table: &Table, item: &Value, condition: &Value) -> Result<bool, String> {
        let _complete = self.complete.write().unwrap_or_else(PoisonError::into_inner);
        let key = key_of(table, item);
        let mut delete = condition.clone();
        delete["ConditionExpression"] = json!("#expires < :then");
        delete["Key"] = key.clone();
        let before = self.last(&table.name)?;
        match self.database.delete_item(request::<DeleteItemRequest>(&delete)?) {
            Ok(_) => {}
            Err(DynoxideError::ConditionalCheckFailedException(..)) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        }
        if table.stream.is_some() {
            self.sign(&table.name, &key, before)?;
        }
        Ok(true)
    }

    fn sign(&self, table: &str, key: &Value, before: Position) -> Result<(), String> {
        let records = self.records(table, before, MAX_CONCURRENT)?;
        let records = serde_json::to_value(records).map_err(|error| error.to_string())?;
        let is_ours = |record: &&Value| record["eventName"] == "REMOVE" && record["dynamodb"]["Keys"] == *key;
        let Some(Position(number)) = records.as_array().into_iter().flatten().find(is_ours).and_then(Position::of)
        else {
            return Err(format!("the stream has no record for the deletion of {key}"));
        };
        let sql = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        sql.execute(COMPLETE, (IDENTITY, table, number)).map(drop).map_err(|error| error.to_string())
    }
}

fn key_of(table: &Table, item: &Value) -> Value {
    let schema = table.definition["KeySchema"].as_array().into_iter().flatten();
    let names = schema.filter_map(|key| key["AttributeName"].as_str());
    names.map(|name| (name.to_owned(), item[name].clone())).collect::<serde_json::Map<_, _>>().into()
}
