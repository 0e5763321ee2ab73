//! The access patterns, a module each.

pub mod export_cart_changes;

use function::{Function, Pattern};

/// Every access pattern of the domain.
#[must_use]
pub fn patterns() -> Vec<Pattern<()>> {
    vec![export_cart_changes::PATTERN]
}

/// Every function of the domain, by the name of its binary.
#[must_use]
pub fn functions() -> Vec<(&'static str, Function)> {
    patterns().iter().map(|pattern| (pattern.name, (pattern.function)())).collect()
}
