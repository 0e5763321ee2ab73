//! The access patterns, a module each.

pub mod add_cart_item;
pub mod checkout_cart;
pub mod get_cart_item;
pub mod list_cart_items;
pub mod list_sku_items;
pub mod remove_cart_item;
pub mod update_cart_item;

use crate::Pattern;
use function::Function;

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
