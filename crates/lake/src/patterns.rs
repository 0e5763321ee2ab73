//! The access patterns, one module per pattern.
//!
//! `make docs` writes this file from the names of the modules.

#![allow(missing_docs, reason = "PATTERN declares the access pattern of its module")]

pub mod convert_export;
pub mod export_changes;
pub mod plan_refresh;

use crate::Pattern;

/// Every access pattern of the domain, by number.
pub fn patterns() -> Vec<Pattern> {
    function::by_number(vec![convert_export::PATTERN, export_changes::PATTERN, plan_refresh::PATTERN])
}
