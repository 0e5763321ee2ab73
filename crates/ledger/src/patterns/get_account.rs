//! L2: reads an account by its id
//! ([requirement](../../../../docs/requirements/ledger.md#get-an-account-by-id)).

use crate::{
    AccountBody, Ledger,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::AccountId;
use table::{
    Units,
    cost::{Cost, read},
};

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
    calls: &[
        Calls {
            variant: "",
            condition: "get PK = ACCOUNT#<id>, SK = METADATA, strongly consistent",
            formula: "⌈account⌉ R: the balance includes every posted transaction",
            cost: |case| Cost::default().read(cost::LEDGER, read(case.account)),
        },
        Calls {
            variant: ", grouped",
            condition: "as above; also query each of 8 shards, PK = ACCOUNT#<id>#INBOX#<shard>, SK begins with CREATED#, strongly consistent",
            formula: "⌈account⌉ R, and ⌈Σ inbox items⌉ R for each shard, at least 1 R",
            cost: |case| Cost::default().read(cost::LEDGER, read(case.account) + Units::whole(8)),
        },
    ],
    function,
};

/// The requested account.
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
/// Returns 403 if the account belongs to another user. If the account does not exist, operators get
/// 404, and other callers get 403.
pub async fn get_account(ledger: Ledger, request: Request<OfAccount>) -> Result<Json<AccountBody>, Error> {
    let account = ledger.books.account(&request.input.0, &request.caller).await?;
    let pending = ledger.books.pending(&account).await?;
    Ok(Json(AccountBody::try_from(account)?.with_pending(pending)))
}
