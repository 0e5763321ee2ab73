//! The progress of a reconciliation through the accounts, as stored in its job.

use crate::{Account, ChainHash, Leg};
use keys::{
    AccountId, TimestampMillis, TransactionId,
    ledger::{LegId, LegTimeSort},
};
use money::Money;
use serde::{Deserialize, Serialize};

/// The progress through the list of accounts and their legs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AccountsProgress {
    /// The sort key after which the list of accounts continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Whether the whole list of accounts has been read.
    pub(crate) listed: bool,
    /// Accounts that have unchecked legs. There are at most 99: 49 from earlier steps, and a page
    /// of 50.
    pub(crate) open: Vec<AccountWalk>,
    /// Accounts that have unchecked holds. There are at most 99 as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) holds: Vec<HoldsWalk>,
}

impl AccountsProgress {
    pub(crate) fn is_over(&self) -> bool {
        self.listed && self.open.is_empty() && self.holds.is_empty()
    }
}

/// The progress through an account's open holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct HoldsWalk {
    pub(crate) account: AccountId,
    /// The version of the account before its holds are read.
    pub(crate) version: i64,
    /// The reserved amount of this version. `None` if it is invalid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<Money>,
    /// The sum of the holds so far. `None` if an amount is invalid or the sum is too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sum: Option<Money>,
    /// The index sort key after which the list of holds continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Whether a hold is unreadable. The sum then means nothing.
    pub(crate) is_unreadable: bool,
    /// Number of times that all holds were read and the account appeared to be wrong.
    pub(crate) looks: usize,
}

impl HoldsWalk {
    /// Creates the progress before the first hold.
    pub(crate) fn new(account: &Account) -> Self {
        Self {
            account: account.id.clone(),
            version: account.version,
            held: account.readable_held().ok(),
            sum: Some(Money::zero(account.currency)),
            after: None,
            is_unreadable: false,
            looks: 0,
        }
    }

    /// Whether the account reserves what the holds have not captured.
    pub(crate) fn is_right(&self) -> bool {
        self.held.is_some() && self.held == self.sum
    }
}

/// The progress through an account's legs in the window, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct AccountWalk {
    pub(crate) account: AccountId,
    /// The time of the account's last leg, as stored in the account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<TimestampMillis>,
    /// The index sort key after which the list of legs continues. The last leg of a page can be
    /// unreadable, so this position can be behind the most recently checked leg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// The most recently checked leg. The next leg to check is older.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) newer: Option<PendingLeg>,
    /// Whether a wrong balance or a broken chain of the account was already reported. Each account
    /// gets at most one such finding.
    pub(crate) reported: bool,
    /// The oldest leg found so far whose hash does not follow from the previous leg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) broken: Option<BrokenLeg>,
}

impl AccountWalk {
    /// Creates the progress before the first page.
    pub(crate) fn new(account: AccountId, last: Option<TimestampMillis>, reported: bool) -> Self {
        Self { account, last, after: None, newer: None, reported, broken: None }
    }
}

/// A leg whose hash does not follow from its contents and from the previous leg.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct BrokenLeg {
    pub(crate) transaction: TransactionId,
    pub(crate) leg: LegId,
}

impl BrokenLeg {
    pub(crate) fn of(leg: &Leg) -> Self {
        Self { transaction: leg.transaction().clone(), leg: leg.id.clone() }
    }
}

/// A leg that must still be compared with the next older leg.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct PendingLeg {
    pub(crate) place: LegTimeSort,
    pub(crate) transaction: TransactionId,
    /// The balance before the leg, computed from the balance after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<Money>,
    /// The hash of the leg's contents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) contents: Option<ChainHash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hash: Option<ChainHash>,
}

impl PendingLeg {
    pub(crate) fn of(leg: &Leg) -> Self {
        Self {
            place: leg.place(),
            transaction: leg.transaction().clone(),
            before: leg.before(),
            contents: leg.contents(),
            hash: leg.hash(),
        }
    }

    /// Whether the balance before this leg equals the balance after the `older` leg. If `older` is
    /// `None`, the balance before this leg must be zero.
    pub(crate) fn continues(&self, older: Option<&Leg>) -> bool {
        match (self.before, older) {
            (Some(before), Some(older)) => older.after() == Some(before),
            (before, None) => before.is_some_and(|before| before.minor() == 0),
            (None, Some(_)) => false,
        }
    }

    /// Whether the balance and the hash of this leg follow from the `older` leg.
    pub(crate) fn follows(&self, older: Option<&Leg>) -> bool {
        let previous = older.map_or(Some(ChainHash::START), Leg::hash);
        let expected = previous.zip(self.contents).map(|(previous, contents)| previous.then(contents));
        expected.is_some() && expected == self.hash && self.continues(older)
    }
}
