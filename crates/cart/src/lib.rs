//! A retail cart (docs/requirements/cart.md). Each access pattern has a module in `patterns` and a
//! Lambda of the same name in `src/bin`.
//!
//! The sort key of a cart item starts with the status and the time of the last status change. A
//! status change therefore deletes the item and puts it under a new key. The same transaction
//! updates the pointer from the item id to the sort key (docs/decisions/cart-moves.md).
//!
//! Every addition also writes the item `CART`, so additions to one cart are serialised. A cart
//! therefore never contains a product twice, and never more items than one checkout transaction can
//! buy (docs/decisions/cart-additions.md).
#![deny(clippy::disallowed_methods)]

mod cost;
mod model;
pub mod patterns;
mod store;

pub use cost::{Case, Pattern};
pub use model::{
    cart_item::{CartItem, CartItemBody, Listed, MAX_BYTES, Previous, Quantity},
    product::{Product, ProductName},
};
pub use patterns::patterns;
pub use store::{Cart, MAX_ITEMS};

/// Prefix of the scopes `cart:read`, `cart:write` and `cart:operate`.
pub(crate) const DOMAIN: &str = "cart";
