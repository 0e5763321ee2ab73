//! L2: reads an account by its id
//! ([requirement](../../../../docs/requirements/ledger.md#get-an-account-by-id)).

use crate::{
    Account, AccountBody, Ledger,
    cost::{self, Calls, Pattern},
    store::Books,
};
use function::{Caller, Error, Input, Json, Problem, Request, Route, Trigger};
use keys::AccountId;
use table::cost::{Cost, read};

pub const PATTERN: Pattern = Pattern {
    id: "L2",
    name: "get-account",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/accounts/{accountId}",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "Get an account",
        problems: &[Problem::NotFound],
    }]),
    calls: &[
        Calls::new("", |case| Cost::default().read(cost::LEDGER, read(case.account))),
        Calls::new(", grouped", |case| case.with_inbox(Cost::default())),
    ],
    contract: function::contract(&get_account),
    function: || function::http(get_account, Ledger::warm_by_get),
};

/// Maximum number of attempts to read the balance and the inbox of an account at the same time.
const ATTEMPTS: usize = 3;

/// The requested account.
#[derive(Debug, Clone, Input)]
pub struct GetAccountInput(#[input(path = "accountId")] AccountId);

/// Reads an account.
///
/// # Errors
/// Returns 403 if the account belongs to another user. If the account does not exist, operators get
/// 404, and other callers get 403.
pub async fn get_account(ledger: Ledger, request: Request<GetAccountInput>) -> Result<Json<AccountBody>, Error> {
    let account = ledger.books.account(&request.input.0, &request.caller).await?;
    Ok(Json(ledger.books.with_pending(account, &request.caller).await?))
}

impl Books {
    /// Returns the account with the credits in its inbox, if it has one. Reads the account again
    /// afterwards: a settlement between the reads would show its credits neither in the balance nor
    /// as pending.
    ///
    /// # Errors
    /// The errors of [`Self::account`].
    pub(crate) async fn with_pending(&self, mut account: Account, caller: &Caller) -> Result<AccountBody, Error> {
        for _ in 0..ATTEMPTS {
            let pending = self.pending(&account).await?;
            let again = if account.has_inbox() { self.account(&account.id, caller).await? } else { account.clone() };
            if again.version == account.version {
                return Ok(AccountBody::of(account, caller)?.with_pending(pending));
            }
            account = again;
        }
        // The account changes constantly.
        let pending = self.pending(&account).await?;
        Ok(AccountBody::of(account, caller)?.with_pending(pending))
    }
}
