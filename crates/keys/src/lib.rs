//! The shared vocabulary: every key, index key and range of every table.
//!
//! Nothing else in the workspace builds or parses a key string. Each key is a type that formats to
//! its text with [`Display`](std::fmt::Display) and comes back with [`FromStr`](std::str::FromStr);
//! both directions are exact (`parse(format(k)) == k`, and nothing else parses), and text order is
//! value order, which is what makes DynamoDB's `BETWEEN` a range of values.
//!
//! A table's own keys live in the module of its domain ([`bank`], [`cart`], [`wellness`], [`ledger`]); what all tables share is here:
//! identifiers, times of one fixed width, ranges, shards and their planner.
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
