//! The access patterns, a module each.

pub mod export_cart_changes;

use function::Function;

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    vec![("export-cart-changes", export_cart_changes::function())]
}
