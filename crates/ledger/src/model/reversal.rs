use function::Fingerprint;
use keys::{
    TimestampMillis, TransactionId,
    ledger::{ReversalSort, TransactionPartition},
};
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// The reversal marker of a transaction: `TXN#<id>`, `REVERSAL`. The marker is in the item
/// collection of the reversed transaction. The key depends only on the reversed transaction, so a
/// transaction can be reversed only once
/// ([decision](../../../../docs/decisions/ledger-idempotency.md)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reversal {
    #[serde(rename = "PK")]
    partition: TransactionPartition,
    #[serde(rename = "SK")]
    sort: ReversalSort,
    /// The id of the transaction that reverses the original.
    #[serde(rename = "ReversalID")]
    pub id: TransactionId,
    /// The time of the reversal.
    pub created_at: TimestampMillis,
    /// Fingerprint of the request, its caller and its idempotency key. A retry of this request gets
    /// the same response, and any other request to reverse the transaction gets 409.
    pub request: Fingerprint,
}

impl Item for Reversal {
    const TYPE: &'static str = "Reversal";
}

impl Reversal {
    pub(crate) fn new(of: TransactionId, by: TransactionId, request: Fingerprint, now: TimestampMillis) -> Self {
        Self { partition: TransactionPartition(of), sort: ReversalSort, id: by, created_at: now, request }
    }

    /// The primary key of a transaction's reversal marker.
    #[must_use]
    pub fn key_of(transaction: &TransactionId) -> Key {
        Key::new(&TransactionPartition(transaction.clone()), &ReversalSort)
    }
}
