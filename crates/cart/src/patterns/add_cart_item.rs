//! C1: adds a product to the cart, or increases its quantity
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products,
//! docs/decisions/cart-additions.md).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Product, Quantity,
    cost::{self, Calls, Pattern},
    model::additions::CartState,
};
use function::{
    Error, Fields, Fingerprint, Function, IdempotentRequest, Input, Request, Route, Trigger, Upserted, optimistically,
};
use futures::future::join3;
use keys::{AccountId, Sku, cart::ItemId};
use serde::{Deserialize, Serialize};
use table::cost::{Cost, read_eventually};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(add_cart_item, Cart::warm_by_get)
}

/// Declares the access pattern's route, key conditions and costs.
pub const PATTERN: Pattern = Pattern {
    id: "C1",
    name: "add-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/cart/accounts/{accountId}/items",
        scopes: &["cart:write", "cart:operate"],
    }]),
    calls: &[
        Calls {
            variant: "",
            condition: "get the product, eventually consistent, and SK = CART. Then query PK = account, SK begins with ACTIVE#, with strong consistency. Then one transaction: put the cart item and its pointer if they do not exist, put CART if no item was added in the meantime",
            formula: "½ ⌈product⌉ R + 1 R + ⌈Σ ACTIVE cart items⌉ R; 2 × (⌈cart item⌉ + 2) W; GSI1 ⌈cart item⌉ W. With an Idempotency-Key 1 R and 2 × ⌈record⌉ W more",
            cost: |case| {
                Cost::default()
                    .read(cost::PRODUCTS, read_eventually(case.product))
                    .read(cost::CART, case.looked_at())
                    .read(cost::CART, case.record_read())
                    .write(cost::CART, (case.cart_item_write() + table::Units::whole(2) + case.record_write()).times(2))
                    .write(cost::BY_SKU, case.cart_item_write())
            },
        },
        Calls {
            variant: ", in the cart already",
            condition: "the same reads. Then one transaction: put the cart item with the new quantity if its version has not changed",
            formula: "½ ⌈product⌉ R + 1 R + ⌈Σ ACTIVE cart items⌉ R; 2 × ⌈cart item⌉ W; GSI1 ⌈cart item⌉ W. With an Idempotency-Key 1 R and 2 × ⌈record⌉ W more. Once a day, to renew the expiry, 2 × (⌈pointer⌉ + 1) W more",
            cost: |case| {
                Cost::default()
                    .read(cost::PRODUCTS, read_eventually(case.product))
                    .read(cost::CART, case.looked_at())
                    .read(cost::CART, case.record_read())
                    .write(cost::CART, (case.cart_item_write() + case.record_write()).times(2))
                    .write(cost::BY_SKU, case.cart_item_write())
            },
        },
    ],
    function,
};

/// Path and body of the request.
#[derive(Debug, Clone)]
pub struct NewCartItem {
    account: AccountId,
    sku: Sku,
    quantity: Quantity,
}

impl Input for NewCartItem {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, sku) = (fields.path("accountId"), fields.body("sku"));
        let quantity = fields.body_if_any("quantity");
        Some(Self { account: account?, sku: sku?, quantity: quantity.unwrap_or(Quantity::ONE) })
    }
}

/// Adds a product to the cart with its current name and price. If the product is already in the
/// cart, its quantity increases, and its name and price become the current ones.
///
/// # Errors
/// 400 for invalid input. 403 for an account that the caller does not own. 409 for a product that
/// cannot be bought or has another currency than the cart, for a full cart, or for a quantity over
/// the maximum. 413 if the account id, SKU and name together are too long. 422 for an idempotency
/// key that was used for a different request.
pub async fn add_cart_item(cart: Cart, request: Request<NewCartItem>) -> Result<Upserted<CartItemBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    optimistically(|| cart.add(&request)).await
}

impl NewCartItem {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&["add-cart-item", self.sku.as_str(), &u32::from(self.quantity).to_string()])
    }
}

impl Cart {
    async fn add(&self, request: &Request<NewCartItem>) -> Result<Upserted<CartItemBody>, Error> {
        let (new, now) = (&request.input, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, &new.account, key, new.fingerprint(), now);
        let key = Product::key(&new.sku);
        let product = self.products.get_eventually::<Product>(&key);
        let reads = join3(once.before::<Added>(), self.additions(&new.account), product);
        let (before, additions, product) = Box::pin(reads).await;
        if let Some(added) = before? {
            return Ok(added.into());
        }
        let product = Product::must_be_on_sale(product?, &new.sku)?;
        let state = self.look(&new.account, additions?, None, now).await?;
        let done = match state.must_have_currency(product.price.currency(), &new.sku) {
            Err(refusal) => Err(refusal),
            Ok(()) => match state.cart_item_of(&new.sku) {
                Some(cart_item) => self.grow(&state, cart_item, new, product, &once).await,
                None => self.begin(&state, request, &product, &once).await,
            },
        };
        match done {
            // Another request with the same idempotency key may have completed after the record was
            // read, and may have caused this rejection.
            Err(refusal @ (Error::Conflict(..) | Error::TooLarge(_))) => {
                Ok(once.before::<Added>().await?.ok_or(refusal)?.into())
            }
            done => done,
        }
    }

    async fn begin(
        &self,
        state: &CartState,
        request: &Request<NewCartItem>,
        product: &Product,
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<CartItemBody>, Error> {
        state.must_have_room_for(1)?;
        let NewCartItem { account, quantity, .. } = request.input.clone();
        let id = ItemId::new(once.now.instant(), &request.random);
        let cart_item = CartItem::added(id, account, product, quantity, once.now, self.days);
        cart_item.must_fit()?;
        let mut changes = self.insertion(&cart_item)?;
        changes.push(self.addition(state, &cart_item, request.id, once.now)?);
        changes.extend(once.remember(&Added { created: true, cart_item: cart_item.clone() })?);
        self.dynamo.transact(changes).await?;
        Ok(Upserted { created: Some(cart_item.id().to_string()), body: cart_item.into() })
    }

    async fn grow(
        &self,
        state: &CartState,
        old: &CartItem,
        new: &NewCartItem,
        product: Product,
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<CartItemBody>, Error> {
        let grown = old.grown(new.quantity, once.now, self.days)?;
        let grown = CartItem { name: product.name, price: product.price, ..grown };
        grown.must_fit()?;
        let mut changes = self.change_in_cart(old, &grown, state.additions())?;
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
