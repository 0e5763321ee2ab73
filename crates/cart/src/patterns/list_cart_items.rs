//! C5: a customer's lines by status, newest first (seed 003, access pattern two).

use crate::{
    Cart, DOMAIN, Line, LineBody, Listed,
    cost::{self, Calls, Pattern},
    store::unexpired,
};
use function::{Error, Fields, Function, Input, List, Request, Route, Trigger};
use keys::{AccountId, cart::LineSort};
use table::{Query, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_cart_items, Cart::warm_by_query)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "C5",
    name: "list-cart-items",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/items",
        scopes: &["cart:read", "cart:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "PK = account, SK begins with STATUS#, newest first",
        formula: "½ ⌈Σ lines⌉ R",
        cost: |case| Cost::default().read(cost::CART, case.listed()),
    }],
    function,
};

/// Whose lines, and which.
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

/// Lists a customer's lines by the time of adding, saving or purchasing, newest first.
///
/// # Errors
/// 400, or 403 for another's account.
pub async fn list_cart_items(cart: Cart, request: Request<OfAccount>) -> Result<List<LineBody>, Error> {
    let OfAccount { account, status } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let listing = request.listing(LineSort::with_status(status.0).newest_first(), "")?;
    let query = Query::new(account, &listing.range).only_if(unexpired(request.milli));
    let page = cart.table.page::<Line>(&query, listing.limit).await?;
    Ok(listing.list(page.map(LineBody::from)))
}
