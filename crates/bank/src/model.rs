//! The items and their rules.

pub(crate) mod payment;
pub(crate) mod transaction;
