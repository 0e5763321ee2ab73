use crate::Transaction;
use function::{Error, Fingerprint, Problem};
use keys::{
    TimestampMillis, TransactionId,
    ledger::{Metadata, TransactionPartition},
};
use serde::{Deserialize, Serialize};
use table::Item;

/// The reason why the ledger rejects a transfer. Its text discloses nothing about the credited
/// account ([decision](../../../../docs/decisions/ledger-accounts.md)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Rejection {
    /// The debit would overdraw the account.
    #[error("The account has insufficient funds.")]
    InsufficientFunds,
    /// The debited account is frozen.
    #[error("The account is frozen.")]
    AccountFrozen,
    /// The debited account is closed.
    #[error("The account is closed.")]
    AccountClosed,
    /// The debited account does not exist.
    #[error("The ledger has no such account.")]
    UnknownAccount,
    /// The debited account has another currency.
    #[error("The account has a different currency.")]
    CurrencyMismatch,
    /// A balance would have more than 38 digits.
    #[error("A balance would have more than 38 digits.")]
    BalanceTooLarge,
    /// The credited account does not exist or cannot take the amount.
    #[error("The account to credit is not available for this payment.")]
    CreditUnavailable,
    /// The transfer debits and credits the same account.
    #[error("The account to credit is the account to debit.")]
    SameAccount,
    /// The amount is 0 or negative.
    #[error("The amount is not greater than 0.")]
    NotPositive,
}

/// The pairs of a rejection and the problem that causes it.
const PROBLEMS: [(Rejection, Problem); 6] = [
    (Rejection::InsufficientFunds, Problem::InsufficientFunds),
    (Rejection::AccountFrozen, Problem::AccountFrozen),
    (Rejection::AccountClosed, Problem::AccountClosed),
    (Rejection::CurrencyMismatch, Problem::CurrencyMismatch),
    (Rejection::BalanceTooLarge, Problem::BalanceTooLarge),
    (Rejection::CreditUnavailable, Problem::AccountUnavailable),
];

/// Adds the problems of a rejected transfer to the other problems of a route.
pub(crate) const fn with_rejections<const N: usize, const M: usize>(own: [Problem; N]) -> [Problem; M] {
    assert!(N + PROBLEMS.len() == M, "the number of all problems");
    let (mut all, mut at) = ([Problem::Internal; M], 0);
    while at < M {
        all[at] = if at < N { own[at] } else { PROBLEMS[at - N].1 };
        at += 1;
    }
    all
}

impl Rejection {
    /// Returns the rejection that the error of a rule means. `None` for all other errors.
    pub(crate) fn of(error: &Error) -> Option<Self> {
        match error {
            // The transfer is posted in the name of the debited account's owner, so only a missing
            // account is forbidden.
            Error::Forbidden => Some(Self::UnknownAccount),
            Error::Conflict(problem, _) => PROBLEMS.iter().find(|(_, other)| other == problem).map(|(own, _)| *own),
            _ => None,
        }
    }

    fn error(self) -> Error {
        let problem = PROBLEMS.iter().find(|(own, _)| *own == self);
        problem.map_or(Error::Forbidden, |(_, problem)| Error::Conflict(*problem, self.to_string()))
    }
}

/// The final refusal of a transfer: `TXN#<id>`, `METADATA`.
///
/// It has the key of the transaction's header, so a transfer is either posted or refused, and never
/// both ([decision](../../../../docs/decisions/ledger-transfers.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Refusal {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "SK")]
    sort: Metadata,
    /// The reason.
    pub(crate) reason: Rejection,
    /// The time of the refusal.
    created_at: TimestampMillis,
    /// Fingerprint of the transfer.
    pub(crate) request: Fingerprint,
}

impl Item for Refusal {
    const TYPE: &'static str = "Refusal";
}

impl Refusal {
    pub(crate) fn new(id: TransactionId, reason: Rejection, request: Fingerprint, now: TimestampMillis) -> Self {
        Self { partition: TransactionPartition(id), sort: Metadata, reason, created_at: now, request }
    }

    /// The error of the rule that the transfer violated.
    pub(crate) fn error(&self) -> Error {
        self.reason.error()
    }
}

/// The item with the key of a header. The `Type` attribute selects the variant.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "Type")]
pub(crate) enum Header {
    Transaction(Box<Transaction>),
    Refusal(Refusal),
}

impl Item for Header {
    const TYPE: &'static str = "header of a transaction";
    const NUMBERS: &'static [table::Attribute] = &[Transaction::AMOUNT];
}
