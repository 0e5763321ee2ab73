//! L4: reads a transaction with its legs
//! ([requirement](../../../../docs/requirements/ledger.md#get-the-legs-of-a-transaction)).

use crate::{
    Ledger,
    cost::{self, Calls, Pattern},
    model::transaction::TransactionBody,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::TransactionId;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "L4",
    name: "get-transaction",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/transactions/{transactionId}",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "Get a transaction with its legs",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::LEDGER, read_eventually(case.collection())))],
    contract: function::contract(&get_transaction),
    function: || function::http(get_transaction, Ledger::warm_by_query),
};

/// The requested transaction.
#[derive(Debug, Clone, Input)]
pub struct GetTransactionInput(#[input(path = "transactionId")] TransactionId);

/// Reads a transaction. Operators may read any transaction. Other callers may read a transaction if
/// it has a leg on one of their accounts.
///
/// # Errors
/// Returns 403 if the caller is not an operator and does not own any account of the transaction. If
/// the transaction does not exist, operators get 404, and other callers get 403.
pub async fn get_transaction(
    ledger: Ledger,
    request: Request<GetTransactionInput>,
) -> Result<Json<TransactionBody>, Error> {
    let posted = ledger.books.transaction_shown(&request.input.0, &request.caller).await?;
    Ok(Json(posted.body_now(&request.caller)))
}
