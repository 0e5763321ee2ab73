//! C11: reads one order with its lines (docs/requirements/cart.md#orders).

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    model::order::OrderBody,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::{AccountId, OrderId};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "C11",
    name: "get-order",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/orders/{orderId}",
        scopes: &["cart:read", "cart:operate"],
        summary: "Get an order with its lines",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::CART, read_eventually(case.order) + read_eventually(case.lines))
    })],
    contract: function::contract(&get_order),
    function: || function::http(get_order, Cart::warm_by_get),
};

/// Path parameters of the request: the account and the order id.
#[derive(Debug, Clone, Input)]
pub struct GetOrderInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(path = "orderId")]
    order: OrderId,
}

/// Reads one order.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown order.
pub async fn get_order(cart: Cart, request: Request<GetOrderInput>) -> Result<Json<OrderBody>, Error> {
    let GetOrderInput { account, order } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let (order, lines) = cart.look_up_order(account, order).await?;
    Ok(Json(OrderBody::of(order, &request.caller).with(lines, 0)))
}
