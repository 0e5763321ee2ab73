use crate::DOMAIN;
use function::{Caller, ChangedBy, Error};
use keys::{
    AccountId, RequestId, Shard, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentId, PaymentSort, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Change, Item, JsonText, Key, Table};

/// Maximum size of a payment item in bytes. The limit includes attributes that status changes and
/// the archive add later (docs/requirements/bank.md#item-size).
pub const MAX_BYTES: usize = 8 * 1024;

/// Maximum length of a failure reason in bytes.
pub const MAX_REASON: usize = 256;

/// Number of bytes reserved for the attributes that status changes add to a payment.
///
/// A transaction id has up to 128 characters of four bytes. It needs more bytes than the attributes
/// that a payment has only before it is settled, and than a failure reason.
const LATER_BYTES: usize = Payment::TRANSACTION_ID.size()
    + 4 * 128
    + Payment::MOVED_BY.size()
    + 32
    + Payment::DISPATCHED_AT.size()
    + Payment::SETTLED_AT.size()
    + 2 * TIME_BYTES
    + ATTEMPTS_BYTES
    + RETRY_BYTES
    + VERSION_BYTES
    + AUTHOR_BYTES;
/// Length of a stored time.
const TIME_BYTES: usize = "2026-12-01T09:30:00Z".len();
/// Size of the id of the failed payment. A retry of a payment has it in addition.
const RETRY_BYTES: usize = Payment::RETRY_OF.size() + "20261201T093000Z-".len() + 32;
/// Size of the number of attempts, which has at most two digits.
const ATTEMPTS_BYTES: usize = Payment::ATTEMPTS.size() + 2;
/// Size of the longest author: an identifier, and the longest scope. A map has 3 bytes, and one
/// more for each attribute.
const AUTHOR_BYTES: usize =
    Payment::CHANGED_BY.size() + 3 + 2 + "sub".len() + 128 + "scope".len() + "bank:operate".len();
/// Growth of the version. It has up to four digits, because each attempt changes the payment twice.
const VERSION_BYTES: usize = 1;

/// Payment: one item of `PaymentScheduler`.
///
/// The account, scheduled time, payment id and status are stored only in the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Payment {
    /// Account that owns the payment.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// Scheduled time and payment id.
    #[serde(rename = "SK")]
    pub sort: PaymentSort,
    /// Shard that contains the payment in the sharded index.
    #[serde(rename = "GSI1PK")]
    pub shard: Shard,
    /// Status, scheduled time and payment id.
    #[serde(rename = "GSI1SK")]
    pub due: DueSort,
    /// Time at which the payment was created.
    pub created_at: TimestampSeconds,
    /// Number of changes of the payment, including its creation. Every update adds 1. The lake
    /// orders the changes of a payment by this number (docs/decisions/export.md).
    #[serde(default)]
    pub version: i64,
    /// Payment details, as the caller sent them (docs/decisions/payments.md).
    pub data: JsonText,
    /// Transaction id, present once the payment is `PROCESSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Id of the last request or run that changed the status (docs/decisions/idempotency.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_by: Option<RequestId>,
    /// Whether an operator scheduled the payment. Only such a payment may debit an account other
    /// than its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_operator: bool,
    /// Failed payment that this payment repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<PaymentId>,
    /// Time of the change to `PENDING`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispatched_at: Option<TimestampSeconds>,
    /// Time of the change to `PROCESSED`, `FAILED` or `CANCELLED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled_at: Option<TimestampSeconds>,
    /// Number of attempts to execute the payment that had no outcome.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u8,
    /// Reason for the failure, or for the last attempt without an outcome.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_reason: Option<String>,
    /// State of the automatic execution. Absent unless the payment is `PENDING` and was dispatched
    /// to the transaction service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<Execution>,
    /// Time after which the dispatch hands the payment to the executor again. Absent if
    /// no further attempt is planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<TimestampSeconds>,
    /// Caller who scheduled the payment, amended it or changed its status. Absent if only jobs did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<ChangedBy>,
}

