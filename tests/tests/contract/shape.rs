//! The stored items without what differs between two equal runs: new ids, times, versions and
//! counters are replaced by their order.

use regex_lite::{Captures, Regex};
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    sync::LazyLock,
};

/// Ids, times and digests of requests.
static GENERATED: LazyLock<Regex> = LazyLock::new(|| {
    let id = "[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";
    let time = r"\d{4}-?\d\d-?\d\dT\d\d:?\d\d:?\d\d(\.\d+)?Z";
    let pattern = format!("{id}|{time}|[A-Za-z0-9+/]{{43}}");
    Regex::new(&pattern).expect("a pattern")
});

/// Numbers that count writes, or contain a time.
const NUMBERS: [&str; 8] = ["Version", "Attempts", "ExpiresAt", "Step", "Seed", "Lease", "At", "Sequence"];

/// Types of items that may differ: the record of a request has the time and the version of its
/// first success.
const MAY_DIFFER: [&str; 1] = ["IdempotencyRecord"];

/// The items before a run.
pub(crate) struct Before {
    items: HashSet<String>,
    /// The keys of the items, with the names of their tables.
    keys: Vec<String>,
    /// Ids and times that are not replaced.
    known: HashSet<String>,
}

impl Before {
    pub(crate) fn of(items: &[(String, Value)]) -> Self {
        let texts: HashSet<String> = items.iter().map(|(_, item)| item.to_string()).collect();
        let known = texts.iter().flat_map(|text| GENERATED.find_iter(text)).map(|found| found.as_str().to_owned());
        let known = known.collect();
        Self { known, items: texts, keys: items.iter().filter(|(_, item)| is_wanted(item)).map(key).collect() }
    }
}

fn is_wanted(item: &Value) -> bool {
    !MAY_DIFFER.contains(&item["Type"]["S"].as_str().unwrap_or_default())
}

fn key((table, item): &(String, Value)) -> String {
    format!("{table} {} {}", item["PK"], item["SK"])
}

/// The items of a run that differ from those before it, in a form that two equal runs share.
pub(crate) fn of(before: &Before, after: &[(String, Value)]) -> Vec<String> {
    let changed = after.iter().filter(|(_, item)| is_wanted(item) && !before.items.contains(&item.to_string()));
    let mut texts: Vec<String> = changed.map(|(table, item)| format!("{table} {}", without_numbers(item))).collect();
    let left: HashSet<String> = after.iter().map(key).collect();
    texts.extend(before.keys.iter().filter(|key| !left.contains(*key)).map(|key| format!("deleted {key}")));
    // Ids get the number of their first occurrence in the item.
    let numbered = texts.iter().map(|text| {
        let mut numbers = BTreeMap::<String, usize>::new();
        let name = |found: &Captures<'_>| {
            if before.known.contains(&found[0]) {
                return found[0].to_owned();
            }
            if found[0].ends_with('Z') {
                return "<time>".to_owned();
            }
            if found[0].len() == 43 {
                return "<digest>".to_owned();
            }
            let next = numbers.len();
            format!("<id {}>", numbers.entry(found[0].replace('-', "")).or_insert(next))
        };
        GENERATED.replace_all(text, name).into_owned()
    });
    let mut numbered: Vec<String> = numbered.collect();
    numbered.sort();
    numbered
}

/// The attribute that wakes up a job. A repeated start also writes it.
pub(crate) const MARK: &str = "NudgedBy";

/// Whether the text is the shard of an index.
fn is_shard(attribute: &str, text: &str) -> bool {
    attribute.starts_with("GSI") && (text.len() < 3 || text.starts_with("Groups#"))
}

/// The partition key of a total or of the orders with a status, without its shard, such as
/// `MERCHANT#550e8400#3` or `PLACED#3`.
fn without_shard(attribute: &str, text: &str) -> Option<Value> {
    let (before, shard) = text.rsplit_once('#')?;
    let is_sharded = match attribute {
        "PK" => text.starts_with("ALL#") || text.starts_with("MERCHANT#"),
        "GSI2PK" => ["PLACED", "SHIPPED", "DELIVERED", "CANCELLED"].contains(&before),
        _ => false,
    };
    (is_sharded && shard.parse::<u8>().is_ok()).then(|| format!("{before}#<number>").into())
}

/// The item without numbers that differ between equal runs.
fn without_numbers(item: &Value) -> Value {
    match item {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| *name != MARK)
            .map(|(name, value)| {
                let is_counter = NUMBERS.iter().any(|end| name.ends_with(end));
                // The shard of an index or of a total depends on the id.
                let is_shard = value["S"].as_str().is_some_and(|text| is_shard(name, text));
                let value = if is_shard || is_counter && value["N"].is_string() {
                    "<number>".into()
                } else {
                    let sharded = value["S"].as_str().and_then(|text| without_shard(name, text));
                    sharded.unwrap_or_else(|| without_numbers(value))
                };
                (name.clone(), value)
            })
            .collect(),
        Value::Array(values) => values.iter().map(without_numbers).collect(),
        other => other.clone(),
    }
}

/// The first line that only one of two runs has, from a little before the first difference.
pub(crate) fn difference(expected: &[String], got: &[String]) -> Option<(String, String)> {
    let only = |these: &[String], those: &[String]| these.iter().find(|line| !those.contains(line)).cloned();
    let (expected, got) = match (only(expected, got), only(got, expected)) {
        (None, None) if expected == got => return None,
        (None, None) => (format!("{} lines", expected.len()), format!("{} lines, some more often", got.len())),
        (expected, got) => (expected.unwrap_or_default(), got.unwrap_or_default()),
    };
    let same = expected.chars().zip(got.chars()).take_while(|(one, other)| one == other).count();
    let shown = |line: &str| line.chars().skip(same.saturating_sub(60)).take(200).collect();
    Some((shown(&expected), shown(&got)))
}
