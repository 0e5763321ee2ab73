//! C4: buys everything that is in the cart.

use crate::{
    Cart, DOMAIN, Line, LineBody,
    cost::{self, Calls, Pattern},
    model::line::Move,
};
use function::{
    Error, Fields, Fingerprint, Function, IdempotentRequest, Input, Json, Problem, Request, Route, Trigger,
    optimistically,
};
use futures::future::try_join;
use keys::{
    AccountId, OrderId, TimestampMillis,
    cart::{LineSort, Status},
};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use table::{Condition, Query, Units, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(checkout_cart, Cart::warm_by_get)
}

/// The access pattern.
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
        condition: "get SK = CART; PK = account, SK begins with ACTIVE#, strongly; then in one transaction every line as to PURCHASED, if nothing was added since",
        formula: "1 R and ⌈Σ lines⌉ R; 2 × (⌈line⌉ + ⌈line⌉ + ⌈pointer⌉) W a line and 2 W for the check; GSI1 2 × ⌈line⌉ W a line; 1 R and 2 × ⌈record⌉ W more with an Idempotency-Key",
        cost: |case| {
            Cost::default()
                .read(cost::CART, case.looked_at())
                .read(cost::CART, case.record_read())
                .write(cost::CART, (case.moved().times(case.count()) + Units::whole(1) + case.record_write()).times(2))
                .write(cost::BY_SKU, case.line_write().times(2 * case.count()))
        },
    }],
    function,
};

/// Whose cart.
#[derive(Debug, Clone)]
pub struct Checkout {
    account: AccountId,
}

impl Input for Checkout {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { account: fields.path("accountId")? })
    }
}

/// What was bought.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    order_id: OrderId,
    items: Vec<LineBody>,
}

/// Makes every ACTIVE line PURCHASED under one order id, or none.
///
/// # Errors
/// 403 for another's account, 409 for an empty cart, 422 for a key that came with another request.
pub async fn checkout_cart(cart: Cart, request: Request<Checkout>) -> Result<Json<Order>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    Ok(Json(optimistically(|| cart.check_out(&request)).await?))
}

/// Enough of the first answer to give it again: the order, whose lines, which are final, all have its time.
#[derive(Debug, Serialize, Deserialize)]
struct Bought {
    order: OrderId,
    at: TimestampMillis,
}

impl Cart {
    async fn check_out(&self, request: &Request<Checkout>) -> Result<Order, Error> {
        let (account, now) = (&request.input.account, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, account, key, Fingerprint::of(&["checkout-cart"]), now);
        let (before, additions) = Box::pin(try_join(once.before(), self.additions(account))).await?;
        if let Some(bought) = before {
            return self.order(account, bought).await;
        }
        let seen = self.look(account, additions, None, now).await?;
        let lines = &seen.lines;
        seen.must_have_room_for(0)?;
        if lines.is_empty() {
            let refusal = Error::Conflict(Problem::CartEmpty, "The cart has no active line.".to_owned());
            // The same request, done since the record was looked for, may be what emptied the cart.
            return self.order(account, once.before().await?.ok_or(refusal)?).await;
        }
        // One time for all of them, by which the order is found again; a line's own times never go back.
        let at = lines.iter().map(|line| line.sort.since).fold(now, TimestampMillis::max);
        let order = OrderId::new(now.instant(), &request.random);
        let mut bought = Vec::with_capacity(lines.len());
        let mut changes = vec![self.nothing_added(account, seen.additions())];
        for line in lines {
            let new = line.moved(&Move::Purchased(order.clone()), at, self.days)?;
            changes.extend(self.transition(line, &new)?);
            bought.push(new);
        }
        changes.extend(once.remember(&Bought { order: order.clone(), at })?);
        self.dynamo.transact(changes).await?;
        Ok(Order::of(order, bought))
    }

    /// An order of before: what was purchased at that time under that id, which never changes.
    async fn order(&self, account: &AccountId, Bought { order, at }: Bought) -> Result<Order, Error> {
        let range = LineSort::between(Status::Purchased, Some(at), Some(at));
        let query = Query::new(account, &range).only_if(Condition::is(Line::ORDER_ID, &order));
        Ok(Order::of(order, self.table.query_all(&query).await?))
    }
}

impl Order {
    /// In the order of the list of purchased lines.
    fn of(order_id: OrderId, mut lines: Vec<Line>) -> Self {
        lines.sort_by_key(|line| Reverse(line.sort));
        Self { order_id, items: lines.into_iter().map(LineBody::from).collect() }
    }
}
