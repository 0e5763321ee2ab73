//! L9: freezes, reactivates or closes an account
//! ([decision](../../../../docs/decisions/ledger-access.md)). The
//! [requirement](../../../../docs/requirements/ledger.md#where-our-keys-differ) does not name this
//! pattern.

use crate::{
    Account, AccountBody, DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    store::user,
};
use function::{Caller, Error, Fields, Function, Input, Json, Problem, Request, Route, Trigger, optimistically};
use keys::{AccountId, ledger::AccountStatus};
use table::cost::{Cost, read, write};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(update_account, Ledger::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L9",
    name: "update-account",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/ledger/accounts/{accountId}",
        scopes: &["ledger:write", "ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = ACCOUNT#<id>, SK = METADATA, strongly consistent; update if its version is unchanged",
        formula: "⌈account⌉ R and ⌈account⌉ W, GSI1 ⌈entry⌉ W",
        cost: |case| {
            Cost::default()
                .read(cost::LEDGER, read(case.account))
                .write(cost::LEDGER, write(case.account))
                .write(cost::BY_TIME, write(case.of_user))
        },
    }],
    function,
};

/// A requested change of an account's status.
#[derive(Debug, Clone)]
pub struct Change {
    account: AccountId,
    status: AccountStatus,
    version: Option<i64>,
}

impl Input for Change {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, status) = (fields.path("accountId"), fields.body("status"));
        let version = fields.body_if_any("version");
        Some(Self { account: account?, status: status?, version })
    }
}

/// Changes the status of an account. A closed account stays closed.
///
/// # Errors
/// Returns:
/// - 400 for an invalid request;
/// - 403 for another user's account, or if a caller without the operator scope reactivates or
///   closes a frozen account;
/// - 404 to an operator if the account does not exist (other callers get 403);
/// - 409 if the account is already closed, or if the request closes an account whose balance is not
///   zero;
/// - 412 if the account does not have the requested version.
pub async fn update_account(ledger: Ledger, request: Request<Change>) -> Result<Json<AccountBody>, Error> {
    let account = optimistically(|| ledger.change_status(&request)).await?;
    Ok(Json(account.try_into()?))
}

impl Ledger {
    async fn change_status(&self, request: &Request<Change>) -> Result<Account, Error> {
        let (change, caller) = (&request.input, &request.caller);
        let account = self.account(&change.account, caller).await?;
        // A retry after a lost response also succeeds here.
        if account.status == change.status {
            return Ok(account);
        }
        if change.version.is_some_and(|version| version != account.version) {
            return Err(Error::AnotherVersion);
        }
        account.must_become(change.status, caller)?;
        let next = account.next(&self.table).set(Account::STATUS, &change.status);
        let next = next.set(Account::STATUS_CHANGED_AT, &request.milli).set(Account::STATUS_CHANGED_BY, &user(caller)?);
        Ok(self.dynamo.update(next).await?)
    }
}

impl Account {
    fn must_become(&self, status: AccountStatus, caller: &Caller) -> Result<(), Error> {
        let refused = |rule, why: &str| Err(Error::Conflict(rule, format!("Account {} {why}.", self.id)));
        match status {
            _ if self.status == AccountStatus::Closed => refused(Problem::AccountClosed, "is permanently closed"),
            AccountStatus::Closed if self.holds()?.minor() != 0 => {
                refused(Problem::BalanceNotZero, "can be closed only if its balance is 0")
            }
            AccountStatus::Frozen => Ok(()),
            // Only operators may change the status of a frozen account, because an operator might
            // have frozen it.
            _ if self.status == AccountStatus::Frozen => caller.must_operate(DOMAIN),
            AccountStatus::Active | AccountStatus::Closed => Ok(()),
        }
    }
}
