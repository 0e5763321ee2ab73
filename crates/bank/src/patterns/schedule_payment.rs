//! B1: schedules a payment (docs/requirements/bank.md#access-pattern-1-schedule-a-payment).

use crate::{
    Bank, DOMAIN, Payment, PaymentBody, Transaction,
    cost::{self, Calls, Pattern},
};
use function::{Created, Error, Fields, Fingerprint, Function, Input, Request, Route, Trigger};
use keys::{AccountId, IdempotencyKey, IdempotencySort, TimestampSeconds, bank::PaymentId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use table::{Item, JsonText, Key, cost::Cost};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(schedule_payment, Bank::warm_by_get_payment)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "B1",
    name: "schedule-payment",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/accounts/{accountId}/payments",
        scopes: &["bank:write", "bank:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "put if it does not exist: PK = account, SK = time#payment id, GSI1PK = a random shard",
        formula: "⌈item⌉ W, GSI1 ⌈entry⌉ W (ALL: ⌈item⌉ W). With an Idempotency-Key 1 W more",
        cost: |case| {
            Cost::default()
                .write(cost::PAYMENTS, table::cost::write(case.item))
                .write(cost::PAYMENTS, table::Units::whole(u64::from(case.keyed)))
                .write(cost::DUE_PAYMENTS, case.index_write())
        },
    }],
    function,
};

/// Path and body of the request.
#[derive(Debug, Clone)]
pub struct NewPayment {
    account: AccountId,
    scheduled_time: TimestampSeconds,
    data: JsonText,
}

impl Input for NewPayment {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let account = fields.path("accountId");
        let scheduled_time = fields.body("scheduledTime");
        let data = fields.body::<Box<RawValue>>("data").map(JsonText::from);
        Some(Self { account: account?, scheduled_time: scheduled_time?, data: data? })
    }
}

impl NewPayment {
    /// Returns an error if the scheduled day is before today (UTC). A payment is due on a day, not
    /// at a time, so a time earlier today is valid.
    fn must_not_be_past(&self, now: TimestampSeconds) -> Result<(), Error> {
        if self.scheduled_time.day() < now.day() {
            return Err(Error::invalid("/body/scheduledTime", format!("must not be on a day before {}", now.day())));
        }
        Ok(())
    }
}

/// Idempotency record of a request. The record contains the payment's id and creation time. The
/// response to a repeated request consists of these values and the body of the repeated request.
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
}

impl Item for Record {
    const TYPE: &'static str = "IdempotencyRecord";
}

/// Schedules a payment. Puts an item with the partition key `<account>` and the sort key
/// `<time>#<payment id>`, unless it exists. The item is on a random shard of GSI1.
///
/// # Errors
/// 400 for a scheduled time before today, 403 for an account that the caller does not own, 413 for
/// an item over 8 KB, 422 for an idempotency key that was used for a different request.
pub async fn schedule_payment(bank: Bank, request: Request<NewPayment>) -> Result<Created<PaymentBody>, Error> {
    let NewPayment { account, scheduled_time, data } = request.input.clone();
    request.caller.must_own(&account, DOMAIN)?;
    let id = PaymentId::new(scheduled_time, request.milli.instant(), &request.random);
    let mut payment = Payment::scheduled(account, id, bank.due.shards.pick(&request.random), data, request.now);
    payment.by_operator = request.caller.operates(DOMAIN);
    payment.must_fit()?;
    if let Some(key) = &request.idempotency_key {
        bank.schedule_once(&mut payment, key, &request).await?;
    } else {
        request.input.must_not_be_past(request.now)?;
        bank.put(&payment).await?;
    }
    Ok(Created { id: payment.id().to_string(), body: payment.into() })
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

    async fn schedule_once(
        &self,
        payment: &mut Payment,
        key: &IdempotencyKey,
        request: &Request<NewPayment>,
    ) -> Result<(), Error> {
        let record = Record {
            account: payment.account.clone(),
            sort: IdempotencySort(key.clone()),
            request: Fingerprint::of(&[&payment.id().time().to_string(), payment.data.text()]),
            payment_id: payment.id(),
            created_at: payment.created_at,
        };
        let Some(first) = self.first(&record, request).await? else {
            return self.put(payment).await;
        };
        if first.request != record.request {
            return Err(Error::KeyReused);
        }
        let (account, data) = (payment.account.clone(), payment.data.clone());
        let by_operator = payment.by_operator;
        *payment = Payment::scheduled(account, first.payment_id, payment.shard, data, first.created_at);
        payment.by_operator = by_operator;
        self.finish(payment).await
    }

    /// Returns the record of an earlier request with the same idempotency key, or `None` if
    /// `request` is the first.
    async fn first(&self, record: &Record, request: &Request<NewPayment>) -> Result<Option<Record>, Error> {
        // If the scheduled day is in the past, reject only new requests. A retry still gets the
        // original response.
        if let Err(past) = request.input.must_not_be_past(request.now) {
            let first = self.payments.get(&Key::new(&record.account, &record.sort)).await?;
            return first.map(Some).ok_or(past);
        }
        match self.dynamo.write(self.payments.put_new(record)?).await {
            Ok(()) => Ok(None),
            Err(table::Error::Refused(refused)) => match refused.found::<Record>(0)? {
                // This request created the record: the response to the SDK's first attempt was
                // lost, and the SDK retried.
                Some(found) if found == *record => Ok(None),
                found => Ok(found),
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Ensures that the payment of a repeated request is stored, either as a payment or, after
    /// archiving, as a transaction. If the payment is not stored, the first request failed before
    /// the put.
    pub(crate) async fn finish(&self, payment: &Payment) -> Result<(), Error> {
        if self.payments.get::<Payment>(&payment.key()).await?.is_some()
            || self.transactions.get::<Transaction>(&payment.key()).await?.is_some()
        {
            return Ok(());
        }
        // The archive may move the payment between the reads and the put. The put is therefore in a
        // transaction that also checks that the payment is not archived.
        let changes = vec![self.payments.put_new(payment)?, self.transactions.absent(payment.key())];
        match self.dynamo.transact(changes).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
