//! New data or a new time for a scheduled payment (docs/decisions/payments.md). The route is the
//! PATCH of the status.

use crate::{
    Bank, DOMAIN, Payment,
    schedule::{must_not_be_past, pointer_key},
};
use function::{Caller, Error, Fingerprint, Input, Problem, optimistically};
use keys::{
    AccountId, TimestampSeconds,
    bank::{DueSort, MovedSort, PaymentId, PaymentSort, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use std::collections::BTreeSet;
use table::{Condition, Item, JsonText, Key, Value};

/// Time in seconds in which an attempt of the SDK to put a new payment may still arrive: the
/// timeout of the function, and the delay of the attempt.
const LATE: i64 = 15;
/// The same time for a payment that a job puts. A run of a job takes up to 30 seconds.
const LATE_OF_JOB: i64 = 40;

/// Path and body of a request for new data, a new time, or both.
#[derive(Debug, Clone, Input)]
pub struct Amendment {
    #[input(path = "accountId")]
    pub(crate) account: AccountId,
    #[input(path = "paymentId")]
    payment: PaymentId,
    #[input(body = "scheduledTime")]
    time: Option<TimestampSeconds>,
    #[input(body, via = Box<RawValue>)]
    data: Option<JsonText>,
}

/// Pointer from the old id of a payment to the id with the new time.
///
/// The transaction that deletes the payment and puts it with the new time also puts the pointer. It
/// never expires: a repeated request that scheduled the payment would otherwise schedule it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct MovedPayment {
    #[serde(rename = "PK")]
    pub(crate) account: AccountId,
    #[serde(rename = "SK")]
    pub(crate) sort: MovedSort,
    pub(crate) moved_to: PaymentId,
    /// Content of the request. The same request gets the same response.
    request: Fingerprint,
    moved_at: TimestampSeconds,
}

impl Item for MovedPayment {
    const TYPE: &'static str = "MovedPayment";
}

/// The new id in the problem of a request with the old one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MovedTo {
    moved_to: PaymentId,
}

impl From<MovedPayment> for Error {
    fn from(MovedPayment { moved_to, .. }: MovedPayment) -> Self {
        let more = json!(MovedTo { moved_to }).as_object().cloned().unwrap_or_default();
        let detail = format!("The payment has a new time, and the id {moved_to}.");
        Self::Differs(Problem::PaymentMoved, detail, more)
    }
}

impl Amendment {
    fn fingerprint(&self, by_operator: bool) -> Fingerprint {
        let time = self.time.map(|time| time.to_string()).unwrap_or_default();
        let data = self.data.as_ref().map(JsonText::text).unwrap_or_default();
        Fingerprint::of(&[&time, data, if by_operator { "operator" } else { "" }])
    }

    /// Returns the payment after the amendment. Equal to `old` if the amendment changes nothing.
    ///
    /// Whoever sends the data decides whether it may debit another account: only an operator may.
    fn applied_to(&self, old: &Payment, by_operator: bool) -> Payment {
        let id = match self.time {
            Some(time) if time != old.id().time() => old.id().rescheduled(time),
            _ => old.id(),
        };
        let (sort, due) = (PaymentSort(id), DueSort { status: Status::Scheduled, payment: id });
        match self.data.clone().filter(|data| *data != old.data) {
            Some(data) => Payment { sort, due, data, by_operator, ..old.clone() },
            None => Payment { sort, due, ..old.clone() },
        }
    }
}

impl Bank {
    /// Gives a `SCHEDULED` payment new data, a new time, or both. An amendment that changes nothing
    /// writes nothing.
    ///
    /// # Errors
    /// 400 for a new time before today, or data that the ledger cannot pay. 404 for an unknown
    /// payment, and for the old id of a payment with a new time. 409 for a payment with another
    /// status. 413 for a payment over 8 KB. 503 for a new time just after the payment was
    /// scheduled.
    pub(crate) async fn amend(
        &self,
        wanted: &Amendment,
        caller: &Caller,
        now: TimestampSeconds,
    ) -> Result<Payment, Error> {
        optimistically(|| self.try_to_amend(wanted, caller, now)).await
    }

