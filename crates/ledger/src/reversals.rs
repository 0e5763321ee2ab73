//! The reversals of the transactions and legs in a list
//! ([decision](../../../docs/decisions/ledger-history.md)). The items of a reversal are in two
//! indexes, under the time of the original. A list therefore finds the reversals of a page with one
//! query for each partition, and usually none.

use crate::{Ledger, Leg, Reversal, ReversedLeg, Transaction, store::Books};
use function::Error;
use futures::future::try_join_all;
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{
        AccountPartition, CreatedSort, LegId, ReversedLegSort, ReversedPartition, StatusPartition, TransactionPartition,
    },
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use table::{Attribute, Item, Key, Query};

/// The last reversals of transactions or legs.
#[derive(Debug)]
pub(crate) struct Reversals<K, T> {
    pub(crate) last: HashMap<K, T>,
    /// The keys of the unreadable items.
    pub(crate) unreadable: Vec<Key>,
}

/// The entry of a reversal's leg in GSI2.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReversedEntry {
    #[serde(rename = "PK")]
    reversal: TransactionPartition,
    #[serde(flatten)]
    pub(crate) leg: ReversedLeg,
}

impl Item for ReversedEntry {
    const TYPE: &'static str = Leg::TYPE;
    const NUMBERS: &'static [Attribute] = &[ReversedLeg::REVERSED_AMOUNT];
}

impl ReversedEntry {
    /// The reversal.
    pub(crate) fn reversal(&self) -> &TransactionId {
        &self.reversal.0
    }
}

/// The first and the last time. `None` if there is none.
fn span(times: impl Iterator<Item = TimestampMillis> + Clone) -> Option<(TimestampMillis, TimestampMillis)> {
    times.clone().min().zip(times.max())
}

impl Books {
    /// Reads the last reversal marker of each listed transaction, with eventual consistency. All of
    /// them have the same status.
    pub(crate) async fn reversals(&self, page: &[Transaction]) -> Result<Reversals<TransactionId, Reversal>, Error> {
        let mut found = Reversals { last: HashMap::new(), unreadable: Vec::new() };
        // A reversal cannot be reversed.
        let originals = page.iter().filter(|header| header.reverses.is_none());
        let Some((first, last)) = span(originals.clone().map(|header| header.created_at)) else { return Ok(found) };
        let Some(StatusPartition { status, .. }) = originals.map(|header| header.by_status).next() else {
            return Ok(found);
        };
        let range = CreatedSort::between(first, Some(last));
        let shards = self.shards.read().map(|shard| ReversedPartition(StatusPartition { status, shard }));
        let reads = shards.map(|partition| {
            let query = Query::new(&partition, &range).on(&self.by_time);
            async move { self.table.query_all_with_unreadable::<Reversal>(&query).await }
        });
        for (markers, unreadable) in try_join_all(reads).await? {
            found.unreadable.extend(unreadable);
            found.add(markers.items);
        }
        Ok(found)
    }
}

impl Reversals<TransactionId, Reversal> {
    /// Keeps the last marker of each transaction.
    fn add(&mut self, markers: Vec<Reversal>) {
        for marker in markers {
            match self.last.get(marker.original()) {
                Some(known) if known.sort > marker.sort => {}
                _ => drop(self.last.insert(marker.original().clone(), marker)),
            }
        }
    }
}

impl Ledger {
    /// Reads the last reversal of each listed leg of the account, with eventual consistency.
    pub(crate) async fn reversed_legs(
        &self,
        account: &AccountId,
        legs: &[Leg],
    ) -> Result<Reversals<LegId, ReversedEntry>, Error> {
        let mut found = Reversals { last: HashMap::new(), unreadable: Vec::new() };
        let Some((first, last)) = span(legs.iter().map(|leg| leg.created_at)) else { return Ok(found) };
        let (partition, range) = (AccountPartition(account.clone()), ReversedLegSort::between(first, last));
        let query = Query::new(&partition, &range).on(&self.by_key);
        let (entries, unreadable) = self.books.table.query_all_with_unreadable::<ReversedEntry>(&query).await?;
        found.unreadable = unreadable;
        // The reversals of a leg are in order.
        found.last = entries.items.into_iter().map(|entry| (entry.leg.by_original.leg.clone(), entry)).collect();
        Ok(found)
    }
}
