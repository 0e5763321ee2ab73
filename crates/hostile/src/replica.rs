//! Replicas of the tables and of each index. A replica receives each change later, in order for
//! each key and out of order across keys (docs/decisions/hostile.md).
use std::{
    collections::BTreeMap,
    mem::take,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dynoxide::Database;
use fastrand::Rng;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Rates,
    dice::{Dice, happens, time},
    request::{Call, Schemas},
};
use engine::{
    execute,
    store::{Change, Store},
};
use template::Table;

/// Usual maximum lag. AWS documents "usually within a second" for replicas, and "a fraction of a
/// second, under normal conditions" for indexes.
const USUAL: Duration = Duration::from_secs(1);
/// Maximum lag of one in a hundred index entries.
const RARE: Duration = Duration::from_secs(5);
/// Maximum time for which an item that moves in an index has no entry.
const GAP: Duration = Duration::from_millis(200);

/// The tables (`None`), or the index with this name in each table.
type Source = Option<String>;

/// The replicas of a store.
pub(super) struct Replica {
    store: Store,
    copies: BTreeMap<Source, Database>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of the last change that was read.
    last: i64,
    next: u64,
    pending: BTreeMap<Source, BTreeMap<(Instant, u64), Write>>,
    /// Time of the last pending change of a key.
    due: BTreeMap<(Source, String, String), Instant>,
}

/// A pending change: the new item, or the key of an item without entry.
struct Write {
    table: String,
    key: Value,
    item: Option<Value>,
}

/// The answer of a replica.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) body: String,
    /// Whether the primary answers differently.
    pub(super) is_old: bool,
}

