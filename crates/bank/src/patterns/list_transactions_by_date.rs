//! B7: every account's transactions of a date.

use crate::{
    Bank, Transaction, TransactionBody,
    cost::{self, Calls, Pattern},
    lists::{OfDate, of_date},
};
use function::{Error, Function, List, Request, Route, Trigger};
use keys::bank::Status;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_transactions_by_date, Bank::warm_by_due_transactions)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "B7",
    name: "list-transactions-by-date",
    trigger: Trigger::Http(&[Route { method: "GET", path: "/bank/transactions", scopes: &["bank:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "as B3, on TransactionHistory",
        formula: "as B3",
        cost: |case| case.sharded_page(cost::TRANSACTIONS, cost::DUE_TRANSACTIONS),
    }],
    function,
};

/// Lists the transactions that were due on a date, over all accounts, in the order of the times.
///
/// # Errors
/// 400, or 403 for who is no operator.
pub async fn list_transactions_by_date(bank: Bank, request: Request<OfDate>) -> Result<List<TransactionBody>, Error> {
    of_date::<Transaction, _>(&bank, &bank.transactions, &request, Status::Processed).await
}
