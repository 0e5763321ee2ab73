//! C3: takes a line out of the cart.

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    model::line::Move,
    patterns::get_cart_item::Wanted,
};
use function::{Error, Function, NoContent, Request, Route, Trigger, optimistically};
use table::cost::Cost;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(remove_cart_item, Cart::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "C3",
    name: "remove-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/cart/accounts/{accountId}/items/{itemId}",
        scopes: &["cart:write", "cart:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get pointer and line; then in one transaction delete STATUS#time#item id, put REMOVED#time#item id, which TTL deletes, and the pointer",
        formula: "⌈pointer⌉ + ⌈line⌉ R; 2 × (⌈line⌉ + ⌈line⌉ + ⌈pointer⌉) W; GSI1 ⌈line⌉ W",
        cost: |case| {
            Cost::default()
                .read(cost::CART, case.locate())
                .write(cost::CART, case.moved().times(2))
                .write(cost::BY_SKU, case.line_write())
        },
    }],
    function,
};

/// Takes a line out of the cart. It stays for a week as REMOVED, which nobody sees: so the stream tells a removal from the
/// first half of a move.
///
/// # Errors
/// 403 for another's account, 404, 409 for a line that was purchased.
pub async fn remove_cart_item(cart: Cart, request: Request<Wanted>) -> Result<NoContent, Error> {
    let Wanted { account, item } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    optimistically(|| async {
        let old = cart.locate(account, *item, request.milli).await?;
        let new = old.moved(&Move::Removed, request.milli, cart.days)?;
        Ok(cart.dynamo.transact(cart.transition(&old, &new)?).await?)
    })
    .await?;
    Ok(NoContent)
}
