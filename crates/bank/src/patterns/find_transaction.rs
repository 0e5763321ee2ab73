//! B8: finds a transaction by its id (docs/requirements/bank.md#find-a-transaction-by-its-id).

use crate::{
    Bank, DOMAIN, Transaction, TransactionBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::TransactionId;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "B8",
    name: "find-transaction",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/transactions/{transactionId}",
        scopes: &["bank:operate"],
        summary: "Find a transaction by its id",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::BY_TRANSACTION, table::cost::read_eventually(case.entry))
            .read(cost::TRANSACTIONS, table::cost::read_eventually(case.item))
    })],
    contract: function::contract(&find_transaction),
    function: || function::http(find_transaction, Bank::warm_by_get_transaction),
};

/// Path parameter of the request: the transaction id.
#[derive(Debug, Clone, Input)]
pub struct FindTransactionInput(#[input(path = "transactionId")] TransactionId);

/// Finds an archived payment by its transaction id.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown transaction id.
pub async fn find_transaction(
    bank: Bank,
    request: Request<FindTransactionInput>,
) -> Result<Json<TransactionBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let key = bank.transactions.find_key_by_index("GSI2", Transaction::TRANSACTION_ID, &request.input.0).await?;
    let key = key.ok_or(Error::NotFound("transaction"))?;
    let transaction = match bank.transactions.get_eventually::<Transaction>(&key).await? {
        // The eventually consistent read may have missed the transaction, because a replica can lag
        // behind the index. Read the transaction again with strong consistency.
        None => bank.transactions.get(&key).await?,
        found => found,
    };
    Ok(Json(transaction.ok_or(Error::NotFound("transaction"))?.body(&request.caller)))
}
