//! Items of the tables `Cart` and `Products`, and the rules for changing them.

pub(crate) mod cart_item;
pub(crate) mod contents;
pub(crate) mod days;
pub(crate) mod order;
pub(crate) mod pointer;
pub(crate) mod product;
