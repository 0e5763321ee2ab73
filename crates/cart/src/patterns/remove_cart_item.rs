//! C3: removes an item from the cart
//! (docs/requirements/cart.md#access-pattern-1-add-and-update-products).

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    model::cart_item::Move,
    patterns::get_cart_item::CartItemInput,
};
use function::{Error, NoContent, Problem, Request, Route, Trigger, optimistically};
use keys::cart::Status;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "C3",
    name: "remove-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/cart/accounts/{accountId}/items/{itemId}",
        scopes: &["cart:write", "cart:operate"],
        summary: "Remove an item from the cart",
        problems: &[Problem::NotFound, Problem::Purchased],
    }]),
    calls: &[
        Calls::new("", |case| {
            Cost::default()
                .read(cost::CART, case.located_in_cart())
                .write(cost::CART, (case.cart_item_write().times(2) + case.contents_write()).times(2))
                .write(cost::BY_SKU, case.cart_item_write())
        }),
        Calls::new(", saved", |case| {
            Cost::default()
                .read(cost::CART, case.located())
                .write(cost::CART, case.moved().times(2))
                .write(cost::BY_SKU, case.cart_item_write())
        }),
    ],
    contract: function::contract(&remove_cart_item),
    function: || function::http(remove_cart_item, Cart::warm_by_get),
};

/// Removes an item from the cart. The item stays in the table for a week with the status `REMOVED`,
/// but no read returns it. In the stream, a deletion does not identify a removal, because every
/// status change deletes the item under its old key. The insertion with the status `REMOVED`
/// identifies a removal.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown or expired item, 409 for a
/// purchased item.
pub async fn remove_cart_item(cart: Cart, request: Request<CartItemInput>) -> Result<NoContent, Error> {
    let CartItemInput { account, item } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    optimistically(|| async {
        let old = cart.locate_to_change(account, *item, request.milli).await?;
        old.must_be_open()?;
        let new = old.moved(&Move::Removed, request.milli, cart.days);
        let mut changes = cart.transition(&old, &new)?;
        changes.extend((old.sort.status == Status::Active).then(|| cart.taking_out(&old)));
        Ok(cart.dynamo.transact(changes).await?)
    })
    .await?;
    Ok(NoContent)
}
