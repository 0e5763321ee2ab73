//! Throughput of partitions: the limits of AWS, burst capacity, splits for heat, and back-pressure
//! of indexes.
use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// Units per second of a partition (DynamoDB Developer Guide, "Best practices for designing and
/// using partition keys effectively").
const READ_UNITS: f64 = 3_000.0;
const WRITE_UNITS: f64 = 1_000.0;
/// Unused capacity that a partition keeps (DynamoDB Developer Guide, "DynamoDB burst and adaptive
/// capacity").
const BURST: f64 = 300.0;
/// A new on-demand table serves 4,000 writes and 12,000 reads per second.
const FIRST_PARTITIONS: u64 = 4;
/// A partition that throttles for this time is split. AWS documents no time.
const HEAT: Duration = Duration::from_mins(1);
/// Calls without throttling for this time end the heat.
const COOL: Duration = Duration::from_secs(5);
/// Number of positions that decide where a partition is split.
const MAX_RECENT: usize = 64;

/// Position of an item in a table or an index: the hash of its partition key, and its sort key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position(u64, String);

impl Position {
    pub(super) fn new((partition, sort): (String, String)) -> Self {
        let digest = Sha256::digest(partition);
        Self(digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte)), sort)
    }
}

/// Kind of throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Write,
}

/// A table, or an index of a table.
pub(super) type Place = (String, Option<String>);

/// The partitions of all tables and indexes.
#[derive(Debug)]
pub(super) struct Partitions {
    /// Share of the limits of AWS.
    share: f64,
    places: BTreeMap<Place, Vec<Partition>>,
}

#[derive(Debug)]
struct Partition {
    from: Position,
    read: Bucket,
    write: Bucket,
    /// Positions of the last calls.
    recent: VecDeque<Position>,
    /// First and last time of the current heat.
    hot: Option<(Instant, Instant)>,
}

/// Capacity that is left. A call may exceed it, and later calls wait until it is positive again.
#[derive(Debug)]
struct Bucket {
    rate: f64,
    left: f64,
    at: Instant,
}

impl Bucket {
    fn new(rate: f64, now: Instant) -> Self {
        Self { rate, left: rate, at: now }
    }

    fn left(&mut self, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.left = (self.left + passed * self.rate).min(self.rate * BURST);
        self.at = now;
        self.left
    }
}

impl Partition {
    fn new(from: Position, share: f64, now: Instant) -> Self {
        let bucket = |units: f64| Bucket::new(units * share, now);
        Self { from, read: bucket(READ_UNITS), write: bucket(WRITE_UNITS), recent: VecDeque::new(), hot: None }
    }

    fn bucket(&mut self, kind: Use) -> &mut Bucket {
        match kind {
            Use::Read => &mut self.read,
            Use::Write => &mut self.write,
        }
    }

    /// Returns the first position of a new partition, if this one has been hot for long enough and
    /// its traffic can be divided.
    fn split(&mut self, now: Instant) -> Option<Position> {
        let since = self.hot.filter(|(_, last)| now.saturating_duration_since(*last) < COOL).map(|(since, _)| since);
        self.hot = Some((since.unwrap_or(now), now));
        if now.saturating_duration_since(since?) < HEAT {
            return None;
        }
        let mut recent: Vec<_> = self.recent.iter().collect();
        recent.sort();
        let middle = recent.get(recent.len() / 2).copied().cloned()?;
        (recent.first() != Some(&&middle)).then_some(middle)
    }
}

impl Partitions {
    /// Creates partitions with a share of the limits of AWS. 0 means no limit.
    pub(super) fn new(share: f64) -> Self {
        Self { share, places: BTreeMap::new() }
    }

    /// Whether the partition of the position has capacity. A hot partition is split.
    pub(super) fn admits(&mut self, place: &Place, position: &Position, kind: Use, now: Instant) -> bool {
        if self.share <= 0.0 {
            return true;
        }
        let share = self.share;
        let Some((partitions, number)) = self.find(place, position, now) else { return true };
        let partition = &mut partitions[number];
        if partition.bucket(kind).left(now) > 0.0 {
            return true;
        }
        if let Some(from) = partition.split(now) {
            let from_here = partition.from.clone();
            partitions[number] = Partition::new(from_here, share, now);
            partitions.insert(number + 1, Partition::new(from, share, now));
        }
        false
    }

