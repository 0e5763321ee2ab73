//! The balance of an account at a past time.

use crate::{Ledger, Leg};
use function::Error;
use keys::{
    AccountId, KeyRange, TimestampMillis,
    ledger::{AccountPartition, LegTimeSort},
};
use money::Money;
use table::{Key, Query};

/// The newest leg in a range.
#[derive(Debug)]
pub(crate) enum NewestLeg {
    /// The range has no leg.
    None,
    /// The balance after the leg.
    Readable(Money),
    /// The key of a leg that cannot be read, or whose balance is not valid for its currency.
    Unreadable(Option<Key>),
}

impl Ledger {
    /// Reads the newest leg of the account through `time`, with one query.
    pub(crate) async fn newest_through(&self, account: &AccountId, time: TimestampMillis) -> Result<NewestLeg, Error> {
        self.newest(account, LegTimeSort::period(None, Some(time))).await
    }

    /// Reads the newest leg of the account before `time`, with one query.
    pub(crate) async fn newest_before(&self, account: &AccountId, time: TimestampMillis) -> Result<NewestLeg, Error> {
        self.newest(account, LegTimeSort::before(time)).await
    }

    /// Reads the newest leg of the account in the range, with one query of the index.
    pub(crate) async fn newest(&self, account: &AccountId, range: KeyRange) -> Result<NewestLeg, Error> {
        let (partition, range) = (AccountPartition(account.clone()), range.newest_first());
        let query = Query::new(&partition, &range).on(&self.books.by_time);
        let (page, unreadable) = self.books.table.page_with_unreadable::<Leg>(&query, 1).await?;
        Ok(match page.items.first() {
            _ if page.skipped > 0 => NewestLeg::Unreadable(unreadable.into_iter().next()),
            None => NewestLeg::None,
            Some(leg) => leg.after().map_or_else(|| NewestLeg::Unreadable(Some(leg.key())), NewestLeg::Readable),
        })
    }
}
