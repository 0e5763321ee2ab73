use function::Fingerprint;
use keys::{
    TimestampMillis, TransactionId,
    ledger::{ReversalSort, TransactionPartition},
};
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// What says that a transaction was reversed. It stands in the transaction's own collection, where there is room for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reversal {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "SK")]
    sort: ReversalSort,
    /// The transaction that does the contrary.
    #[serde(rename = "ReversalID")]
    pub id: TransactionId,
    /// When that was made.
    pub created_at: TimestampMillis,
    /// Who asked for it, and under which key: they are answered again, others are not.
    pub request: Fingerprint,
}

impl Item for Reversal {
    const TYPE: &'static str = "Reversal";
}

impl Reversal {
    pub(crate) fn new(of: TransactionId, by: TransactionId, request: Fingerprint, now: TimestampMillis) -> Self {
        Self { partition: TransactionPartition(of), sort: ReversalSort, id: by, created_at: now, request }
    }

    /// The key of what says so of that transaction.
    #[must_use]
    pub fn key_of(transaction: &TransactionId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &ReversalSort)
    }
}
