//! C9: creates or changes a product (docs/requirements/cart.md#products-and-prices).

use crate::{
    Cart, DOMAIN, Product,
    cost::{self, Calls, Pattern},
    model::product::{ProductBody, read_price},
};
use function::{Error, Fields, Function, Input, Put, Request, Route, Trigger, Version, optimistically};
use table::{
    Condition,
    cost::{Cost, read, write},
};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(put_product, Cart::warm_by_product)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "C9",
    name: "put-product",
    trigger: Trigger::Http(&[Route { method: "PUT", path: "/cart/products/{sku}", scopes: &["cart:operate"] }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::PRODUCTS, read(case.product))
            .write(cost::PRODUCTS, write(case.product))
            .write(cost::BY_PRODUCT, write(case.product))
    })],
    function,
};

/// Path and body of the request.
#[derive(Debug, Clone)]
pub struct PutProductInput {
    product: Product,
    /// The version that the caller has read. `None` replaces any version.
    version: Option<i64>,
}

impl Input for PutProductInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (sku, name, price) = (fields.path("sku"), fields.body("name"), read_price(fields));
        let (active, version) = (fields.body_if_any("active"), fields.body_if_any::<Version>("version"));
        Some(Self {
            product: Product::new(sku?, name?, price?, active.unwrap_or(true)),
            version: version.map(i64::from),
        })
    }
}

/// Creates or changes a product. If the product is unchanged, nothing is written.
///
/// # Errors
/// 400 for invalid input, 403 for a caller without the operator scope, 412 if the product does not
/// have the version in the request.
pub async fn put_product(cart: Cart, request: Request<PutProductInput>) -> Result<Put<ProductBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (is_new, product) = optimistically(|| cart.put_product(&request.input)).await?;
    Ok(Put { is_new, body: product.into() })
}

impl Cart {
    /// Puts the product. Returns whether it is new, and the stored product.
    async fn put_product(
        &self,
        PutProductInput { product, version }: &PutProductInput,
    ) -> Result<(bool, Product), Error> {
        let old = self.products.get::<Product>(&Product::key(&product.sku)).await?;
        let before = old.as_ref().map_or(0, |old| old.version);
        let new = Product { version: before + 1, ..product.clone() };
        if let Some(old) = old.filter(|old| Product { version: new.version, ..old.clone() } == new) {
            return Ok((false, old));
        }
        if version.is_some_and(|version| version != before) {
            return Err(Error::AnotherVersion);
        }
        let change = match before {
            0 => self.products.put_new(&new)?,
            before => self.products.replace(&new)?.only_if(Condition::is(Product::VERSION, before)),
        };
        self.dynamo.write(change).await?;
        Ok((before == 0, new))
    }
}
