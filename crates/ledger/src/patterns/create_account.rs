//! L2: opens an account ([requirement](../../../../docs/requirements/ledger.md#accounts)).

use crate::{
    Account, AccountBody, DOMAIN, Ledger,
    cost::{self, Calls, Named, Pattern},
    model::access::user,
    model::account::Terms,
};
use function::{Created, Error, Fingerprint, Input, Problem, Request, Route, Trigger};
use keys::{AccountId, ledger::PostingMode};
use money::Money;
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "L2",
    name: "create-account",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/accounts",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Open an account",
        problems: &[Problem::AccountLimit, Problem::IdempotencyKeyReused],
    }]),
    calls: &[
        Calls::new("", |case| entries(case).write(cost::LEDGER, (write(case.account) + 1).times(2))),
        Calls::new(", ledger:operate", |case| entries(case).write(cost::LEDGER, write(case.account))),
    ],
    contract: function::contract(&create_account),
    function: || function::http(create_account, Ledger::warm_by_get),
};

/// Returns the WRUs consumed by the index entries of a new account.
fn entries(case: &Named) -> Cost {
    Cost::default().write(cost::BY_TIME, write(case.of_user)).write(cost::BY_KEY, 1)
}

/// The request body.
#[derive(Debug, Clone, Input)]
pub struct CreateAccountInput(#[input(part)] Terms);

impl Terms {
    fn fingerprint(&self) -> Fingerprint {
        let negative = if self.allow_negative { "negative" } else { "" };
        let posting = self.posting.as_str();
        let parts = [self.user.as_str(), self.account_type.as_str(), self.currency.code(), negative, posting];
        Fingerprint::of(&[&["create-account"], &parts[..]].concat())
    }
}

/// Opens an account with a balance of zero. Accounts that operators open do not count towards the
/// limit of a user ([decision](../../../../docs/decisions/ledger-accounts.md)).
///
/// Only operators may open accounts that allow a negative balance, because all money in the ledger
/// comes from such accounts ([decision](../../../../docs/decisions/ledger-accounts.md)). Only
/// operators may open accounts with grouped posting
/// ([decision](../../../../docs/decisions/ledger-throughput.md)).
///
/// # Errors
/// Returns 400 for an invalid request, and 422 if the idempotency key was used with a different
/// request. Returns 409 if the user has already opened the maximum number of accounts. Returns 403
/// if a caller without the operator scope names another user, or asks for an account that allows a
/// negative balance or has grouped posting.
pub async fn create_account(
    ledger: Ledger,
    request: Request<CreateAccountInput>,
) -> Result<Created<AccountBody>, Error> {
    let CreateAccountInput(terms) = request.input;
    request.caller.must_be(&terms.user, DOMAIN)?;
    if terms.allow_negative || terms.posting == PostingMode::Grouped {
        request.caller.must_operate(DOMAIN)?;
    }
    let (by, key, now) = (user(&request.caller)?, request.idempotency_key.as_ref(), request.milli);
    let id = AccountId::of_request(&by, key, now.instant(), &request.random);
    let (asked, posting) = (terms.fingerprint(), terms.posting);
    let account = Account::opened(id, terms, asked, now);
    let account = if request.caller.operates(DOMAIN) {
        ledger.books.make(account).await?
    } else {
        ledger.make_counted(account).await?
    };
    let account = account.when_opened(posting);
    let pending = account.has_inbox().then(|| Money::zero(account.currency));
    Ok(Created { id: account.id.to_string(), body: AccountBody::of(account, &request.caller)?.with_pending(pending) })
}
