//! C4: buys all active items of a cart
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN,
    cost::{self, Calls, Pattern},
    model::cart_item::Move,
};
use function::{
    Error, Fields, Fingerprint, Function, IdempotentRequest, Input, Json, Problem, Request, Route, Trigger, is_zero,
    optimistically,
};
use futures::future::try_join;
use keys::{
    AccountId, OrderId, TimestampMillis,
    cart::{CartItemSort, Status},
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use table::{Condition, Query, Units, cost::Cost};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(checkout_cart, Cart::warm_by_get)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "C4",
    name: "checkout-cart",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/cart/accounts/{accountId}/checkout",
        scopes: &["cart:write", "cart:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get SK = CART, then query PK = account, SK begins with ACTIVE#, both with strong consistency. Then one transaction: change each cart item to PURCHASED, if no item was added in the meantime",
        formula: "1 R + ⌈Σ cart items⌉ R; for each cart item 2 × (⌈cart item⌉ + ⌈cart item⌉ + ⌈pointer⌉) W and GSI1 2 × ⌈cart item⌉ W; 2 W for the check. With an Idempotency-Key 1 R and 2 × ⌈record⌉ W more",
        cost: |case| {
            Cost::default()
                .read(cost::CART, case.looked_at())
                .read(cost::CART, case.record_read())
                .write(cost::CART, (case.moved().times(case.count()) + Units::whole(1) + case.record_write()).times(2))
                .write(cost::BY_SKU, case.cart_item_write().times(2 * case.count()))
        },
    }],
    function,
};

/// Path parameter of the request: the account.
#[derive(Debug, Clone)]
pub struct Checkout {
    account: AccountId,
}

impl Input for Checkout {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { account: fields.path("accountId")? })
    }
}

/// Response body of a checkout: the order.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderBody {
    order_id: OrderId,
    items: Vec<CartItemBody>,
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

/// Changes every ACTIVE cart item to `PURCHASED` in one transaction. All items get the same order
/// id. Items that cannot be read stay in the cart, and the response has their number
/// (docs/decisions/cart-unreadable-items.md).
///
/// # Errors
/// 403 for an account that the caller does not own, 409 for an empty cart, 422 for an idempotency
/// key that was used for a different request.
pub async fn checkout_cart(cart: Cart, request: Request<Checkout>) -> Result<Json<OrderBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    Ok(Json(optimistically(|| cart.check_out(&request)).await?))
}

/// Outcome that the idempotency record stores. All items of the order have the status time `at`.
/// Purchased items never change, so a repeated request reads them from the table.
#[derive(Debug, Serialize, Deserialize)]
struct Bought {
    order: OrderId,
    at: TimestampMillis,
    #[serde(default, skip_serializing_if = "is_zero")]
    skipped: usize,
}

impl Cart {
    async fn check_out(&self, request: &Request<Checkout>) -> Result<OrderBody, Error> {
        let (account, now) = (&request.input.account, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, account, key, Fingerprint::of(&["checkout-cart"]), now);
        let (before, additions) = Box::pin(try_join(once.before(), self.additions(account))).await?;
        if let Some(bought) = before {
            return self.order(account, bought).await;
        }
        let state = self.look(account, additions, None, now).await?;
        let cart_items = &state.cart_items;
        state.must_have_room_for(0)?;
        if cart_items.is_empty() {
            let refusal = match state.skipped {
                0 => Error::Conflict(Problem::CartEmpty, "The cart has no active items.".to_owned()),
                skipped => Error::Internal(format!("{skipped} cart items cannot be read, and the cart has no others")),
            };
            // Another request with the same idempotency key may have completed after the record was
            // read, and may have emptied the cart.
            return self.order(account, once.before().await?.ok_or(refusal)?).await;
        }
        // All items get the same status time, so that a repeated request finds them. This time is
        // the latest of `now` and the previous status times, because status times must never
        // decrease.
        let at = cart_items.iter().map(|cart_item| cart_item.sort.since).fold(now, TimestampMillis::max);
        let order = OrderId::new(now.instant(), &request.random);
        let mut bought = Vec::with_capacity(cart_items.len());
        let mut changes = vec![self.nothing_added(account, state.additions())];
        for cart_item in cart_items {
            let new = cart_item.moved(&Move::Purchased(order.clone()), at, self.days)?;
            changes.extend(self.transition(cart_item, &new)?);
            bought.push(new);
        }
        changes.extend(once.remember(&Bought { order: order.clone(), at, skipped: state.skipped })?);
        self.dynamo.transact(changes).await?;
        Ok(OrderBody::of(order, bought, state.skipped))
    }

    /// Reads the purchased items of an earlier order by their status time and order id. Purchased
    /// items never change.
    async fn order(&self, account: &AccountId, Bought { order, at, skipped }: Bought) -> Result<OrderBody, Error> {
        let range = CartItemSort::between(Status::Purchased, Some(at), Some(at));
        let query = Query::new(account, &range).only_if(Condition::is(CartItem::ORDER_ID, &order));
        let page = self.table.query_all(&query).await?;
        Ok(OrderBody::of(order, page.items, skipped + page.skipped))
    }
}

impl OrderBody {
    /// Creates the order. Its items are sorted like the list of purchased items: newest first.
    fn of(order_id: OrderId, mut cart_items: Vec<CartItem>, skipped: usize) -> Self {
        cart_items.sort_by_key(|cart_item| Reverse(cart_item.sort));
        Self { order_id, items: cart_items.into_iter().map(CartItemBody::from).collect(), skipped }
    }
}
