//! Deletion of all items.
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{Store, text};
use crate::execute;
use template::Table;

/// Maximum number of items in a call of `BatchWriteItem`.
const MAX_BATCH: usize = 25;

impl Store {
    /// Deletes all items of all tables, and returns their number. The streams have the deletions.
    ///
    /// # Errors
    /// The answer of the engine, if a call fails.
    pub fn clear(&self) -> Result<usize, String> {
        self.tables.iter().map(|table| self.clear_table(table)).sum()
    }

    fn clear_table(&self, table: &Table) -> Result<usize, String> {
        let items = self.all(&table.name)?;
        for batch in items.chunks(MAX_BATCH) {
            let deletions: Vec<Value> =
                batch.iter().map(|item| json!({"DeleteRequest": {"Key": key(table, item)}})).collect();
            let request = json!({"RequestItems": {&table.name: deletions}}).to_string();
            let (status, answer) = execute(&self.database, "BatchWriteItem", request.as_bytes());
            if status != StatusCode::OK {
                return Err(answer);
            }
        }
        Ok(items.len())
    }
}

/// The primary key of an item.
fn key(table: &Table, item: &Value) -> Map<String, Value> {
    let schema = table.definition["KeySchema"].as_array().into_iter().flatten();
    let names = schema.map(|part| text(&part["AttributeName"]));
    names.map(|name| (name.to_owned(), item[name].clone())).collect()
}
