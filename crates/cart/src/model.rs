//! Items of the table `Cart`, and the rules for changing them.

pub(crate) mod additions;
pub(crate) mod cart_item;
pub(crate) mod pointer;
pub(crate) mod product;
