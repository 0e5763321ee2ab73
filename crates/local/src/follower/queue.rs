//! Records that a poller has read, by partition key. Each lane of a mapping delivers one batch at a
//! time. The records of a partition key are never in two lanes, so they stay in order.
use std::collections::{BTreeSet, HashMap, VecDeque};

use tokio::time::Instant;

use super::batch::Record;
use engine::store::Position;
use template::Mapping;

/// Maximum number of records whose content the queue keeps. A lane reads the content of other
/// records again.
const MAX_KEPT: usize = 10_000;
/// Maximum number of records in the queue.
const MAX_WAITING: usize = 500_000;

/// A record in the queue.
pub(super) struct Waiting {
    pub(super) position: Position,
    /// `None` if the content must be read again.
    pub(super) record: Option<Record>,
}

/// The place of a partition key in the order of delivery. Keys that have waited for longer since
/// their last batch come first, so a key with many records delays no other key.
type Place = (u64, Position, String);

#[derive(Default)]
struct Key {
    waiting: VecDeque<Waiting>,
    /// Number of the last batch with a record of this key. 0 if there was none.
    last_batch: u64,
    in_lane: bool,
}

/// The queue of a mapping.
#[derive(Default)]
pub(super) struct Queue {
    keys: HashMap<String, Key>,
    /// The keys that are not in a lane.
    ready: BTreeSet<Place>,
    /// Number of records of these keys.
    ready_records: usize,
    /// Start of the batching window. `None` if no record is ready.
    window: Option<Instant>,
    batches: u64,
    waiting: usize,
    kept: usize,
}

impl Queue {
    pub(super) fn is_full(&self) -> bool {
        self.waiting >= MAX_WAITING
    }

    /// Adds a record that comes after all others in the stream.
    pub(super) fn push(&mut self, key: String, record: Record) {
        let position = record.position;
        self.waiting += 1;
        let is_kept = self.kept < MAX_KEPT;
        self.kept += usize::from(is_kept);
        let of = self.keys.entry(key.clone()).or_default();
        if !of.in_lane {
            self.ready_records += 1;
            self.window.get_or_insert_with(Instant::now);
            if of.waiting.is_empty() {
                self.ready.insert((of.last_batch, position, key));
            }
        }
        of.waiting.push_back(Waiting { position, record: is_kept.then_some(record) });
    }

    /// Returns the next batch, in stream order, and its keys. The ready keys are spread over the
    /// `free` lanes, and take turns in the batch. Returns `None` if no record is ready, or if the
    /// batching window is open and the batch would not be full.
    pub(super) fn take(&mut self, free: usize, mapping: &Mapping) -> Option<(Vec<String>, Vec<Waiting>)> {
        let is_open = self.window? + mapping.window > Instant::now();
        if self.ready.is_empty() || (is_open && self.ready_records < mapping.batch_size) {
            return None;
        }
        self.batches += 1;
        let share = self.ready.len().div_ceil(free.max(1)).min(mapping.batch_size);
        let (mut keys, mut batch) = (Vec::new(), Vec::new());
        for _ in 0..share {
            let Some((_, _, key)) = self.ready.pop_first() else { break };
            let Some(of) = self.keys.get_mut(&key) else { continue };
            (of.in_lane, of.last_batch) = (true, self.batches);
            self.ready_records -= of.waiting.len();
            keys.push(key);
        }
        while batch.len() < mapping.batch_size {
            let before = batch.len();
            for key in keys.iter().take(mapping.batch_size - before) {
                batch.extend(self.keys.get_mut(key).and_then(|of| of.waiting.pop_front()));
            }
            if batch.len() == before {
                break;
            }
        }
        self.waiting -= batch.len();
        self.kept -= batch.iter().filter(|waiting| waiting.record.is_some()).count();
        batch.sort_by_key(|waiting| waiting.position);
        self.window = (self.ready_records > 0).then(Instant::now);
        Some((keys, batch))
    }

