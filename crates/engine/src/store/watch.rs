//! Log of all changes of items, for the replica of the hostile mode (docs/decisions/hostile.md).
use rusqlite::Connection;
use serde_json::Value;

use super::Store;

/// Changes are deleted after this number of them was read.
const MAX_KEPT: i64 = 1_000;

const LOG: &str = "CREATE TABLE IF NOT EXISTS _local_changes
    (number INTEGER PRIMARY KEY AUTOINCREMENT, table_name TEXT NOT NULL, old TEXT, new TEXT)";

/// A change of an item.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Position in the stream of the table.
    pub number: i64,
    /// The table.
    pub table: String,
    /// The item before the change.
    pub old: Option<Value>,
    /// The item after the change.
    pub new: Option<Value>,
}

impl Store {
    /// Logs each change of an item from now on.
    pub fn watch(&self) -> Result<(), String> {
        self.with_sql(|sql| {
            sql.execute_batch(LOG)?;
            self.tables.iter().try_for_each(|table| sql.execute_batch(&triggers(&table.name)))
        })
    }

    /// Ends the log that an earlier start on the same data file has begun.
    pub(super) fn unwatch(&self) -> Result<(), String> {
        self.with_sql(|sql| {
            for table in self.tables.iter() {
                let [put, delete] = names(&table.name);
                sql.execute_batch(&format!("DROP TRIGGER IF EXISTS {put}; DROP TRIGGER IF EXISTS {delete};"))?;
            }
            sql.execute_batch("DROP TABLE IF EXISTS _local_changes")
        })
    }

    /// Returns the changes after a number, in their order.
    pub fn watched(&self, after: i64) -> Result<Vec<Change>, String> {
        self.with_sql(|sql| {
            let changes = changes(sql, after)?;
            if changes.last().is_some_and(|last| last.number / MAX_KEPT > after / MAX_KEPT) {
                sql.execute("DELETE FROM _local_changes WHERE number <= ?1", (after,))?;
            }
            Ok(changes)
        })
    }

    /// Returns all items of a table.
    pub fn all(&self, table: &str) -> Result<Vec<Value>, String> {
        self.with_sql(|sql| {
            let mut query = sql.prepare(&format!("SELECT item_json FROM {}", quoted(table)))?;
            let rows = query.query_map((), |row| row.get::<_, String>(0))?;
            rows.map(|row| row.map(|text| json(&text))).collect()
        })
    }
}

fn changes(sql: &Connection, after: i64) -> rusqlite::Result<Vec<Change>> {
    let mut query = sql
        .prepare_cached("SELECT number, table_name, old, new FROM _local_changes WHERE number > ?1 ORDER BY number")?;
    let rows = query.query_map((after,), |row| {
        let image = |column| row.get::<_, Option<String>>(column).map(|text| text.as_deref().map(json));
        Ok(Change { number: row.get(0)?, table: row.get(1)?, old: image(2)?, new: image(3)? })
    })?;
    rows.collect()
}

/// The engine replaces a row by an insert, which fires no trigger for the deletion of the old row.
fn triggers(table: &str) -> String {
    let ([put, delete], name, text) = (names(table), quoted(table), table.replace('\'', "''"));
    format!(
        "CREATE TRIGGER IF NOT EXISTS {put} BEFORE INSERT ON {name} BEGIN
            INSERT INTO _local_changes (table_name, old, new) VALUES ('{text}',
                (SELECT item_json FROM {name} WHERE pk = NEW.pk AND sk = NEW.sk), NEW.item_json);
        END;
        CREATE TRIGGER IF NOT EXISTS {delete} AFTER DELETE ON {name} BEGIN
            INSERT INTO _local_changes (table_name, old, new) VALUES ('{text}', OLD.item_json, NULL);
        END;"
    )
}

fn names(table: &str) -> [String; 2] {
    ["put", "delete"].map(|what| quoted(&format!("_local_{what}_{table}")))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
