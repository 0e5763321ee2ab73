//! C15: lists the orders of all customers by status, such as those to ship, newest first
//! (docs/requirements/cart.md#orders, docs/decisions/cart-orders.md).

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    model::order::{OrderBody, OrderEntry},
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::{
    Bounds,
    cart::{OrderSort, OrderStatus},
};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "C15",
    name: "list-orders-by-status",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/orders",
        scopes: &["cart:operate"],
        summary: "List the orders of all customers with a status, by default those to ship, newest first",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::BY_STATUS, read_eventually(case.entry * case.entries).times(case.shards))
    })],
    contract: function::contract(&list_orders_by_status),
    function: || function::http(list_orders_by_status, Cart::warm_by_orders),
};

/// Status of the orders, and the time range in which they were placed.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListOrdersByStatusInput {
    #[input(query, default)]
    status: OrderStatus,
    #[input(part)]
    period: Bounds,
}

/// Lists the orders of all customers that have the requested status, without their lines. Orders
/// are sorted by the time of the checkout, newest first.
///
/// The index is eventually consistent. For about a second after a checkout or a status change, the
/// list can lack the order, or show it with its previous status.
///
/// # Errors
/// 400 for an invalid request, and 403 for a caller without the operator scope.
pub async fn list_orders_by_status(
    cart: Cart,
    request: Request<ListOrdersByStatusInput>,
) -> Result<List<OrderBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let ListOrdersByStatusInput { status, period } = request.input;
    let (from, to) = period.millis();
    let listing = request.listing(OrderSort::placed(from, to).newest_first(), status.as_str())?;
    let orders = cart.orders_by_status(status, &listing.range);
    let page = cart.table.unique_page::<OrderEntry>(orders, listing.limit).await?;
    Ok(listing.list(page.map(OrderBody::from)))
}
