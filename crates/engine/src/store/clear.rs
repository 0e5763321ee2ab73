//! Deletion of all items.
use std::{env, fs, sync::PoisonError};

use http::StatusCode;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{Store, text};
use crate::execute;
use template::Table;

/// Maximum number of items in a call of `BatchWriteItem`.
const MAX_BATCH: usize = 25;

impl Store {
    /// Deletes all items of all tables, and returns their number. The streams have the deletions.
    /// Also forgets the client request tokens: a transaction with the token of an earlier one is
    /// then a new transaction.
    ///
    /// # Errors
    /// The answer of the engine, if a call fails.
    pub fn clear(&self) -> Result<usize, String> {
        let deleted = self.tables.iter().map(|table| self.clear_table(table)).sum::<Result<usize, String>>()?;
        self.forget_tokens()?;
        Ok(deleted)
    }

    /// Restores the database from a copy of itself. The engine has no other way to forget tokens.
    fn forget_tokens(&self) -> Result<(), String> {
        let file = env::temp_dir().join(format!("local-copy-{}.db", Uuid::new_v4()));
        // The engine's connection creates no file, and names one in memory without `vfs`.
        fs::write(&file, []).map_err(|error| error.to_string())?;
        let path = file.to_string_lossy();
        let uri = format!("file:{path}?vfs=unix");
        let _complete = self.complete.write().unwrap_or_else(PoisonError::into_inner);
        let _sql = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        let restored = self.database.vacuum_into(&uri).and_then(|()| self.database.restore_from(&path));
        let _ = fs::remove_file(&file);
        restored.map_err(|error| error.to_string())
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
