//! C8: one line.

use crate::{
    Cart, DOMAIN, LineBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger, optimistically};
use keys::{AccountId, cart::ItemId};
use table::cost::Cost;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_cart_item, Cart::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "C8",
    name: "get-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/items/{itemId}",
        scopes: &["cart:read", "cart:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get: PK = account, SK = ITEM#item id; then get the line where that points",
        formula: "⌈pointer⌉ R and ⌈line⌉ R: what was written is seen",
        cost: |case| Cost::default().read(cost::CART, case.locate()),
    }],
    function,
};

/// Which line.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub(crate) account: AccountId,
    pub(crate) item: ItemId,
}

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, item) = (fields.path("accountId"), fields.path("itemId"));
        Some(Self { account: account?, item: item? })
    }
}

/// Reads one line, strongly consistent.
///
/// # Errors
/// 403 for another's account, 404.
pub async fn get_cart_item(cart: Cart, request: Request<Wanted>) -> Result<Json<LineBody>, Error> {
    let Wanted { account, item } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    Ok(Json(optimistically(|| cart.locate(account, *item, request.milli)).await?.into()))
}