/// State of the automatic execution of a `PENDING` payment (docs/decisions/dispatch.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Execution {
    /// Handed to the executor. The event source mapping of the executor passes only records with
    /// this state.
    Due,
    /// The last attempt had no outcome. The next attempt is due at `NextAttemptAt`.
    Waiting,
    /// Out of attempts. An operator decides.
    Exhausted,
}

/// Whether the payment has no attempts. It then has no attribute or member for them.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
pub(super) fn is_zero(attempts: &u8) -> bool {
    *attempts == 0
}

impl Item for Payment {
    const TYPE: &'static str = "Payment";
}

impl Payment {
    /// Returns an update of the stored payment, which also increments its version.
    pub(crate) fn update(payments: &Table, key: Key) -> Change {
        payments.update(key).add(Self::VERSION, 1_i64)
    }

    /// Creates a payment with the status `SCHEDULED`.
    pub fn scheduled(
        account: AccountId,
        id: PaymentId,
        shard: Shard,
        data: JsonText,
        created_at: TimestampSeconds,
    ) -> Self {
        Self {
            account,
            sort: PaymentSort(id),
            shard,
            due: DueSort { status: Status::Scheduled, payment: id },
            created_at,
            version: 1,
            data,
            transaction_id: None,
            moved_by: None,
            by_operator: false,
            retry_of: None,
            dispatched_at: None,
            settled_at: None,
            attempts: 0,
            failure_reason: None,
            execution: None,
            next_attempt_at: None,
            changed_by: None,
        }
    }

    /// Primary key.
    pub fn key(&self) -> Key {
        Key::new(&self.account, &self.sort)
    }

    /// Payment id.
    pub fn id(&self) -> PaymentId {
        self.sort.0
    }

    /// Whether the bank executes the payment itself, and will record its outcome.
    pub(crate) fn is_in_execution(&self) -> bool {
        self.due.status == Status::Pending && matches!(self.execution, Some(Execution::Due | Execution::Waiting))
    }

    /// Whether the payment is out of attempts, and an operator must decide.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.due.status == Status::Pending && self.execution == Some(Execution::Exhausted)
    }

    /// Returns error 413 if the payment, together with the reserved bytes, exceeds 8 KB.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        // The reserve has room for every author.
        let without_author = Self { changed_by: None, ..self.clone() };
        let over = (table::size(&without_author)? + LATER_BYTES).saturating_sub(MAX_BYTES);
        if over == 0 {
            return Ok(());
        }
        let most = self.data.text().len().saturating_sub(over);
        Err(Error::TooLarge(format!(
            "A payment with its keys must not exceed 8 KB. Here, data may have up to {most} bytes."
        )))
    }
}

/// A payment.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentBody {
    payment_id: PaymentId,
    account_id: AccountId,
    scheduled_time: TimestampSeconds,
    status: Status,
    #[serde(with = "table::raw_json")]
    #[schemars(with = "table::JsonText")]
    data: JsonText,
    created_at: TimestampSeconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<TransactionId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_of: Option<PaymentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatched_at: Option<TimestampSeconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settled_at: Option<TimestampSeconds>,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 1, max = 99))]
    attempts: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    failure_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<TimestampSeconds>,
    /// Only for operators. Absent if only the bank itself has changed the payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
}

impl Payment {
    /// Returns the payment as the caller sees it.
    pub(crate) fn body(self, caller: &Caller) -> PaymentBody {
        let payment = self;
        PaymentBody {
            payment_id: payment.id(),
            scheduled_time: payment.id().time(),
            status: payment.due.status,
            account_id: payment.account,
            data: payment.data,
            created_at: payment.created_at,
            transaction_id: payment.transaction_id,
            retry_of: payment.retry_of,
            dispatched_at: payment.dispatched_at,
            settled_at: payment.settled_at,
            attempts: payment.attempts,
            failure_reason: payment.failure_reason,
            next_attempt_at: payment.next_attempt_at,
            changed_by: payment.changed_by.and_then(|author| author.seen_by(caller, DOMAIN)),
        }
    }
}
