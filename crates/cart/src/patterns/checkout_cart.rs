//! C4: buys all active items of a cart (docs/requirements/cart.md#orders,
//! docs/decisions/cart-orders.md).

use crate::{
    Cart, CartItem, DOMAIN, MAX_MOVED_AT_ONCE, Order, OrderLines,
    cost::{self, Calls, Named, Pattern},
    jobs::Task,
    model::{
        order::{Line, OrderBody, OrderLineBody},
        product::{Products, unavailable},
    },
};
use function::{
    Contract, Error, Fields, Fingerprint, IdempotentRequest, Input, Json, Problem, Request, Route, Trigger, is_zero,
    optimistically,
};
use jiff::SignedDuration;
use keys::{
    AccountId, OrderId, TimestampMillis,
    cart::{LinesSort, OrderSort, OrderStatus, OrdersPartition},
};
use money::{Currency, Decimal, JsonDecimal, Money};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{cmp::Reverse, collections::BTreeSet};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "C4",
    name: "checkout-cart",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/cart/accounts/{accountId}/checkout",
        scopes: &["cart:write", "cart:operate"],
        summary: "Purchase all active items of the cart, or none",
        problems: &[
            Problem::CartEmpty,
            Problem::ProductUnavailable,
            Problem::CartCurrency,
            Problem::TotalChanged,
            Problem::IdempotencyKeyReused,
        ],
    }]),
    calls: &[
        Calls::new("", |case| {
            ordered(case)
                .write(cost::CART, case.moved().times(2 * case.cart_items))
                .write(cost::BY_SKU, case.cart_item_write().times(2 * case.cart_items))
        }),
        Calls::new(", over 32 items", |case| ordered(case).write(cost::JOBS, 2)),
    ],
    contract: function::contract(&checkout_cart),
    function: || function::http(checkout_cart, Cart::warm_by_get),
};

fn ordered(case: &Named) -> Cost {
    let order = case.contents_write() + write(case.order) + write(case.lines) + case.record_write();
    Cost::default()
        .read(cost::CART, case.contents_read() + case.read_all() + case.record_read())
        .read(cost::PRODUCTS, read(case.product).times(case.cart_items))
        .write(cost::CART, order.times(2))
        .write(cost::BY_STATUS, write(case.entry))
}

/// Path and body of the request.
#[derive(Debug, Clone)]
pub struct CheckoutCartInput {
    account: AccountId,
    /// Total that the customer has seen.
    expected: Option<Expected>,
}

/// Total that the customer has seen. It is in the currency of the cart items, unless the request
/// names another.
#[derive(Debug, Clone, Copy)]
struct Expected {
    total: Decimal,
    currency: Option<Currency>,
}

impl Input for CheckoutCartInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        let account = fields.path("accountId");
        if fields.has_body("expectedCurrency") && !fields.has_body("expectedTotal") {
            fields.fault::<()>("/body/expectedTotal", "is required with expectedCurrency");
        }
        let (total, currency) = (fields.body_if_any("expectedTotal"), fields.body_if_any("expectedCurrency"));
        let expected = total.map(|JsonDecimal(total)| Expected { total, currency });
        Some(Self { account: account?, expected })
    }

    fn describe(contract: &mut Contract) {
        contract.path::<AccountId>("accountId", "");
        contract.name_body("Checkout");
        let total = "The total that the customer has seen, in the currency of the cart items. If the total or its currency \
            differs, the response is 409.";
        contract.body::<ExpectedTotal>("expectedTotal", total, false);
        let currency =
            "The currency of `expectedTotal`, which it requires. The default is the currency of the cart items.";
        contract.body::<Currency>("expectedCurrency", currency, false);
        contract.problem::<Current>(Problem::TotalChanged);
        contract.adapt_body(|body| {
            body.insert("dependentRequired".to_owned(), json!({"expectedCurrency": ["expectedTotal"]}));
        });
    }
}

