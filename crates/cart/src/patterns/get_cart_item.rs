//! C8: reads one cart item
//! (docs/requirements/cart.md#access-pattern-2-list-products-of-a-customer).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Prices,
    cost::{self, Calls, Named, Pattern},
    model::days::Days,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger, optimistically};
use keys::{
    AccountId,
    cart::{ItemId, Status},
};
use table::cost::{Cost, Term, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "C8",
    name: "get-cart-item",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/items/{itemId}",
        scopes: &["cart:read", "cart:operate"],
        summary: "Get a cart item",
        problems: &[Problem::NotFound],
    }]),
    calls: &[
        Calls::new("", in_cart),
        Calls::new(", current prices", |case| in_cart(case).read(cost::PRODUCTS, read_eventually(case.product))),
        // The first key of the item, its pointer and the item.
        Calls::new(", saved", |case| {
            Cost::default().read(cost::CART, Term::halves(1) + 1 + read_eventually(case.cart_item))
        }),
    ],
    contract: function::contract(&get_cart_item),
    function: || function::http(get_cart_item, Cart::warm_by_get),
};

fn in_cart(case: &Named) -> Cost {
    Cost::default().read(cost::CART, read_eventually(case.cart_item) + case.contents_read())
}

/// Path of the request, and whether to compare the item with its product.
#[derive(Debug, Clone, Input)]
pub struct GetCartItemInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(path = "itemId")]
    item: ItemId,
    #[input(query)]
    prices: Option<Prices>,
}

/// Path parameters of the request: the account and the item id.
#[derive(Debug, Clone, Input)]
pub struct CartItemInput {
    #[input(path = "accountId")]
    pub(crate) account: AccountId,
    #[input(path = "itemId")]
    pub(crate) item: ItemId,
}

/// Reads one cart item. With `prices=current`, marks an item whose product has another price, or
/// cannot be bought.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown or expired item.
pub async fn get_cart_item(cart: Cart, request: Request<GetCartItemInput>) -> Result<Json<CartItemBody>, Error> {
    let GetCartItemInput { account, item, prices } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let cart_item = match cart.glimpse(account, *item, request.milli).await? {
        Some(cart_item) => cart_item,
        None => optimistically(|| cart.locate(account, *item, request.milli)).await?.0,
    };
    let cart_item = cart.as_ordered(cart_item).await?;
    Ok(Json(cart.body(cart_item, *prices).await?))
}

impl Cart {
    /// Returns a purchased item with the status of its order, which a job may still have to move.
    async fn as_ordered(&self, cart_item: CartItem) -> Result<CartItem, Error> {
        let Some(order) = cart_item.order_id.as_ref().filter(|_| cart_item.sort.status == Status::Purchased) else {
            return Ok(cart_item);
        };
        let order = match self.order(&cart_item.account, order).await {
            Err(Error::NotFound(_) | Error::Table(table::Error::Unreadable(..))) => return Ok(cart_item),
            order => order?,
        };
        Ok(match order.move_of_items() {
            Some(to) => cart_item.moved(&to, order.status_changed_at, Days::WEEK),
            None => cart_item,
        })
    }
}
