//! Checks transactions ([decision](../../../../docs/decisions/ledger-reconciliation.md)):
//! - Each leg that the header lists exists.
//! - The debits equal the credits in each currency.
//! - Each leg has the amount that the header lists, and copies the header's other attributes.
//! - Each grouped credit has an inbox item or a posting ([`super::check_grouped`]).

use crate::{
    Ledger, Leg, Posted, Posting, Reversal, Transaction,
    model::{
        posting::{Sides, sum, unbalanced},
        reconciliation::{Fault, Kind, Window},
    },
    store::Collection,
};
use function::Error;
use futures::{StreamExt, TryStreamExt, stream};
use keys::{
    TransactionId,
    ledger::{CreatedPlace, CreatedSort, LegId, ReversalSort, TransactionPartition, TransactionStatus},
};
use money::{Decimal, Money};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use table::{Key, Query};

/// Maximum number of transactions that a step checks.
const PAGE: usize = 500;
/// Maximum number of legs that one call reads, unless a single transaction has more.
const BATCH: usize = 100;
/// Maximum number of reversal markers of a transaction.
const MAX_REVERSALS: usize = 99;
/// Maximum number of concurrent calls. This number and [`BATCH`] limit the memory use.
pub(crate) const SIDE_BY_SIDE: usize = 8;

/// Returns the discrepancies of a transaction. If legs are missing or unreadable, reports all of
/// these legs and nothing else. Otherwise, reports at most one discrepancy: an imbalance, or else a
/// wrong amount, or else a wrong copy.
pub(crate) fn faults(header: &Transaction, found: &BTreeMap<Key, Leg>, unreadable: &[Key]) -> Vec<Fault> {
    let (mut lacking, mut legs) = (Vec::new(), Vec::new());
    for (id, posting) in header.legs() {
        let key = Leg::key_of(&header.id, &id);
        // A leg on a different account does not count as the expected leg.
        match found.get(&key).filter(|leg| leg.account == posting.account) {
            Some(leg) => legs.push((posting, leg)),
            None if unreadable.contains(&key) => lacking.push(Fault::unreadable(&key)),
            None => lacking.push(Fault::missing(header, id, &posting.account, posting.amount.amount())),
        }
    }
    if !lacking.is_empty() {
        return lacking;
    }
    let fault = imbalance(header, &legs).or_else(|| wrong_amount(header, &legs)).or_else(|| wrong_copy(header, &legs));
    fault.into_iter().collect()
}

/// Reports the first currency whose debits do not equal its credits.
fn imbalance(header: &Transaction, legs: &[(&Posting, &Leg)]) -> Option<Fault> {
    let done: Vec<Posting> = legs.iter().map(|(_, leg)| leg.posting()).collect::<Option<_>>()?;
    let (_, Sides { debits, credits }) = unbalanced(&done).next()?;
    let (debits, credits) = (debits.map(Money::amount), credits.map(Money::amount));
    Some(Fault::of_transaction(header, Kind::UnbalancedTransaction, None, debits, credits))
}

/// Reports the first leg that differs from its posting. If there is none, reports a wrong sum in
/// the header.
fn wrong_amount(header: &Transaction, legs: &[(&Posting, &Leg)]) -> Option<Fault> {
    let wrong = |account, expected, actual| {
        Fault::of_transaction(header, Kind::WrongAmount, account, Some(expected), Some(actual))
    };
    let differs = |(posting, leg): &&(&Posting, &Leg)| leg.posting().as_ref() != Some(*posting);
    if let Some((posting, leg)) = legs.iter().find(differs) {
        let (expected, actual) = amounts(posting, leg);
        return Some(wrong(Some(leg.account.clone()), expected, actual));
    }
    let stated = header.amount.zip(header.currency).map(|(amount, currency)| Money::new(amount, currency).ok());
    let done = sum(&header.postings);
    if stated == done.map(Some) {
        return None;
    }
    let stated = stated.flatten().map(Money::amount).or(header.amount);
    Some(Fault::of_transaction(header, Kind::WrongAmount, None, stated, done.map(Money::amount)))
}

/// Reports the first leg with another copy than the header has.
fn wrong_copy(header: &Transaction, legs: &[(&Posting, &Leg)]) -> Option<Fault> {
    let (_, (_, leg)) = (1..).zip(legs).find(|(number, (posting, leg))| !header.is_copied_by(leg, *number, posting))?;
    Some(Fault::of_transaction(header, Kind::WrongCopy, Some(leg.account.clone()), None, None))
}

/// Returns the expected amount and the stored amount. If the leg has the wrong type, both amounts
/// are signed: a debit is negative.
fn amounts(posting: &Posting, leg: &Leg) -> (Decimal, Decimal) {
    match leg.posting().filter(|done| done.leg_type != posting.leg_type) {
        Some(done) => (posting.change().amount(), done.change().amount()),
        None => (posting.amount.amount(), leg.shown_amount()),
    }
}

impl Collection {
    /// Returns the discrepancies between the header and its legs. Reports an unreadable header.
    pub(crate) fn faults(&self) -> Vec<Fault> {
        let Some(Posted { transaction, legs, .. }) = &self.posted else {
            return self.unreadable.iter().map(Fault::unreadable).collect();
        };
        let legs = legs.iter().map(|leg| (leg.key(), leg.clone())).collect();
        faults(transaction, &legs, &self.unreadable)
    }

    /// Whether all legs have the amounts that the header lists. A wrong copy explains no other
    /// discrepancy.
    pub(crate) fn is_sound(&self) -> bool {
        self.faults().iter().all(|fault| fault.what.kind == Kind::WrongCopy)
    }

