//! C2: changes the quantity or the status of a cart item
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products,
//! docs/decisions/cart-contents.md).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, NewStatus, Quantity,
    cost::{self, Calls, Named, Pattern},
    model::{cart_item::Move, pointer::Pointer},
};
use function::{Error, Fields, Input, Json, Problem, Request, Route, Trigger, optimistically};
use keys::{
    AccountId, TimestampMillis,
    cart::{ItemId, Status},
};
use serde_json::{Map, Value};
use table::{
    Change,
    cost::{Cost, read},
};

pub const PATTERN: Pattern = Pattern {
    id: "C2",
    name: "update-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/cart/accounts/{accountId}/items/{itemId}",
        scopes: &["cart:write", "cart:operate"],
        summary: "Change the quantity or status of a cart item",
        problems: &[
            Problem::NotFound,
            Problem::Purchased,
            Problem::CartCurrency,
            Problem::CartFull,
            Problem::QuantityLimit,
        ],
    }]),
    calls: &[
        Calls::new(", quantity", |case| {
            Cost::default()
                .read(cost::CART, case.located_in_cart())
                .write(cost::CART, (case.cart_item_write() + case.contents_write()).times(2))
                .write(cost::BY_SKU, case.cart_item_write())
        }),
        Calls::new(", quantity of a saved item", |case| {
            Cost::default()
                .read(cost::CART, case.located())
                .write(cost::CART, case.cart_item_write().times(2))
                .write(cost::BY_SKU, case.cart_item_write())
        }),
        Calls::new(", to SAVED", |case| moved(case).read(cost::CART, case.located_in_cart())),
        Calls::new(", to ACTIVE", |case| moved(case).read(cost::CART, case.located() + case.contents_read())),
        Calls::new(", to ACTIVE, in the cart already", |case| {
            moved(case)
                .read(cost::CART, case.located() + case.contents_read() + read(case.cart_item))
                .write(cost::CART, case.cart_item_write().times(2))
        }),
    ],
    contract: function::contract(&update_cart_item),
    function: || function::http(update_cart_item, Cart::warm_by_get),
};

fn moved(case: &Named) -> Cost {
    Cost::default()
        .write(cost::CART, (case.moved() + case.contents_write()).times(2))
        .write(cost::BY_SKU, case.cart_item_write().times(2))
}

/// Path and body of the request: a quantity, a status, or both.
#[derive(Debug, Clone, Input)]
#[input(body, check = must_have_any(), schema = needs_any)]
pub struct UpdateCartItemInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(path = "itemId")]
    item: ItemId,
    #[input(body)]
    quantity: Option<Quantity>,
    /// A checkout buys items.
    #[input(body = "status")]
    to: Option<NewStatus>,
}

fn must_have_any(fields: &mut Fields) {
    if !fields.has_body("quantity") && !fields.has_body("status") {
        fields.fault::<()>("/body", "must have a quantity or a status");
    }
}

fn needs_any(body: &mut Map<String, Value>) {
    body.insert("minProperties".to_owned(), 1.into());
}

/// Changes the quantity and the status of a cart item. An `ACTIVE` item can become `SAVED`, and a
/// `SAVED` item can become `ACTIVE`. Only a checkout buys items
/// (docs/decisions/cart-products.md).
///
/// A cart contains each product at most once. If the product is already in the cart, an item that
/// becomes `ACTIVE` is merged into the existing `ACTIVE` item. The response contains the existing
/// item.
///
/// # Errors
/// 400 for invalid input. 403 for an account that the caller does not own. 404 for an unknown or
/// expired item. 409 for a purchased item, a full cart, another currency than the cart, or a
/// quantity over the maximum.
pub async fn update_cart_item(cart: Cart, request: Request<UpdateCartItemInput>) -> Result<Json<CartItemBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    let cart_item = optimistically(|| cart.change(&request)).await?;
    Ok(Json(cart_item.into()))
}

impl Cart {
    async fn change(&self, request: &Request<UpdateCartItemInput>) -> Result<CartItem, Error> {
        let (wanted, now) = (&request.input, request.milli);
        let old = match self.locate_to_change(&wanted.account, wanted.item, now).await {
            Err(Error::NotFound(what)) => return self.joined(wanted, now).await?.ok_or(Error::NotFound(what)),
            found => found?,
        };
        match wanted.to {
            Some(to) if Status::from(to) != old.sort.status => {
                old.must_be_open()?;
                match to {
                    NewStatus::Active => self.activate(&old, request).await,
                    NewStatus::Saved => self.save(&old, request).await,
                }
            }
            _ => self.count(old, wanted.quantity, now).await,
        }
    }

