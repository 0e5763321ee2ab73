//! B7: lists the archived payments of a date by status, across all accounts
//! (docs/requirements/bank.md#transaction-history).

use crate::{
    Bank, Transaction, TransactionBody,
    cost::{self, Calls, Pattern},
    lists::{OfDate, of_date},
};
use function::{Error, List, Request, Route, Trigger};
use keys::bank::Status;

pub const PATTERN: Pattern = Pattern {
    id: "B7",
    name: "list-transactions-by-date",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/transactions",
        scopes: &["bank:operate"],
        summary: "List the archived payments of all accounts on a day, by default PROCESSED ones",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| case.sharded_page(cost::TRANSACTIONS, cost::DUE_TRANSACTIONS))],
    contract: function::contract(&list_transactions_by_date),
    function: || function::http(list_transactions_by_date, Bank::warm_by_due_transactions),
};

/// Lists the archived payments of a date with one status, by default `PROCESSED`, for all accounts.
/// The order is the scheduled time.
pub async fn list_transactions_by_date(bank: Bank, request: Request<OfDate>) -> Result<List<TransactionBody>, Error> {
    of_date(&bank, &bank.transactions, &request, Status::Processed, Transaction::body).await
}
