//! Items of the bank's tables, and the rules for changing them.

pub(crate) mod day;
pub(crate) mod import;
pub(crate) mod payment;
pub(crate) mod recurrence;
pub(crate) mod standing;
pub(crate) mod transaction;