    async fn try_to_amend(&self, wanted: &Amendment, caller: &Caller, now: TimestampSeconds) -> Result<Payment, Error> {
        let by_operator = caller.operates(DOMAIN);
        let key = Key::new(&wanted.account, &PaymentSort(wanted.payment));
        let Some(old) = self.payments.get::<Payment>(&key).await? else {
            return self.amended_before(wanted, by_operator).await;
        };
        if old.due.status != Status::Scheduled {
            return Err(self.stands(&old));
        }
        let new = wanted.applied_to(&old, by_operator);
        if new == old {
            return Ok(old);
        }
        let new = Payment { changed_by: Some(caller.author(DOMAIN)), ..new };
        new.must_fit()?;
        if new.data != old.data {
            self.payer.check(&new)?;
        }
        if new.id() != old.id() {
            must_not_be_past(new.id().time(), now)?;
            return self.reschedule(&old, new, wanted.fingerprint(by_operator), now).await;
        }
        let new = Payment { version: old.version.saturating_add(1), ..new };
        let update = Payment::update(&self.payments, key).set(Payment::DATA, &new.data.text());
        let update = update.set(Payment::CHANGED_BY, Value::of(&new.changed_by)?);
        let update = if by_operator {
            update.set(Payment::BY_OPERATOR, Value::of(&true)?)
        } else {
            update.remove(Payment::BY_OPERATOR)
        };
        self.dynamo.write_once_as(update.only_if(unchanged(&old)), &new).await?;
        Ok(new)
    }

    /// Replaces the payment by the one with the new time, and puts the pointer to it. A key cannot
    /// be updated, so this is a delete and a put.
    async fn reschedule(
        &self,
        old: &Payment,
        new: Payment,
        request: Fingerprint,
        now: TimestampSeconds,
    ) -> Result<Payment, Error> {
        // A late attempt to put the old payment would succeed after the delete.
        let late = if old.id().is_derived() { LATE_OF_JOB } else { LATE };
        if now < old.created_at.plus_seconds(late) {
            return Err(table::Error::Unavailable("the payment was just scheduled".to_owned()).into());
        }
        let new = Payment { version: 1, ..new };
        let pointer = MovedPayment {
            account: old.account.clone(),
            sort: MovedSort(old.id()),
            moved_to: new.id(),
            request,
            moved_at: now,
        };
        let delete = self.payments.delete(old.key()).only_if(unchanged(old));
        let changes = vec![delete, self.payments.put_new(&new)?, self.payments.put_new(&pointer)?];
        self.dynamo.transact_once(changes).await?;
        Ok(new)
    }

    /// Returns the payment with the new time, if this is a repeated request.
    async fn amended_before(&self, wanted: &Amendment, by_operator: bool) -> Result<Payment, Error> {
        let pointer = self.pointer(&wanted.account, wanted.payment).await?.ok_or(Error::NotFound("payment"))?;
        if pointer.request == wanted.fingerprint(by_operator) {
            let key = Key::new(&wanted.account, &PaymentSort(pointer.moved_to));
            if let Some(payment) = self.payments.get(&key).await? {
                return Ok(payment);
            }
        }
        Err(pointer.into())
    }

    /// Returns the error for a payment that is not stored under its id: 404, with the new id if the
    /// payment has one.
    pub(crate) async fn missing_payment(&self, account: &AccountId, payment: PaymentId) -> Error {
        match self.pointer(account, payment).await {
            Ok(pointer) => pointer.map_or(Error::NotFound("payment"), Error::from),
            Err(error) => error,
        }
    }

    /// Returns which of these ids are old ids of payments with a new time.
    pub(crate) async fn moved(
        &self,
        account: &AccountId,
        payments: &[PaymentId],
    ) -> Result<BTreeSet<PaymentId>, Error> {
        let keys: Vec<Key> = payments.iter().map(|payment| pointer_key(account, *payment)).collect();
        let pointers = self.payments.get_all::<MovedPayment>(&keys, true).await?;
        let has_pointer = |key: &Key| pointers.items.contains_key(key) || pointers.unreadable.contains(key);
        Ok(payments.iter().zip(&keys).filter(|(_, key)| has_pointer(key)).map(|(payment, _)| *payment).collect())
    }

    async fn pointer(&self, account: &AccountId, payment: PaymentId) -> Result<Option<MovedPayment>, Error> {
        Ok(self.payments.get(&pointer_key(account, payment)).await?)
    }
}

/// The condition that nobody has changed the payment since it was read. An item of an earlier
/// version of the bank has no version, which reads as 0.
fn unchanged(payment: &Payment) -> Condition {
    Condition::missing_or_is(Payment::VERSION, payment.version)
}
