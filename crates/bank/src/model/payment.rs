use function::Error;
use keys::{
    AccountId, RequestId, Shard, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentId, PaymentSort, Status},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, JsonText, Key};

/// Maximum size of a payment item in bytes. The limit includes attributes that status changes and
/// the archive add later (docs/requirements/bank.md#item-size).
pub const MAX_BYTES: usize = 8 * 1024;

/// Number of bytes reserved for `TransactionId` and `MovedBy`, which status changes add to a
/// payment. A transaction id has up to 128 characters of four bytes.
const LATER_BYTES: usize = Payment::TRANSACTION_ID.size() + 4 * 128 + Payment::MOVED_BY.size() + 32;

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
    /// Payment details, as the caller sent them (docs/decisions/data.md).
    pub data: JsonText,
    /// Transaction id, present once the payment is `PROCESSED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// Id of the last request that changed the status (docs/decisions/lost-answers.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_by: Option<RequestId>,
}

impl Item for Payment {
    const TYPE: &'static str = "Payment";
}

impl Payment {
    /// Creates a payment with the status `SCHEDULED`.
    #[must_use]
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
            data,
            transaction_id: None,
            moved_by: None,
        }
    }

    /// Primary key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.account, &self.sort)
    }

    /// Payment id.
    #[must_use]
    pub fn id(&self) -> PaymentId {
        self.sort.0
    }

    /// Returns error 413 if the payment, together with the reserved bytes, exceeds 8 KB.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        let over = (table::size(self)? + LATER_BYTES).saturating_sub(MAX_BYTES);
        if over == 0 {
            return Ok(());
        }
        let most = self.data.text().len().saturating_sub(over);
        Err(Error::TooLarge(format!(
            "A payment with its keys must not exceed 8 KB. Here, data may have up to {most} bytes."
        )))
    }
}

/// Response body of a payment.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentBody {
    payment_id: PaymentId,
    account_id: AccountId,
    scheduled_time: TimestampSeconds,
    status: Status,
    #[serde(with = "table::raw_json")]
    data: JsonText,
    created_at: TimestampSeconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<TransactionId>,
}

impl From<Payment> for PaymentBody {
    fn from(payment: Payment) -> Self {
        Self {
            payment_id: payment.id(),
            scheduled_time: payment.id().time(),
            status: payment.due.status,
            account_id: payment.account,
            data: payment.data,
            created_at: payment.created_at,
            transaction_id: payment.transaction_id,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use keys::Random;
    use serde_json::value::RawValue;

    pub(crate) fn payment(data_bytes: usize) -> Payment {
        let time: TimestampSeconds = "2026-12-01T09:30:00Z".parse().expect("a time");
        let json = format!("\"{}\"", "x".repeat(data_bytes - 2));
        let data = JsonText::from(RawValue::from_string(json).expect("JSON"));
        let account = "Account1".parse().expect("an account");
        Payment::scheduled(
            account,
            PaymentId::new(time, time.instant(), &Random::seeded(1)),
            "4".parse().expect("a shard"),
            data,
            time,
        )
    }

    #[test]
    fn status_changes_keep_a_payment_within_8_kb() {
        let mut largest = payment(7_000);
        let room = MAX_BYTES - LATER_BYTES - table::size(&largest).expect("writable");
        largest = payment(7_000 + room);
        assert!(largest.must_fit().is_ok());
        assert!(payment(7_001 + room).must_fit().is_err());

        largest.due.status = Status::Processed;
        largest.transaction_id = Some("\u{1F4B6}".repeat(128).parse().expect("a transaction id"));
        largest.moved_by = Some(RequestId::new(largest.created_at.instant(), &Random::seeded(1)));
        assert_eq!(table::size(&largest).expect("writable"), MAX_BYTES);
        let archived_at = largest.created_at;
        let transaction = crate::Transaction::archived(largest, archived_at);
        assert!(table::size(&transaction.expect("processed")).expect("writable") <= MAX_BYTES);
    }
}
