//! The reversals of the transactions in a list
//! ([decision](../../../docs/decisions/ledger-history.md)).

use crate::{Reversal, Transaction, store::Books};
use function::Error;
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    TransactionId,
    ledger::{ReversalSort, TransactionPartition},
};
use std::collections::HashMap;
use table::{Key, Query};

/// Maximum number of concurrent queries.
const SIDE_BY_SIDE: usize = 8;

/// The last reversal markers of transactions.
#[derive(Debug, Default)]
pub(crate) struct Reversals {
    last: HashMap<TransactionId, Reversal>,
    /// The keys of the unreadable markers.
    pub(crate) unreadable: Vec<Key>,
}

impl Reversals {
    /// Returns the last reversal marker of the transaction. `None` if it is not reversed.
    pub(crate) fn of(&self, transaction: &TransactionId) -> Option<&Reversal> {
        self.last.get(transaction)
    }
}

impl Books {
    /// Reads the last reversal marker of each transaction, with eventual consistency. Most
    /// transactions have none, and most others have one. Only those that are reversed in part need
    /// another call.
    pub(crate) async fn reversals<'a>(
        &self,
        headers: impl Iterator<Item = &'a Transaction>,
    ) -> Result<Reversals, Error> {
        // A reversal cannot be reversed.
        let headers: HashMap<_, _> =
            headers.filter(|header| header.reverses.is_none()).map(|header| (&header.id, header)).collect();
        let keys: Vec<Key> = headers.keys().map(|id| Reversal::first_key_of(id)).collect();
        let first = self.table.get_all::<Reversal>(&keys, false).await?;
        let mut found = Reversals { last: HashMap::new(), unreadable: first.unreadable };
        let is_part = |first: &Reversal| {
            headers.get(first.original()).is_some_and(|header| header.amount != first.reversed_amount)
        };
        let (parts, whole): (Vec<_>, Vec<_>) = first.items.into_values().partition(is_part);
        let last = stream::iter(parts).map(|first| self.last_reversal(first)).buffer_unordered(SIDE_BY_SIDE);
        let last: Vec<(Reversal, Option<Key>)> = last.try_collect().await?;
        let (last, unreadable): (Vec<_>, Vec<_>) = last.into_iter().unzip();
        found.unreadable.extend(unreadable.into_iter().flatten());
        found.last = whole.into_iter().chain(last).map(|last| (last.original().clone(), last)).collect();
        Ok(found)
    }

    /// Returns the last marker of a transaction. If it cannot be read, returns the first marker and
    /// the key of the last one.
    async fn last_reversal(&self, first: Reversal) -> Result<(Reversal, Option<Key>), Error> {
        let (partition, range) = (TransactionPartition(first.original().clone()), ReversalSort::all().newest_first());
        let query = Query::new(&partition, &range);
        let (page, unreadable) = self.table.page_with_unreadable::<Reversal>(&query, 1).await?;
        Ok((page.items.into_iter().next().unwrap_or(first), unreadable.into_iter().next()))
    }
}
