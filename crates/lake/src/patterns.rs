//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

pub mod export_changes;

use crate::Pattern;

/// Every access pattern of the domain, by number.
#[must_use]
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![export_changes::PATTERN])
}
