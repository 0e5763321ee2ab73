//! B1: schedules a payment (docs/requirements/bank.md#access-pattern-1-schedule-a-payment).

use crate::{
    Bank, DOMAIN, Payment, PaymentBody,
    cost::{self, Calls, Pattern},
    schedule::must_not_be_past,
};
use function::{Created, Error, Input, Problem, Request, Route, Trigger};
use keys::{AccountId, TimestampSeconds, bank::PaymentId};
use serde_json::value::RawValue;
use table::{JsonText, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "B1",
    name: "schedule-payment",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/accounts/{accountId}/payments",
        scopes: &["bank:write", "bank:operate"],
        summary: "Schedule a payment",
        problems: &[Problem::IdempotencyKeyReused],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .write(cost::PAYMENTS, table::cost::write(case.item))
            .write(cost::PAYMENTS, table::cost::Term::whole(usize::from(case.keyed)))
            .write(cost::DUE_PAYMENTS, case.index_write())
    })],
    contract: function::contract(&schedule_payment),
    function: || function::http(schedule_payment, Bank::warm_by_get_payment),
};

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
pub struct SchedulePaymentInput {
    #[input(path = "accountId")]
    account: AccountId,
    /// Must not be before the current day in UTC.
    #[input(body)]
    scheduled_time: TimestampSeconds,
    /// Any JSON, returned unchanged. The payment has at most 8 KB. If the ledger executes the
    /// payments, data with `creditAccountId` must have an `amount` and a `currency` that it can
    /// pay.
    #[input(body, via = Box<RawValue>)]
    data: JsonText,
}

/// Schedules a payment. Puts an item with the partition key `<account>` and the sort key
/// `<time>#<payment id>`, unless it exists. The item is on a random shard of GSI1.
///
/// # Errors
/// 400 for a scheduled time before today, or an instruction that the ledger cannot pay. 403 for an
/// account that the caller does not own, 413 for an item over 8 KB, 422 for an idempotency key that
/// was used for a different request.
pub async fn schedule_payment(
    bank: Bank,
    request: Request<SchedulePaymentInput>,
) -> Result<Created<PaymentBody>, Error> {
    let SchedulePaymentInput { account, scheduled_time, data } = request.input.clone();
    request.caller.must_own(&account, DOMAIN)?;
    let id = PaymentId::new(scheduled_time, request.milli.instant(), &request.random);
    let mut payment = Payment::scheduled(account, id, bank.due.shards.pick(&request.random), data, request.now);
    payment.by_operator = request.caller.operates(DOMAIN);
    payment.changed_by = Some(request.caller.author(DOMAIN));
    payment.must_fit()?;
    bank.payer.check(&payment)?;
    if let Some(key) = &request.idempotency_key {
        bank.schedule_once(&mut payment, key, request.now, false).await?;
    } else {
        must_not_be_past(scheduled_time, request.now)?;
        bank.put(&payment).await?;
    }
    Ok(Created { id: payment.id().to_string(), body: payment.body(&request.caller) })
}
