//! L4: a transaction with its legs (seed 004, entities 3 and 4).

use crate::{
    Ledger,
    cost::{self, Calls, Pattern},
    model::transaction::TransactionBody,
    patterns::reverse_transaction::OfTransaction,
    store::missing,
};
use function::{Error, Function, Json, Request, Route, Trigger};
use table::cost::Cost;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_transaction, Ledger::warm_by_query)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L4",
    name: "get-transaction",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/transactions/{transactionId}",
        scopes: &["ledger:read", "ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "PK = TXN#<id>, strongly: header and legs in one query",
        formula: "⌈Σ header and legs⌉ R: what was posted is seen",
        cost: |case| Cost::default().read(cost::LEDGER, case.collection()),
    }],
    function,
};

/// Reads a transaction: operators any, others those with a leg on an account of theirs.
///
/// # Errors
/// 403 for others', 404 where there is none.
pub async fn get_transaction(ledger: Ledger, request: Request<OfTransaction>) -> Result<Json<TransactionBody>, Error> {
    let posted = ledger.transaction(&request.input.0).await?;
    let posted = posted.ok_or_else(|| missing("transaction", &request.caller))?;
    if posted.concerns(&request.caller) { Ok(Json(posted.body_now(&request.caller))) } else { Err(Error::Forbidden) }
}
