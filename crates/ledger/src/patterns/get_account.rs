//! L2: an account by its id (seed 004, entity 2).

use crate::{
    AccountBody, Ledger,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::AccountId;
use table::cost::{Cost, read};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_account, Ledger::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L2",
    name: "get-account",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/accounts/{accountId}",
        scopes: &["ledger:read", "ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = ACCOUNT#<id>, SK = METADATA, strongly",
        formula: "⌈account⌉ R: what was posted is seen",
        cost: |case| Cost::default().read(cost::LEDGER, read(case.account)),
    }],
    function,
};

/// Which account.
#[derive(Debug, Clone)]
pub struct OfAccount(AccountId);

impl Input for OfAccount {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("accountId").map(Self)
    }
}

/// Reads an account.
///
/// # Errors
/// 403 for another's, 404 where there is none.
pub async fn get_account(ledger: Ledger, request: Request<OfAccount>) -> Result<Json<AccountBody>, Error> {
    let account = ledger.account(&request.input.0, &request.caller).await?;
    Ok(Json(account.try_into()?))
}
