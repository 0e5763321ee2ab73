//! Conversion of stream records to rows, and packing of rows into Firehose records.

pub(crate) mod change;
pub(crate) mod columns;
pub(crate) mod counts;
pub mod pack;
pub(crate) mod token;
