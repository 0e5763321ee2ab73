//! Read-only views of the tables and indexes: item collections, and items in the order of their
//! sort key.
use rusqlite::{OptionalExtension, params};
use serde_json::{Value, json};

use super::trace::{Write, Written};
use engine::store::Store;
use template::Table;

/// Maximum number of items that a count reads. A larger table or item collection shows this number.
const MAX_COUNTED: i64 = 100_000;
/// Maximum number of items of an item collection that its count reads.
const MAX_IN_COLLECTION: i64 = 1_000;
/// Number of items of a kind that show the format of its keys.
const SAMPLES: i64 = 5;
/// Prefix that the engine gives to a stored key of type string.
const STRING: &str = "S:";
/// Number of stream records that are searched for a written item.
const MAX_RECORDS: i64 = 5_000;

/// Items to read from a table or an index.
#[derive(Debug, Default)]
pub(super) struct Range {
    pub(super) table: String,
    pub(super) index: Option<String>,
    pub(super) partition: String,
    /// The first sort key.
    pub(super) from: String,
    /// The last sort key, which is unlimited if empty.
    pub(super) to: String,
    /// The sort key and the primary key after which the page starts.
    pub(super) after: Option<[String; 3]>,
    pub(super) limit: i64,
}

/// Returns the attributes of the partition key and the sort key of an index.
pub(super) fn entry_key(store: &Store, table: &str, index: &str) -> Option<(String, Option<String>)> {
    let table = store.tables().iter().find(|known| known.name == table)?;
    let index = indexes(table).find(|known| known["IndexName"] == index)?;
    schema(&index["KeySchema"])
}

fn indexes(table: &Table) -> impl Iterator<Item = &Value> {
    table.definition["GlobalSecondaryIndexes"].as_array().into_iter().flatten()
}

fn schema(key: &Value) -> Option<(String, Option<String>)> {
    let name = |number: usize| key[number]["AttributeName"].as_str().map(str::to_owned);
    Some((name(0)?, name(1)))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn key(stored: &str) -> &str {
    stored.strip_prefix(STRING).unwrap_or(stored)
}

fn stored(key: &str) -> String {
    format!("{STRING}{key}")
}

/// The name of the SQL table, and its columns for the keys of a table or an index.
struct Source {
    name: String,
    partition: &'static str,
    sort: &'static str,
    /// The primary key of the item, and its size.
    rest: &'static str,
}

impl Source {
    fn of(table: &str, index: Option<&str>) -> Self {
        match index {
            None => Self { name: quoted(table), partition: "pk", sort: "sk", rest: "pk, sk, item_size" },
            Some(index) => Self {
                name: quoted(&format!("{table}::gsi::{index}")),
                partition: "gsi_pk",
                sort: "gsi_sk",
                rest: "table_pk, table_sk, 0",
            },
        }
    }
}

/// The tables of a store.
pub(super) struct Tables<'a>(pub(super) &'a Store);

