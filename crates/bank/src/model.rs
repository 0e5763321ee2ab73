//! Items of the bank's tables, and the rules for changing them.

pub(crate) mod day;
pub(crate) mod payment;
pub(crate) mod transaction;
