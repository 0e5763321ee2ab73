//! C1: adds a product to the cart, or increases its quantity
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products,
//! docs/decisions/cart-contents.md).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Product, Quantity,
    cost::{self, Calls, Named, Pattern},
    model::contents::Contents,
};
use function::{
    Error, Fingerprint, IdempotentRequest, Input, Problem, Request, Route, Trigger, Upserted, optimistically,
};
use futures::future::join3;
use keys::{AccountId, Sku, cart::ItemId};
use serde::{Deserialize, Serialize};
use table::cost::{Cost, read, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "C1",
    name: "add-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/cart/accounts/{accountId}/items",
        scopes: &["cart:write", "cart:operate"],
        summary: "Add a product to the cart, or increase its quantity",
        problems: &[
            Problem::ProductUnavailable,
            Problem::CartCurrency,
            Problem::CartFull,
            Problem::QuantityLimit,
            Problem::IdempotencyKeyReused,
        ],
    }]),
    calls: &[
        Calls::new("", |case| added(case).read(cost::CART, case.read_if_empty())),
        Calls::new(", in the cart already", |case| added(case).read(cost::CART, read(case.cart_item))),
    ],
    contract: function::contract(&add_cart_item),
    function: || function::http(add_cart_item, Cart::warm_by_get),
};

fn added(case: &Named) -> Cost {
    Cost::default()
        .read(cost::PRODUCTS, read_eventually(case.product))
        .read(cost::CART, case.contents_read() + case.record_read())
        .write(cost::CART, (case.cart_item_write() + case.contents_write() + case.record_write()).times(2))
        .write(cost::BY_SKU, case.cart_item_write())
}

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
pub struct AddCartItemInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(body)]
    sku: Sku,
    #[input(body, default = Quantity::ONE)]
    quantity: Quantity,
}

/// Adds a product to the cart with its current name and price. If the product is already in the
/// cart, its quantity increases, and its name and price become the current ones.
///
/// # Errors
/// 400 for invalid input. 403 for an account that the caller does not own. 409 for a product that
/// cannot be bought or has another currency than the cart, for a full cart, or for a quantity over
/// the maximum. 413 if the account id, SKU and name together are too long. 422 for an idempotency
/// key that was used for a different request.
pub async fn add_cart_item(cart: Cart, request: Request<AddCartItemInput>) -> Result<Upserted<CartItemBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    optimistically(|| cart.add(&request)).await
}

impl AddCartItemInput {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&["add-cart-item", self.sku.as_str(), &u32::from(self.quantity).to_string()])
    }
}

impl Cart {
    async fn add(&self, request: &Request<AddCartItemInput>) -> Result<Upserted<CartItemBody>, Error> {
        let (new, now) = (&request.input, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, &new.account, key, new.fingerprint(), now);
        let key = Product::key(&new.sku);
        let product = self.products.get_eventually::<Product>(&key);
        let reads = join3(once.before::<Added>(), self.contents(&new.account), product);
        let (before, contents, product) = Box::pin(reads).await;
        if let Some(added) = before? {
            return Ok(added.into());
        }
        let product = self.on_sale(product?, &new.sku).await?;
        let done = self.put_in(request, contents?.as_ref(), product, &once).await;
        match done {
            // Another request with the same idempotency key may have completed after the record was
            // read, and may have caused this rejection.
            Err(refusal @ (Error::Conflict(..) | Error::TooLarge(_))) => {
                Ok(once.before::<Added>().await?.ok_or(refusal)?.into())
            }
            done => done,
        }
    }

    async fn put_in(
        &self,
        request: &Request<AddCartItemInput>,
        contents: Option<&Contents>,
        product: Product,
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<CartItemBody>, Error> {
        let (new, now) = (&request.input, once.now);
        let entry = contents.and_then(|contents| Some((contents, *contents.items.get(&new.sku)?)));
        if let Some((contents, entry)) = entry
            && let Some(old) = self.item_of(&new.account, entry, now).await?
        {
            return self.grow(contents, &old, new, product, once).await;
        }
        let id = ItemId::new(now.instant(), &request.random);
        let cart_item = CartItem::added(id, new.account.clone(), &product, new.quantity, now, self.days);
        cart_item.must_fit()?;
        let mut changes = vec![self.table.put_new(&cart_item)?, self.entering(contents, &cart_item, now).await?];
        changes.extend(once.remember(&Added { created: true, cart_item: cart_item.clone() })?);
        self.dynamo.transact(changes).await?;
        Ok(Upserted { created: Some(cart_item.id().to_string()), body: cart_item.into() })
    }

    async fn grow(
        &self,
        contents: &Contents,
        old: &CartItem,
        new: &AddCartItemInput,
        product: Product,
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<CartItemBody>, Error> {
        let grown = old.grown(new.quantity, once.now, self.days)?;
        let grown = CartItem { name: product.name, price: product.price, ..grown };
        grown.must_fit()?;
        let mut changes = self.transition(old, &grown)?;
        // The only item of a cart follows its product to another currency.
        changes.push(if contents.currency == Some(grown.price.currency()) {
            self.changing(old, &grown, once.now)
        } else {
            let in_cart = self.in_cart(&old.account, contents, once.now).await?;
            self.rewritten(Some(contents), &old.account, in_cart, Some(&grown), once.now)?
        });
        changes.extend(once.remember(&Added { created: false, cart_item: grown.clone() })?);
        self.dynamo.transact(changes).await?;
        Ok(Upserted { created: None, body: grown.into() })
    }
}

/// Outcome that the idempotency record stores: the cart item of the first response, and whether the
/// first request created the item.
#[derive(Debug, Serialize, Deserialize)]
struct Added {
    created: bool,
    cart_item: CartItem,
}

impl From<Added> for Upserted<CartItemBody> {
    fn from(Added { created, cart_item }: Added) -> Self {
        Self { created: created.then(|| cart_item.id().to_string()), body: cart_item.into() }
    }
}
