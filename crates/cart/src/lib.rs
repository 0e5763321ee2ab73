//! A retail cart (seed 003): each access pattern a module, and a Lambda of the same name in `src/bin`.
//!
//! A line stands under its status and the time since when, so a move of the status is a delete and a put: one transaction,
//! which also changes the line's pointer, by which its id finds it. What adds a line to a cart changes the cart's own item
//! as well, so that additions happen one after the other: no product is in a cart twice, and no cart outgrows its checkout.

pub mod add_cart_item;
mod additions;
pub mod checkout_cart;
mod cost;
pub mod get_cart_item;
mod line;
pub mod list_cart_items;
pub mod list_sku_items;
mod pointer;
pub mod remove_cart_item;
mod store;
pub mod update_cart_item;

pub use cost::{Case, Pattern};
pub use line::{Line, LineBody, Listed, MAX_BYTES, Previous, Quantity};
pub use store::{Cart, MAX_LINES};

use function::Function;

/// The domain's name in scopes: `cart:read`, `cart:write`, `cart:operate`.
pub(crate) const DOMAIN: &str = "cart";

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![
        ("add-cart-item", add_cart_item::function()),
        ("update-cart-item", update_cart_item::function()),
        ("remove-cart-item", remove_cart_item::function()),
        ("checkout-cart", checkout_cart::function()),
        ("list-cart-items", list_cart_items::function()),
        ("list-sku-items", list_sku_items::function()),
        ("get-cart-item", get_cart_item::function()),
    ]
}

/// What every access pattern asks and costs, in the order of the design.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    vec![
        add_cart_item::PATTERN,
        add_cart_item::MORE,
        update_cart_item::QUANTITY,
        update_cart_item::SAVE,
        update_cart_item::ACTIVATE,
        remove_cart_item::PATTERN,
        checkout_cart::PATTERN,
        list_cart_items::PATTERN,
        list_sku_items::PATTERN,
        get_cart_item::PATTERN,
    ]
}
