//! L15: reads the trial balance as of a date
//! ([requirement](../../../../docs/requirements/ledger.md#totals-and-trial-balance),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    DOMAIN, Ledger, Total,
    cost::{self, Calls, Pattern},
    model::total::Sums,
};
use function::{Error, Input, Json, Request, Route, Trigger, is_zero};
use keys::{
    Day,
    ledger::AccountType,
    totals::{TotalScope, TotalSort},
};
use money::{Currency, Decimal};
use schemars::JsonSchema;
use serde::Serialize;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "L15",
    name: "get-trial-balance",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/trial-balance",
        scopes: &["ledger:operate"],
        summary: "Get the trial balance as of a date",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::TOTALS, case.added_up()))],
    contract: function::contract(&get_trial_balance),
    function: || function::http(get_trial_balance, Ledger::warm_totals_by_query),
};

/// The requested date.
#[derive(Debug, Clone, Input)]
pub struct GetTrialBalanceInput(
    /// A date in UTC, which must not be in the future. The default is today.
    #[input(query = "date")]
    Option<Day>,
);

/// The trial balance as of a date: the sums of all transactions through its end. Transactions of
/// the last second may not be counted yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TrialBalance {
    date: Day,
    items: Vec<Line>,
    /// Number of unreadable totals, which the sums lack, and of lines with more than 38 digits.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
}

/// The sums of an account type and a currency, through the date.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Line {
    account_type: AccountType,
    currency: Currency,
    debits: Decimal,
    credits: Decimal,
    /// The credits minus the debits: the sum of the balances of the accounts.
    balance: Decimal,
}

impl Line {
    /// Returns `None` if the balance has more than 38 digits.
    fn of(((account_type, currency), sums): ((AccountType, Currency), Sums)) -> Option<Self> {
        let Sums { debits, credits, .. } = sums;
        let balance = credits.checked_add(-debits)?;
        let [debits, credits, balance] = [debits, credits, balance].map(money::Money::amount);
        Some(Self { account_type, currency, debits, credits, balance })
    }
}

/// Adds up the transactions through the end of a date. Transactions of the last second may not be
/// counted yet.
///
/// # Errors
/// Returns 400 for an invalid or future date, and 403 for a caller without the operator scope.
pub async fn get_trial_balance(
    ledger: Ledger,
    request: Request<GetTrialBalanceInput>,
) -> Result<Json<TrialBalance>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let today = request.milli.day();
    let date = request.input.0.unwrap_or(today);
    if date > today {
        return Err(Error::invalid("/query/date", "must not be in the future"));
    }
    let of = |total: &Total| (total.account_type.clone(), total.currency);
    let totals = ledger.totals.sums(&TotalScope::All, &TotalSort::through(date), of).await?;
    let (items, skipped) = totals.lines(Line::of);
    Ok(Json(TrialBalance { date, items, skipped }))
}
