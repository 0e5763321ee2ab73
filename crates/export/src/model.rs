//! Rows, and their packing into records.

pub(crate) mod change;
pub(crate) mod columns;
pub(crate) mod counts;
pub mod pack;
pub(crate) mod token;
