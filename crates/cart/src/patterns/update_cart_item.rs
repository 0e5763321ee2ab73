//! C2: changes a line's quantity, or moves its status.

use crate::{
    Cart, DOMAIN, Line, LineBody, Listed, Quantity,
    cost::{self, Calls, Case, Pattern},
    model::{additions::Seen, line::Move, pointer::Pointer},
};
use function::{Error, Fields, Function, Input, Json, Problem, Request, Route, Trigger, optimistically};
use keys::{
    AccountId, OrderId, TimestampMillis,
    cart::{ItemId, Status},
};
use table::{Change, Units, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(update_cart_item, Cart::warm_by_get)
}

/// The access pattern.
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
            condition: "get pointer and line; then in a transaction the line if nobody changed it since",
            formula: "⌈pointer⌉ + ⌈line⌉ R; 2 × ⌈line⌉ W; GSI1 ⌈line⌉ W; 1 R and 4 W more once a day, when the line's life is renewed",
            cost: |case| {
                Cost::default()
                    .read(cost::CART, case.locate())
                    .write(cost::CART, case.line_write().times(2))
                    .write(cost::BY_SKU, case.line_write())
            },
        },
        Calls {
            variant: ", to SAVED or PURCHASED",
            condition: "get pointer and line; then in one transaction delete STATUS#time#item id if nobody changed it since, put it under the new key, and the pointer",
            formula: "⌈pointer⌉ + ⌈line⌉ R; 2 × (⌈line⌉ + ⌈line⌉ + ⌈pointer⌉) W; GSI1 2 × ⌈line⌉ W",
            cost: move_cost,
        },
        Calls {
            variant: ", to ACTIVE",
            condition: "as to SAVED, and the reads and the change of SK = CART of an addition; where the product is in the cart already, the line to JOINED and the sum in that one, in place of CART",
            formula: "⌈pointer⌉ + ⌈line⌉ + 1 + ⌈Σ ACTIVE lines⌉ R; 2 × (⌈line⌉ + ⌈line⌉ + ⌈pointer⌉ + 1) W; GSI1 2 × ⌈line⌉ W",
            cost: |case| move_cost(case).read(cost::CART, case.looked_at()).write(cost::CART, Units::whole(2)),
        },
    ],
    function,
};

fn move_cost(case: &Case) -> Cost {
    Cost::default()
        .read(cost::CART, case.locate())
        .write(cost::CART, case.moved().times(2))
        .write(cost::BY_SKU, case.line_write().times(2))
}

/// What a caller asks for: a quantity, a status, or both.
#[derive(Debug, Clone)]
pub struct Update {
    account: AccountId,
    item: ItemId,
    quantity: Option<Quantity>,
    to: Option<Target>,
}

/// Where a line may be moved. Only a purchase has an order id; without one it makes its own.
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
            // A status that can't be read is a fault already, and may have meant PURCHASED.
            (None, Some(_)) if fields.has_body("status") => None,
            (_, Some(_)) => fields.fault("/body/orderId", "goes with PURCHASED only"),
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

/// Changes a line's quantity and moves its status: ACTIVE ⇄ SAVED, and to PURCHASED, which is final. A line that becomes ACTIVE
/// while its product is in the cart joins the line that is there, and that one is answered.
///
/// # Errors
/// 400, 403 for another's account, 404, 409 for a purchased line, a full cart or a full line, 413 for an order id that is too
/// long for the line.
pub async fn update_cart_item(cart: Cart, request: Request<Update>) -> Result<Json<LineBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    let line = optimistically(|| cart.change(&request)).await?;
    Ok(Json(line.into()))
}

impl Cart {
    async fn change(&self, request: &Request<Update>) -> Result<Line, Error> {
        let (wanted, now) = (&request.input, request.milli);
        let old = match self.locate(&wanted.account, wanted.item, now).await {
            Err(Error::NotFound(what)) => return self.joined(wanted, now).await?.ok_or(Error::NotFound(what)),
            found => found?,
        };
        match &wanted.to {
            Some(to) if to.status() != old.sort.status => self.move_line(&old, to, request).await,
            Some(Target::Purchased(Some(order))) if old.order_id.as_ref() != Some(order) => {
                let detail = "The line was purchased under another order.".to_owned();
                Err(Error::Conflict(Problem::Purchased, detail))
            }
            _ => self.count(old, wanted.quantity, now).await,
        }
    }

