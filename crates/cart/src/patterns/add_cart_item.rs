//! C1: puts a product into the cart, or more of it.

use crate::{
    Cart, DOMAIN, Line, LineBody, Quantity,
    cost::{self, Calls, Pattern},
    model::additions::Seen,
};
use function::{
    Error, Fields, Fingerprint, Function, IdempotentRequest, Input, Request, Route, Trigger, Upserted, optimistically,
};
use futures::future::try_join;
use keys::{AccountId, Sku, cart::ItemId};
use money::{Currency, JsonDecimal, Money};
use serde::{Deserialize, Serialize};
use table::cost::Cost;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(add_cart_item, Cart::warm_by_get)
}

/// The access pattern.
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
            condition: "get SK = CART; PK = account, SK begins with ACTIVE#, strongly; then in one transaction put the line and its pointer if absent, and CART if nothing was added since",
            formula: "1 R and ⌈Σ ACTIVE lines⌉ R; 2 × (⌈line⌉ + 2) W; GSI1 ⌈line⌉ W; 1 R and 2 × ⌈record⌉ W more with an Idempotency-Key",
            cost: |case| {
                Cost::default()
                    .read(cost::CART, case.looked_at())
                    .read(cost::CART, case.record_read())
                    .write(cost::CART, (case.line_write() + table::Units::whole(2) + case.record_write()).times(2))
                    .write(cost::BY_SKU, case.line_write())
            },
        },
        Calls {
            variant: ", in the cart already",
            condition: "the same reads; then in one transaction the line with the sum, if nobody changed it since",
            formula: "1 R and ⌈Σ ACTIVE lines⌉ R; 2 × ⌈line⌉ W; GSI1 ⌈line⌉ W; 1 R and 2 × ⌈record⌉ W more with an Idempotency-Key. Once a day, when the line's life is renewed, 2 × (⌈pointer⌉ + 1) W more",
            cost: |case| {
                Cost::default()
                    .read(cost::CART, case.looked_at())
                    .read(cost::CART, case.record_read())
                    .write(cost::CART, (case.line_write() + case.record_write()).times(2))
                    .write(cost::BY_SKU, case.line_write())
            },
        },
    ],
    function,
};

/// What a caller posts.
#[derive(Debug, Clone)]
pub struct NewLine {
    account: AccountId,
    sku: Sku,
    quantity: Quantity,
    price: Option<Money>,
}

impl Input for NewLine {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, sku) = (fields.path("accountId"), fields.body("sku"));
        let (quantity, price) = (fields.body("quantity"), read_price(fields));
        Some(Self { account: account?, sku: sku?, quantity: quantity?, price })
    }
}

/// Digits of a price before its point, which leaves room for a sum in any report.
const LARGEST_PRICE: i128 = 1_000_000_000_000;

/// `price` and `currency`, which go together. A price is never negative.
fn read_price(fields: &mut Fields) -> Option<Money> {
    let (amount, currency) = (fields.body_if_any::<JsonDecimal>("price"), fields.body_if_any::<Currency>("currency"));
    let missing = |fields: &mut Fields, name: &str, other: &str| {
        let pointer = format!("/body/{name}");
        if fields.has_body(name) { None } else { fields.fault(&pointer, format!("is missing: {other} needs it")) }
    };
    match (amount, currency) {
        (Some(JsonDecimal(amount)), Some(currency)) => match Money::new(amount, currency) {
            Ok(price) if (0..LARGEST_PRICE * 10_i128.pow(currency.places().into())).contains(&price.minor()) => {
                Some(price)
            }
            Ok(_) => fields.fault("/body/price", "must be from 0 to less than 1000000000000"),
            Err(error) => fields.fault("/body/price", error),
        },
        (Some(_), None) => missing(fields, "currency", "price"),
        (None, Some(_)) => missing(fields, "price", "currency"),
        (None, None) => None,
    }
}

/// Puts a product into the cart: a line of its own, or more of the line that is there.
///
/// # Errors
/// 400, 403 for another's account, 409 for a full cart or line, 413 for ids that are too long, 422 for a key that came with
/// another request.
pub async fn add_cart_item(cart: Cart, request: Request<NewLine>) -> Result<Upserted<LineBody>, Error> {
    request.caller.must_own(&request.input.account, DOMAIN)?;
    optimistically(|| cart.add(&request)).await
}

impl NewLine {
    fn fingerprint(&self) -> Fingerprint {
        let (quantity, price) = (u32::from(self.quantity).to_string(), self.price.map(|price| price.to_string()));
        Fingerprint::of(&["add-cart-item", self.sku.as_str(), &quantity, price.as_deref().unwrap_or_default()])
    }
}

impl Cart {
    async fn add(&self, request: &Request<NewLine>) -> Result<Upserted<LineBody>, Error> {
        let (new, now) = (&request.input, request.milli);
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, &new.account, key, new.fingerprint(), now);
        let (before, additions) = Box::pin(try_join(once.before::<Added>(), self.additions(&new.account))).await?;
        if let Some(added) = before {
            return Ok(added.into());
        }
        let seen = self.look(&new.account, additions, None, now).await?;
        let done = match seen.line_of(&new.sku) {
            Some(line) => self.grow(&seen, line, new, &once).await,
            None => self.begin(&seen, request, &once).await,
        };
        match done {
            // The same request, done since the record was looked for, may be what leaves no room for it.
            Err(refusal @ (Error::Conflict(..) | Error::TooLarge(_))) => {
                Ok(once.before::<Added>().await?.ok_or(refusal)?.into())
            }
            done => done,
        }
    }

    async fn begin(
        &self,
        seen: &Seen,
        request: &Request<NewLine>,
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<LineBody>, Error> {
        seen.must_have_room_for(1)?;
        let NewLine { account, sku, quantity, price } = request.input.clone();
        let id = ItemId::new(once.now.instant(), &request.random);
        let line = Line::added(id, account, sku, quantity, price, once.now, self.days);
        line.must_fit()?;
        let mut changes = self.insertion(&line)?;
        changes.push(self.addition(seen, &line, request.id, once.now)?);
        changes.extend(once.remember(&Added { created: true, line: line.clone() })?);
        self.dynamo.transact(changes).await?;
        Ok(Upserted { created: Some(line.id().to_string()), body: line.into() })
    }

    async fn grow(
        &self,
        seen: &Seen,
        old: &Line,
        new: &NewLine,
        once: &IdempotentRequest<'_>,
    ) -> Result<Upserted<LineBody>, Error> {
        let grown = old.grown(new.quantity, once.now, self.days)?;
        let grown = Line { price: new.price.or(old.price), ..grown };
        grown.must_fit()?;
        let mut changes = self.change_in_cart(old, &grown, seen.additions())?;
        changes.extend(once.remember(&Added { created: false, line: grown.clone() })?);
        self.dynamo.transact(changes).await?;
        Ok(Upserted { created: None, body: grown.into() })
    }
}

/// Enough of the first answer to give it again: the line that was made or grew, as it was then.
#[derive(Debug, Serialize, Deserialize)]
struct Added {
    created: bool,
    line: Line,
}

impl From<Added> for Upserted<LineBody> {
    fn from(Added { created, line }: Added) -> Self {
        Self { created: created.then(|| line.id().to_string()), body: line.into() }
    }
}
