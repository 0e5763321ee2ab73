//! Checks grouped posting ([decision](../../../../docs/decisions/ledger-grouped-posting.md)):
//! - Each grouped credit has either an inbox item or a posting, with the same amount.
//! - Each posting and each inbox item belongs to a grouped credit.

use crate::{
    InboxItem, Ledger, Leg,
    model::reconciliation::{Fault, Kind},
};
use function::Error;
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    AccountId,
    ledger::{InboxPartition, InboxSort},
};
use money::Money;
use table::{Key, Query};

/// Maximum number of inbox items that one call reads.
const PAGE: usize = 100;

impl Ledger {
    /// Checks those of the legs that are grouped credits.
    ///
    /// The settlement moves a credit from the inbox to the postings. The inbox is therefore read
    /// before the postings: a credit that is in neither was lost.
    pub(crate) async fn check_grouped(&self, legs: impl Iterator<Item = &Leg>) -> Result<Vec<Fault>, Error> {
        let legs: Vec<(&Leg, Key)> = legs.filter_map(|leg| Some((leg, InboxItem::key_of(leg)?))).collect();
        let waiting: Vec<Key> = legs.iter().map(|(_, key)| key.clone()).collect();
        let inbox = self.books.table.get_all::<InboxItem>(&waiting, true).await?;
        let posted: Vec<Key> = legs.iter().map(|(leg, _)| Leg::posting_key_of(&leg.transaction, &leg.id)).collect();
        let postings = self.books.table.get_all::<Leg>(&posted, true).await?;
        let mut faults: Vec<Fault> =
            inbox.unreadable.iter().chain(&postings.unreadable).map(Fault::unreadable).collect();
        for ((leg, key), posted) in legs.iter().zip(&posted) {
            if inbox.unreadable.contains(key) || postings.unreadable.contains(posted) {
                continue;
            }
            let wrong = |actual| Fault::of_grouped(Kind::WrongAmount, leg, Some(actual));
            match (inbox.items.get(key), postings.items.get(posted)) {
                (None, None) => faults.push(Fault::of_grouped(Kind::MissingPosting, leg, None)),
                (_, Some(posting)) if posting.posting() != leg.posting() => faults.push(wrong(posting.shown_amount())),
                (Some(item), None) if !item.is_of(leg) => {
                    faults.push(wrong(item.money().map_or(item.amount, Money::amount)));
                }
                _ => {}
            }
        }
        Ok(faults)
    }

    /// Reports each posting that does not belong to a grouped credit. A posting that differs from
    /// its credit is reported with the transaction.
    pub(crate) async fn check_postings(&self, postings: Vec<&Leg>) -> Result<Vec<Fault>, Error> {
        let keys: Vec<Key> = postings.iter().map(|posting| Leg::key_of(&posting.transaction, &posting.id)).collect();
        let legs = self.books.table.get_all::<Leg>(&keys, false).await?;
        let mut faults = Vec::new();
        for (posting, key) in postings.iter().zip(&keys) {
            let is_grouped = legs.items.get(key).is_some_and(|leg| leg.inbox().is_some());
            if is_grouped || legs.unreadable.contains(key) {
                continue;
            }
            let is_there = self.books.table.get_all::<Leg>(&[posting.key()], true).await?.items.len() == 1;
            let found = self.books.collection(&posting.transaction).await?;
            let is_known = found.has_grouped(posting) || !found.faults().is_empty();
            faults.extend((is_there && !is_known).then(|| Fault::orphan(posting)));
        }
        Ok(faults)
    }

    /// Reports each inbox item of the account that belongs to no grouped credit, or whose credit is
    /// already posted.
    pub(crate) async fn check_inbox(&self, account: &AccountId) -> Result<Vec<Fault>, Error> {
        let shards = stream::iter(InboxPartition::all(account)).map(|shard| self.check_shard(shard));
        let found: Vec<Vec<Fault>> = shards.buffered(super::check_transactions::SIDE_BY_SIDE).try_collect().await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn check_shard(&self, shard: InboxPartition) -> Result<Vec<Fault>, Error> {
        let (mut rest, mut faults) = (InboxSort::all(), Vec::new());
        loop {
            let query = Query::new(&shard, &rest).consistent();
            let (page, unreadable) = self.books.table.page_with_unreadable::<InboxItem>(&query, PAGE).await?;
            faults.extend(unreadable.iter().map(Fault::unreadable));
            faults.extend(self.check_items(page.items).await?);
            let Some(position) = page.next else { return Ok(faults) };
            rest = rest.after(&position);
        }
    }

    async fn check_items(&self, items: Vec<InboxItem>) -> Result<Vec<Fault>, Error> {
        let key = |item: &InboxItem| Leg::key_of(&item.transaction, &item.id);
        let keys: Vec<Key> = items.iter().map(key).collect();
        let posted: Vec<Key> = items.iter().map(|item| Leg::posting_key_of(&item.transaction, &item.id)).collect();
        let legs = self.books.table.get_all::<Leg>(&keys, true).await?;
        let postings = self.books.table.get_all::<Leg>(&posted, true).await?;
        let mut faults = Vec::new();
        for (item, (key, posted)) in items.iter().zip(keys.iter().zip(&posted)) {
            let is_own = |leg: &Leg| InboxItem::key_of(leg) == Some(item.key());
            let is_waiting = legs.items.get(key).is_some_and(is_own) || legs.unreadable.contains(key);
            if is_waiting && !postings.items.contains_key(posted) {
                continue;
            }
            // The settlement may have moved the credit in the meantime.
            let again = self.books.table.get_all::<InboxItem>(&[item.key()], true).await?;
            faults.extend((again.items.len() == 1).then(|| Fault::orphan_inbox_item(item)));
        }
        Ok(faults)
    }
}
