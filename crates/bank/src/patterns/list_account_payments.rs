//! B2: lists an account's payments, by default for the next 90 days
//! (docs/requirements/bank.md#access-pattern-2-list-scheduled-payments-of-an-account).

use crate::{
    Bank, Payment, PaymentBody,
    cost::{self, Calls, Pattern},
    lists::{OfAccount, of_account},
};
use function::{Error, List, Request, Route, Trigger};
use keys::bank::DAYS_AHEAD;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "B2",
    name: "list-account-payments",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/payments",
        scopes: &["bank:read", "bank:operate"],
        summary: "List the payments of an account in time order, by default for the next 90 days",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::PAYMENTS, table::cost::read_eventually(case.item * case.items))
    })],
    contract: function::contract(&list_account_payments),
    function: || function::http(list_account_payments, Bank::warm_by_query_payments),
};

/// Lists an account's payments in order of scheduled time.
pub async fn list_account_payments(bank: Bank, request: Request<OfAccount>) -> Result<List<PaymentBody>, Error> {
    let next_90_days = (request.first_page, request.first_page.plus_days(DAYS_AHEAD));
    of_account(&bank.payments, &request, next_90_days, Payment::body).await
}
