//! B4: changes the status of a payment (docs/requirements/bank.md#end-of-day-processing,
//! docs/decisions/status.md).

use crate::{
    Bank, DOMAIN, Execution, Payment, PaymentBody,
    cost::{self, Calls, Named, Pattern},
    model::transaction::TransactionGuard,
};
use function::{Error, Fields, Function, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    AccountId, RequestId, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentId, PaymentSort, Status},
};
use table::{Change, Condition, Key, Value, cost::Cost};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(update_payment_status, Bank::warm_by_get_payment)
}

/// Declares the access pattern's route, key conditions and costs.
pub const PATTERN: Pattern = Pattern {
    id: "B4",
    name: "update-payment-status",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/bank/accounts/{accountId}/payments/{paymentId}",
        scopes: &["bank:write", "bank:operate"],
    }]),
    calls: &[
        Calls::new("", move_cost),
        Calls::new(" to PROCESSED", |case| {
            move_cost(case).write(cost::PAYMENTS, table::cost::write(case.item)).write(cost::PAYMENTS, 2)
        }),
    ],
    function,
};

fn move_cost(case: &Named) -> Cost {
    Cost::default()
        .read(cost::PAYMENTS, table::cost::read(case.item))
        .write(cost::PAYMENTS, table::cost::write(case.item))
        .write(cost::DUE_PAYMENTS, case.index_write().times(2))
}

/// Path and body of the request.
#[derive(Debug, Clone)]
pub struct UpdatePaymentStatusInput {
    account: AccountId,
    payment: PaymentId,
    to: Target,
    expected: Option<Status>,
}

/// Requested status. `PROCESSED` requires a transaction id. The other statuses do not allow a
/// transaction id.
#[derive(Debug, Clone)]
enum Target {
    Processed(TransactionId),
    Other(Status),
}

impl Input for UpdatePaymentStatusInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, payment) = (fields.path("accountId"), fields.path("paymentId"));
        let (status, expected) = (fields.body("status"), fields.body_if_any("expectedStatus"));
        let transaction = fields.body_if_any::<TransactionId>("transactionId");
        let to = match (status?, transaction) {
            (Status::Processed, Some(transaction)) => Some(Target::Processed(transaction)),
            (Status::Processed, None) => fields.fault("/body/transactionId", "is required for status PROCESSED"),
            (_, Some(_)) => fields.fault("/body/transactionId", "is only allowed for status PROCESSED"),
            (other, None) => Some(Target::Other(other)),
        };
        Some(Self { account: account?, payment: payment?, to: to?, expected })
    }
}

impl UpdatePaymentStatusInput {
    fn key(&self) -> Key {
        Key::new(&self.account, &PaymentSort(self.payment))
    }

    fn target(&self) -> Status {
        match self.to {
            Target::Processed(_) => Status::Processed,
            Target::Other(status) => status,
        }
    }

    /// Returns whether an earlier attempt of this request already changed the status. The response
    /// to that attempt was lost (docs/decisions/lost-answers.md).
    fn moved(&self, payment: &Payment, id: RequestId) -> bool {
        payment.moved_by == Some(id) && payment.due.status == self.target()
    }

    /// Returns the status that the payment must have before the change. Each status has at most one
    /// predecessor.
    fn origin(&self) -> Result<Status, Error> {
        let to = self.target();
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
    if wanted.target() != Status::Cancelled {
        caller.must_operate(DOMAIN)?;
    }
    let from = wanted.origin()?;
    let payment = match &wanted.to {
        Target::Processed(transaction) => bank.process(wanted, from, transaction, (*id, *now)).await?,
        Target::Other(_) => bank.advance(wanted, from, (*id, *now)).await?,
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
        let moved_at = if wanted.target() == Status::Pending { Payment::DISPATCHED_AT } else { Payment::SETTLED_AT };
        let change = Payment::update(&self.payments, wanted.key()).set(Payment::DUE, &sort(wanted.target()));
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
