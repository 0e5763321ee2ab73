//! B20: reads a standing order (docs/requirements/bank.md#standing-orders).

use crate::{
    Bank, DOMAIN, StandingOrderBody,
    cost::{self, Calls, Pattern},
    model::standing::StandingOrder,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::{AccountId, bank::StandingOrderId};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "B20",
    name: "get-standing-order",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/standing-orders/{orderId}",
        scopes: &["bank:read", "bank:operate"],
        summary: "Get a standing order",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::PAYMENTS, read_eventually(case.item)))],
    contract: function::contract(&get_standing_order),
    function: || function::http(get_standing_order, Bank::warm_by_get_payment),
};

/// Path parameters of the request: the account and the standing order.
#[derive(Debug, Clone, Input)]
pub struct StandingOrderInput {
    #[input(path = "accountId")]
    pub(crate) account: AccountId,
    #[input(path = "orderId")]
    pub(crate) order: StandingOrderId,
}

/// Reads a standing order.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown order.
pub async fn get_standing_order(
    bank: Bank,
    request: Request<StandingOrderInput>,
) -> Result<Json<StandingOrderBody>, Error> {
    let StandingOrderInput { account, order } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let found = bank.payments.look_up::<StandingOrder>(&StandingOrder::key_of(account, order)).await?;
    Ok(Json(found.ok_or(Error::NotFound("standing order"))?.into()))
}