    /// Makes the keys of a delivered batch ready again.
    pub(super) fn delivered(&mut self, keys: Vec<String>) {
        for key in keys {
            let Some(of) = self.keys.get_mut(&key) else { continue };
            of.in_lane = false;
            match of.waiting.front() {
                Some(first) => {
                    self.ready_records += of.waiting.len();
                    self.window.get_or_insert_with(Instant::now);
                    self.ready.insert((of.last_batch, first.position, key));
                }
                None => {
                    self.keys.remove(&key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use serde_json::json;

    use super::*;
    use template::Start;

    fn mapping(batch_size: usize, lanes: usize) -> Mapping {
        Mapping {
            name: String::new(),
            table: String::new(),
            start: Start::Latest,
            batch_size,
            window: Duration::ZERO,
            lanes,
            reports_failures: true,
            bisects: false,
            retries: None,
            record_age: None,
            filters: Vec::new(),
            failure_bucket: None,
            enabled: true,
            line: 0,
        }
    }

    fn push(queue: &mut Queue, key: &str, position: i64) {
        queue.push(key.to_owned(), Record { position: position.into(), value: json!(key) });
    }

    fn positions(batch: &[Waiting]) -> Vec<i64> {
        batch.iter().map(|waiting| waiting.position.into()).collect()
    }

    #[test]
    fn keys_take_turns_in_stream_order() {
        let (mut queue, of) = (Queue::default(), mapping(4, 2));
        (1..=10).for_each(|n| push(&mut queue, "flood", n));
        let (flood, batch) = queue.take(2, &of).unwrap();
        assert_eq!(positions(&batch), [1, 2, 3, 4]);
        assert!(queue.take(1, &of).is_none(), "the key is in a lane");
        push(&mut queue, "other", 11);
        push(&mut queue, "third", 12);
        push(&mut queue, "other", 13);
        let (others, batch) = queue.take(1, &of).unwrap();
        assert_eq!((others.len(), positions(&batch)), (2, vec![11, 12, 13]));
        push(&mut queue, "fourth", 14);
        queue.delivered(flood);
        queue.delivered(others);
        // The free lanes share the keys. A key that has never been in a lane comes first.
        let (_, batch) = queue.take(2, &of).unwrap();
        assert_eq!(positions(&batch), [14]);
        let (flood, batch) = queue.take(1, &of).unwrap();
        assert_eq!(positions(&batch), [5, 6, 7, 8]);
        push(&mut queue, "fifth", 15);
        queue.delivered(flood);
        assert_eq!(positions(&queue.take(1, &of).unwrap().1), [9, 10, 15]);
        assert!(queue.take(1, &of).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_waits_for_its_window_or_until_it_is_full() {
        let of = Mapping { window: Duration::from_secs(5), ..mapping(3, 1) };
        let mut queue = Queue::default();
        push(&mut queue, "", 1);
        assert!(queue.take(1, &of).is_none());
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(positions(&queue.take(1, &of).unwrap().1), [1]);
        queue.delivered(vec![String::new()]);
        (2..=5).for_each(|n| push(&mut queue, "", n));
        assert_eq!(positions(&queue.take(1, &of).unwrap().1), [2, 3, 4]);
        queue.delivered(vec![String::new()]);
        assert!(queue.take(1, &of).is_none());
    }

    #[test]
    fn no_record_is_lost_and_the_content_of_many_is_not_kept() {
        let (mut queue, of, last) = (Queue::default(), mapping(7, 3), 12_000);
        let (mut lanes, mut taken, mut without) = (VecDeque::new(), BTreeMap::new(), 0);
        for n in 1..=last {
            push(&mut queue, &(n * n % 13).to_string(), n);
        }
        while let Some((keys, batch)) = queue.take(3 - lanes.len(), &of) {
            assert!(batch.len() <= 7);
            without += batch.iter().filter(|waiting| waiting.record.is_none()).count();
            for position in positions(&batch) {
                let before = taken.insert(position * position % 13, position);
                assert!(before < Some(position));
            }
            lanes.push_back(keys);
            if lanes.len() == 3 {
                queue.delivered(lanes.pop_front().unwrap());
            }
            if queue.ready.is_empty() {
                lanes.drain(..).for_each(|keys| queue.delivered(keys));
            }
        }
        assert_eq!((queue.waiting, queue.kept, queue.ready_records, queue.keys.len()), (0, 0, 0, 0));
        assert_eq!(without, 2_000);
    }
}
