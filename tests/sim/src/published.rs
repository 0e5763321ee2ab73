//! The events on the bus: each stored fact has its event or is kept for it, no event is without its
//! fact, and the events of an item arrive in the order of its changes.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use system_tests::published::Schemas;

use crate::world::World;

/// Compares the events with the stream records of the tables. `expected` returns the detail types
/// of the events that a stream record must have.
pub(crate) fn check<K: IntoIterator<Item = &'static str>>(
    world: &World,
    source: &str,
    tables: &[&str],
    expected: impl Fn(&Value) -> K,
) {
    let (arrived, kept) = (arrived(world), kept(world));
    let mut wanted = BTreeSet::new();
    for record in tables.iter().flat_map(|table| records(world, table)) {
        for (id, kind) in ids(&record).zip(expected(&record)) {
            match arrived.get(&id) {
                Some((_, event)) if event["detail-type"] == kind && event["source"] == source => {}
                None if kept.contains(&id) => {}
                None => world.violation(format!("the change {id} has no event {kind}")),
                Some((_, found)) => world.violation(format!("the change {id} has the event {found} instead of {kind}")),
            }
            wanted.insert(id);
        }
    }
    let own = arrived.iter().filter(|(_, (_, event))| event["source"] == source);
    for (id, (_, event)) in own.filter(|(id, _)| !wanted.contains(*id)) {
        world.violation(format!("the event {id} has no fact: {event}"));
    }
    check_order(world, tables, &arrived);
}

/// The ids of the records whose events the bus did not accept. They are in a failure bucket.
fn kept(world: &World) -> BTreeSet<String> {
    let buckets = &world.stack.template().buckets;
    let objects = buckets.iter().filter_map(|bucket| world.stack.objects(bucket, "unsendable/").ok()).flatten();
    let name = |key: &str| Some(key.rsplit_once('/')?.1.strip_suffix(".json")?.to_owned());
    objects.filter_map(|(key, _)| name(&key)).collect()
}

/// The ids of the events of a stream record, in order.
fn ids(record: &Value) -> impl Iterator<Item = String> {
    let id = record["eventID"].as_str().unwrap_or_default().to_owned();
    (1_u32..).map(move |place| if place == 1 { id.clone() } else { format!("{id}-{place}") })
}

/// The first arrival of each event, with its position. A repeat is equal to its first arrival.
fn arrived(world: &World) -> BTreeMap<String, (usize, Value)> {
    let (schemas, mut arrived) = (Schemas::read(), BTreeMap::<String, (usize, Value)>::new());
    for (position, event) in world.stack.published().into_iter().enumerate() {
        for fault in schemas.faults(&event) {
            world.violation(format!("the event {event} does not match its schema: {fault}"));
        }
        let id = event["detail"]["id"].as_str().unwrap_or_default().to_owned();
        match arrived.get(&id) {
            Some((_, first)) if first["detail"] != event["detail"] || first["detail-type"] != event["detail-type"] => {
                world.violation(format!("the event {event} repeats {first}, but differs"));
            }
            Some(_) => {}
            None => drop(arrived.insert(id, (position, event))),
        }
    }
    arrived
}

fn check_order(world: &World, tables: &[&str], arrived: &BTreeMap<String, (usize, Value)>) {
    for table in tables {
        let mut last = BTreeMap::<String, usize>::new();
        for record in records(world, table) {
            for (position, event) in ids(&record).map_while(|id| arrived.get(&id)) {
                let item = record["dynamodb"]["Keys"].to_string();
                if last.insert(item, *position).is_some_and(|last| last > *position) {
                    world.violation(format!(
                        "the event {} arrived after a later event of the item",
                        event["detail"]["id"]
                    ));
                }
            }
        }
    }
}

/// The records of the stream of a table, oldest first.
pub(crate) fn records(world: &World, table: &str) -> Vec<Value> {
    let records = world.stack.changes(&world.table(table), 0, usize::MAX);
    let records = records.unwrap_or_else(|error| {
        world.violation(format!("the stream of {table} can't be read: {error}"));
        Vec::new()
    });
    records.into_iter().map(|(_, record)| record).collect()
}
