//! C5: lists a customer's cart items with a given status, newest first
//! (docs/requirements/cart.md#access-pattern-2-list-products-of-a-customer).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Listed,
    cost::{self, Calls, Pattern},
    store::unexpired,
};
use function::{Error, Fields, Function, Input, List, Request, Route, Trigger};
use keys::{AccountId, cart::CartItemSort};
use table::{Query, cost::Cost};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_cart_items, Cart::warm_by_query)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "C5",
    name: "list-cart-items",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/items",
        scopes: &["cart:read", "cart:operate"],
    }]),
    calls: &[
        Calls {
            variant: "",
            condition: "PK = account, SK begins with STATUS#, newest first. Then get the products in a batch, eventually consistent",
            formula: "½ ⌈Σ cart items⌉ R + ½ ⌈product⌉ R for each product",
            cost: |case| Cost::default().read(cost::CART, case.listed()).read(cost::PRODUCTS, case.products_of_list()),
        },
        Calls {
            variant: ", purchased",
            condition: "PK = account, SK begins with PURCHASED#, newest first",
            formula: "½ ⌈Σ cart items⌉ R",
            cost: |case| Cost::default().read(cost::CART, case.listed()),
        },
    ],
    function,
};

/// Account and status to list.
#[derive(Debug, Clone)]
pub struct OfAccount {
    account: AccountId,
    status: Listed,
}

impl Input for OfAccount {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.paging(50);
        let (account, status) = (fields.path("accountId"), fields.query("status"));
        Some(Self { account: account?, status: status.unwrap_or_default() })
    }
}

/// Lists a customer's cart items that have the requested status. Items are sorted by the time of
/// the last status change, newest first. Items in the cart or saved for later are marked if their
/// product has another price, or cannot be bought.
///
/// # Errors
/// 400 for invalid parameters, 403 for an account that the caller does not own.
pub async fn list_cart_items(cart: Cart, request: Request<OfAccount>) -> Result<List<CartItemBody>, Error> {
    let OfAccount { account, status } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let listing = request.listing(CartItemSort::with_status(status.0).newest_first(), "")?;
    let query = Query::new(account, &listing.range).only_if(unexpired(request.milli));
    let page = cart.table.page::<CartItem>(&query, listing.limit).await?;
    Ok(listing.list(cart.bodies(page).await?))
}
