use crate::{Posted, Posting, ReversedLeg, Transaction, model::posting::sum};
use function::{Error, Fingerprint, Problem};
use keys::{
    TimestampMillis, TransactionId,
    ledger::{
        AccountPartition, CreatedSort, LegId, ReversalSort, ReversedLegSort, ReversedPartition, TransactionPartition,
    },
};
use money::{Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Item, Key};

/// A reversal marker of a transaction: `TXN#<id>`, `REVERSAL#<number>`. The marker is in the item
/// collection of the reversed transaction. It is put if absent, so that concurrent reversals cannot
/// reverse more than the amount ([decision](../../../../docs/decisions/ledger-history.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Reversal {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "SK")]
    pub(crate) sort: ReversalSort,
    /// The status of the original, for lists by status.
    #[serde(rename = "GSI1PK")]
    by_status: ReversedPartition,
    /// The time of the original.
    #[serde(rename = "GSI1SK")]
    by_time: CreatedSort,
    /// The id of the transaction that reverses the original.
    #[serde(rename = "ReversalID")]
    pub id: TransactionId,
    /// The reversed amount. `None` if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<Decimal>,
    /// The sum of this and all earlier reversals. `None` if the legs have several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reversed_amount: Option<Decimal>,
    /// The time of the reversal.
    pub created_at: TimestampMillis,
    /// Fingerprint of the request, its caller and its idempotency key. A retry of this request gets
    /// the same response.
    pub request: Fingerprint,
}

impl Item for Reversal {
    const TYPE: &'static str = "Reversal";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT, Self::REVERSED_AMOUNT];
}

impl Reversal {
    /// The primary key of the first reversal marker of a transaction.
    pub fn first_key_of(transaction: &TransactionId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &ReversalSort::FIRST)
    }

    /// The reversed transaction.
    pub(crate) fn original(&self) -> &TransactionId {
        &self.partition.0
    }
}

/// The reversal of a transaction, in whole or in part.
#[derive(Debug, Clone)]
pub(crate) struct Refund {
    /// The transaction to reverse, as it was last read.
    pub(crate) original: Posted,
    /// The amount to reverse. `None` means all that remains.
    pub(crate) asked: Option<Money>,
}

fn reversed() -> Error {
    Error::Conflict(Problem::AlreadyReversed, "The transaction is already reversed.".to_owned())
}

fn exceeded(why: impl Into<String>) -> Error {
    Error::Conflict(Problem::ReversalExceeded, why.into())
}

/// Returns the leg that the leg of a reversal with this number reverses. The legs of a reversal are
/// in the opposite order of the original legs.
pub(crate) fn original_leg(original: &TransactionId, legs: usize, number: usize) -> LegId {
    LegId::new(original, (legs + 1).saturating_sub(number))
}

impl Refund {
    /// Returns the postings of the reversal.
    ///
    /// # Errors
    /// 409 if less than the amount remains, or nothing. 400 for an amount of a transaction that
    /// does not have two legs.
    pub(crate) fn postings(&self) -> Result<Vec<Posting>, Error> {
        let postings = self.original.transaction.postings.iter().rev().map(Posting::reversed);
        if !self.has_two_legs() {
            return match (self.asked, self.original.reversals.is_empty()) {
                (Some(_), _) => Err(Error::invalid("/body/amount", "is only allowed for a transaction with two legs")),
                (None, false) => Err(reversed()),
                (None, true) => Ok(postings.collect()),
            };
        }
        let rest = self.rest()?;
        let amount = self.asked.unwrap_or(rest);
        if rest.minor() == 0 {
            return Err(reversed());
        }
        if amount.currency() != rest.currency() || amount.minor() > rest.minor() {
            return Err(exceeded(format!("Only {} of the transaction is not reversed.", rest.amount())));
        }
        Ok(postings.map(|posting| Posting { amount, ..posting }).collect())
    }

    fn has_two_legs(&self) -> bool {
        self.original.transaction.postings.len() == 2
    }

    /// Returns the place of a leg of the reversal among the reversed legs of its account.
    pub(crate) fn reversed_leg(&self, marker: &Reversal, number: usize, posting: &Posting) -> ReversedLeg {
        let Transaction { id, postings, created_at, .. } = &self.original.transaction;
        let (created, leg) = (*created_at, original_leg(id, postings.len(), number));
        ReversedLeg {
            of_account: AccountPartition(posting.account.clone()),
            by_original: ReversedLegSort { created, leg, reversal: marker.sort },
            reversed_amount: marker.reversed_amount,
        }
    }

    /// Returns the amount that no reversal has reversed.
    fn rest(&self) -> Result<Money, Error> {
        let unreadable = || table::Error::unreadable(Reversal::TYPE, &"an invalid amount");
        let whole = sum(&self.original.transaction.postings).ok_or_else(unreadable)?;
        let done =
            self.original.reversals.last().map(|last| last.reversed_amount.ok_or_else(unreadable)).transpose()?;
        let done = done.map(|done| Money::new(done, whole.currency())).transpose().map_err(|_| unreadable())?;
        let rest = whole.checked_add(-done.unwrap_or(Money::zero(whole.currency()))).ok_or_else(unreadable)?;
        if rest.minor() < 0 { Err(unreadable().into()) } else { Ok(rest) }
    }

    /// Returns the marker of the reversal `by`, which has these postings.
    ///
    /// # Errors
    /// 409 if the transaction has the maximum number of reversals.
    pub(crate) fn marker(
        &self,
        by: TransactionId,
        postings: &[Posting],
        request: Fingerprint,
        now: TimestampMillis,
    ) -> Result<Reversal, Error> {
        let last = self.original.reversals.last();
        let sort = last.map_or(Some(ReversalSort::FIRST), |last| last.sort.next());
        let sort = sort.ok_or_else(|| exceeded("The transaction has the maximum number of reversals, 99."))?;
        let amount = sum(postings);
        let before = last.and_then(|last| last.reversed_amount);
        let reversed = amount.and_then(|amount| match before {
            Some(before) => Money::new(before, amount.currency()).ok()?.checked_add(amount),
            None => Some(amount),
        });
        Ok(Reversal {
            partition: TransactionPartition(self.original.transaction.id.clone()),
            sort,
            by_status: ReversedPartition(self.original.transaction.by_status),
            by_time: self.original.transaction.by_time.clone(),
            id: by,
            amount: amount.map(Money::amount),
            reversed_amount: reversed.map(Money::amount),
            created_at: now,
            request,
        })
    }
}
