use crate::{Payment, PaymentBody, model::payment::is_zero};
use function::{Caller, ChangedBy};
use keys::{
    AccountId, Shard, TimestampSeconds, TransactionId,
    bank::{DueSort, GuardPartition, GuardSort, PaymentId, PaymentSort, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, JsonText};

/// Settled payment in the permanent history: one item of `TransactionHistory`. A settled payment
/// has the status `PROCESSED`, `FAILED` or `CANCELLED`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Transaction {
    /// Account that owned the payment.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// Scheduled time and payment id of the payment.
    #[serde(rename = "SK")]
    pub sort: PaymentSort,
    /// Shard of the sharded index, copied from the payment.
    #[serde(rename = "GSI1PK")]
    pub shard: Shard,
    /// Status, scheduled time and payment id.
    #[serde(rename = "GSI1SK")]
    pub due: DueSort,
    /// Transaction id: the partition key of GSI2. Only a `PROCESSED` payment has one, so the index
    /// is sparse.
    #[serde(rename = "GSI2PK", skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Time at which the payment was created.
    pub created_at: TimestampSeconds,
    /// Time at which the archive moved the payment.
    pub archived_at: TimestampSeconds,
    /// Payment details, as the caller sent them.
    pub data: JsonText,
    /// Whether an operator scheduled the payment.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_operator: bool,
    /// Failed payment that this payment repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<PaymentId>,
    /// Time of the change to `PENDING`. Absent if the payment was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatched_at: Option<TimestampSeconds>,
    /// Time of the change to the final status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<TimestampSeconds>,
    /// Number of attempts to execute the payment that had no outcome.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u8,
    /// Reason for the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// Caller who changed the payment last, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<ChangedBy>,
}

impl Item for Transaction {
    const TYPE: &'static str = "Transaction";
}

impl Transaction {
    /// Converts a settled payment to a transaction. Returns `None` if the payment is not settled,
    /// or is `PROCESSED` and has no transaction id.
    pub fn archived(payment: Payment, now: TimestampSeconds) -> Option<Self> {
        let is_complete = match payment.due.status {
            Status::Processed => payment.transaction_id.is_some(),
            Status::Failed | Status::Cancelled => true,
            Status::Scheduled | Status::Pending => false,
        };
        is_complete.then_some(Self {
            account: payment.account,
            sort: payment.sort,
            shard: payment.shard,
            due: payment.due,
            transaction_id: payment.transaction_id,
            created_at: payment.created_at,
            archived_at: now,
            data: payment.data,
            by_operator: payment.by_operator,
            retry_of: payment.retry_of,
            dispatched_at: payment.dispatched_at,
            settled_at: payment.settled_at,
            attempts: payment.attempts,
            failure_reason: payment.failure_reason,
            changed_by: payment.changed_by,
        })
    }

    /// Converts the transaction back to the payment that was archived.
    pub fn payment(self) -> Payment {
        let mut payment = Payment::scheduled(self.account, self.sort.0, self.shard, self.data, self.created_at);
        payment.due = self.due;
        payment.transaction_id = self.transaction_id;
        payment.by_operator = self.by_operator;
        payment.retry_of = self.retry_of;
        payment.dispatched_at = self.dispatched_at;
        payment.settled_at = self.settled_at;
        payment.attempts = self.attempts;
        payment.failure_reason = self.failure_reason;
        payment.changed_by = self.changed_by;
        payment
    }
}

/// Guard item of a transaction id. The guard ensures that only one payment has this transaction id.
/// The DynamoDB transaction that changes the payment to `PROCESSED` also puts the guard. The guard
/// is never deleted (docs/decisions/idempotency.md).
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
    /// Creates the guard that reserves the transaction id for the payment.
    pub(crate) fn of(payment: &Payment, transaction: &TransactionId) -> Self {
        Self {
            partition: GuardPartition(transaction.clone()),
            sort: GuardSort,
            account_id: payment.account.clone(),
            payment_id: payment.id(),
        }
    }
}

/// An archived payment in the transaction history. Only a `PROCESSED` payment has a transaction id.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ArchivedPayment")]
pub struct TransactionBody {
    #[serde(flatten)]
    payment: PaymentBody,
    archived_at: TimestampSeconds,
}

impl Transaction {
    /// Returns the transaction as the caller sees it.
    pub(crate) fn body(self, caller: &Caller) -> TransactionBody {
        let archived_at = self.archived_at;
        TransactionBody { payment: self.payment().body(caller), archived_at }
    }
}
