//! C12: ships, delivers or cancels an order (docs/requirements/cart.md#orders,
//! docs/decisions/cart-orders.md).

use crate::{
    Cart, DOMAIN, MAX_MOVED_AT_ONCE, Order, Task,
    cost::{self, Calls, Named, Pattern},
    model::order::{Line, NewStatus, OrderBody},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger, optimistically};
use jiff::SignedDuration;
use keys::{AccountId, OrderId, RequestId, TimestampMillis, cart::OrderStatus};
use table::{
    Change, Condition,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "C12",
    name: "update-order",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/cart/accounts/{accountId}/orders/{orderId}",
        scopes: &["cart:write", "cart:operate"],
        summary: "Ship, deliver or cancel an order",
        problems: &[Problem::NotFound, Problem::OrderStatus],
    }]),
    calls: &[
        Calls::new(", to SHIPPED or CANCELLED", |case| {
            changed(case)
                .write(cost::CART, case.moved().times(2 * case.cart_items))
                .write(cost::BY_SKU, case.cart_item_write().times(2 * case.cart_items))
        }),
        Calls::new(", to SHIPPED or CANCELLED, over 32 items", |case| changed(case).write(cost::JOBS, 2)),
        Calls::new(", to DELIVERED", |case| {
            let cost = Cost::default().read(cost::CART, read(case.order)).write(cost::CART, write(case.order));
            listed_anew(case, cost)
        }),
    ],
    contract: function::contract(&update_order),
    function: || function::http(update_order, Cart::warm_by_get),
};

fn changed(case: &Named) -> Cost {
    let read = read(case.order) + read(case.lines);
    listed_anew(case, Cost::default().read(cost::CART, read).write(cost::CART, write(case.order).times(2)))
}

/// Adds the write request units for the index entry of an order, which moves to another partition.
fn listed_anew(case: &Named, cost: Cost) -> Cost {
    cost.write(cost::BY_STATUS, write(case.entry).times(2))
}

/// Time after which a job should have moved the items of an order.
const PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// Path and body of the request.
#[derive(Debug, Clone, Input)]
pub struct UpdateOrderInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(path = "orderId")]
    order: OrderId,
    /// Customers may cancel. The other statuses require `cart:operate`.
    #[input(body, via = NewStatus)]
    status: OrderStatus,
}

/// Changes the status of an order: PLACED to SHIPPED or CANCELLED, and SHIPPED to DELIVERED. The
/// cart items of the order get the status SHIPPED or CANCELLED. A request for the status that the
/// order has changes nothing. If the job of the last change has not ended for a minute, any request
/// wakes it up.
///
/// # Errors
/// 403 for an account that the caller does not own, and for any status but CANCELLED without the
/// operator scope. 404 for an unknown order. 409 if the status of the order does not allow the
/// change. 503 while a job still moves the cart items of the last change.
pub async fn update_order(cart: Cart, request: Request<UpdateOrderInput>) -> Result<Json<OrderBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    if request.input.status != OrderStatus::Cancelled {
        request.caller.must_operate(DOMAIN)?;
    }
    let order = optimistically(|| cart.update_order(&request)).await?;
    Ok(Json(OrderBody::of(order, &request.caller)))
}

impl Cart {
    async fn update_order(&self, request: &Request<UpdateOrderInput>) -> Result<Order, Error> {
        let UpdateOrderInput { account, order, status } = &request.input;
        let old = self.order(account, order).await?;
        if old.moving {
            self.wake_up(&old, request.id, request.milli).await?;
        }
        if old.status == *status {
            return Ok(old);
        }
        let new = old.with_status(*status, request.caller.author(DOMAIN), request.milli)?;
        if old.moving {
            return Err(Error::stale());
        }
        if *status == OrderStatus::Delivered {
            self.dynamo.write_once_as(self.replacing_order(&old, &new)?, &new).await?;
            return Ok(new);
        }
        let lines = self.lines(account, order).await?;
        if lines.len() <= MAX_MOVED_AT_ONCE {
            match self.move_at_once(&old, &new, &lines).await {
                // A cart item was changed by hand. The job restores it.
                Err(Error::Table(table::Error::Refused(refused))) if !refused.at(0) => {}
                done => return done.map(|()| new),
            }
        }
        let new = Order { moving: true, ..new };
        let job = self.jobs.table().put_new(&Task::of(&new).job(request.id, request.now)?)?;
        self.dynamo.transact(vec![self.replacing_order(&old, &new)?, job]).await?;
        Ok(new)
    }

    /// Wakes up the job that moves the items of an order, unless the order changed less than a
    /// minute ago. If the job item has expired, creates it again.
    async fn wake_up(&self, order: &Order, run: RequestId, now: TimestampMillis) -> Result<(), Error> {
        if now.instant().duration_since(order.status_changed_at.instant()) >= PATIENCE {
            self.jobs.start(Task::of(order).job(run, now.second())?, &run).await?;
        }
        Ok(())
    }

    async fn move_at_once(&self, old: &Order, new: &Order, lines: &[Line]) -> Result<(), Error> {
        let mut changes = vec![self.replacing_order(old, new)?];
        changes.extend(self.moving(new, lines)?);
        Ok(self.dynamo.transact(changes).await?)
    }

    fn replacing_order(&self, old: &Order, new: &Order) -> Result<Change, Error> {
        Ok(self.table.replace(new)?.only_if(Condition::is(Order::VERSION, old.version)))
    }
}
