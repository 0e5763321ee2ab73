//! The table of daily totals: writes transactions into it, each of them once
//! ([decision](../../../docs/decisions/ledger-reconciliation.md)).

use crate::model::total::{Counted, Sums, SumsById, Total, add_all};
use function::{Clients, SettingsReader};
use futures::future::try_join_all;
use keys::{
    KeyRange, Random, Shard, Shards, TimestampMillis, TransactionId,
    ledger::CreatedSort,
    totals::{TotalPartition, TotalScope},
};
use std::collections::{BTreeMap, btree_map::Entry};
use table::{Dynamo, Error, Found, Key, MAX_CHANGES, Query, Table};

/// Number of days between the last processing of a stream record and the expiry of its marker. S3
/// can delete the events of a day later than their retention requires.
const MARGIN_DAYS: i64 = 7;

/// Maximum number of totals that one call reads.
const PAGE: usize = 1_000;

/// Sums of totals.
#[derive(Debug)]
pub(crate) struct Added<K> {
    /// `None` for a sum of more than 38 digits, and for one that lacks a transaction.
    sums: BTreeMap<K, Option<Sums>>,
    /// Number of unreadable totals. The sums lack them.
    skipped: usize,
}

impl<K> Default for Added<K> {
    fn default() -> Self {
        Self { sums: BTreeMap::new(), skipped: 0 }
    }
}

impl<K: Ord> Added<K> {
    fn add(&mut self, key: K, more: Option<Sums>) {
        match self.sums.entry(key) {
            Entry::Vacant(new) => drop(new.insert(more)),
            Entry::Occupied(mut old) => *old.get_mut() = old.get().zip(more).and_then(|(sum, more)| sum.plus(more)),
        }
    }

    /// Returns the lines, and the number of omitted lines and totals. A line without a sum is
    /// omitted, so that one amount does not hide the other sums.
    pub(crate) fn lines<L>(self, line: impl Fn((K, Sums)) -> Option<L>) -> (Vec<L>, usize) {
        let count = self.sums.len();
        let sums = self.sums.into_iter().filter_map(|(key, sum)| line((key, sum?)));
        let lines: Vec<L> = sums.collect();
        let omitted = count - lines.len();
        (lines, self.skipped + omitted)
    }
}

/// The table `Totals`.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    dynamo: Dynamo,
    pub(crate) table: Table,
    /// Shards of each total. A write picks one of them, so that concurrent writes of a busy total
    /// rarely conflict.
    pub(crate) shards: Shards,
    /// Number of days for which failed stream records are kept, and may be processed again.
    retention_days: i64,
}

/// A transaction to count.
#[derive(Debug, Clone)]
pub(crate) struct ToCount {
    pub(crate) transaction: TransactionId,
    /// The time at which the transaction was written.
    pub(crate) written_at: TimestampMillis,
    /// The sums that the transaction adds to totals.
    pub(crate) sums: SumsById,
}