    /// Counts consumed units.
    pub(super) fn charge(&mut self, place: &Place, position: Position, kind: Use, units: f64, now: Instant) {
        if self.share <= 0.0 {
            return;
        }
        let Some((partitions, number)) = self.find(place, &position, now) else { return };
        let partition = &mut partitions[number];
        let bucket = partition.bucket(kind);
        bucket.left(now);
        bucket.left -= units;
        partition.recent.push_back(position);
        if partition.recent.len() > MAX_RECENT {
            partition.recent.pop_front();
        }
    }

    fn find(&mut self, place: &Place, position: &Position, now: Instant) -> Option<(&mut Vec<Partition>, usize)> {
        let share = self.share;
        let first = |number| Position(u64::MAX / FIRST_PARTITIONS * number, String::new());
        let partitions = self
            .places
            .entry(place.clone())
            .or_insert_with(|| (0..FIRST_PARTITIONS).map(|number| Partition::new(first(number), share, now)).collect());
        let after = partitions.partition_point(|partition| partition.from <= *position);
        Some((partitions, after.checked_sub(1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: &str, sort: &str) -> Position {
        Position::new((partition.to_owned(), sort.to_owned()))
    }

    fn table() -> Place {
        ("T".to_owned(), None)
    }

    /// Sends one unit per call, as many as possible in a second. Returns the number of admitted
    /// calls of each second.
    fn load(partitions: &mut Partitions, start: Instant, seconds: u64, position: impl Fn(u64) -> Position) -> Vec<u32> {
        let place = table();
        let mut calls = 0;
        (0..seconds)
            .map(|second| {
                let mut admitted = 0;
                for step in 0..10_u64 {
                    let now = start + Duration::from_millis(second * 1_000 + step * 100);
                    for _ in 0..1_000 {
                        calls += 1;
                        let position = position(calls);
                        if partitions.admits(&place, &position, Use::Write, now) {
                            partitions.charge(&place, position, Use::Write, 1.0, now);
                            admitted += 1;
                        } else {
                            break;
                        }
                    }
                }
                admitted
            })
            .collect()
    }

    #[test]
    fn a_partition_serves_1000_writes_and_3000_reads_a_second_and_a_burst_of_300_seconds() {
        let (start, place, key) = (Instant::now(), table(), at("A", ""));
        for (kind, limit) in [(Use::Write, 1_000), (Use::Read, 3_000)] {
            let mut partitions = Partitions::new(1.0);
            let mut admitted = 0;
            while partitions.admits(&place, &key, kind, start) {
                partitions.charge(&place, key.clone(), kind, 1.0, start);
                admitted += 1;
            }
            assert_eq!(admitted, limit, "{kind:?}");
            assert!(partitions.admits(&place, &key, kind, start + Duration::from_secs(1)));
            let later = start + Duration::from_hours(1);
            let kept = f64::from(limit) * 300.0;
            partitions.charge(&place, key.clone(), kind, kept - 1.0, later);
            assert!(partitions.admits(&place, &key, kind, later), "{kept} units are kept, and not more");
            partitions.charge(&place, key.clone(), kind, 1.0, later);
            assert!(!partitions.admits(&place, &key, kind, later), "{kind:?}");
        }
    }

    #[test]
    fn a_hot_partition_is_split_for_spread_keys_but_not_for_one_key_or_a_rising_sort_key() {
        let start = Instant::now();
        let last = |position: &dyn Fn(u64) -> Position| {
            let seconds = load(&mut Partitions::new(1.0), start, 200, position);
            seconds[190..].iter().sum::<u32>() / 10
        };
        let one_key = last(&|_| at("A", "1"));
        assert!((990..=1_010).contains(&one_key), "{one_key}");
        let rising = last(&|number| at("A", &format!("{number:012}")));
        assert!((990..=1_010).contains(&rising), "{rising}");
        let spread = last(&|number| at("A", &format!("{:03}", number * 7_919 % 1_000)));
        assert!(spread > 1_500, "{spread}");
    }

    #[test]
    fn share_scales_the_limits() {
        let (start, place, key) = (Instant::now(), table(), at("A", ""));
        let mut none = Partitions::new(0.0);
        none.charge(&place, key.clone(), Use::Write, 1e9, start);
        assert!(none.admits(&place, &key, Use::Write, start));
        let mut hundredth = Partitions::new(0.01);
        hundredth.charge(&place, key.clone(), Use::Write, 10.0, start);
        assert!(!hundredth.admits(&place, &key, Use::Write, start));
        let elsewhere = ("T".to_owned(), Some("GSI1".to_owned()));
        assert!(hundredth.admits(&elsewhere, &key, Use::Write, start), "each index has its own partitions");
    }
}
