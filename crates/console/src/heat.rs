//! Consumed units per second of each partition key, of the last ten minutes.
use std::collections::{BTreeMap, HashMap, VecDeque};

use serde_json::{Value, json};

/// The time that the heat covers, in seconds.
const SECONDS: i64 = 600;
/// Maximum number of partition keys of a table or index in the report.
const MAX_KEYS: usize = 24;
/// Maximum number of partition keys that are counted in a second.
const MAX_COUNTED: usize = 20_000;

/// Read and write units.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Heated {
    pub(super) read: f64,
    pub(super) write: f64,
}

impl Heated {
    pub(super) fn add(&mut self, other: Self) {
        self.read += other.read;
        self.write += other.write;
    }
}

/// The table or index, and the partition key.
type Place = (String, String);

#[derive(Default)]
pub(super) struct Heat {
    seconds: VecDeque<(i64, HashMap<Place, Heated>)>,
}

impl Heat {
    pub(super) fn add(&mut self, second: i64, place: String, key: String, units: Heated) {
        let is_new = self.seconds.back().is_none_or(|(last, _)| *last < second);
        if is_new {
            self.seconds.push_back((second, HashMap::new()));
        }
        while self.seconds.front().is_some_and(|(first, _)| *first <= second - SECONDS) {
            self.seconds.pop_front();
        }
        // A late trace counts for its second if that is still kept.
        let found = self.seconds.iter_mut().rev().find(|(kept, _)| *kept <= second);
        let Some((_, keys)) = found else { return };
        if keys.len() < MAX_COUNTED || keys.contains_key(&(place.clone(), key.clone())) {
            keys.entry((place, key)).or_default().add(units);
        }
    }

    /// Returns the hottest keys of each table and index, with the units of each second.
    pub(super) fn report(&self, now: i64) -> Value {
        let from = now - SECONDS + 1;
        let mut sums = BTreeMap::<&str, HashMap<&str, Heated>>::new();
        for (_, keys) in self.seconds.iter().filter(|(second, _)| *second >= from) {
            for ((place, key), units) in keys {
                sums.entry(place).or_default().entry(key).or_default().add(*units);
            }
        }
        let places: Vec<Value> = sums.into_iter().map(|(place, keys)| self.of_place(place, keys, from)).collect();
        json!({"from": from, "seconds": SECONDS, "places": places})
    }

    fn of_place(&self, place: &str, keys: HashMap<&str, Heated>, from: i64) -> Value {
        let count = keys.len();
        let mut keys: Vec<_> = keys.into_iter().collect();
        keys.sort_by(|(one, a), (other, b)| (b.read + b.write).total_cmp(&(a.read + a.write)).then(one.cmp(other)));
        keys.truncate(MAX_KEYS);
        let keys: Vec<Value> = keys
            .into_iter()
            .map(|(key, sum)| {
                let series: Vec<Value> = self.series(place, key, from);
                json!({"key": key, "read": sum.read, "write": sum.write, "series": series})
            })
            .collect();
        json!({"place": place, "count": count, "keys": keys})
    }

    /// The seconds with units of a key: the offset, the read units and the write units.
    fn series(&self, place: &str, key: &str, from: i64) -> Vec<Value> {
        let wanted = (place.to_owned(), key.to_owned());
        let seconds = self.seconds.iter().filter(|(second, _)| *second >= from);
        let found = seconds.filter_map(|(second, keys)| Some((second - from, keys.get(&wanted)?)));
        found.map(|(offset, units)| json!([offset, units.read, units.write])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(write: f64) -> Heated {
        Heated { read: 0.0, write }
    }

    #[test]
    fn adds_up_the_units_of_a_key_and_forgets_old_seconds() {
        let mut heat = Heat::default();
        heat.add(1_000, "T".into(), "A".into(), write(1.0));
        heat.add(1_001, "T".into(), "A".into(), write(2.0));
        heat.add(1_000, "T".into(), "B".into(), write(4.0));
        let report = heat.report(1_001);
        let keys = report["places"][0]["keys"].as_array().unwrap();
        assert_eq!((&keys[0]["key"], &keys[0]["write"]), (&json!("B"), &json!(4.0)));
        assert_eq!((&keys[1]["key"], &keys[1]["write"]), (&json!("A"), &json!(3.0)));
        assert_eq!(keys[1]["series"], json!([[598, 0.0, 1.0], [599, 0.0, 2.0]]));
        heat.add(1_000 + SECONDS, "T".into(), "A".into(), write(8.0));
        let report = heat.report(1_000 + SECONDS);
        assert_eq!(report["places"][0]["keys"][0]["write"], json!(10.0));
    }
}