impl Totals {
    pub(crate) fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let table = settings.get::<String>("TOTALS_TABLE");
        let shards = settings.shards("TOTALS_WRITE_SHARDS", "TOTALS_READ_SHARDS");
        let retention_days = settings.get::<u16>("FAILED_CHANGES_RETENTION_DAYS");
        let dynamo = clients.dynamo();
        let (table, retention_days) = (dynamo.table(table?), retention_days?.into());
        Some(Self { dynamo: dynamo.clone(), table, shards: shards?, retention_days })
    }

    pub(crate) async fn warm_up(&self) {
        let _ = self.table.get_all::<Total>(&[Key::placeholder()], false).await;
    }

    pub(crate) async fn warm_by_query(&self) {
        let range = CreatedSort::nothing();
        let _ = self.table.page::<Total>(&Query::new(&"#", &range), 1).await;
    }

    /// Whether the marker of a transaction that was written at this time may have expired. Such a
    /// transaction cannot be counted, because it may already have been counted.
    pub(crate) fn is_too_old(&self, written_at: TimestampMillis, now: TimestampMillis) -> bool {
        now >= written_at.plus_days(self.retention_days + MARGIN_DAYS)
    }

    /// Adds up the totals of a scope in a range of days, by `key`.
    pub(crate) async fn sums<K: Ord>(
        &self,
        scope: &TotalScope,
        range: &KeyRange,
        key: impl Fn(&Total) -> K,
    ) -> Result<Added<K>, function::Error> {
        let shards = self.shards.read().map(|shard| self.of_shard(scope, shard, range, &key));
        let mut added = Added::default();
        for Added { sums, skipped } in try_join_all(shards).await? {
            added.skipped += skipped;
            for (key, sums) in sums {
                added.add(key, sums);
            }
        }
        Ok(added)
    }

    /// Adds up the totals of a shard in a range of days.
    async fn of_shard<K: Ord>(
        &self,
        scope: &TotalScope,
        shard: Shard,
        range: &KeyRange,
        key: &impl Fn(&Total) -> K,
    ) -> Result<Added<K>, function::Error> {
        let partition = TotalPartition { scope: scope.clone(), shard };
        let (mut added, mut rest) = (Added::default(), range.clone());
        loop {
            let page = self.table.page::<Total>(&Query::new(&partition, &rest), PAGE).await?;
            added.skipped += page.skipped;
            for total in page.items {
                match total.sums() {
                    _ if total.incomplete => added.add(key(&total), None),
                    Ok(sums) => added.add(key(&total), Some(sums)),
                    Err(_) => added.skipped += 1,
                }
            }
            match page.next {
                Some(next) => rest = range.after(&next),
                None => return Ok(added),
            }
        }
    }

    /// Adds the transactions to their totals, in one DynamoDB transaction with their markers.
    /// Passes over transactions that are already counted.
    ///
    /// # Errors
    /// A call failed. The transactions may or may not be counted. [`Error::Rejected`] can mean that
    /// a stored total is not readable, or too large.
    pub(crate) async fn count(&self, mut entries: Vec<ToCount>, random: &Random) -> Result<(), Error> {
        while !entries.is_empty() {
            let attempt = || self.write(&entries, self.shards.pick(random));
            let is_contended = |error: &Error| matches!(error, Error::Contended { .. });
            match table::optimistically(attempt, is_contended).await {
                Ok(()) => return Ok(()),
                Err(Error::Refused(refused)) => {
                    let (all, mut number) = (entries.len(), 0..);
                    entries.retain(|_| !number.next().is_some_and(|number| refused.at(number)));
                    // Only a marker has a condition.
                    if entries.len() == all {
                        return Err(Error::Refused(refused));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Counts a transaction whose totals DynamoDB rejected: in the first shard whose totals are
    /// readable and have room. Returns `false` if there is none.
    pub(crate) async fn count_elsewhere(&self, entry: &ToCount) -> Result<bool, Error> {
        for shard in self.shards.read() {
            if !self.has_room(entry, shard).await? {
                continue;
            }
            return match self.write(std::slice::from_ref(entry), shard).await {
                Ok(()) => Ok(true),
                Err(Error::Refused(refused)) if refused.at(0) => Ok(true),
                Err(error) => Err(error),
            };
        }
        Ok(false)
    }

    /// Marks the totals of a transaction as incomplete, because no shard has room for the
    /// transaction. Returns `false` if no shard can store the mark.
    pub(crate) async fn leave_out(&self, entry: &ToCount) -> Result<bool, Error> {
        for shard in self.shards.read() {
            let mut changes = vec![self.table.put_new(&self.marker(entry))?];
            for id in entry.sums.keys() {
                changes.push(Total::lacking(&self.table, id, shard)?);
            }
            match self.dynamo.transact_once(changes).await {
                Ok(()) => return Ok(true),
                Err(Error::Refused(refused)) if refused.at(0) => return Ok(true),
                // A total of this shard is unreadable.
                Err(Error::Rejected(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn marker(&self, entry: &ToCount) -> Counted {
        let expires = entry.written_at.plus_days(self.retention_days + 2 * MARGIN_DAYS);
        Counted::new(entry.transaction.clone(), expires.instant().as_second())
    }

    /// Whether all totals of the transaction in the shard are readable, and have room for it.
    async fn has_room(&self, entry: &ToCount, shard: Shard) -> Result<bool, Error> {
        let keys: Vec<Key> = entry.sums.keys().map(|id| id.key_in(shard)).collect();
        let Found { items, unreadable } = self.table.get_all::<Total>(&keys, true).await?;
        let has_room = |(key, more): (&Key, &Sums)| {
            items.get(key).is_none_or(|total| total.sums().is_ok_and(|sums| sums.plus(*more).is_some()))
        };
        Ok(unreadable.is_empty() && keys.iter().zip(entry.sums.values()).all(has_room))
    }

    /// Makes one attempt to write the transactions. Their markers are the first changes.
    async fn write(&self, entries: &[ToCount], shard: Shard) -> Result<(), Error> {
        let mut sums = SumsById::new();
        for entry in entries {
            add_all(&mut sums, &entry.sums).ok_or_else(|| Error::Rejected("a total is too large".to_owned()))?;
        }
        let mut changes = Vec::with_capacity(entries.len() + sums.len());
        for entry in entries {
            changes.push(self.table.put_new(&self.marker(entry))?);
        }
        changes.extend(sums.iter().map(|(id, sums)| Total::adding(&self.table, id, shard, sums)));
        self.dynamo.transact_once(changes).await
    }
}

/// Groups transactions so that each group fits into one DynamoDB transaction. Transactions of the
/// same merchant are next to each other, because they share totals.
pub(crate) fn grouped(mut entries: Vec<ToCount>) -> Vec<Vec<ToCount>> {
    let last = |entry: &ToCount| entry.sums.keys().next_back().cloned();
    entries.sort_by_cached_key(last);
    let (mut groups, mut group, mut totals) = (Vec::new(), Vec::<ToCount>::new(), SumsById::new());
    for entry in entries {
        let new = entry.sums.keys().filter(|id| !totals.contains_key(*id)).count();
        if !group.is_empty() && group.len() + 1 + totals.len() + new > MAX_CHANGES {
            groups.push(std::mem::take(&mut group));
            totals.clear();
        }
        totals.extend(entry.sums.clone());
        group.push(entry);
    }
    groups.extend((!group.is_empty()).then_some(group));
    groups
}