struct ExpectedTotal;
keys::schema!(ExpectedTotal as "ExpectedTotal": {
    "oneOf": [
        {"title": "TotalText", "type": "string", "pattern": r"^-?(0|[1-9][0-9]{0,37})(\.[0-9]+)?$"},
        {"title": "TotalNumber", "type": "number"}
    ]
});

impl Expected {
    /// Returns whether the total is the expected one. `shown` is the currency of the cart items.
    fn is(self, total: Money, shown: Currency) -> bool {
        Money::new(self.total, self.currency.unwrap_or(shown)) == Ok(total)
    }
}

/// Buys every item of the cart at the current price of its product, or none. Items that cannot be
/// read stay in the cart, and the response has their number
/// (docs/decisions/unreadable-items.md).
///
/// # Errors
/// 403 for an account that the caller does not own. 409 for an empty cart, for a product that
/// cannot be bought or has another currency, and for a total other than `expectedTotal`, also in
/// another currency. 422 for an
/// idempotency key that was used for a different request.
pub async fn checkout_cart(cart: Cart, request: Request<CheckoutCartInput>) -> Result<Json<OrderBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    Ok(Json(optimistically(|| cart.check_out(&request)).await?))
}

/// Outcome that the idempotency record stores.
#[derive(Debug, Serialize, Deserialize)]
struct Bought {
    order: OrderId,
    #[serde(default, skip_serializing_if = "is_zero")]
    skipped: usize,
}

impl CheckoutCartInput {
    fn fingerprint(&self) -> Fingerprint {
        let total = self.expected.map(|expected| expected.total.to_string());
        let currency = self.expected.and_then(|expected| expected.currency).map(Currency::code);
        Fingerprint::of(&["checkout-cart", total.as_deref().unwrap_or_default(), currency.unwrap_or_default()])
    }
}

impl Cart {
    async fn check_out(&self, request: &Request<CheckoutCartInput>) -> Result<OrderBody, Error> {
        let (account, now) = (&request.input.account, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, account, key, request.input.fingerprint(), now);
        if let Some(bought) = once.before().await? {
            return self.repeated(request, bought).await;
        }
        match self.buy(request, &once).await {
            // Another request with the same idempotency key may have completed after the record was
            // read, and may have caused this rejection.
            Err(refusal @ (Error::Conflict(..) | Error::Differs(..))) => {
                self.repeated(request, once.before().await?.ok_or(refusal)?).await
            }
            done => done,
        }
    }

    async fn buy(
        &self,
        request: &Request<CheckoutCartInput>,
        once: &IdempotentRequest<'_>,
    ) -> Result<OrderBody, Error> {
        let (CheckoutCartInput { account, expected }, now) = (&request.input, once.now);
        let Some(contents) = self.contents(account).await? else {
            return Err(if self.restore(account, now).await? { Error::stale() } else { empty() });
        };
        let in_cart = self.in_cart(account, &contents, now).await?;
        let (bought, skipped) = (&in_cart.cart_items, in_cart.unreadable.len());
        if bought.is_empty() {
            return Err(match skipped {
                0 => empty(),
                skipped => Error::Internal(format!("{skipped} cart items cannot be read, and the cart has no others")),
            });
        }
        let lines = priced(bought, &self.products_of(bought, true).await?.complete()?)?;
        let total = sum(&lines)?;
        // All items of a cart have one currency, but their products can have changed to another.
        if let Some((expected, shown)) = expected.zip(bought.first().map(|shown| shown.price.currency()))
            && !expected.is(total, shown)
        {
            return Err(total_changed(total, lines));
        }
        let at = order_time(now, &lines, contents.ordered_at)?;
        let sort = OrderSort(OrderId::new(at.instant(), &request.random));
        let (status, shard) = (OrderStatus::Placed, self.orders.shards.pick(&request.random));
        let order = Order {
            account: account.clone(),
            sort,
            by_status: OrdersPartition { status, shard },
            status,
            total,
            placed_at: at,
            status_changed_at: at,
            moving: lines.len() > MAX_MOVED_AT_ONCE,
            version: 1,
            changed_by: request.caller.author(DOMAIN),
        };
        let moving = order.moving.then(|| order.id());
        let after = contents.after_checkout(&in_cart, at, moving, self.contents_expiry(now));
        let stored = OrderLines { account: account.clone(), sort: LinesSort(order.id().clone()), lines };
        let mut changes =
            vec![self.replacing(&contents, &after)?, self.table.put_new(&order)?, self.table.put_new(&stored)?];
        if order.moving {
            changes.push(self.jobs.table().put_new(&Task::of(&order).job(request.id, request.now)?)?);
        } else {
            changes.extend(self.moving(&order, &stored.lines)?);
        }
        changes.extend(once.remember(&Bought { order: order.id().clone(), skipped })?);
        self.dynamo.transact(changes).await?;
        Ok(OrderBody::of(order, &request.caller).with(stored.lines, skipped))
    }

