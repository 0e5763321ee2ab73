//! A retail cart (docs/requirements/cart.md). Each access pattern has a module in `patterns` and a
//! Lambda of the same name in `src/bin`.
//!
//! The sort key of a cart item starts with the status and the time of the last status change. A
//! status change therefore deletes the item and puts it under a new key. The same transaction
//! updates the pointer from the item id to the sort key (docs/decisions/cart-moves.md).
//!
//! The item `CART` names the items of the cart, and every change of an item in the cart also
//! changes `CART`. A cart therefore never contains a product twice, and a checkout takes all items
//! out of the cart with one write (docs/decisions/cart-contents.md). An order has a copy of its
//! items. Large orders move their cart items with a job (docs/decisions/cart-orders.md).
#![deny(clippy::disallowed_methods)]

mod cost;
mod jobs;
mod model;
pub mod patterns;
mod store;

pub use crate::jobs::Task;
pub use cost::{Case, Pattern};
pub use model::{
    cart_item::{CartItem, CartItemBody, Listed, MAX_BYTES, NewStatus, Previous, Quantity},
    order::{Line, MAX_MOVED_AT_ONCE, Order, OrderLines, OrderStatus},
    product::{Product, ProductName},
};
pub use patterns::patterns;
pub use store::{Cart, MAX_ITEMS};

/// Prefix of the scopes `cart:read`, `cart:write` and `cart:operate`.
pub(crate) const DOMAIN: &str = "cart";
