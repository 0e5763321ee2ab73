//! A retail cart (seed 003): each access pattern a module, and a Lambda of the same name in `src/bin`.
//!
//! A line stands under its status and the time since when, so a move of the status is a delete and a put: one transaction,
//! which also changes the line's pointer, by which its id finds it. What adds a line to a cart changes the cart's own item
//! as well, so that additions happen one after the other: no product is in a cart twice, and no cart outgrows its checkout.
#![deny(clippy::disallowed_methods)]

mod cost;
mod model;
pub mod patterns;
mod store;

pub use cost::{Case, Pattern};
pub use model::line::{Line, LineBody, Listed, MAX_BYTES, Previous, Quantity};
pub use patterns::patterns;
pub use store::{Cart, MAX_LINES};

/// The domain's name in scopes: `cart:read`, `cart:write`, `cart:operate`.
pub(crate) const DOMAIN: &str = "cart";