impl Tables<'_> {
    /// Returns each table with its keys, indexes, number of items and size.
    pub(super) fn overview(&self) -> Result<Value, String> {
        self.0.tables().iter().map(|table| self.described(table)).collect::<Result<Vec<_>, _>>().map(Value::from)
    }

    fn described(&self, table: &Table) -> Result<Value, String> {
        let query = format!(
            "SELECT COUNT(*), COALESCE(SUM(item_size), 0) FROM (SELECT item_size FROM {} LIMIT {MAX_COUNTED})",
            quoted(&table.name)
        );
        let (items, bytes) = self
            .0
            .with_sql(|sql| sql.query_row(&query, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))))?;
        let keys = |key: &Value| {
            schema(key).map_or(Value::Null, |(partition, sort)| json!({"partition": partition, "sort": sort}))
        };
        let indexes: Vec<Value> = indexes(table)
            .map(|index| {
                let projection = &index["Projection"]["ProjectionType"];
                json!({"name": index["IndexName"], "key": keys(&index["KeySchema"]), "projection": projection})
            })
            .collect();
        Ok(json!({
            "name": table.name, "key": keys(&table.definition["KeySchema"]), "indexes": indexes,
            "items": items, "bytes": bytes, "isMore": items == MAX_COUNTED,
            "stream": table.stream.is_some(), "expiresBy": table.expires_by,
        }))
    }

    /// Checks that the template has the table and the index.
    pub(super) fn knows(&self, table: &str, index: Option<&str>) -> bool {
        let found = self.0.tables().iter().find(|known| known.name == table);
        found.is_some_and(|table| index.is_none_or(|index| indexes(table).any(|known| known["IndexName"] == index)))
    }

    /// Returns the item collections after a partition key, with their number of items and size.
    /// Their partition keys begin with `start`.
    pub(super) fn collections(
        &self,
        table: &str,
        index: Option<&str>,
        start: &str,
        after: &str,
        limit: usize,
    ) -> Result<Value, String> {
        let Source { name, partition, .. } = Source::of(table, index);
        let size = if index.is_none() { "item_size" } else { "LENGTH(item_json)" };
        let next = format!(
            "SELECT MIN({partition}) FROM {name} WHERE {partition} > ?1 AND {partition} >= ?2 AND {partition} < ?3"
        );
        let (first, end) = (stored(start), stored(&format!("{start}{}", char::MAX)));
        let count = format!(
            "SELECT COUNT(*), COALESCE(SUM(size), 0) FROM
             (SELECT {size} AS size FROM {name} WHERE {partition} = ?1 LIMIT {MAX_IN_COLLECTION})"
        );
        let mut position = if after.is_empty() { String::new() } else { stored(after) };
        let mut found = Vec::new();
        self.0.with_sql(|sql| {
            let (mut next, mut count) = (sql.prepare(&next)?, sql.prepare(&count)?);
            while found.len() < limit {
                let Some(key_of) = next.query_row([&position, &first, &end], |row| row.get::<_, Option<String>>(0))?
                else {
                    break;
                };
                let (items, bytes) =
                    count.query_row([&key_of], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
                let is_more = items == MAX_IN_COLLECTION;
                found.push(json!({"key": key(&key_of), "items": items, "bytes": bytes, "isMore": is_more}));
                position = key_of;
            }
            Ok(())
        })?;
        let next = if found.len() == limit { json!(key(&position)) } else { Value::Null };
        Ok(json!({"items": found, "next": next}))
    }

    /// Returns a page of an item collection, in the order of the sort key.
    pub(super) fn page(&self, range: &Range) -> Result<Value, String> {
        let Source { name, partition, sort, rest } = Source::of(&range.table, range.index.as_deref());
        let keys = if range.index.is_some() { "table_pk, table_sk" } else { "pk, sk" };
        let query = format!(
            "SELECT {sort}, item_json, {rest} FROM {name}
             WHERE {partition} = ?1 AND {sort} >= ?2 AND (?3 = '' OR {sort} <= ?3)
             AND ({sort}, {keys}) > (?4, ?5, ?6) ORDER BY {sort}, {keys} LIMIT ?7"
        );
        let limit = if range.to.is_empty() { String::new() } else { stored(&range.to) };
        let [sort_after, pk, sk] = range
            .after
            .as_ref()
            .map_or_else(Default::default, |after| [stored(&after[0]), stored(&after[1]), stored(&after[2])]);
        let from = stored(&range.from);
        let parameters = params![stored(&range.partition), from, limit, sort_after, pk, sk, range.limit];
        let mut items = Vec::new();
        let mut last = None;
        self.0.with_sql(|sql| {
            let mut query = sql.prepare(&query)?;
            let mut rows = query.query(parameters)?;
            while let Some(row) = rows.next()? {
                let text = |number: usize| row.get::<_, String>(number);
                let (sort, item, pk, sk, size) = (text(0)?, text(1)?, text(2)?, text(3)?, row.get::<_, i64>(4)?);
                let item: Value = serde_json::from_str(&item).unwrap_or_default();
                let size = if size > 0 { size } else { bytes(&item) };
                items.push(json!({"item": item, "bytes": size}));
                last = Some([key(&sort).to_owned(), key(&pk).to_owned(), key(&sk).to_owned()]);
            }
            Ok(())
        })?;
        let is_full = i64::try_from(items.len()).is_ok_and(|count| count == range.limit);
        Ok(json!({"items": items, "next": last.filter(|_| is_full)}))
    }

    /// Returns the kinds of items with their number, their size and some items. Counts stop at
    /// [`MAX_COUNTED`] items.
    pub(super) fn entities(&self, table: &str) -> Result<Value, String> {
        const KIND: &str = "json_extract(item_json, '$.Type.S')";
        let name = quoted(table);
        let count = format!(
            "SELECT {KIND} AS kind, COUNT(*), SUM(item_size) FROM (SELECT * FROM {name} LIMIT {MAX_COUNTED})
             GROUP BY kind ORDER BY kind"
        );
        let samples = format!("SELECT item_json FROM {name} WHERE {KIND} IS ?1 LIMIT {SAMPLES}");
        self.0.with_sql(|sql| {
            let (mut count, mut samples) = (sql.prepare(&count)?, sql.prepare(&samples)?);
            let kinds = count.query_map([], |row| {
                Ok((row.get::<_, Option<String>>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
            })?;
            let mut found = Vec::new();
            for kind in kinds {
                let (kind, items, bytes) = kind?;
                let texts = samples.query_map([&kind], |row| row.get::<_, String>(0))?;
                let samples: rusqlite::Result<Vec<Value>> =
                    texts.map(|text| Ok(serde_json::from_str(&text?).unwrap_or_default())).collect();
                let kind = kind.unwrap_or_default();
                found.push(json!({"type": kind, "items": items, "bytes": bytes, "samples": samples?}));
            }
            Ok(Value::from(found))
        })
    }

    /// Reads an item.
    pub(super) fn item(&self, table: &str, partition: &str, sort: &str) -> Result<Option<Value>, String> {
        let query = format!("SELECT item_json FROM {} WHERE pk = ?1 AND sk = ?2", quoted(table));
        let found = self.0.with_sql(|sql| {
            let mut query = sql.prepare_cached(&query)?;
            query.query_row([stored(partition), stored(sort)], |row| row.get::<_, String>(0)).optional()
        })?;
        Ok(found.and_then(|item| serde_json::from_str(&item).ok()))
    }

    /// Returns the jobs of all job tables.
    pub(super) fn jobs(&self) -> Result<Vec<Value>, String> {
        let mut jobs = Vec::new();
        for table in self.0.tables().iter().filter(|table| table.name.ends_with("Jobs")) {
            let query = format!("SELECT item_json FROM {} WHERE item_json LIKE ?1 LIMIT 500", quoted(&table.name));
            self.0.with_sql(|sql| {
                let mut query = sql.prepare(&query)?;
                let rows = query.query_map([r#"%"Type":{"S":"Job"}%"#], |row| row.get::<_, String>(0))?;
                for row in rows {
                    let item: Value = serde_json::from_str(&row?).unwrap_or_default();
                    jobs.push(json!({"table": table.name, "item": item}));
                }
                Ok(())
            })?;
        }
        Ok(jobs)
    }

    /// Returns the change of an item that its stream has recorded in the seconds of a write. Of
    /// several changes, returns the one after `earlier` others, and for a put the one with its
    /// item. `None` if the table has no stream, or if nothing has changed.
    pub(super) fn change(&self, write: &Write, earlier: usize) -> Option<Value> {
        let Write { item: Written { table, key: item, item: put }, seconds: [from, to], .. } = write;
        let query = "SELECT event_name, keys_json, old_image, new_image, sequence_number FROM
             (SELECT * FROM _stream_records WHERE table_name = ?1
              ORDER BY CAST(sequence_number AS INTEGER) DESC LIMIT ?2)
             WHERE created_at >= ?3 AND created_at < ?4 ORDER BY CAST(sequence_number AS INTEGER)";
        let found = self.0.with_sql(|sql| {
            let mut query = sql.prepare_cached(query)?;
            let rows = query.query_map(params![table, MAX_RECORDS, from, to + 1], |row| {
                let image = |number: usize| row.get::<_, Option<String>>(number);
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, image(2)?, image(3)?, row.get::<_, String>(4)?))
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        });
        let json = |text: Option<String>| text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let is_same = |keys: &str| serde_json::from_str::<Value>(keys).is_ok_and(|keys| keys == *item);
        let mut found: Vec<_> = found.ok()?.into_iter().filter(|(_, keys, ..)| is_same(keys)).collect();
        let is_put = |new: &Option<String>| put.is_some() && json(new.clone()) == *put;
        if found.iter().any(|(_, _, _, new, _)| is_put(new)) {
            found.retain(|(_, _, _, new, _)| is_put(new));
        }
        let (name, _, old, new, number) = found.swap_remove(earlier.min(found.len().checked_sub(1)?));
        Some(json!({
            "table": table, "key": item, "event": name, "old": json(old), "new": json(new), "isKnown": true,
            "sequence": number.parse::<i64>().ok(),
        }))
    }
}

/// The approximate size of an item: names and values.
fn bytes(item: &Value) -> i64 {
    let size = |name: &str, value: &Value| match value {
        Value::Object(value) => {
            let value = value.values().next();
            name.len() + value.map_or(0, |value| value.as_str().map_or_else(|| value.to_string().len(), str::len))
        }
        other => name.len() + other.to_string().len(),
    };
    let sum: usize = item.as_object().into_iter().flatten().map(|(name, value)| size(name, value)).sum();
    i64::try_from(sum).unwrap_or(i64::MAX)
}
