//! B4: changes the status of a payment (docs/requirements/bank.md#end-of-day-processing,
//! docs/decisions/payments.md).

use crate::{
    Bank, DOMAIN, Execution, Payment, PaymentBody,
    cost::{self, Calls, Named, Pattern},
    model::transaction::TransactionGuard,
};
use function::{Error, Fields, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    AccountId, RequestId, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentId, PaymentSort, Status},
};
use serde_json::{Map, json};
use table::{Change, Condition, Key, Value, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "B4",
    name: "update-payment-status",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/bank/accounts/{accountId}/payments/{paymentId}",
        scopes: &["bank:write", "bank:operate"],
        summary: "Change the status of a payment",
        problems: &[Problem::NotFound, Problem::StatusConflict, Problem::TransactionIdUsed, Problem::ExecutionUnderWay],
    }]),
    calls: &[
        Calls::new("", move_cost),
        Calls::new(" to PROCESSED", |case| {
            move_cost(case).write(cost::PAYMENTS, table::cost::write(case.item)).write(cost::PAYMENTS, 2)
        }),
    ],
    contract: function::contract(&update_payment_status),
    function: || function::http(update_payment_status, Bank::warm_by_get_payment),
};

fn move_cost(case: &Named) -> Cost {
    Cost::default()
        .read(cost::PAYMENTS, table::cost::read(case.item))
        .write(cost::PAYMENTS, table::cost::write(case.item))
        .write(cost::DUE_PAYMENTS, case.index_write().times(2))
}

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
#[input(check = must_fit(status, transaction), schema = only_if_processed)]
pub struct UpdatePaymentStatusInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(path = "paymentId")]
    payment: PaymentId,
    /// Without `bank:operate`, the only allowed status is CANCELLED.
    #[input(body)]
    status: Status,
    #[input(body = "expectedStatus")]
    expected: Option<Status>,
    /// Required for status PROCESSED. No other status allows it.
    #[input(body = "transactionId")]
    transaction: Option<TransactionId>,
}

fn must_fit(fields: &mut Fields, status: Option<&Status>, transaction: Option<&TransactionId>) {
    let Some(status) = status else { return };
    let detail = match (*status == Status::Processed, transaction.is_some()) {
        (true, false) => "is required for status PROCESSED",
        (false, true) => "is only allowed for status PROCESSED",
        _ => return,
    };
    fields.fault::<()>("/body/transactionId", detail);
}

fn only_if_processed(body: &mut Map<String, serde_json::Value>) {
    body.insert("if".to_owned(), json!({"properties": {"status": {"type": "string", "enum": ["PROCESSED"]}}}));
    body.insert("then".to_owned(), json!({"required": ["transactionId"]}));
    body.insert("else".to_owned(), json!({"properties": {"transactionId": false}}));
}

impl UpdatePaymentStatusInput {
    fn key(&self) -> Key {
        Key::new(&self.account, &PaymentSort(self.payment))
    }

    /// Returns whether an earlier attempt of this request already changed the status. The response
    /// to that attempt was lost (docs/decisions/idempotency.md).
    fn moved(&self, payment: &Payment, id: RequestId) -> bool {
        payment.moved_by == Some(id) && payment.due.status == self.status
    }

    /// Returns the status that the payment must have before the change. Each status has at most one
    /// predecessor.
    fn origin(&self) -> Result<Status, Error> {
        let to = self.status;
        let from = to.predecessor().filter(|from| self.expected.is_none_or(|expected| expected == *from));
        from.ok_or_else(|| {
            let from = self.expected.map(|status| format!(" from {status}")).unwrap_or_default();
            not_allowed(format!("A payment cannot change{from} to {to}."))
        })
    }
}

/// Id and time of the request.
type By = (RequestId, TimestampSeconds);

fn not_allowed(detail: String) -> Error {
    Error::Conflict(Problem::StatusConflict, detail)
}

fn stands(payment: &Payment) -> Error {
    not_allowed(format!("The status of the payment is {}.", payment.due.status))
}

