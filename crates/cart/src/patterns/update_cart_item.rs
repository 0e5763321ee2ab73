//! C2: changes the quantity or the status of a cart item
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products,
//! docs/decisions/cart-moves.md).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Listed, Quantity,
    cost::{self, Calls, Case, Pattern},
    model::{additions::CartState, cart_item::Move, pointer::Pointer},
};
use function::{Error, Fields, Function, Input, Json, Problem, Request, Route, Trigger, optimistically};
use keys::{
    AccountId, OrderId, TimestampMillis,
    cart::{ItemId, Status},
};
use table::{Change, Units, cost::Cost};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(update_cart_item, Cart::warm_by_get)
}

/// Declares the access pattern's route, key conditions and costs.
pub const PATTERN: Pattern = Pattern {
    id: "C2",
    name: "update-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/cart/accounts/{accountId}/items/{itemId}",
        scopes: &["cart:write", "cart:operate"],
    }]),
    calls: &[
        Calls {
            variant: ", quantity",
            condition: "get the pointer and the cart item. Then one transaction: put the cart item if its version has not changed",
            formula: "⌈pointer⌉ R + ⌈cart item⌉ R; 2 × ⌈cart item⌉ W; GSI1 ⌈cart item⌉ W. Once a day, to renew the expiry, 1 R and 4 W more",
            cost: |case| {
                Cost::default()
                    .read(cost::CART, case.locate())
                    .write(cost::CART, case.cart_item_write().times(2))
                    .write(cost::BY_SKU, case.cart_item_write())
            },
        },
        Calls {
            variant: ", to SAVED or PURCHASED",
            condition: "get the pointer and the cart item. Then one transaction: delete STATUS#time#item id if its version has not changed, put the item with the new key, put the pointer",
            formula: "⌈pointer⌉ R + ⌈cart item⌉ R; 2 × (⌈cart item⌉ + ⌈cart item⌉ + ⌈pointer⌉) W; GSI1 2 × ⌈cart item⌉ W",
            cost: move_cost,
        },
        Calls {
            variant: ", to ACTIVE",
            condition: "the reads and writes of a change to SAVED, and the reads of an addition. The transaction also puts CART. If the product is already in the cart, the transaction instead changes the item to JOINED and puts the ACTIVE item with the new quantity",
            formula: "⌈pointer⌉ R + ⌈cart item⌉ R + 1 R + ⌈Σ ACTIVE cart items⌉ R; 2 × (⌈cart item⌉ + ⌈cart item⌉ + ⌈pointer⌉ + 1) W; GSI1 2 × ⌈cart item⌉ W",
            cost: |case| move_cost(case).read(cost::CART, case.looked_at()).write(cost::CART, Units::whole(2)),
        },
    ],
    function,
};

fn move_cost(case: &Case) -> Cost {
    Cost::default()
        .read(cost::CART, case.locate())
        .write(cost::CART, case.moved().times(2))
        .write(cost::BY_SKU, case.cart_item_write().times(2))
}

/// Path and body of the request: a quantity, a status, or both.
#[derive(Debug, Clone)]
pub struct Update {
    account: AccountId,
    item: ItemId,
    quantity: Option<Quantity>,
    to: Option<Target>,
}

/// Requested status. A purchase without an order id gets a new order id.
#[derive(Debug, Clone)]
enum Target {
    Active,
    Saved,
    Purchased(Option<OrderId>),
}

impl Input for Update {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, item) = (fields.path("accountId"), fields.path("itemId"));
        let (quantity, status) = (fields.body_if_any("quantity"), fields.body_if_any::<Listed>("status"));
        let order = fields.body_if_any::<OrderId>("orderId");
        if !fields.has_body("quantity") && !fields.has_body("status") {
            fields.fault::<()>("/body", "must have a quantity or a status");
        }
        let to = match (status.map(|Listed(status)| status), order) {
            (Some(Status::Purchased), order) => Some(Target::Purchased(order)),
            // The invalid status is already reported. The caller may have meant `PURCHASED`, so the
            // order id is not reported as an error.
            (None, Some(_)) if fields.has_body("status") => None,
            (_, Some(_)) => fields.fault("/body/orderId", "is allowed only with the status PURCHASED"),
            (Some(Status::Saved), None) => Some(Target::Saved),
            (Some(_), None) => Some(Target::Active),
            (None, None) => None,
        };
        Some(Self { account: account?, item: item?, quantity, to })
    }
}

impl Target {
    fn status(&self) -> Status {
        match self {
            Self::Active => Status::Active,
            Self::Saved => Status::Saved,
            Self::Purchased(_) => Status::Purchased,
        }
    }
}

/// Changes the quantity and the status of a cart item. An `ACTIVE` item can become `SAVED`, a
/// `SAVED` item can become `ACTIVE`, and both can become `PURCHASED`, which is final.
///
/// A cart contains each product at most once. If the product is already in the cart, an item that
/// becomes `ACTIVE` is merged into the existing `ACTIVE` item. The response contains the existing
/// item.
///
/// # Errors
/// 400 for invalid input. 403 for an account that the caller does not own, and for a purchase by a
/// customer, who buys with a checkout (docs/decisions/cart-permissions.md). 404 for an unknown or
/// expired item. 409 for a purchased item, a full cart or a quantity over the maximum. 413 if the
/// order id makes the item exceed 1 KB.
pub async fn update_cart_item(cart: Cart, request: Request<Update>) -> Result<Json<CartItemBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    if let Some(Target::Purchased(_)) = request.input.to {
        request.caller.must_operate(DOMAIN)?;
    }
    let cart_item = optimistically(|| cart.change(&request)).await?;
    Ok(Json(cart_item.into()))
}

