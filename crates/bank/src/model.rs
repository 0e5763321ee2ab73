//! Items of the bank and their rules.

pub(crate) mod payment;
pub(crate) mod transaction;
