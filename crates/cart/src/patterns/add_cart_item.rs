//! C1: adds a product to the cart, or increases its quantity
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products,
//! docs/decisions/cart-additions.md).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Quantity,
    cost::{self, Calls, Pattern},
    model::additions::CartState,
};
use function::{
    Error, Fields, Fingerprint, Function, IdempotentRequest, Input, Request, Route, Trigger, Upserted, optimistically,
};
use futures::future::try_join;
use keys::{AccountId, Sku, cart::ItemId};
use money::{Currency, JsonDecimal, Money};
use serde::{Deserialize, Serialize};
use table::cost::Cost;

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
            condition: "get SK = CART, then query PK = account, SK begins with ACTIVE#, both with strong consistency. Then one transaction: put the cart item and its pointer if they do not exist, put CART if no item was added in the meantime",
            formula: "1 R + ⌈Σ ACTIVE cart items⌉ R; 2 × (⌈cart item⌉ + 2) W; GSI1 ⌈cart item⌉ W. With an Idempotency-Key 1 R and 2 × ⌈record⌉ W more",
            cost: |case| {
                Cost::default()
                    .read(cost::CART, case.looked_at())
                    .read(cost::CART, case.record_read())
                    .write(cost::CART, (case.cart_item_write() + table::Units::whole(2) + case.record_write()).times(2))
                    .write(cost::BY_SKU, case.cart_item_write())
            },
        },
        Calls {
            variant: ", in the cart already",
            condition: "the same reads. Then one transaction: put the cart item with the new quantity if its version has not changed",
            formula: "1 R + ⌈Σ ACTIVE cart items⌉ R; 2 × ⌈cart item⌉ W; GSI1 ⌈cart item⌉ W. With an Idempotency-Key 1 R and 2 × ⌈record⌉ W more. Once a day, to renew the expiry, 2 × (⌈pointer⌉ + 1) W more",
            cost: |case| {
                Cost::default()
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
    price: Option<Money>,
}

impl Input for NewCartItem {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, sku) = (fields.path("accountId"), fields.body("sku"));
        let (quantity, price) = (fields.body("quantity"), read_price(fields));
        Some(Self { account: account?, sku: sku?, quantity: quantity?, price })
    }
}

/// Prices must be below this limit. The limit leaves enough digits for the sums in reports.
const LARGEST_PRICE: i128 = 1_000_000_000_000;

/// Reads `price` and `currency`. A request must have both or neither, and a price must not be
/// negative.
fn read_price(fields: &mut Fields) -> Option<Money> {
    let (amount, currency) = (fields.body_if_any::<JsonDecimal>("price"), fields.body_if_any::<Currency>("currency"));
    let missing = |fields: &mut Fields, name: &str, other: &str| {
        let pointer = format!("/body/{name}");
        if fields.has_body(name) { None } else { fields.fault(&pointer, format!("is required with {other}")) }
    };
    match (amount, currency) {
        (Some(JsonDecimal(amount)), Some(currency)) => match Money::new(amount, currency) {
            Ok(price) if (0..LARGEST_PRICE * 10_i128.pow(currency.places().into())).contains(&price.minor()) => {
                Some(price)
            }
            Ok(_) => fields.fault("/body/price", "must be at least 0 and less than 1000000000000"),
            Err(error) => fields.fault("/body/price", error),
        },
        (Some(_), None) => missing(fields, "currency", "price"),
        (None, Some(_)) => missing(fields, "price", "currency"),
        (None, None) => None,
    }
}

/// Adds a product to the cart. If the product is already in the cart, its quantity increases.
///
/// # Errors
/// 400 for invalid input. 403 for an account that the caller does not own, and for a price from a
/// customer (docs/decisions/cart-permissions.md). 409 for a full cart or a quantity over the
/// maximum. 413 if the account id and SKU together are too long. 422 for an idempotency key that
/// was used for a different request.
pub async fn add_cart_item(cart: Cart, request: Request<NewCartItem>) -> Result<Upserted<CartItemBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    if request.input.price.is_some() {
        request.caller.must_operate(DOMAIN)?;
    }
    optimistically(|| cart.add(&request)).await
}

impl NewCartItem {
    fn fingerprint(&self) -> Fingerprint {
        let (quantity, price) = (u32::from(self.quantity).to_string(), self.price.map(|price| price.to_string()));
        Fingerprint::of(&["add-cart-item", self.sku.as_str(), &quantity, price.as_deref().unwrap_or_default()])
    }
}

impl Cart {
    async fn add(&self, request: &Request<NewCartItem>) -> Result<Upserted<CartItemBody>, Error> {
        let (new, now) = (&request.input, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, &new.account, key, new.fingerprint(), now);
        let (before, additions) = Box::pin(try_join(once.before::<Added>(), self.additions(&new.account))).await?;
        if let Some(added) = before {
            return Ok(added.into());
        }
        let state = self.look(&new.account, additions, None, now).await?;
        let done = match state.cart_item_of(&new.sku) {
            Some(cart_item) => self.grow(&state, cart_item, new, &once).await,
            None => self.begin(&state, request, &once).await,
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
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<CartItemBody>, Error> {
        state.must_have_room_for(1)?;
        let NewCartItem { account, sku, quantity, price } = request.input.clone();
        let id = ItemId::new(once.now.instant(), &request.random);
        let cart_item = CartItem::added(id, account, sku, quantity, price, once.now, self.days);
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
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<CartItemBody>, Error> {
        let grown = old.grown(new.quantity, once.now, self.days)?;
        let grown = CartItem { price: new.price.or(old.price), ..grown };
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