    async fn count(&self, old: CartItem, quantity: Option<Quantity>, now: TimestampMillis) -> Result<CartItem, Error> {
        let Some(quantity) = quantity.filter(|quantity| *quantity != old.quantity) else { return Ok(old) };
        let new = old.with_quantity(quantity, now, self.days)?;
        let mut changes = self.transition(&old, &new)?;
        changes.extend((old.sort.status == Status::Active).then(|| self.changing(&old, &new, now)));
        self.dynamo.transact(changes).await?;
        Ok(new)
    }

    async fn save(&self, old: &CartItem, request: &Request<UpdateCartItemInput>) -> Result<CartItem, Error> {
        let quantity = request.input.quantity.unwrap_or(old.quantity);
        let new = CartItem { quantity, ..old.moved(&Move::Saved, request.milli, self.days) };
        let mut changes = self.transition(old, &new)?;
        changes.push(self.taking_out(old));
        self.dynamo.transact(changes).await?;
        Ok(new)
    }

    /// Makes the item `old` ACTIVE. Merges it into the ACTIVE item of the same product, or adds it
    /// to the cart if no such item exists.
    async fn activate(&self, old: &CartItem, request: &Request<UpdateCartItemInput>) -> Result<CartItem, Error> {
        let planned = self.activation(old, request).await;
        // `old` was read before the cart. If the item became ACTIVE in the meantime, the conflict
        // may be with the item itself, and the request must be retried.
        if matches!(planned, Err(Error::Conflict(..))) {
            self.must_be_as_read(old).await?;
        }
        let (new, changes) = planned?;
        self.dynamo.transact(changes).await?;
        Ok(new)
    }

    /// Returns the ACTIVE item that results from the request, and the changes that write it.
    async fn activation(
        &self,
        old: &CartItem,
        request: &Request<UpdateCartItemInput>,
    ) -> Result<(CartItem, Vec<Change>), Error> {
        let now = request.milli;
        let quantity = request.input.quantity.unwrap_or(old.quantity);
        let contents = self.contents(&old.account).await?;
        let entry = contents.as_ref().and_then(|contents| contents.items.get(&old.sku));
        let there = match entry {
            Some(entry) if entry.item == old.id() => return Err(Error::stale()),
            Some(entry) => self.item_of(&old.account, *entry, now).await?,
            None => None,
        };
        if let Some(there) = there {
            let sum = there.grown(quantity, now, self.days)?;
            let joined = CartItem { quantity, ..old.moved(&Move::Joined(there.id()), now, self.days) };
            let mut changes = self.transition(old, &joined)?;
            changes.extend(self.transition(&there, &sum)?);
            changes.push(self.changing(&there, &sum, now));
            return Ok((sum, changes));
        }
        let new = CartItem { quantity, ..old.moved(&Move::Active, now, self.days) };
        let mut changes = self.transition(old, &new)?;
        changes.push(self.entering(contents.as_ref(), &new, now).await?);
        Ok((new, changes))
    }

    async fn must_be_as_read(&self, cart_item: &CartItem) -> Result<(), Error> {
        let is = self.table.get::<CartItem>(&cart_item.key()).await?;
        if is.is_some_and(|is| is.version == cart_item.version) { Ok(()) } else { Err(Error::stale()) }
    }

    /// Returns the ACTIVE item into which an earlier identical request merged the requested item,
    /// if any.
    async fn joined(&self, wanted: &UpdateCartItemInput, now: TimestampMillis) -> Result<Option<CartItem>, Error> {
        let Some(NewStatus::Active) = wanted.to else { return Ok(None) };
        let pointer = self.pointer(&wanted.account, wanted.item).await?;
        let is_joined = |pointer: &Pointer| pointer.cart_item.status == Status::Joined && pointer.is_live(now);
        let Some(pointer) = pointer.filter(is_joined) else { return Ok(None) };
        let tombstone = self.table.get::<CartItem>(&pointer.cart_item_key()).await?;
        let same = tombstone.filter(|cart_item| wanted.quantity.is_none_or(|quantity| quantity == cart_item.quantity));
        let Some(item) = same.and_then(|cart_item| cart_item.joined_to) else { return Ok(None) };
        let (cart_item, _) = self.locate(&wanted.account, item, now).await?;
        Ok(Some(cart_item).filter(|cart_item| cart_item.sort.status == Status::Active))
    }
}
