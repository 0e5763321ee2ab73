//! C10: reads one product (docs/requirements/cart.md#products-and-prices).

use crate::{
    Cart, DOMAIN, Product,
    cost::{self, Calls, Pattern},
    model::product::ProductBody,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::Sku;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "C10",
    name: "get-product",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/products/{sku}",
        scopes: &["cart:read", "cart:operate"],
        summary: "Get a product",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::PRODUCTS, read_eventually(case.product)))],
    contract: function::contract(&get_product),
    function: || function::http(get_product, Cart::warm_by_product),
};

/// Path parameter of the request: the product.
#[derive(Debug, Clone, Input)]
pub struct GetProductInput(#[input(path = "sku")] Sku);

/// Reads one product. Only operators can read an inactive product.
///
/// # Errors
/// 404 for an unknown product, and for an inactive product without the operator scope.
pub async fn get_product(cart: Cart, request: Request<GetProductInput>) -> Result<Json<ProductBody>, Error> {
    let GetProductInput(sku) = &request.input;
    let (key, operates) = (Product::key(sku), request.caller.operates(DOMAIN));
    let is_visible = |product: &Product| product.active || operates;
    let mut visible = cart.products.get_eventually::<Product>(&key).await?.filter(is_visible);
    if visible.is_none() {
        visible = cart.products.get::<Product>(&key).await?.filter(is_visible);
    }
    visible.map(|product| Json(ProductBody::of(product, &request.caller))).ok_or(Error::NotFound("product"))
}