impl Cart {
    async fn change(&self, request: &Request<Update>) -> Result<CartItem, Error> {
        let (wanted, now) = (&request.input, request.milli);
        let old = match self.locate(&wanted.account, wanted.item, now).await {
            Err(Error::NotFound(what)) => return self.joined(wanted, now).await?.ok_or(Error::NotFound(what)),
            found => found?,
        };
        match &wanted.to {
            Some(to) if to.status() != old.sort.status => self.move_cart_item(&old, to, request).await,
            Some(Target::Purchased(Some(order))) if old.order_id.as_ref() != Some(order) => {
                let detail = "The cart item was purchased with a different order id.".to_owned();
                Err(Error::Conflict(Problem::Purchased, detail))
            }
            _ => self.count(old, wanted.quantity, now).await,
        }
    }

    async fn count(&self, old: CartItem, quantity: Option<Quantity>, now: TimestampMillis) -> Result<CartItem, Error> {
        let Some(quantity) = quantity.filter(|quantity| *quantity != old.quantity) else { return Ok(old) };
        let new = old.with_quantity(quantity, now, self.days)?;
        let mut additions = None;
        if new.expires_at != old.expires_at {
            additions = self.additions(&old.account).await?;
            if !old.is_live(additions.as_ref().map_or(now, |additions| additions.clock(now))) {
                return Err(Error::NotFound("cart item"));
            }
        }
        self.dynamo.transact(self.change_in_cart(&old, &new, additions.as_ref())?).await?;
        Ok(new)
    }

    async fn move_cart_item(&self, old: &CartItem, to: &Target, request: &Request<Update>) -> Result<CartItem, Error> {
        old.must_be_open()?;
        let now = request.milli;
        let to = match to {
            Target::Active => return self.activate(old, request).await,
            Target::Saved => Move::Saved,
            Target::Purchased(Some(order)) => Move::Purchased(order.clone()),
            Target::Purchased(None) => Move::Purchased(OrderId::new(now.instant(), &request.random)),
        };
        let quantity = request.input.quantity.unwrap_or(old.quantity);
        let new = CartItem { quantity, ..old.moved(&to, now, self.days)? };
        self.dynamo.transact(self.transition(old, &new)?).await?;
        Ok(new)
    }

    /// Makes the item `old` ACTIVE. Merges it into the ACTIVE item of the same product, or adds it
    /// to the cart if no such item exists.
    async fn activate(&self, old: &CartItem, request: &Request<Update>) -> Result<CartItem, Error> {
        let state = self.look(&old.account, self.additions(&old.account).await?, Some(old.id()), request.milli).await?;
        let planned = self.activation(old, &state, request);
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
    fn activation(
        &self,
        old: &CartItem,
        state: &CartState,
        request: &Request<Update>,
    ) -> Result<(CartItem, Vec<Change>), Error> {
        let now = request.milli;
        let quantity = request.input.quantity.unwrap_or(old.quantity);
        if let Some(there) = state.cart_item_of(&old.sku) {
            let sum = there.grown(quantity, now, self.days)?;
            let joined = CartItem { quantity, ..old.moved(&Move::Joined(there.id()), now, self.days)? };
            let mut changes = self.transition(old, &joined)?;
            changes.extend(self.change_in_cart(there, &sum, state.additions())?);
            return Ok((sum, changes));
        }
        state.must_have_room_for(1)?;
        state.must_have_currency(old.price.currency(), &old.sku)?;
        let new = CartItem { quantity, ..old.moved(&Move::Active, now, self.days)? };
        let mut changes = self.transition(old, &new)?;
        changes.push(self.addition(state, &new, request.id, now)?);
        Ok((new, changes))
    }

    async fn must_be_as_read(&self, cart_item: &CartItem) -> Result<(), Error> {
        let is = self.table.get::<CartItem>(&cart_item.key()).await?;
        if is.is_some_and(|is| is.version == cart_item.version) { Ok(()) } else { Err(Error::stale()) }
    }

    /// Returns the ACTIVE item into which an earlier identical request merged the requested item,
    /// if any.
    async fn joined(&self, wanted: &Update, now: TimestampMillis) -> Result<Option<CartItem>, Error> {
        let Some(Target::Active) = wanted.to else { return Ok(None) };
        let pointer = self.pointer(&wanted.account, wanted.item).await?;
        let is_joined = |pointer: &Pointer| pointer.cart_item.status == Status::Joined && pointer.is_live(now);
        let Some(pointer) = pointer.filter(is_joined) else { return Ok(None) };
        let tombstone = self.table.get::<CartItem>(&pointer.cart_item_key()).await?;
        let same = tombstone.filter(|cart_item| wanted.quantity.is_none_or(|quantity| quantity == cart_item.quantity));
        let Some(item) = same.and_then(|cart_item| cart_item.joined_to) else { return Ok(None) };
        let cart_item = self.locate(&wanted.account, item, now).await?;
        Ok(Some(cart_item).filter(|cart_item| cart_item.sort.status == Status::Active))
    }
}