    /// Whether the header exists and lists the leg.
    pub(crate) fn knows(&self, leg: &Leg) -> bool {
        self.posted.as_ref().is_some_and(|posted| posted.transaction.knows(leg))
    }

    /// Whether the posting belongs to a grouped credit of the same amount and account.
    pub(crate) fn has_grouped(&self, posting: &Leg) -> bool {
        let is_of = |leg: &Leg| leg.id == posting.id && leg.inbox().is_some() && leg.posting() == posting.posting();
        self.posted.as_ref().is_some_and(|posted| posted.legs.iter().any(is_of))
    }

    /// Whether the leg exists and the header lists it.
    pub(crate) fn has(&self, leg: &Leg) -> bool {
        let exists = |posted: &Posted| posted.legs.iter().any(|own| own.id == leg.id);
        self.knows(leg) && self.posted.as_ref().is_some_and(exists)
    }
}

impl Transaction {
    /// Whether the transaction lists a leg with this id.
    pub(crate) fn knows(&self, leg: &Leg) -> bool {
        has_leg(&self.id, self.postings.len(), leg)
    }
}

fn has_leg(transaction: &TransactionId, legs: usize, leg: &Leg) -> bool {
    (1..=legs).any(|number| LegId::new(transaction, number) == leg.id)
}

/// The ids and leg counts of the transactions that this run has read. The account check does not
/// read the headers of these transactions again.
#[derive(Debug, Default)]
pub(crate) struct Known(HashMap<TransactionId, usize>);

impl Known {
    /// Maximum number of transactions to remember, enough for a busy day. With ids of 128
    /// characters, this takes about 20 MB of memory.
    const MAX: usize = 100_000;

    fn note(&mut self, headers: &[Transaction]) {
        let room = Self::MAX.saturating_sub(self.0.len());
        self.0.extend(headers.iter().take(room).map(|header| (header.id.clone(), header.postings.len())));
    }

    /// Whether the leg's transaction is known and lists the leg.
    pub(crate) fn has(&self, leg: &Leg) -> bool {
        self.0.get(leg.transaction()).is_some_and(|legs| has_leg(leg.transaction(), *legs, leg))
    }
}

/// The result of a step that checks transactions.
pub(crate) struct TransactionsPage {
    pub(crate) transactions: usize,
    pub(crate) faults: Vec<Fault>,
    /// The position of the last checked transaction. `None` if no transaction remains.
    pub(crate) next: Option<CreatedPlace>,
}

impl Ledger {
    /// Checks the next page of transactions in the window. Starts after the position `behind`, or
    /// at the start of the window if `behind` is `None`.
    pub(crate) async fn check_transactions(
        &self,
        window: Window,
        behind: Option<CreatedPlace>,
        known: &mut Known,
    ) -> Result<TransactionsPage, Error> {
        let range = CreatedSort::between(window.from, Some(window.to));
        let page = self.transactions(TransactionStatus::Completed, &range, behind, PAGE).await?;
        let mut faults: Vec<Fault> = page.unreadable.iter().map(Fault::unreadable).collect();
        let (next, headers) = (page.next, page.items);
        let transactions = headers.len();
        known.note(&headers);
        let checks = stream::iter(batches(headers)).map(|batch| self.check_batch(batch)).buffered(SIDE_BY_SIDE);
        let found: Vec<Vec<Fault>> = checks.try_collect().await?;
        faults.extend(found.into_iter().flatten());
        Ok(TransactionsPage { transactions, faults, next })
    }

    /// Checks transactions, and reads all of their legs in one call. If a transaction appears to
    /// have a discrepancy, reads it again with strong consistency.
    async fn check_batch(&self, headers: Vec<Transaction>) -> Result<Vec<Fault>, Error> {
        let of = |header: &Transaction| header.legs().map(|(leg, _)| Leg::key_of(&header.id, &leg)).collect::<Vec<_>>();
        let keys: Vec<Key> = headers.iter().flat_map(of).collect();
        let legs = self.books.table.get_all::<Leg>(&keys, false).await?;
        let mut found = self.unreadable_markers(&headers).await?;
        for header in headers.iter().filter(|header| !faults(header, &legs.items, &legs.unreadable).is_empty()) {
            found.extend(self.books.collection(&header.id).await?.faults());
        }
        found.extend(self.check_grouped(legs.items.values()).await?);
        Ok(found)
    }

    /// Reports the unreadable markers of the transactions that the headers reverse.
    async fn unreadable_markers(&self, headers: &[Transaction]) -> Result<Vec<Fault>, Error> {
        let reversed: BTreeSet<_> = headers.iter().filter_map(|header| header.reverses.clone()).collect();
        let checks = stream::iter(reversed).map(|original| async move {
            let (partition, range) = (TransactionPartition(original), ReversalSort::all());
            let (_, unreadable) = self
                .books
                .table
                .page_with_unreadable::<Reversal>(&Query::new(&partition, &range), MAX_REVERSALS)
                .await?;
            Ok::<_, Error>(unreadable.iter().map(Fault::unreadable).collect::<Vec<_>>())
        });
        checks.buffered(SIDE_BY_SIDE).try_concat().await
    }
}

/// Groups transactions so that one call can read all legs of a group.
fn batches(headers: Vec<Transaction>) -> Vec<Vec<Transaction>> {
    let (mut batches, mut legs) = (Vec::<Vec<Transaction>>::new(), BATCH);
    for header in headers {
        legs += header.postings.len();
        if let Some(batch) = batches.last_mut().filter(|_| legs <= BATCH) {
            batch.push(header);
        } else {
            legs = header.postings.len();
            batches.push(vec![header]);
        }
    }
    batches
}
