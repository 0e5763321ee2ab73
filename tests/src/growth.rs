//! Writes and lists entries while the number of shards grows. No reader may miss an entry.
#![expect(clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::Client;
use futures::future::{join, join_all};
use local::Stack;
use std::{
    collections::BTreeSet,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// The number of entries that each writer adds in each step.
pub const ENTRIES: usize = 16;

/// Writers and readers of one list, and the ids of the entries written so far.
#[derive(Debug)]
pub struct Growth<W, L> {
    write: W,
    list: L,
    written: Mutex<BTreeSet<String>>,
}

impl<W: AsyncFn(&Client, usize) -> String, L: AsyncFn(&Client) -> Vec<String>> Growth<W, L> {
    /// `write` writes the entry with the given number and returns the id of the entry. `list`
    /// returns the ids of all entries.
    pub fn new(write: W, list: L) -> Self {
        Self { write, list, written: Mutex::default() }
    }

    /// The ids of the entries written so far. A list that starts later must contain all of them.
    pub fn written(&self) -> BTreeSet<String> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes [`ENTRIES`] entries.
    pub async fn write(&self, writer: &Stack) {
        let client = Client::operator(writer);
        for number in 0..ENTRIES {
            let id = (self.write)(&client, number).await;
            self.written.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
        }
    }

    /// Lists the entries until the writers have finished, and then once more. Asserts that no entry
    /// is missing or repeated.
    pub async fn misses_nothing(&self, reader: &Stack, done: &AtomicBool, step: &str) {
        let client = Client::operator(reader);
        for _ in 0..1_000 {
            let last = done.load(Ordering::SeqCst);
            let before = self.written();
            let items = (self.list)(&client).await;
            let listed: BTreeSet<String> = items.iter().cloned().collect();
            assert_eq!(listed.len(), items.len(), "{step}: an entry was returned twice");
            let missed: Vec<_> = before.difference(&listed).collect();
            assert!(missed.is_empty(), "{step}: {} of {} entries are missing", missed.len(), before.len());
            if last {
                return;
            }
        }
        unreachable!("{step}: the writers do not finish");
    }

    /// Runs the writers and the readers concurrently.
    pub async fn step(&self, name: &str, writers: &[&Stack], readers: &[&Stack]) {
        let done = AtomicBool::new(false);
        let writing = async {
            join_all(writers.iter().map(|writer| self.write(writer))).await;
            done.store(true, Ordering::SeqCst);
        };
        let reading = join_all(readers.iter().map(|reader| self.misses_nothing(reader, &done, name)));
        join(writing, reading).await;
    }
}
