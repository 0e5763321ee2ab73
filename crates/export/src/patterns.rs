//! The access patterns, a module each.

pub mod export_cart_changes;

use function::Pattern;

/// Every access pattern of the domain.
#[must_use]
pub fn patterns() -> Vec<Pattern<()>> {
    vec![export_cart_changes::PATTERN]
}
