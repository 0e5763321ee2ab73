//! B4: changes the status of a payment, or its data and its time
//! (docs/requirements/bank.md#end-of-day-processing, docs/requirements/bank.md#amend-a-payment,
//! docs/decisions/payments.md).

use crate::{
    Bank, DOMAIN, Execution, Payment, PaymentBody,
    amendment::{Amendment, MovedTo},
    cost::{self, Calls, Named, Pattern},
    model::transaction::TransactionGuard,
};
use function::{Caller, Contract, Error, Fields, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    AccountId, RequestId, TimestampSeconds, TransactionId,
    bank::{DueSort, PaymentId, PaymentSort, Status},
};
use serde::de::IgnoredAny;
use serde_json::json;
use table::{Change, Condition, JsonText, Key, Value, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "B4",
    name: "update-payment-status",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/bank/accounts/{accountId}/payments/{paymentId}",
        scopes: &["bank:write", "bank:operate"],
        summary: "Change the status of a payment, or its data and its time",
        problems: &[
            Problem::NotFound,
            Problem::PaymentMoved,
            Problem::StatusConflict,
            Problem::TransactionIdUsed,
            Problem::ExecutionUnderWay,
        ],
    }]),
    calls: &[
        Calls::new("", move_cost),
        Calls::new(" to PROCESSED", |case| {
            move_cost(case).write(cost::PAYMENTS, table::cost::write(case.item)).write(cost::PAYMENTS, 2)
        }),
        Calls::new(", new data", |case| {
            Cost::default()
                .read(cost::PAYMENTS, table::cost::read(case.item))
                .write(cost::PAYMENTS, table::cost::write(case.item))
                .write(cost::DUE_PAYMENTS, case.index_update())
        }),
        Calls::new(", new time", |case| {
            Cost::default()
                .read(cost::PAYMENTS, table::cost::read(case.item))
                .write(cost::PAYMENTS, table::cost::write(case.item).times(4) + 2)
                .write(cost::DUE_PAYMENTS, case.index_write().times(2))
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

/// A request for another status, or for new data and a new time.
#[derive(Debug, Clone)]
pub enum UpdatePaymentStatusInput {
    /// Another status.
    Status(StatusChange),
    /// New data, a new time, or both.
    Amendment(Amendment),
}

/// Members of the body that a request for another status has.
const OF_STATUS: [&str; 3] = ["status", "expectedStatus", "transactionId"];

impl Input for UpdatePaymentStatusInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        if !fields.has_body("scheduledTime") && !fields.has_body("data") {
            return StatusChange::read(fields).map(Self::Status);
        }
        for other in OF_STATUS {
            // Reading the member prevents a second fault, which would call it unknown.
            if fields.has_body(other) && fields.body::<IgnoredAny>(other).is_some() {
                fields.fault::<()>(&format!("/body/{other}"), "cannot be combined with scheduledTime or data");
            }
        }
        Amendment::read(fields).map(Self::Amendment)
    }

    fn describe(contract: &mut Contract) {
        StatusChange::describe(contract);
        contract.name("UpdatePaymentStatusInput");
        let time = "Only for a SCHEDULED payment. Must not be before the current day in UTC. With another time, the \
            payment has another id.";
        contract.body::<TimestampSeconds>("scheduledTime", time, false);
        contract.body::<JsonText>("data", "Only for a SCHEDULED payment. As in the request that schedules it.", false);
        contract.problem::<MovedTo>(Problem::PaymentMoved);
        contract.adapt_body(|body| {
            body.remove("required");
            let about = "Either `status`, or `scheduledTime`, `data` or both.";
            body.insert("description".to_owned(), about.into());
            let shapes = json!([
                {
                    "title": "StatusChange",
                    "required": ["status"],
                    "properties": {"scheduledTime": false, "data": false},
                    "if": {"properties": {"status": {"type": "string", "enum": ["PROCESSED"]}}},
                    "then": {"required": ["transactionId"]},
                    "else": {"properties": {"transactionId": false}},
                },
                {
                    "title": "Amendment",
                    "minProperties": 1,
                    "properties": {"status": false, "expectedStatus": false, "transactionId": false},
                },
            ]);
            body.insert("allOf".to_owned(), json!([{"oneOf": shapes}]));
        });
    }
}

/// Path and body of a request for another status.
#[derive(Debug, Clone, Input)]
#[input(check = must_fit(status, transaction))]
pub struct StatusChange {
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

impl StatusChange {
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

/// Caller, id and time of the request.
#[derive(Clone, Copy)]
struct By<'a> {
    caller: &'a Caller,
    id: RequestId,
    now: TimestampSeconds,
}

fn not_allowed(detail: String) -> Error {
    Error::Conflict(Problem::StatusConflict, detail)
}

fn stands(payment: &Payment) -> Error {
    not_allowed(format!("The status of the payment is {}.", payment.due.status))
}

/// Changes the status of a payment, if the payment still has the expected status. The allowed
/// changes are `SCHEDULED` to `PENDING` or `CANCELLED`, and `PENDING` to `PROCESSED` or `FAILED`.
/// Or gives a `SCHEDULED` payment new data, a new time, or both.
///
/// Customers can only cancel and amend payments (docs/requirements/bank.md#permissions).
///
/// # Errors
/// 403 for an account that the caller does not own, and for any status that a customer sets except
/// `CANCELLED`. 404 for an unknown payment. 409 for a change that is not allowed, for a payment
/// that does not have the expected status or that the bank is executing, or for a transaction id
/// that belongs to a different payment. For an amendment, the errors of [`Bank::amend`].
pub async fn update_payment_status(
    bank: Bank,
    request: Request<UpdatePaymentStatusInput>,
) -> Result<Json<PaymentBody>, Error> {
    let Request { input, caller, id, now, .. } = &request;
    let wanted = match input {
        UpdatePaymentStatusInput::Status(wanted) => wanted,
        UpdatePaymentStatusInput::Amendment(wanted) => {
            caller.must_own(&wanted.account, DOMAIN)?;
            return Ok(Json(bank.amend(wanted, caller, *now).await?.body(caller)));
        }
    };
    caller.must_own(&wanted.account, DOMAIN)?;
    if wanted.status != Status::Cancelled {
        caller.must_operate(DOMAIN)?;
    }
    let from = wanted.origin()?;
    let by = By { caller, id: *id, now: *now };
    let payment = match &wanted.transaction {
        Some(transaction) => bank.process(wanted, from, transaction, by).await?,
        None => bank.advance(wanted, from, by).await?,
    };
    Ok(Json(payment.body(caller)))
}

impl Bank {
    /// Whether the bank executes the payment itself.
    fn executes(&self, payment: &Payment) -> bool {
        self.payer.is_inside() && payment.is_in_execution()
    }

    /// The error for a payment that does not allow the change.
    pub(crate) fn stands(&self, payment: &Payment) -> Error {
        if self.executes(payment) {
            let detail = "The bank executes the payment itself, and will record the outcome.".to_owned();
            return Error::Conflict(Problem::ExecutionUnderWay, detail);
        }
        stands(payment)
    }

    fn advancement(&self, wanted: &StatusChange, from: Status, by: By<'_>) -> Result<Change, Error> {
        let sort = |status| DueSort { status, payment: wanted.payment };
        let moved_at = if wanted.status == Status::Pending { Payment::DISPATCHED_AT } else { Payment::SETTLED_AT };
        let change = Payment::update(&self.payments, wanted.key()).set(Payment::DUE, &sort(wanted.status));
        let change = change.set(Payment::MOVED_BY, &by.id).set(moved_at, &by.now);
        let change = change.set(Payment::CHANGED_BY, Value::of(&by.caller.author(DOMAIN))?);
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

    async fn advance(&self, wanted: &StatusChange, from: Status, by: By<'_>) -> Result<Payment, Error> {
        match self.dynamo.update(self.advancement(wanted, from, by)?).await {
            Err(table::Error::Refused(refused)) => match refused.found::<Payment>(0)? {
                None => Err(self.missing_payment(&wanted.account, wanted.payment).await),
                Some(found) if wanted.moved(&found, by.id) => Ok(found),
                Some(found) => Err(self.stands(&found)),
            },
            done => Ok(done?),
        }
    }

    /// Reads the payment with strong consistency.
    async fn stored(&self, wanted: &StatusChange) -> Result<Payment, Error> {
        match self.payments.get(&wanted.key()).await? {
            Some(found) => Ok(found),
            None => Err(self.missing_payment(&wanted.account, wanted.payment).await),
        }
    }

    async fn process(
        &self,
        wanted: &StatusChange,
        from: Status,
        transaction: &TransactionId,
        by: By<'_>,
    ) -> Result<Payment, Error> {
        let found = self.stored(wanted).await?;
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
                let (transaction_id, changed_by) = (Some(transaction.clone()), Some(by.caller.author(DOMAIN)));
                let settled = Payment { due, transaction_id, moved_by: Some(by.id), settled_at: Some(by.now), ..found };
                Ok(Payment { failure_reason: None, execution: None, next_attempt_at: None, changed_by, ..settled })
            }
            Err(table::Error::Refused(refused)) => {
                let ours = refused.found::<TransactionGuard>(1)?.is_some_and(|found| found == guard);
                if refused.at(1) && !refused.at(0) && !ours {
                    let detail = "The transaction id belongs to a different payment.".to_owned();
                    return Err(Error::Conflict(Problem::TransactionIdUsed, detail));
                }
                // If only the condition of the guard fails, the error does not include the payment.
                // Read the payment to find out whether an earlier attempt changed it.
                let found = self.stored(wanted).await?;
                if wanted.moved(&found, by.id) { Ok(found) } else { Err(self.stands(&found)) }
            }
            Err(error) => Err(error.into()),
        }
    }
}
