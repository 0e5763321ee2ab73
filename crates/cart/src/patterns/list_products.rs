//! C10: lists the products by SKU (docs/requirements/cart.md#products-and-prices).

use crate::{
    Cart, DOMAIN, Product,
    cost::{self, Calls, Pattern},
    model::product::ProductBody,
};
use function::{Error, Input, List, Request, Route, Trigger};
use keys::cart::{ProductsPartition, SkuSort};
use table::{
    Condition, Query, Value,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "C10",
    name: "list-products",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/products",
        scopes: &["cart:read", "cart:operate"],
        summary: "List the products by SKU",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::BY_PRODUCT, read_eventually(case.product * case.products))
    })],
    contract: function::contract(&list_products),
    function: || function::http(list_products, Cart::warm_by_products),
};

/// The request has no parameters except those of paging.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListProductsInput;

/// Lists the products by SKU. Only operators see inactive products.
pub async fn list_products(cart: Cart, request: Request<ListProductsInput>) -> Result<List<ProductBody>, Error> {
    let listing = request.listing(SkuSort::all(), "")?;
    let query = Query::new(&ProductsPartition, &listing.range).on(&cart.by_product);
    let query = if request.caller.operates(DOMAIN) {
        query
    } else {
        query.only_if(Condition::is(Product::ACTIVE, Value::of(&true)?))
    };
    let page = cart.products.page::<Product>(&query, listing.limit).await?;
    Ok(listing.list(page.map(|product| ProductBody::of(product, &request.caller))))
}
