//! How far a reconciliation has gone through the accounts, as its item keeps it.

use crate::Leg;
use keys::{AccountId, TimestampMillis, TransactionId, ledger::LegTimeSort};
use money::Money;
use serde::{Deserialize, Serialize};

/// How far the accounts are gone through.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AccountsProgress {
    /// The sort key behind which the list of accounts goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Whether the list has ended.
    pub(crate) listed: bool,
    /// Accounts whose legs are not gone through: fewer than two pages of them.
    pub(crate) open: Vec<AccountWalk>,
}

impl AccountsProgress {
    pub(crate) fn is_over(&self) -> bool {
        self.listed && self.open.is_empty()
    }
}

/// A way through the legs of an account, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AccountWalk {
    pub(crate) account: AccountId,
    /// When the last leg was made that the account knows of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<TimestampMillis>,
    /// The leg that was looked at last: the next is older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) newer: Option<PendingLeg>,
    /// Whether its balance is known to be wrong: one finding an account is enough.
    pub(crate) reported: bool,
}

/// What is kept of a leg until the one before it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PendingLeg {
    pub(crate) place: LegTimeSort,
    pub(crate) transaction: TransactionId,
    /// What there must have been before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Money>,
}

impl PendingLeg {
    pub(crate) fn of(leg: &Leg) -> Self {
        Self { place: leg.place().clone(), transaction: leg.transaction.clone(), before: leg.before() }
    }
}
