//! C9: creates or changes a product (docs/requirements/cart.md#products-and-prices).

use crate::{
    Cart, DOMAIN, Product,
    cost::{self, Calls, Pattern},
    model::product::{Price, ProductBody, ProductName},
};
use function::{Error, Input, Problem, Put, Request, Route, Trigger, Version, optimistically};
use keys::Sku;
use table::{
    Condition,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "C9",
    name: "put-product",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/cart/products/{sku}",
        scopes: &["cart:operate"],
        summary: "Create or change a product",
        problems: &[Problem::AnotherVersion],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::PRODUCTS, read(case.product))
            .write(cost::PRODUCTS, write(case.product))
            .write(cost::BY_PRODUCT, write(case.product))
    })],
    contract: function::contract(&put_product),
    function: || function::http(put_product, Cart::warm_by_product),
};

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
pub struct PutProductInput {
    #[input(path)]
    sku: Sku,
    #[input(body)]
    name: ProductName,
    #[input(part)]
    price: Price,
    #[input(body, default = true)]
    active: bool,
    #[input(body)]
    version: Option<Version>,
}

/// Creates or changes a product. If the product is unchanged, nothing is written.
///
/// # Errors
/// 400 for invalid input, 403 for a caller without the operator scope, 412 if the product does not
/// have the version in the request.
pub async fn put_product(cart: Cart, request: Request<PutProductInput>) -> Result<Put<ProductBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let PutProductInput { sku, name, price: Price(price), active, version } = request.input;
    let changed_by = request.caller.author(DOMAIN);
    let product = Product { changed_by, ..Product::new(sku, name, price, active) };
    let version = version.map(i64::from);
    let (is_new, product) = optimistically(|| cart.put_product(&product, version)).await?;
    Ok(Put { is_new, body: ProductBody::of(product, &request.caller) })
}

impl Cart {
    /// Puts the product. Returns whether it is new, and the stored product.
    async fn put_product(&self, product: &Product, version: Option<i64>) -> Result<(bool, Product), Error> {
        let old = self.products.get::<Product>(&Product::key(&product.sku)).await?;
        let before = old.as_ref().map_or(0, |old| old.version);
        let new = Product { version: before + 1, ..product.clone() };
        let is_same =
            |old: &Product| Product { version: new.version, changed_by: new.changed_by.clone(), ..old.clone() } == new;
        if let Some(old) = old.filter(is_same) {
            return Ok((false, old));
        }
        if version.is_some_and(|version| version != before) {
            return Err(Error::AnotherVersion);
        }
        let change = match before {
            0 => self.products.put_new(&new)?,
            before => self.products.replace(&new)?.only_if(Condition::is(Product::VERSION, before)),
        };
        self.dynamo.write_once_as(change, &new).await?;
        Ok((before == 0, new))
    }
}
