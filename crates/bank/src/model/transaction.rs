use crate::Payment;
use keys::{
    AccountId, Shard, TimestampSeconds, TransactionId,
    bank::{DueSort, GuardPartition, GuardSort, PaymentId, PaymentSort, Status},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, JsonText};

/// A processed payment, kept for good: one item of `TransactionHistory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Transaction {
    /// Whose payment it was.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// When it was due, and its payment id.
    #[serde(rename = "SK")]
    pub sort: PaymentSort,
    /// The shard that it had as a payment.
    #[serde(rename = "GSI1PK")]
    pub shard: Shard,
    /// Where it stands.
    #[serde(rename = "GSI1SK")]
    pub due: DueSort,
    /// What it became.
    #[serde(rename = "GSI2PK")]
    pub transaction_id: TransactionId,
    /// When the payment was scheduled.
    pub created_at: TimestampSeconds,
    /// When it moved here.
    pub archived_at: TimestampSeconds,
    /// What was paid.
    pub data: JsonText,
}

impl Item for Transaction {
    const TYPE: &'static str = "Transaction";
}

impl Transaction {
    /// What the payment becomes in the archive; none while it has no transaction id.
    #[must_use]
    pub fn archived(payment: Payment, now: TimestampSeconds) -> Option<Self> {
        Some(Self {
            account: payment.account,
            sort: payment.sort,
            shard: payment.shard,
            due: payment.due,
            transaction_id: payment.transaction_id?,
            created_at: payment.created_at,
            archived_at: now,
            data: payment.data,
        })
    }
}

/// Lets a transaction id name one payment only. Written with the move to PROCESSED and never deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct TransactionGuard {
    #[serde(rename = "PK")]
    partition: GuardPartition,
    #[serde(rename = "SK")]
    sort: GuardSort,
    account_id: AccountId,
    payment_id: PaymentId,
}

impl Item for TransactionGuard {
    const TYPE: &'static str = "TransactionGuard";
}

impl TransactionGuard {
    /// The guard that gives the transaction id to the payment.
    pub(crate) fn of(payment: &Payment, transaction: &TransactionId) -> Self {
        Self {
            partition: GuardPartition(transaction.clone()),
            sort: GuardSort,
            account_id: payment.account.clone(),
            payment_id: payment.id(),
        }
    }
}

/// A transaction as it is answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TransactionBody {
    transaction_id: TransactionId,
    account_id: AccountId,
    payment_id: PaymentId,
    scheduled_time: TimestampSeconds,
    status: Status,
    #[serde(with = "table::raw_json")]
    data: JsonText,
    archived_at: TimestampSeconds,
}

impl From<Transaction> for TransactionBody {
    fn from(transaction: Transaction) -> Self {
        let PaymentSort(payment_id) = transaction.sort;
        Self {
            transaction_id: transaction.transaction_id,
            account_id: transaction.account,
            payment_id,
            scheduled_time: payment_id.time(),
            status: transaction.due.status,
            data: transaction.data,
            archived_at: transaction.archived_at,
        }
    }
}
