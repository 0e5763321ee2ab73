//! B20: lists the standing orders of an account (docs/requirements/bank.md#standing-orders).

use crate::{
    Bank, DOMAIN, StandingOrderBody,
    cost::{self, Calls, Pattern},
    model::standing::StandingOrder,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::{AccountId, bank::StandingOrderSort};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "B20",
    name: "list-standing-orders",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/standing-orders",
        scopes: &["bank:read", "bank:operate"],
        summary: "List the standing orders of an account",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::PAYMENTS, read_eventually(case.item * case.items)))],
    contract: function::contract(&list_standing_orders),
    function: || function::http(list_standing_orders, Bank::warm_by_query_standing_orders),
};

/// The account whose standing orders are listed.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListStandingOrdersInput(#[input(path = "accountId")] AccountId);

/// Lists the standing orders of an account, sorted by id.
///
/// # Errors
/// 403 for an account that the caller does not own.
pub async fn list_standing_orders(
    bank: Bank,
    request: Request<ListStandingOrdersInput>,
) -> Result<List<StandingOrderBody>, Error> {
    let ListStandingOrdersInput(account) = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let listing = request.listing(StandingOrderSort::all(), "")?;
    let page = bank.payments.page::<StandingOrder>(&Query::new(account, &listing.range), listing.limit).await?;
    Ok(listing.list(page.map(StandingOrderBody::from)))
}
