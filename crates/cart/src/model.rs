//! Items of the cart and their rules.

pub(crate) mod additions;
pub(crate) mod line;
pub(crate) mod pointer;
