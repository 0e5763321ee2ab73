//! Conversion of stream records to rows, and packing of rows into Firehose records.

pub(crate) mod change;
pub(crate) mod counts;
pub mod pack;
pub(crate) mod row;
pub(crate) mod schema;
pub(crate) mod token;
