//! Embedded database with the template's tables, streams and TTL. The data is in memory or in a
//! file.
mod clear;
mod expiry;
mod file;
mod make;
mod watch;

use std::{
    fs::File,
    path::Path,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use dynoxide::{
    Database,
    actions::get_records::{GetRecordsRequest, Record},
    actions::get_shard_iterator::encode_shard_iterator,
    streams::shard_id,
};
use rusqlite::Connection;
use serde_json::{Value, json};
use uuid::Uuid;

pub use file::{POSITIONS, beside};
pub use watch::Change;

use crate::StartError;
use template::{REGION, Table};

/// The engine adds this offset to sequence numbers. They then have 21 digits, as in AWS.
const FIRST_NUMBER: u128 = 100_000_000_000_000_000_000;
// At every write, the engine queries the highest sequence number of a table. Without this index,
// the query would scan all records (docs/decisions/local-stack.md).
const INDEX: &str = "CREATE INDEX IF NOT EXISTS _local_stream_records_by_number
    ON _stream_records (table_name, CAST(sequence_number AS INTEGER))";
const APPEND: &str = "INSERT INTO _stream_records
    (table_name, event_name, keys_json, new_image, old_image, sequence_number, shard_id, created_at, event_id)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
const PATIENCE: Duration = Duration::from_secs(10);

/// Position of a record in its stream. 0 is the position before the first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
pub struct Position(i64);

impl From<i64> for Position {
    fn from(number: i64) -> Self {
        Self(number)
    }
}

impl From<Position> for i64 {
    fn from(Position(number): Position) -> Self {
        number
    }
}

impl Position {
    /// Returns the position of a record, from its `SequenceNumber`.
    pub fn of(record: &Value) -> Option<Self> {
        let number: u128 = record["dynamodb"]["SequenceNumber"].as_str()?.parse().ok()?;
        number.checked_sub(FIRST_NUMBER).and_then(|number| i64::try_from(number).ok()).map(Self)
    }

    /// Returns the position before this one.
    pub fn before(self) -> Self {
        Self(self.0 - 1)
    }
}

/// Handle of the database. Clones share the same database.
#[derive(Clone)]
pub struct Store {
    database: Database,
    /// Second connection, for queries that the engine's API does not offer.
    sql: Arc<Mutex<Connection>>,
    /// Stream readers must wait while the TTL sweep adds the user identity to a record.
    complete: Arc<RwLock<()>>,
    tables: Arc<Vec<Table>>,
    /// Lock of the data file.
    _lock: Option<Arc<File>>,
}

impl Store {
    /// Opens the data and creates the missing tables.
    pub fn open(data: Option<&Path>, tables: &[Table]) -> Result<Self, StartError> {
        let fail = |error: String| StartError::Data(data.unwrap_or(Path::new("memory")).to_owned(), error);
        let claimed = data.map(file::claim).transpose().map_err(fail)?;
        let path = match &claimed {
            // Several connections can open a shared in-memory database.
            None => format!("file:/{}?vfs=memdb", Uuid::new_v4()),
            Some((path, _)) => {
                path.to_str().map(str::to_owned).ok_or_else(|| fail("the path is not UTF-8".to_owned()))?
            }
        };
        let database = Database::new(&path).map_err(|error| fail(error.to_string()))?;
        let sql = indexed(&path).map_err(|error| fail(error.to_string()))?;
        for table in tables {
            make::ensure(&database, table)?;
        }
        let (sql, complete) = (Arc::new(Mutex::new(sql)), Arc::default());
        let lock = claimed.map(|(_, lock)| Arc::new(lock));
        let store = Self { database, sql, complete, tables: Arc::new(tables.to_vec()), _lock: lock };
        if data.is_some() {
            store.unwatch().map_err(fail)?;
        }
        Ok(store)
    }

    /// Returns a handle of the engine.
    pub fn database(&self) -> Database {
        self.database.clone()
    }

    /// Returns the tables of the template.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Returns the name of a table's partition key.
    pub fn partition_key(&self, table: &str) -> String {
        let table = self.tables.iter().find(|known| known.name == table);
        let keys = table.and_then(|table| table.definition["KeySchema"].as_array());
        let key = keys.into_iter().flatten().find(|key| key["KeyType"] == "HASH");
        key.map(|key| text(&key["AttributeName"]).to_owned()).unwrap_or_default()
    }

    /// Runs a query on the second connection.
    pub fn with_sql<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, String> {
        let sql = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        work(&sql).map_err(|error| error.to_string())
    }

    /// Returns the position of the last record in a table's stream.
    pub fn last(&self, table: &str) -> Result<Position, String> {
        self.number("SELECT MAX(CAST(sequence_number AS INTEGER)) FROM _stream_records WHERE table_name = ?1", (table,))
            .map(Position)
    }

    /// Returns the number of records after a position.
    pub fn count_after(&self, table: &str, position: Position) -> Result<i64, String> {
        let query = "SELECT COUNT(*) FROM _stream_records
            WHERE table_name = ?1 AND CAST(sequence_number AS INTEGER) > ?2";
        self.number(query, (table, position.0))
    }

    fn number(&self, query: &str, parameters: impl rusqlite::Params) -> Result<i64, String> {
        let sql = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        let number = sql
            .prepare_cached(query)
            .and_then(|mut query| query.query_row(parameters, |row| row.get::<_, Option<i64>>(0)));
        number.map(Option::unwrap_or_default).map_err(|error| error.to_string())
    }

    /// Returns the records after a position, in the format of Lambda events.
    pub fn changes(&self, table: &str, after: Position, limit: usize) -> Result<Vec<Value>, String> {
        let _complete = self.complete.read().unwrap_or_else(PoisonError::into_inner);
        let records = self.records(table, after, limit)?;
        let arn = self.tables.iter().find(|known| known.name == table).and_then(|table| table.stream.as_deref());
        records.iter().map(|record| event(record, arn)).collect()
    }

    /// Adds a record from the stream of another engine.
    pub(crate) fn append(&self, table: &str, record: &Value) -> Result<(), String> {
        let change = &record["dynamodb"];
        let number: u128 =
            text(&change["SequenceNumber"]).parse().map_err(|_| "a record has no valid sequence number")?;
        let image = |name: &str| change.get(name).map(Value::to_string);
        let row = (
            table,
            text(&record["eventName"]),
            image("Keys"),
            image("NewImage"),
            image("OldImage"),
            (number % FIRST_NUMBER).to_string(),
            shard_id(table),
            change["ApproximateCreationDateTime"].as_f64(),
            text(&record["eventID"]),
        );
        let sql = self.sql.lock().unwrap_or_else(PoisonError::into_inner);
        sql.execute(APPEND, row).map(drop).map_err(|error| error.to_string())
    }

    fn records(&self, table: &str, after: Position, limit: usize) -> Result<Vec<Record>, String> {
        let shard_iterator = encode_shard_iterator(table, &shard_id(table), after.0);
        let request = GetRecordsRequest { shard_iterator, limit: Some(limit) };
        let read = self.database.get_records(request).map_err(|error| error.to_string())?;
        Ok(read.records)
    }
}

fn event(record: &Record, arn: Option<&str>) -> Result<Value, String> {
    let mut event = serde_json::to_value(record).map_err(|error| error.to_string())?;
    event["awsRegion"] = json!(REGION);
    event["eventSourceARN"] = json!(arn);
    // AWS sends the time in whole seconds. The engine writes a fraction.
    if let Ok(time) = format!("{:.0}", record.dynamodb.approximate_creation_date_time).parse::<i64>() {
        event["dynamodb"]["ApproximateCreationDateTime"] = json!(time);
    }
    Ok(event)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn indexed(path: &str) -> rusqlite::Result<Connection> {
    let sql = Connection::open(path)?;
    sql.busy_timeout(PATIENCE)?;
    sql.execute_batch(INDEX)?;
    Ok(sql)
}

#[cfg(test)]
mod tests;
