//! Scheduling a payment under an idempotency key. Requests and imported lines share this code, so
//! that both have the same effect (docs/decisions/idempotency.md).

use crate::{Bank, Payment, Transaction};
use function::{ChangedBy, Error, Fingerprint};
use keys::{
    AccountId, IdempotencyKey, IdempotencySort, TimestampSeconds,
    bank::{MovedSort, PaymentId},
};
use serde::{Deserialize, Serialize};
use table::{Item, Key};

/// Idempotency record of a request. The record contains the payment's id, creation time and
/// author. The response to a repeated request consists of these values and the body of the repeated
/// request.
///
/// The record is put before the payment and never expires. It costs one WRU. Putting both items in
/// a transaction would double the cost of the payment. If the function crashes between the two
/// puts, only the record exists, and the retry puts the payment (docs/decisions/idempotency.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: IdempotencySort,
    request: Fingerprint,
    payment_id: PaymentId,
    created_at: TimestampSeconds,
    /// Caller of the request. Absent for a payment that a job schedules.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
}

impl Item for Record {
    const TYPE: &'static str = "IdempotencyRecord";
}

/// What a request found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scheduled {
    /// This request schedules the payment. A repeated request with the same payment id gets the
    /// same outcome.
    New,
    /// Another request with the same key and content has scheduled the payment.
    Before,
}

/// The content of a request. A payment of an operator may debit another account than its own, so
/// the same request of a customer is another request.
fn fingerprint(payment: &Payment) -> Fingerprint {
    let by_operator = if payment.by_operator { "operator" } else { "" };
    Fingerprint::of(&[&payment.id().time().to_string(), payment.data.text(), by_operator])
}

enum First {
    Created,
    Found(Record),
}

/// Returns an error if the scheduled day is before today (UTC). A payment is due on a day, not at a
/// time, so a time earlier today is valid.
pub(crate) fn must_not_be_past(time: TimestampSeconds, now: TimestampSeconds) -> Result<(), Error> {
    if time.day() < now.day() {
        return Err(Error::invalid("/body/scheduledTime", format!("must not be on a day before {}", now.day())));
    }
    Ok(())
}

/// Primary key of the pointer from the id of a payment that got a new time.
pub(crate) fn pointer_key(account: &AccountId, payment: PaymentId) -> Key {
    Key::new(account, &MovedSort(payment))
}

impl Bank {
    /// Puts the payment, unless it already exists. An existing item with the same key is the same
    /// payment, because payment ids are unique.
    pub(crate) async fn put(&self, payment: &Payment) -> Result<(), Error> {
        match self.dynamo.write(self.payments.put_new(payment)?).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Schedules the payment, unless the account has a payment with the same idempotency key.
    /// Replaces `payment` by the payment that was scheduled first.
    ///
    /// `is_repeated` tells whether an earlier invocation may have used the same payment id. The
    /// payment may then have been archived.
    ///
    /// # Errors
    /// [`Error::KeyReused`] if the key was used for a payment with another time or other data, or
    /// by a customer and an operator.
    /// [`Error::Invalid`] if the scheduled day is before `now` and the key is new.
    pub(crate) async fn schedule_once(
        &self,
        payment: &mut Payment,
        key: &IdempotencyKey,
        now: TimestampSeconds,
        is_repeated: bool,
    ) -> Result<Scheduled, Error> {
        let record = Record {
            account: payment.account.clone(),
            sort: IdempotencySort(key.clone()),
            request: fingerprint(payment),
            payment_id: payment.id(),
            created_at: payment.created_at,
            changed_by: payment.changed_by.clone(),
        };
        let first = match self.first(&record, now).await? {
            First::Created => return self.put(payment).await.map(|()| Scheduled::New),
            // This request created the record: the response to the SDK's first attempt was lost,
            // and the SDK retried.
            First::Found(first) if first.payment_id == record.payment_id && !is_repeated => {
                return self.put(payment).await.map(|()| Scheduled::New);
            }
            First::Found(first) => first,
        };
        if first.request != record.request {
            return Err(Error::KeyReused);
        }
        let (account, data) = (payment.account.clone(), payment.data.clone());
        let by_operator = payment.by_operator;
        *payment = Payment::scheduled(account, first.payment_id, payment.shard, data, first.created_at);
        (payment.by_operator, payment.changed_by) = (by_operator, first.changed_by);
        self.finish(payment).await?;
        Ok(if first.payment_id == record.payment_id { Scheduled::New } else { Scheduled::Before })
    }

    /// Puts the record, or returns the record of an earlier request with the same idempotency key.
    async fn first(&self, record: &Record, now: TimestampSeconds) -> Result<First, Error> {
        // If the scheduled day is in the past, reject only new requests. A retry still gets the
        // original response.
        if let Err(past) = must_not_be_past(record.payment_id.time(), now) {
            let first = self.payments.get(&Key::new(&record.account, &record.sort)).await?;
            return first.map(First::Found).ok_or(past);
        }
        match self.dynamo.write(self.payments.put_new(record)?).await {
            Ok(()) => Ok(First::Created),
            Err(table::Error::Refused(refused)) => {
                refused.found::<Record>(0)?.map(First::Found).ok_or_else(Error::stale)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Ensures that the payment of a repeated request is stored, either as a payment or, after
    /// archiving, as a transaction, or that it has another id since it got a new time. Otherwise,
    /// the first request failed before the put.
    pub(crate) async fn finish(&self, payment: &Payment) -> Result<(), Error> {
        if self.payments.get::<Payment>(&payment.key()).await?.is_some()
            || self.transactions.get::<Transaction>(&payment.key()).await?.is_some()
        {
            return Ok(());
        }
        // The archive may move the payment between the reads and the put, and an amendment may have
        // given it another id. The put is therefore in a transaction that checks both.
        let changes = vec![
            self.payments.put_new(payment)?,
            self.transactions.absent(payment.key()),
            self.payments.absent(pointer_key(&payment.account, payment.id())),
        ];
        match self.dynamo.transact(changes).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
