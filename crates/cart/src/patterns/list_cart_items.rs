//! C5: lists a customer's cart items with a given status, newest first
//! (docs/requirements/cart.md#access-pattern-2-list-products-of-a-customer).

use crate::{
    Cart, CartItem, CartItemBody, DOMAIN, Listed, Prices,
    cost::{self, Calls, Named, Pattern},
    store::unexpired,
};
use function::{Error, Input, List, Listing, Request, Route, Trigger, optimistically};
use keys::{
    AccountId, TimestampMillis,
    cart::{CartItemSort, Status},
};
use std::cmp::Reverse;
use table::{Page, Query, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "C5",
    name: "list-cart-items",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/accounts/{accountId}/items",
        scopes: &["cart:read", "cart:operate"],
        summary: "List the items of a cart, newest first",
        problems: &[],
    }]),
    calls: &[
        Calls::new("", in_cart),
        Calls::new(", current prices", |case| in_cart(case).read(cost::PRODUCTS, case.products_of_list())),
        Calls::new(", purchased", |case| Cost::default().read(cost::CART, case.contents_read() + case.read_all())),
        Calls::new(", saved, shipped or cancelled", |case| Cost::default().read(cost::CART, case.listed())),
    ],
    contract: function::contract(&list_cart_items),
    function: || function::http(list_cart_items, Cart::warm_by_query),
};

fn in_cart(case: &Named) -> Cost {
    Cost::default().read(cost::CART, case.listed() + case.contents_read())
}

/// Account and status to list.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListCartItemsInput {
    #[input(path = "accountId")]
    account: AccountId,
    #[input(query, default)]
    status: Listed,
    #[input(query)]
    prices: Option<Prices>,
}

/// Lists a customer's cart items that have the requested status. Items are sorted by the time of
/// the last status change, newest first. With `prices=current`, items in the cart or saved for
/// later are marked if their product has another price, or cannot be bought.
///
/// A list shows all items of an order as purchased, or none of them
/// (docs/decisions/cart-orders.md).
pub async fn list_cart_items(cart: Cart, request: Request<ListCartItemsInput>) -> Result<List<CartItemBody>, Error> {
    let ListCartItemsInput { account, status, prices } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let listing = request.listing(CartItemSort::with_status(&status.0).newest_first(), Prices::text(*prices))?;
    let page = match status.0 {
        Status::Active => cart.page_in_cart(account, &listing, request.milli).await?,
        Status::Purchased => optimistically(|| cart.page_purchased(account, &listing)).await?,
        _ => cart.page_as_stored(account, &listing).await?,
    };
    Ok(listing.list(cart.bodies(page, *prices).await?))
}

impl Cart {
    async fn page_as_stored(&self, account: &AccountId, listing: &Listing) -> Result<Page<CartItem>, Error> {
        Ok(self.table.page(&Query::new(account, &listing.range), listing.limit).await?)
    }

    /// Reads the items and then the contents of the cart. If a checkout has taken items out of the
    /// cart since then, the page has none of them.
    async fn page_in_cart(
        &self,
        account: &AccountId,
        listing: &Listing,
        now: TimestampMillis,
    ) -> Result<Page<CartItem>, Error> {
        let query = Query::new(account, &listing.range).only_if(unexpired(now));
        let mut page = self.table.page::<CartItem>(&query, listing.limit).await?;
        if let Some(contents) = self.contents(account).await? {
            page.items.retain(|cart_item| contents.lists(cart_item));
        }
        Ok(page)
    }

    /// Reads the contents of the cart and then the purchased items. The items of an order whose
    /// items a job is moving are taken from the order. A later order is left out.
    async fn page_purchased(&self, account: &AccountId, listing: &Listing) -> Result<Page<CartItem>, Error> {
        let contents = self.contents(account).await?;
        let query = Query::new(account, &listing.range).consistent();
        let mut page = self.table.page::<CartItem>(&query, listing.limit).await?;
        let known = contents.as_ref().and_then(|contents| contents.ordered_at);
        let is_newer = |cart_item: &CartItem| known.is_none_or(|known| cart_item.sort.since > known);
        if page.items.iter().any(is_newer) && self.contents(account).await? != contents {
            return Err(Error::stale());
        }
        for order in contents.iter().flat_map(|contents| contents.moving.keys()) {
            page.items.retain(|cart_item| cart_item.order_id.as_ref() != Some(order));
            let (order, lines) = self.order_with_lines(account, order).await?;
            for line in &lines {
                page.items.push(line.purchased(&order));
            }
        }
        let is_on_page = |cart_item: &CartItem| {
            let position = cart_item.sort.to_string();
            listing.range.contains(&position) && page.next.as_ref().is_none_or(|next| position >= *next)
        };
        page.items.retain(is_on_page);
        page.items.sort_by_key(|cart_item| Reverse(cart_item.sort));
        if page.items.len() + page.skipped > listing.limit {
            page.items.truncate(listing.limit.saturating_sub(page.skipped).max(1));
            page.next = page.items.last().map(|cart_item| cart_item.sort.to_string());
        }
        Ok(page)
    }
}
