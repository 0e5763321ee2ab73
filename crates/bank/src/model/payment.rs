use function::Error;
use keys::{
    AccountId, RequestId, Shard, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentId, PaymentSort, Status},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, JsonText, Key};

/// The largest item, in bytes (seed 000: 8 KB), whatever moves and the archive add to it later.
pub const MAX_BYTES: usize = 8 * 1024;

/// What moves and the archive can add: the transaction id at its longest, 128 characters of four
/// bytes, and the id of the request that moved it, each with its attribute's name.
const LATER_BYTES: usize = Payment::TRANSACTION_ID.size() + 4 * 128 + Payment::MOVED_BY.size() + 32;

/// A payment: one item of `PaymentScheduler`.
///
/// Account, time, id and status stand in its keys and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Payment {
    /// Whose payment it is.
    #[serde(rename = "PK")]
    pub account: AccountId,
    /// When it is due, and its id.
    #[serde(rename = "SK")]
    pub sort: PaymentSort,
    /// Where the due list finds it.
    #[serde(rename = "GSI1PK")]
    pub shard: Shard,
    /// Where it stands.
    #[serde(rename = "GSI1SK")]
    pub due: DueSort,
    /// When it was scheduled.
    pub created_at: TimestampSeconds,
    /// What is to be paid.
    pub data: JsonText,
    /// What it became, once it is processed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<TransactionId>,
    /// The request that moved it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_by: Option<RequestId>,
}

impl Item for Payment {
    const TYPE: &'static str = "Payment";
}

impl Payment {
    /// A payment that waits for its time.
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

    /// Its primary key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.account, &self.sort)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> PaymentId {
        self.sort.0
    }

    /// Refuses a payment that could outgrow its 8 KB.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        let over = (table::size(self)? + LATER_BYTES).saturating_sub(MAX_BYTES);
        if over == 0 {
            return Ok(());
        }
        let most = self.data.text().len().saturating_sub(over);
        Err(Error::TooLarge(format!("A payment is at most 8 KB with its keys; here data may have {most} bytes.")))
    }
}

/// A payment as it is answered.
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
    fn no_move_makes_a_payment_outgrow_its_limit() {
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
