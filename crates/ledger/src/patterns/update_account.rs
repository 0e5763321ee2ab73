//! L9: freezes, thaws and closes an account.

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
        condition: "get PK = ACCOUNT#<id>, SK = METADATA, strongly; update if it is still that version",
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

/// What is to become of which account.
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

/// Freezes an account, makes it active again, or closes it for good.
///
/// # Errors
/// 400, 403 for another's account and for making one active again where the caller is no operator, 404, 409 for a closed account
/// and for closing one that holds something, 412 where the version is not the one that the caller names.
pub async fn update_account(ledger: Ledger, request: Request<Change>) -> Result<Json<AccountBody>, Error> {
    let account = optimistically(|| ledger.change_status(&request)).await?;
    Ok(Json(account.try_into()?))
}

impl Ledger {
    async fn change_status(&self, request: &Request<Change>) -> Result<Account, Error> {
        let (change, caller) = (&request.input, &request.caller);
        let account = self.account(&change.account, caller).await?;
        // Also where the answer to the same request was lost.
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
            _ if self.status == AccountStatus::Closed => refused(Problem::AccountClosed, "is closed for good"),
            AccountStatus::Closed if self.holds()?.minor() != 0 => {
                refused(Problem::BalanceNotZero, "can be closed when its balance is 0")
            }
            AccountStatus::Frozen => Ok(()),
            // What was frozen for a reason its owner neither thaws nor closes.
            _ if self.status == AccountStatus::Frozen => caller.must_operate(DOMAIN),
            AccountStatus::Active | AccountStatus::Closed => Ok(()),
        }
    }
}
