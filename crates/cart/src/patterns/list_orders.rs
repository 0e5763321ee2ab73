//! C11: lists the orders of a customer, newest first (docs/requirements/cart.md#orders).

use crate::{
    Cart, DOMAIN, Order,
    cost::{self, Calls, Pattern},
    model::order::OrderBody,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::{AccountId, cart::OrderSort};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "C11",
    name: "list-orders",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/orders",
        scopes: &["cart:read", "cart:operate"],
        summary: "List the orders of a customer, newest first",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::CART, read_eventually(case.order * case.orders)))],
    contract: function::contract(&list_orders),
    function: || function::http(list_orders, Cart::warm_by_query),
};

/// Path parameter of the request: the account.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListOrdersInput(#[input(path = "accountId")] AccountId);

/// Lists the orders of a customer without their lines, newest first.
pub async fn list_orders(cart: Cart, request: Request<ListOrdersInput>) -> Result<List<OrderBody>, Error> {
    let ListOrdersInput(account) = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let listing = request.listing(OrderSort::all().newest_first(), "")?;
    let page = cart.table.page::<Order>(&Query::new(account, &listing.range), listing.limit).await?;
    Ok(listing.list(page.map(|order| OrderBody::of(order, &request.caller))))
}
