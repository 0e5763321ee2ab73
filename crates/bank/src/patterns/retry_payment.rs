//! B17: schedules a failed payment again (docs/requirements/bank.md#retry-a-failed-payment,
//! docs/decisions/execution.md).

use crate::{
    Bank, DOMAIN, Payment, PaymentBody,
    amendment::MovedTo,
    cost::{self, Calls, Named, Pattern},
    patterns::get_payment::{self, PaymentInput},
};
use function::{Error, Located, Problem, Request, Route, Trigger};
use keys::{
    AccountId, TimestampSeconds,
    bank::{PaymentId, PaymentSort, RetrySort, Status},
};
use serde::{Deserialize, Serialize};
use table::{Item, Key, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "B17",
    name: "retry-payment",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/accounts/{accountId}/payments/{paymentId}/retry",
        scopes: &["bank:operate"],
        summary: "Schedule a failed payment again, as a new payment",
        problems: &[
            Problem::NotFound,
            Problem::PaymentMoved,
            Problem::StatusConflict,
            Problem::TransactionIdUsed,
            Problem::ExecutionUnderWay,
        ],
    }]),
    calls: &[
        Calls::new("", |case| scheduled(case).read(cost::PAYMENTS, table::cost::read(case.item))),
        Calls::new(" archived", |case| {
            let read = scheduled(case).read(cost::PAYMENTS, table::cost::read(0));
            read.read(cost::TRANSACTIONS, table::cost::read(case.item))
        }),
    ],
    contract: |contract| {
        function::contract(&retry_payment)(contract);
        contract.problem::<MovedTo>(Problem::PaymentMoved);
    },
    function: || function::http(retry_payment, Bank::warm_by_get_payment),
};

fn scheduled(case: &Named) -> Cost {
    Cost::default()
        .write(cost::PAYMENTS, 1 + table::cost::write(case.item))
        .write(cost::DUE_PAYMENTS, case.index_write())
}

/// Record that a failed payment was retried. It contains the id of the new payment, so that every
/// retry of the failed payment finds the same new payment.
///
/// The record is put before the payment and never expires. If the function crashes between the two
/// puts, the next retry puts the payment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Retry {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: RetrySort,
    payment_id: PaymentId,
    created_at: TimestampSeconds,
}

impl Item for Retry {
    const TYPE: &'static str = "PaymentRetry";
}

/// Schedules a `FAILED` payment again, for the time of the request. The retry is a new payment with
/// the same data, which names the failed one. A second retry of the failed payment returns the same
/// new payment, in its present state.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown payment, 409 for a payment that
/// has not failed. 404 with the new id if the retry was given a new time.
pub async fn retry_payment(bank: Bank, request: Request<PaymentInput>) -> Result<Located<PaymentBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let PaymentInput { account, payment } = &request.input;
    let failed = bank.find_payment(&Key::new(account, &PaymentSort(*payment))).await?;
    let failed = failed.ok_or(Error::NotFound("payment"))?;
    if failed.due.status != Status::Failed {
        let detail = format!("Only a FAILED payment can be retried. The status is {}.", failed.due.status);
        return Err(Error::Conflict(Problem::StatusConflict, detail));
    }
    let record = Retry {
        account: account.clone(),
        sort: RetrySort(*payment),
        payment_id: PaymentId::new(request.now, request.milli.instant(), &request.random),
        created_at: request.now,
    };
    let shard = bank.due.shards.pick(&request.random);
    let scheduled = |Retry { account, payment_id, created_at, .. }| {
        let mut payment = Payment::scheduled(account, payment_id, shard, failed.data.clone(), created_at);
        (payment.by_operator, payment.retry_of) = (failed.by_operator, Some(failed.id()));
        payment.changed_by = Some(request.caller.author(DOMAIN));
        payment
    };
    let retried = match bank.dynamo.write(bank.payments.put_new(&record)?).await {
        Ok(()) => {
            let payment = scheduled(record);
            bank.put(&payment).await?;
            payment
        }
        Err(table::Error::Refused(refused)) => {
            let payment = scheduled(refused.found::<Retry>(0)?.ok_or_else(Error::stale)?);
            bank.finish(&payment).await?;
            match bank.find_payment(&payment.key()).await? {
                Some(payment) => payment,
                None => return Err(bank.missing_payment(account, payment.id()).await),
            }
        }
        Err(error) => return Err(error.into()),
    };
    let location = get_payment::PATTERN.location(|name| match name {
        "accountId" => Some(retried.account.to_string()),
        _ => Some(retried.id().to_string()),
    });
    Ok(Located { location, body: retried.body(&request.caller) })
}
