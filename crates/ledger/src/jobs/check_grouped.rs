//! Checks grouped posting ([decision](../../../../docs/decisions/ledger-throughput.md)):
//! - Each grouped credit has either an inbox item or a posting, with the same amount and copies.
//! - Each posting and each inbox item belongs to a grouped credit.
//! - No credit waits in the inbox for more than an hour. If one does, its settlement starts again.

use crate::{
    InboxItem, Ledger, Leg,
    model::reconciliation::{Fault, Kind},
};
use function::Error;
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    AccountId, TimestampMillis,
    ledger::{InboxPartition, InboxSort, ReconciliationId},
};
use money::Money;
use table::{Key, Query};

/// Maximum number of inbox items that one call reads.
const PAGE: usize = 100;
/// Maximum number of pages of an inbox shard that a check reads, from the oldest credit on. If more
/// credits wait, the next reconciliation checks them.
const PAGES: usize = 20;
/// Maximum number of seconds that a credit waits in the inbox. A settlement usually takes seconds.
const WAITS: i64 = 3_600;

/// The result of the check of an inbox, or of one of its shards.
#[derive(Default)]
struct InboxCheck {
    faults: Vec<Fault>,
    /// The oldest credit in the inbox.
    oldest: Option<InboxItem>,
}

impl InboxCheck {
    fn with(mut self, other: Self) -> Self {
        self.faults.extend(other.faults);
        self.oldest = self.oldest.into_iter().chain(other.oldest).min_by_key(|item| item.created_at);
        self
    }
}

impl Ledger {
    /// Checks those of the legs that are grouped credits.
    ///
    /// The settlement moves a credit from the inbox to the postings. The inbox is therefore read
    /// before the postings: a credit that is in neither was lost.
    pub(crate) async fn check_grouped(&self, legs: impl Iterator<Item = &Leg>) -> Result<Vec<Fault>, Error> {
        let legs: Vec<(&Leg, Key)> = legs.filter_map(|leg| Some((leg, InboxItem::key_of(leg)?))).collect();
        let waiting: Vec<Key> = legs.iter().map(|(_, key)| key.clone()).collect();
        let inbox = self.books.table.get_all::<InboxItem>(&waiting, true).await?;
        let posted: Vec<Key> = legs.iter().map(|(leg, _)| Leg::posting_key_of(leg.transaction(), &leg.id)).collect();
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
                (_, Some(Leg { purpose, .. })) | (Some(InboxItem { purpose, .. }), None) if *purpose != leg.purpose => {
                    faults.push(Fault::of_grouped(Kind::WrongCopy, leg, Some(leg.shown_amount())));
                }
                _ => {}
            }
        }
        Ok(faults)
    }

    /// Reports each posting that does not belong to a grouped credit. A posting that differs from
    /// its credit is reported with the transaction.
    pub(crate) async fn check_postings(&self, postings: Vec<&Leg>) -> Result<Vec<Fault>, Error> {
        let keys: Vec<Key> = postings.iter().map(|posting| Leg::key_of(posting.transaction(), &posting.id)).collect();
        let legs = self.books.table.get_all::<Leg>(&keys, false).await?;
        let mut faults = Vec::new();
        for (posting, key) in postings.iter().zip(&keys) {
            let is_grouped = legs.items.get(key).is_some_and(|leg| leg.inbox().is_some());
            if is_grouped || legs.unreadable.contains(key) {
                continue;
            }
            let is_there = self.books.table.get_all::<Leg>(&[posting.key()], true).await?.items.len() == 1;
            let found = self.books.collection(posting.transaction()).await?;
            let is_known = found.has_grouped(posting) || !found.is_sound();
            faults.extend((is_there && !is_known).then(|| Fault::orphan(posting)));
        }
        Ok(faults)
    }

    /// Reports each inbox item of the account that belongs to no grouped credit, or whose credit is
    /// already posted. If a credit has waited for too long, reports the oldest one, and starts the
    /// settlement of the account for the reconciliation `by`.
    pub(crate) async fn check_inbox(
        &self,
        account: &AccountId,
        by: &ReconciliationId,
        now: TimestampMillis,
    ) -> Result<Vec<Fault>, Error> {
        let shards = stream::iter(InboxPartition::all(account)).map(|shard| self.check_shard(shard));
        let shards: Vec<InboxCheck> = shards.buffered(super::check_transactions::SIDE_BY_SIDE).try_collect().await?;
        let InboxCheck { mut faults, oldest } = shards.into_iter().fold(InboxCheck::default(), InboxCheck::with);
        if let Some(item) = oldest.filter(|item| item.created_at < now.minus_seconds(WAITS)) {
            faults.push(Fault::of_inbox(Kind::UnsettledCredit, &item));
            self.start_settlement(account, by, now.second()).await?;
        }
        Ok(faults)
    }

    async fn check_shard(&self, shard: InboxPartition) -> Result<InboxCheck, Error> {
        let (mut rest, mut check) = (InboxSort::all(), InboxCheck::default());
        for _ in 0..PAGES {
            let query = Query::new(&shard, &rest).consistent();
            let (page, unreadable) = self.books.table.page_with_unreadable::<InboxItem>(&query, PAGE).await?;
            check.faults.extend(unreadable.iter().map(Fault::unreadable));
            check = check.with(self.check_items(page.items).await?);
            let Some(position) = page.next else { break };
            rest = rest.after(&position);
        }
        Ok(check)
    }

    async fn check_items(&self, items: Vec<InboxItem>) -> Result<InboxCheck, Error> {
        let key = |item: &InboxItem| Leg::key_of(&item.transaction, &item.id);
        let keys: Vec<Key> = items.iter().map(key).collect();
        let posted: Vec<Key> = items.iter().map(|item| Leg::posting_key_of(&item.transaction, &item.id)).collect();
        let legs = self.books.table.get_all::<Leg>(&keys, true).await?;
        let postings = self.books.table.get_all::<Leg>(&posted, true).await?;
        let mut check = InboxCheck::default();
        for (item, (key, posted)) in items.into_iter().zip(keys.iter().zip(&posted)) {
            let is_own = |leg: &Leg| InboxItem::key_of(leg) == Some(item.key());
            let is_waiting = legs.items.get(key).is_some_and(is_own) || legs.unreadable.contains(key);
            if is_waiting && !postings.items.contains_key(posted) {
                check = check.with(InboxCheck { faults: Vec::new(), oldest: Some(item) });
                continue;
            }
            // The settlement may have moved the credit in the meantime.
            let again = self.books.table.get_all::<InboxItem>(&[item.key()], true).await?;
            check.faults.extend((again.items.len() == 1).then(|| Fault::of_inbox(Kind::OrphanInboxItem, &item)));
        }
        Ok(check)
    }
}
