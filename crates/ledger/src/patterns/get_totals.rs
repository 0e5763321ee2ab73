//! L15: reads the totals of a merchant in a period
//! ([requirement](../../../../docs/requirements/ledger.md#totals-and-trial-balance),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    DOMAIN, Ledger, Merchant, Total,
    cost::{self, Calls, Pattern},
    model::total::{Dimensions, Sums},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger, is_zero};
use futures::future::join;
use keys::{
    Day, TimestampMillis,
    ledger::{AccountType, MerchantId, TransactionType},
    totals::{TotalScope, TotalSort},
};
use money::{Currency, Decimal};
use schemars::JsonSchema;
use serde::Serialize;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "L15",
    name: "get-totals",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/merchants/{merchantId}/totals",
        scopes: &["ledger:operate"],
        summary: "Get the totals of a merchant in a period",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::TOTALS, case.added_up()).read(cost::LEDGER, read_eventually(case.account))
    })],
    contract: function::contract(&get_totals),
    function: || function::http(get_totals, Ledger::warm_totals_by_query),
};

/// Maximum number of days in a period.
const MAX_DAYS: i64 = 366;

/// The requested merchant and period. Both dates are inclusive.
#[derive(Debug, Clone, Input)]
pub struct GetTotalsInput {
    #[input(path = "merchantId")]
    merchant: MerchantId,
    /// The first date in UTC. The default is `to`.
    #[input(query)]
    from: Option<Day>,
    /// The last date in UTC, less than 366 days after `from`. The default is today.
    #[input(query)]
    to: Option<Day>,
}

impl GetTotalsInput {
    /// The first and the last day.
    fn days(&self, now: TimestampMillis) -> Result<(Day, Day), Error> {
        let to = self.to.unwrap_or(now.day());
        let from = self.from.unwrap_or(to);
        if to < from {
            return Err(Error::invalid("/query/to", "must not be before from"));
        }
        if to.days_since(from) >= MAX_DAYS {
            return Err(Error::invalid("/query/from", format!("must be less than {MAX_DAYS} days before to")));
        }
        Ok((from, to))
    }
}

/// The totals of a merchant in a period. Transactions of the last second may not be counted yet.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MerchantTotals")]
pub struct TotalsBody {
    merchant_id: MerchantId,
    from: Day,
    to: Day,
    items: Vec<TotalBody>,
    /// Number of unreadable totals, which the sums lack, and of lines with more than 38 digits.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
}

/// The total of a transaction type, an account type and a currency.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TotalBody {
    transaction_type: TransactionType,
    account_type: AccountType,
    currency: Currency,
    debits: Decimal,
    credits: Decimal,
    /// The number of transactions with such a leg.
    #[schemars(range(min = 0))]
    transactions: i64,
}

impl TotalBody {
    fn of((dimensions, sums): (Dimensions, Sums)) -> Self {
        let Dimensions { transaction_type, account_type, currency } = dimensions;
        let Sums { debits, credits, transactions } = sums;
        let (debits, credits) = (debits.amount(), credits.amount());
        Self { transaction_type, account_type, currency, debits, credits, transactions }
    }
}

/// Reads the totals of a merchant. Transactions of the last second may not be counted yet.
///
/// # Errors
/// Returns 400 for an invalid period, 403 for a caller without the operator scope, and 404 if the
/// merchant does not exist.
pub async fn get_totals(ledger: Ledger, request: Request<GetTotalsInput>) -> Result<Json<TotalsBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (from, to) = request.input.days(request.milli)?;
    let id = request.input.merchant;
    let (scope, range) = (TotalScope::Merchant(id.clone()), TotalSort::between(from, to));
    let key = Merchant::key_of(&id);
    let totals = ledger.totals.sums(&scope, &range, Total::dimensions);
    let (merchant, totals) = join(ledger.books.table.look_up::<Merchant>(&key), totals).await;
    merchant?.ok_or(Error::NotFound("merchant"))?;
    let (items, skipped) = totals?.lines(|total| Some(TotalBody::of(total)));
    Ok(Json(TotalsBody { merchant_id: id, from, to, items, skipped }))
}
