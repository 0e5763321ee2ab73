//! B3: lists the payments of a date by status, across all accounts
//! (docs/requirements/bank.md#access-pattern-3-list-payments-of-a-date-by-status,
//! docs/decisions/lists.md).

use crate::{
    Bank, Payment, PaymentBody,
    cost::{self, Calls, Pattern},
    lists::{OfDate, of_date},
};
use function::{Error, List, Request, Route, Trigger};
use keys::bank::Status;

pub const PATTERN: Pattern = Pattern {
    id: "B3",
    name: "list-due-payments",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/payments/due",
        scopes: &["bank:operate"],
        summary: "List the payments of all accounts that are due on a day, by default SCHEDULED ones",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| case.sharded_page(cost::PAYMENTS, cost::DUE_PAYMENTS))],
    contract: function::contract(&list_due_payments),
    function: || function::http(list_due_payments, Bank::warm_by_due_payments),
};

/// Lists the payments of a date for all accounts, in order of scheduled time.
pub async fn list_due_payments(bank: Bank, request: Request<OfDate>) -> Result<List<PaymentBody>, Error> {
    of_date(&bank, &bank.payments, &request, Status::Scheduled, Payment::body).await
}