    async fn count(&self, old: Line, quantity: Option<Quantity>, now: TimestampMillis) -> Result<Line, Error> {
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

    async fn move_line(&self, old: &Line, to: &Target, request: &Request<Update>) -> Result<Line, Error> {
        old.must_be_open()?;
        let now = request.milli;
        let to = match to {
            Target::Active => return self.activate(old, request).await,
            Target::Saved => Move::Saved,
            Target::Purchased(Some(order)) => Move::Purchased(order.clone()),
            Target::Purchased(None) => Move::Purchased(OrderId::new(now.instant(), &request.random)),
        };
        let quantity = request.input.quantity.unwrap_or(old.quantity);
        let new = Line { quantity, ..old.moved(&to, now, self.days)? };
        self.dynamo.transact(self.transition(old, &new)?).await?;
        Ok(new)
    }

    /// Makes the line ACTIVE: it joins the one of its product that is there, or is an addition to the cart.
    async fn activate(&self, old: &Line, request: &Request<Update>) -> Result<Line, Error> {
        let seen = self.look(&old.account, self.additions(&old.account).await?, Some(old.id()), request.milli).await?;
        let planned = self.activation(old, &seen, request);
        // The line and the cart were not read at once: what is against it may be this very line, by then a part of the cart.
        if matches!(planned, Err(Error::Conflict(..))) {
            self.must_be_as_read(old).await?;
        }
        let (new, changes) = planned?;
        self.dynamo.transact(changes).await?;
        Ok(new)
    }

    /// What makes it so, and the line that is in the cart then.
    fn activation(&self, old: &Line, seen: &Seen, request: &Request<Update>) -> Result<(Line, Vec<Change>), Error> {
        let now = request.milli;
        let quantity = request.input.quantity.unwrap_or(old.quantity);
        if let Some(there) = seen.line_of(&old.sku) {
            let sum = Line { price: there.price.or(old.price), ..there.grown(quantity, now, self.days)? };
            let joined = Line { quantity, ..old.moved(&Move::Joined(there.id()), now, self.days)? };
            let mut changes = self.transition(old, &joined)?;
            changes.extend(self.change_in_cart(there, &sum, seen.additions())?);
            return Ok((sum, changes));
        }
        seen.must_have_room_for(1)?;
        let new = Line { quantity, ..old.moved(&Move::Active, now, self.days)? };
        let mut changes = self.transition(old, &new)?;
        changes.push(self.addition(seen, &new, request.id, now)?);
        Ok((new, changes))
    }

    async fn must_be_as_read(&self, line: &Line) -> Result<(), Error> {
        let is = self.table.get::<Line>(&line.key()).await?;
        if is.is_some_and(|is| is.version == line.version) { Ok(()) } else { Err(Error::stale()) }
    }

    /// The line in the cart that the wanted one became a part of, for the same request to make it ACTIVE that comes again.
    async fn joined(&self, wanted: &Update, now: TimestampMillis) -> Result<Option<Line>, Error> {
        let Some(Target::Active) = wanted.to else { return Ok(None) };
        let pointer = self.pointer(&wanted.account, wanted.item).await?;
        let is_joined = |pointer: &Pointer| pointer.line.status == Status::Joined && pointer.is_live(now);
        let Some(pointer) = pointer.filter(is_joined) else { return Ok(None) };
        let tombstone = self.table.get::<Line>(&pointer.line_key()).await?;
        let same = tombstone.filter(|line| wanted.quantity.is_none_or(|quantity| quantity == line.quantity));
        let Some(item) = same.and_then(|line| line.joined_to) else { return Ok(None) };
        let line = self.locate(&wanted.account, item, now).await?;
        Ok(Some(line).filter(|line| line.sort.status == Status::Active))
    }
}
