//! Key types for every table and index. No other crate builds or parses a key string.
//!
//! Each key is a type. [`Display`](std::fmt::Display) formats it and [`FromStr`](std::str::FromStr)
//! parses it. Parsing accepts only the exact text that formatting produces. Keys sort as text in
//! the order of their values, so DynamoDB's `BETWEEN` selects a range of values.
//!
//! Each service has a module with its keys: [`bank`], [`cart`], [`wellness`] and [`ledger`]. The
//! crate root exports the shared types: identifiers, fixed-width times, ranges and shards.
#![deny(clippy::disallowed_methods)]

pub mod bank;
pub mod cart;
mod id;
pub mod ledger;
pub mod plan;
mod random;
mod range;
mod shard;
mod text;
mod time;
pub mod wellness;

pub use id::{AccountId, IdempotencyKey, IdempotencySort, OrderId, RequestId, Sku, TransactionId};
pub use random::Random;
pub use range::KeyRange;
pub use shard::{Shard, Shards};
pub use text::Invalid;
pub use time::{Bound, Day, TimestampMillis, TimestampSeconds};

#[cfg(test)]
mod tests;