impl Replica {
    /// Copies the tables that the rates need.
    pub(super) fn open(store: &Store, rates: &Rates) -> Result<Option<Self>, String> {
        if rates.stale <= 0.0 && rates.lag <= 0.0 {
            return Ok(None);
        }
        store.watch()?;
        let mut copies = BTreeMap::new();
        if rates.stale > 0.0 {
            copies.insert(None, source(store, None)?);
        }
        if rates.lag > 0.0 {
            for index in store.tables().iter().flat_map(indexes) {
                if !copies.contains_key(&Some(index.clone())) {
                    let copy = source(store, Some(&index))?;
                    copies.insert(Some(index), copy);
                }
            }
        }
        Ok(Some(Self { store: store.clone(), copies, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the changes since the last call, and decides when each replica receives them.
    pub(super) fn observe(&self, rates: &Rates, dice: &Dice, schemas: &Schemas) -> Vec<Change> {
        let (mut state, now) = (self.state(), Instant::now());
        let changes = self.store.watched(state.last).unwrap_or_else(|error| {
            tracing::error!(error, "the changes can't be read");
            Vec::new()
        });
        for change in &changes {
            state.last = change.number;
            let Some(schema) = schemas.get(&change.table) else { continue };
            let Some(image) = change.new.as_ref().or(change.old.as_ref()) else { continue };
            let key = schema.key(image);
            for source in self.copies.keys() {
                if source.as_ref().is_some_and(|index| !schema.indexes.contains_key(index)) {
                    continue;
                }
                let mut rng = dice.next(&format!("{}/{}", change.table, source.as_deref().unwrap_or_default()));
                let position = |image: &Option<Value>| schema.position(image.as_ref()?, source.as_deref());
                let (old, new) = (position(&change.old), position(&change.new));
                let moves = source.is_some() && old != new && old.is_some() && new.is_some();
                let write =
                    |item: Option<&Value>| Write { table: change.table.clone(), key: key.clone(), item: item.cloned() };
                let at = now + lag(&mut rng, rates, source.as_ref());
                if moves && rates.lag > 0.0 && rng.bool() {
                    // An index deletes the old entry before it puts the new one. Without a lag,
                    // which is also so while the faults are stopped, no read sees this.
                    state.add(source, at, write(None));
                    state.add(source, at + time(&mut rng, GAP), write(change.new.as_ref()));
                } else {
                    state.add(source, at, write(change.new.as_ref()));
                }
            }
        }
        changes
    }

    /// Answers an eventually consistent read. `None` if there is no replica for it.
    pub(super) fn read(&self, call: &Call) -> Option<Reply> {
        let source = call.index().map(str::to_owned);
        let replica = self.copies.get(&source)?;
        let is_behind = {
            let mut state = self.state();
            let ready = state.ready(&source, Instant::now());
            for write in ready {
                if let Err(error) = apply(replica, write) {
                    tracing::error!(error, "a replica can't be written");
                }
            }
            state.pending.get(&source).is_some_and(|pending| !pending.is_empty())
        };
        let body = call.body.to_string();
        let (status, answer) = execute(replica, &call.action, body.as_bytes());
        let is_old = is_behind && execute(&self.store.database(), &call.action, body.as_bytes()).1 != answer;
        Some(Reply { status, body: answer, is_old })
    }

    /// Lets the replicas receive all pending changes.
    pub(super) fn catch_up(&self) {
        let pending = {
            let mut state = self.state();
            state.due.clear();
            take(&mut state.pending)
        };
        for (source, writes) in pending {
            let Some(replica) = self.copies.get(&source) else { continue };
            for write in writes.into_values() {
                if let Err(error) = apply(replica, write) {
                    tracing::error!(error, "a replica can't be written");
                }
            }
        }
    }

    /// Returns the stored item with a key.
    pub(super) fn current(&self, table: &str, key: &Value) -> Option<Value> {
        let get = json!({"TableName": table, "Key": key, "ConsistentRead": true});
        let (_, body) = execute(&self.store.database(), "GetItem", get.to_string().as_bytes());
        serde_json::from_str::<Value>(&body).ok()?.get("Item").cloned()
    }
}

impl State {
    /// Adds a change that is due after all earlier changes of its key.
    fn add(&mut self, source: &Source, at: Instant, write: Write) {
        let key = (source.clone(), write.table.clone(), write.key.to_string());
        let at = self.due.get(&key).map_or(at, |earlier| at.max(*earlier));
        self.due.insert(key, at);
        self.next += 1;
        self.pending.entry(source.clone()).or_default().insert((at, self.next), write);
    }

    /// Removes and returns the changes that are due.
    fn ready(&mut self, source: &Source, now: Instant) -> Vec<Write> {
        let Some(pending) = self.pending.get_mut(source) else { return Vec::new() };
        let later = pending.split_off(&(now, u64::MAX));
        let ready: Vec<Write> = std::mem::replace(pending, later).into_values().collect();
        for write in &ready {
            let key = (source.clone(), write.table.clone(), write.key.to_string());
            if self.due.get(&key).is_some_and(|due| *due <= now) {
                self.due.remove(&key);
            }
        }
        ready
    }
}

fn lag(rng: &mut Rng, rates: &Rates, source: Option<&String>) -> Duration {
    let (is_late, is_rare) = (source.is_none() || happens(rng, rates.lag), happens(rng, 0.01));
    let lag = time(rng, if is_rare { RARE } else { USUAL });
    if is_late { lag } else { Duration::ZERO }
}

fn indexes(table: &Table) -> Vec<String> {
    let indexes = table.definition["GlobalSecondaryIndexes"].as_array().into_iter().flatten();
    indexes.filter_map(|index| index["IndexName"].as_str()).map(str::to_owned).collect()
}

/// Copies the tables with only one of their indexes.
fn source(store: &Store, index: Option<&str>) -> Result<Database, String> {
    let replica = Database::memory().map_err(|error| error.to_string())?;
    for table in store.tables() {
        let mut definition = table.definition.clone();
        let Value::Object(members) = &mut definition else { continue };
        members.remove("StreamSpecification");
        members.remove("DeletionProtectionEnabled");
        let indexes = members.remove("GlobalSecondaryIndexes").unwrap_or_default();
        let own = indexes.as_array().into_iter().flatten().find(|one| one["IndexName"].as_str() == index);
        if let (Some(own), true) = (own, index.is_some()) {
            let keys = [&definition["KeySchema"], &own["KeySchema"]];
            let keys: Vec<Value> = keys.iter().filter_map(|keys| keys.as_array()).flatten().cloned().collect();
            let own = json!([own]);
            keep_attributes(&mut definition, &keys);
            definition["GlobalSecondaryIndexes"] = own;
        } else if index.is_some() {
            continue;
        } else {
            let keys = definition["KeySchema"].as_array().cloned().unwrap_or_default();
            keep_attributes(&mut definition, &keys);
        }
        run(&replica, "CreateTable", &definition)?;
        for item in store.all(&table.name)? {
            run(&replica, "PutItem", &json!({"TableName": table.name, "Item": item}))?;
        }
    }
    Ok(replica)
}

/// Removes the definitions of attributes that are no key.
fn keep_attributes(definition: &mut Value, keys: &[Value]) {
    if let Some(attributes) = definition["AttributeDefinitions"].as_array_mut() {
        let kept = take(attributes);
        let is_key = |one: &Value| keys.iter().any(|key| key["AttributeName"] == one["AttributeName"]);
        attributes.extend(kept.into_iter().filter(is_key));
    }
}

fn apply(replica: &Database, Write { table, key, item }: Write) -> Result<(), String> {
    match item {
        Some(item) => run(replica, "PutItem", &json!({"TableName": table, "Item": item})),
        None => run(replica, "DeleteItem", &json!({"TableName": table, "Key": key})),
    }
}

fn run(replica: &Database, action: &str, request: &Value) -> Result<(), String> {
    match execute(replica, action, request.to_string().as_bytes()) {
        (StatusCode::OK, _) => Ok(()),
        (_, error) => Err(error),
    }
}
