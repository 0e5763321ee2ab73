//! C6: lists the cart items of a product with a given status, across all customers, newest first
//! (docs/requirements/cart.md#access-pattern-3-list-items-of-a-product).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Listed, Prices,
    cost::{self, Calls, Named, Pattern},
    store::unexpired,
};
use function::{Error, Fields, Input, List, Request, Route, Trigger};
use keys::{Bounds, Day, KeyRange, Sku, cart::CartItemSort};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "C6",
    name: "list-sku-items",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/skus/{sku}/items",
        scopes: &["cart:operate"],
        summary: "List the cart items of a product for all customers, newest first",
        problems: &[],
    }]),
    calls: &[
        Calls::new("", listed),
        Calls::new(", current prices", |case| listed(case).read(cost::PRODUCTS, read_eventually(case.product))),
    ],
    contract: function::contract(&list_sku_items),
    function: || function::http(list_sku_items, Cart::warm_by_index),
};

fn listed(case: &Named) -> Cost {
    Cost::default().read(cost::BY_SKU, case.listed())
}

/// Product, status and time range to list.
#[derive(Debug, Clone, Input)]
#[input(page = 50, check = must_be_alone(date, period))]
pub struct ListSkuItemsInput {
    #[input(path)]
    sku: Sku,
    #[input(query, default)]
    status: Listed,
    #[input(query)]
    prices: Option<Prices>,
    /// A day in UTC. It cannot be combined with `from` or `to`.
    #[input(query)]
    date: Option<Day>,
    #[input(part)]
    period: Bounds,
}

fn must_be_alone(fields: &mut Fields, date: Option<&Day>, period: Option<&Bounds>) {
    let (from, to) = period.copied().unwrap_or_default().millis();
    if date.is_some() && (from.is_some() || to.is_some()) {
        fields.fault::<()>("/query/date", "cannot be combined with from or to");
    }
}

impl ListSkuItemsInput {
    fn range(&self) -> KeyRange {
        let (from, to) = self.period.millis();
        let between = || CartItemSort::between(self.status.0, from, to);
        let range = self.date.map_or_else(between, |day| CartItemSort::on(day, self.status.0));
        range.newest_first()
    }
}

/// Lists the cart items of a product that have the requested status, across all customers. Items
/// are sorted by the time of the last status change, newest first.
pub async fn list_sku_items(cart: Cart, request: Request<ListSkuItemsInput>) -> Result<List<CartItemBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let listing = request.listing(request.input.range(), Prices::text(request.input.prices))?;
    let query = Query::new(&request.input.sku, &listing.range).on(&cart.by_sku).only_if(unexpired(request.milli));
    let page = cart.table.page::<CartItem>(&query, listing.limit).await?;
    Ok(listing.list(cart.bodies(page, request.input.prices).await?))
}
