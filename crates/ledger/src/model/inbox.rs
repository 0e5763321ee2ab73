//! The inbox of an account with grouped posting
//! ([decision](../../../../docs/decisions/ledger-throughput.md)).

use crate::{Account, Leg, Posting, Purpose, model::leg::NewLeg};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{InboxPartition, InboxSort, LegId, LegType},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Change, Item, Key, Table};

/// A credit that waits for its posting. The transaction puts the item, and the settlement of the
/// account deletes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct InboxItem {
    #[serde(rename = "PK")]
    partition: InboxPartition,
    #[serde(rename = "SK")]
    sort: InboxSort,
    /// The leg.
    #[serde(rename = "ID")]
    pub id: LegId,
    /// The transaction of the leg.
    #[serde(rename = "TransactionID")]
    pub transaction: TransactionId,
    /// The account.
    #[serde(rename = "AccountID")]
    pub account: AccountId,
    /// The number of the leg in its transaction.
    pub number: usize,
    /// The amount, which is positive.
    pub amount: Decimal,
    /// The currency.
    pub currency: Currency,
    /// The time of the transaction.
    pub created_at: TimestampMillis,
    /// The copies of the leg.
    #[serde(flatten)]
    pub purpose: Purpose,
}

impl Item for InboxItem {
    const TYPE: &'static str = "InboxItem";
    const NUMBERS: &'static [Attribute] = &[Self::AMOUNT];
}

impl InboxItem {
    /// Creates the inbox item of a grouped credit. `None` for any other leg.
    pub(crate) fn of(leg: &Leg, number: usize) -> Option<Self> {
        Some(Self {
            partition: leg.inbox()?,
            sort: InboxSort { created: leg.created_at, leg: leg.id.clone() },
            id: leg.id.clone(),
            transaction: leg.transaction().clone(),
            account: leg.account.clone(),
            number,
            amount: leg.amount,
            currency: leg.currency,
            created_at: leg.created_at,
            purpose: leg.purpose.clone(),
        })
    }

    /// Returns the primary key of the inbox item of a grouped credit. `None` for any other leg.
    pub(crate) fn key_of(leg: &Leg) -> Option<Key> {
        Some(Key::new(&leg.inbox()?, &InboxSort { created: leg.created_at, leg: leg.id.clone() }))
    }

    /// The primary key.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// The amount. `None` if it is not valid for the currency.
    pub(crate) fn money(&self) -> Option<Money> {
        Money::new(self.amount, self.currency).ok().filter(|amount| amount.minor() > 0)
    }

    /// Returns the leg that the item stands for. `None` if the item cannot have been put by a
    /// transaction: its amount is invalid, its key differs from its attributes, or it credits
    /// another account.
    pub(crate) fn leg(&self, account: &Account) -> Option<Leg> {
        let posting = Posting { leg_type: LegType::Credit, amount: self.money()?, account: self.account.clone() };
        let new = NewLeg {
            transaction: &self.transaction,
            number: self.number,
            created: self.created_at,
            purpose: self.purpose.clone(),
            reverses: None,
        };
        let leg = Leg::grouped(new, &posting, account);
        let is_own = self.account == account.id && self.partition.account == account.id;
        let is_whole = leg.id == self.id && self.sort.leg == self.id && self.sort.created == self.created_at;
        (is_own && is_whole && self.currency == account.currency).then_some(leg)
    }

    /// Whether the item is the inbox item of the leg.
    pub(crate) fn is_of(&self, leg: &Leg) -> bool {
        let is_same = self.id == leg.id && self.transaction == *leg.transaction() && self.account == leg.account;
        is_same && leg.posting().is_some_and(|posting| Some(posting.amount) == self.money())
    }

    /// Creates the change that deletes the item. DynamoDB refuses it if the item is gone.
    pub(crate) fn taken(&self, table: &Table) -> Change {
        table.delete(self.key())
    }
}
