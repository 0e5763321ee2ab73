//! B6: an account's transactions, by default all of them.

use crate::{
    Bank, Transaction, TransactionBody,
    cost::{self, Calls, Pattern},
    lists::{OfAccount, of_account},
};
use function::{Error, Function, List, Request, Route, Trigger};
use keys::TimestampSeconds;
use table::cost::Cost;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_account_transactions, Bank::warm_by_query_transactions)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "B6",
    name: "list-account-transactions",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/transactions",
        scopes: &["bank:read", "bank:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "PK = account, SK between from (the first) and to (the last)",
        formula: "½ ⌈Σ items⌉ R",
        cost: |case| Cost::default().read(cost::TRANSACTIONS, table::cost::read_eventually(case.item * case.items)),
    }],
    function,
};

/// Lists an account's transactions in the order of their times.
///
/// # Errors
/// 400, or 403 for another's account.
pub async fn list_account_transactions(
    bank: Bank,
    request: Request<OfAccount>,
) -> Result<List<TransactionBody>, Error> {
    of_account::<Transaction, _>(&bank.transactions, &request, (TimestampSeconds::MIN, TimestampSeconds::MAX)).await
}
