//! B6: lists an account's archived payments, by default all of them
//! (docs/requirements/bank.md#transaction-history).

use crate::{
    Bank, Transaction, TransactionBody,
    cost::{self, Calls, Pattern},
    lists::{OfAccount, of_account},
};
use function::{Error, List, Request, Route, Trigger};
use keys::TimestampSeconds;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "B6",
    name: "list-account-transactions",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/transactions",
        scopes: &["bank:read", "bank:operate"],
        summary: "List the archived payments of an account in time order",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::TRANSACTIONS, table::cost::read_eventually(case.item * case.items))
    })],
    contract: function::contract(&list_account_transactions),
    function: || function::http(list_account_transactions, Bank::warm_by_query_transactions),
};

/// Lists an account's archived payments of every status in order of scheduled time.
pub async fn list_account_transactions(
    bank: Bank,
    request: Request<OfAccount>,
) -> Result<List<TransactionBody>, Error> {
    let always = (TimestampSeconds::MIN, TimestampSeconds::MAX);
    of_account(&bank.transactions, &request, always, Transaction::body).await
}