/// Changes the status of a payment, if the payment still has the expected status. The allowed
/// changes are `SCHEDULED` to `PENDING` or `CANCELLED`, and `PENDING` to `PROCESSED` or `FAILED`.
///
/// Customers can only cancel payments (docs/requirements/bank.md#permissions).
///
/// # Errors
/// 403 for an account that the caller does not own, and for any change of a customer except to
/// `CANCELLED`. 404 for an unknown payment. 409 for a change that is not allowed, for a payment
/// that does not have the expected status or that the bank is executing, or for a transaction id
/// that belongs to a different payment.
pub async fn update_payment_status(
    bank: Bank,
    request: Request<UpdatePaymentStatusInput>,
) -> Result<Json<PaymentBody>, Error> {
    let Request { input: wanted, caller, id, now, .. } = &request;
    caller.must_own(&wanted.account, DOMAIN)?;
    if wanted.status != Status::Cancelled {
        caller.must_operate(DOMAIN)?;
    }
    let from = wanted.origin()?;
    let payment = match &wanted.transaction {
        Some(transaction) => bank.process(wanted, from, transaction, (*id, *now)).await?,
        None => bank.advance(wanted, from, (*id, *now)).await?,
    };
    Ok(Json(payment.into()))
}

impl Bank {
    /// Whether the bank executes the payment itself.
    fn executes(&self, payment: &Payment) -> bool {
        self.payer.is_inside() && payment.is_in_execution()
    }

    /// The error for a payment that does not allow the change.
    fn stands(&self, payment: &Payment) -> Error {
        if self.executes(payment) {
            let detail = "The bank executes the payment itself, and will record the outcome.".to_owned();
            return Error::Conflict(Problem::ExecutionUnderWay, detail);
        }
        stands(payment)
    }

    fn advancement(&self, wanted: &UpdatePaymentStatusInput, from: Status, (id, now): By) -> Result<Change, Error> {
        let sort = |status| DueSort { status, payment: wanted.payment };
        let moved_at = if wanted.status == Status::Pending { Payment::DISPATCHED_AT } else { Payment::SETTLED_AT };
        let change = Payment::update(&self.payments, wanted.key()).set(Payment::DUE, &sort(wanted.status));
        let change = change.set(Payment::MOVED_BY, &id).set(moved_at, &now);
        let change = change.only_if(Condition::is(Payment::DUE, &sort(from)));
        if from != Status::Pending {
            return Ok(change);
        }
        let change = change.remove(Payment::EXECUTION).remove(Payment::NEXT_ATTEMPT_AT);
        if !self.payer.is_inside() {
            return Ok(change);
        }
        // While the bank executes the payment, only its executor knows the outcome.
        Ok(change.only_if(Condition::missing_or_is(Payment::EXECUTION, Value::of(&Execution::Exhausted)?)))
    }

    async fn advance(&self, wanted: &UpdatePaymentStatusInput, from: Status, by: By) -> Result<Payment, Error> {
        match self.dynamo.update(self.advancement(wanted, from, by)?).await {
            Err(table::Error::Refused(refused)) => match refused.found::<Payment>(0)? {
                None => Err(Error::NotFound("payment")),
                Some(found) if wanted.moved(&found, by.0) => Ok(found),
                Some(found) => Err(self.stands(&found)),
            },
            done => Ok(done?),
        }
    }

    async fn process(
        &self,
        wanted: &UpdatePaymentStatusInput,
        from: Status,
        transaction: &TransactionId,
        by: By,
    ) -> Result<Payment, Error> {
        let found = self.payments.get::<Payment>(&wanted.key()).await?.ok_or(Error::NotFound("payment"))?;
        if found.due.status != from || self.executes(&found) {
            return Err(self.stands(&found));
        }
        let guard = TransactionGuard::of(&found, transaction);
        let update = self.advancement(wanted, from, by)?.set(Payment::TRANSACTION_ID, transaction);
        // A payment has no room for both a transaction id and a reason.
        let update = update.remove(Payment::FAILURE_REASON);
        match self.dynamo.transact(vec![update, self.payments.put_new(&guard)?]).await {
            Ok(()) => {
                let due = DueSort { status: Status::Processed, payment: wanted.payment };
                let (id, now) = by;
                let transaction_id = Some(transaction.clone());
                let settled = Payment { due, transaction_id, moved_by: Some(id), settled_at: Some(now), ..found };
                Ok(Payment { failure_reason: None, execution: None, next_attempt_at: None, ..settled })
            }
            Err(table::Error::Refused(refused)) => {
                let ours = refused.found::<TransactionGuard>(1)?.is_some_and(|found| found == guard);
                if refused.at(1) && !refused.at(0) && !ours {
                    let detail = "The transaction id belongs to a different payment.".to_owned();
                    return Err(Error::Conflict(Problem::TransactionIdUsed, detail));
                }
                // If only the condition of the guard fails, the error does not include the payment.
                // Read the payment to find out whether an earlier attempt changed it.
                let found = self.payments.get::<Payment>(&wanted.key()).await?.ok_or(Error::NotFound("payment"))?;
                if wanted.moved(&found, by.0) { Ok(found) } else { Err(self.stands(&found)) }
            }
            Err(error) => Err(error.into()),
        }
    }
}