    /// Returns the response to the first request: the order when it was placed. If its status has
    /// changed since, nothing tells who placed it.
    async fn repeated(
        &self,
        request: &Request<CheckoutCartInput>,
        Bought { order, skipped }: Bought,
    ) -> Result<OrderBody, Error> {
        let (order, lines) = self.order_with_lines(&request.input.account, &order).await?;
        let order = Order { status: OrderStatus::Placed, status_changed_at: order.placed_at, ..order };
        let body = if order.version == 1 { OrderBody::of(order, &request.caller) } else { order.into() };
        Ok(body.with(lines, skipped))
    }
}

fn empty() -> Error {
    Error::Conflict(Problem::CartEmpty, "The cart has no active items.".to_owned())
}

/// Returns the lines at the current names and prices, in the order of the purchased cart items.
fn priced(bought: &[CartItem], products: &Products) -> Result<Vec<Line>, Error> {
    let on_sale = |cart_item: &CartItem| products.get(&cart_item.sku).filter(|product| product.active);
    let gone: BTreeSet<_> = bought.iter().filter(|one| on_sale(one).is_none()).map(|one| &one.sku).collect();
    if !gone.is_empty() {
        return Err(unavailable(gone));
    }
    let lines =
        bought.iter().filter_map(|one| on_sale(one).map(|product| Line::of(one, product.name.clone(), product.price)));
    let mut lines: Vec<_> = lines.collect();
    lines.sort_by_key(|line| Reverse(line.item()));
    Ok(lines)
}

fn sum(lines: &[Line]) -> Result<Money, Error> {
    let mut totals = lines.iter().map(Line::total);
    let first = totals.next().flatten();
    let total = totals.fold(first, |sum, line| sum?.checked_add(line?));
    let detail = "The products of the cart have different currencies.";
    total.ok_or_else(|| Error::Conflict(Problem::CartCurrency, detail.to_owned()))
}

/// What a checkout would buy now.
#[derive(Serialize, JsonSchema)]
struct Current {
    total: Decimal,
    currency: Currency,
    items: Vec<OrderLineBody>,
}

fn total_changed(total: Money, lines: Vec<Line>) -> Error {
    let items = lines.into_iter().map(OrderLineBody::from).collect();
    let current = json!(Current { total: total.amount(), currency: total.currency(), items });
    let current = current.as_object().cloned().unwrap_or_default();
    let detail = format!(
        "The total is {total}. Nothing was bought. To buy at this total, send it as expectedTotal and expectedCurrency."
    );
    Error::Differs(Problem::TotalChanged, detail, current)
}

/// Returns the time of the order. It is after the last order of the cart, and not before the status
/// times of the cart items.
fn order_time(now: TimestampMillis, lines: &[Line], last: Option<TimestampMillis>) -> Result<TimestampMillis, Error> {
    let after_last = last.and_then(|last| last.instant().checked_add(SignedDuration::from_millis(1)).ok());
    let after_last = after_last.and_then(|after| TimestampMillis::containing(after).ok());
    if last.is_some() && after_last.is_none() {
        return Err(Error::Internal("the last order is too late".to_owned()));
    }
    let times = lines.iter().map(Line::since).chain(after_last);
    Ok(times.fold(now, TimestampMillis::max))
}
