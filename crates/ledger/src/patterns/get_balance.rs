//! L13: reads the balance of an account at a time
//! ([requirement](../../../../docs/requirements/ledger.md#balance-at-a-time)).

use crate::{
    Account, Ledger,
    cost::{self, Calls, Pattern},
    history::NewestLeg,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use futures::future::try_join;
use keys::{AccountId, Bound, TimestampMillis};
use money::{Currency, Decimal, Money};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Item,
    cost::{Cost, read, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L13",
    name: "get-balance",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/accounts/{accountId}/balance",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "Get the balance of an account at a time",
        problems: &[Problem::NotFound],
    }]),
    calls: &[
        Calls::new("", |case| Cost::default().read(cost::LEDGER, read(case.account))),
        Calls::new(", at", |case| {
            Cost::default().read(cost::LEDGER, read(case.account)).read(cost::BY_TIME, read_eventually(case.leg))
        }),
    ],
    contract: function::contract(&get_balance),
    function: || function::http(get_balance, Ledger::warm_by_get),
};

/// The requested account and time.
#[derive(Debug, Clone, Input)]
pub struct GetBalanceInput {
    #[input(path = "accountId")]
    account: AccountId,
    /// The time, which must not be in the future. A date means the end of the day, or now if the
    /// day is not over. The default is the time of the request.
    #[input(query)]
    at: Option<Bound>,
}

/// The balance of an account after the last leg at or before a time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BalanceBody {
    account_id: AccountId,
    at: TimestampMillis,
    balance: Decimal,
    currency: Currency,
}

/// Reads the balance of an account after the last leg at or before a time
/// ([decision](../../../../docs/decisions/ledger-costs.md)).
///
/// # Errors
/// Returns 400 for an invalid request or a time in the future, and 403 if the account belongs to
/// another user. If the account does not exist, operators get 404, and other callers get 403. An
/// unreadable leg is an internal error.
pub async fn get_balance(ledger: Ledger, request: Request<GetBalanceInput>) -> Result<Json<BalanceBody>, Error> {
    let GetBalanceInput { account: id, at } = &request.input;
    let is_future = || Error::invalid("/query/at", "must not be in the future");
    let at = at.map(|at| at.until(request.milli).ok_or_else(is_future)).transpose()?;
    let newest = async {
        let Some(at) = at else { return Ok(None) };
        Ok(Some((at, ledger.newest_through(id, at).await?)))
    };
    let (account, newest) = Box::pin(try_join(ledger.books.account(id, &request.caller), newest)).await?;
    let balance = match newest {
        // The account is read with strong consistency, and the index is not.
        Some((at, newest)) if account.last_at().is_some_and(|last| last > at) => balance_after(&account, &newest)?,
        _ => account.readable_balance()?,
    };
    let (balance, currency) = (balance.amount(), account.currency);
    Ok(Json(BalanceBody { account_id: account.id, at: at.unwrap_or(request.milli), balance, currency }))
}

fn balance_after(account: &Account, newest: &NewestLeg) -> Result<Money, Error> {
    match newest {
        NewestLeg::None => Ok(Money::zero(account.currency)),
        NewestLeg::Readable(balance) if balance.currency() == account.currency => Ok(*balance),
        NewestLeg::Readable(_) | NewestLeg::Unreadable(_) => {
            Err(table::Error::unreadable(crate::Leg::TYPE, &"the newest leg").into())
        }
    }
}
