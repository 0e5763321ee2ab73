//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

#![allow(missing_docs, reason = "PATTERN declares the access pattern of its module")]

pub mod add_cart_item;
pub mod checkout_cart;
pub mod continue_cart_job;
pub mod get_cart_item;
pub mod get_cart_job;
pub mod get_order;
pub mod get_product;
pub mod list_cart_items;
pub mod list_orders;
pub mod list_orders_by_status;
pub mod list_products;
pub mod list_sku_items;
pub mod merge_carts;
pub mod publish_cart_events;
pub mod put_product;
pub mod remove_cart_item;
pub mod retry_cart_job;
pub mod update_cart_item;
pub mod update_order;

use crate::Pattern;

/// Every access pattern of the domain, by number.
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![
        add_cart_item::PATTERN,
        checkout_cart::PATTERN,
        continue_cart_job::PATTERN,
        get_cart_item::PATTERN,
        get_cart_job::PATTERN,
        get_order::PATTERN,
        get_product::PATTERN,
        list_cart_items::PATTERN,
        list_orders::PATTERN,
        list_orders_by_status::PATTERN,
        list_products::PATTERN,
        list_sku_items::PATTERN,
        merge_carts::PATTERN,
        publish_cart_events::PATTERN,
        put_product::PATTERN,
        remove_cart_item::PATTERN,
        retry_cart_job::PATTERN,
        update_cart_item::PATTERN,
        update_order::PATTERN,
    ])
}
