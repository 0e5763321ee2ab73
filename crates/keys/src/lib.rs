//! Key types for every table and index. No other crate formats or parses keys.
//!
//! Each key is a type with a format text, from which `#[derive(Key)]` generates the rest
//! (docs/derives.md). [`Display`](std::fmt::Display) formats it and [`FromStr`](std::str::FromStr)
//! parses it. Parsing accepts only the canonical form, which formatting produces. The lexicographic
//! order of keys is the order of their values, so `BETWEEN` selects a range of values.
//!
//! Each service has a module with its keys: [`bank`], [`cart`], [`wellness`] and [`ledger`]. The
//! module [`totals`] has the keys of the ledger's totals. The crate root exports the shared types:
//! identifiers, fixed-width times, ranges and shards.
//!
//! ```
//! use keys::cart::{CartItemSort, Status};
//!
//! let text = "ACTIVE#2026-12-01T09:30:00.000Z#0193f5e0c8a07c3ab0e5d7a1b2c3d4e5";
//! let sort: CartItemSort = text.parse()?;
//! assert_eq!(sort.status, Status::Active);
//! assert_eq!(sort.to_string(), text);
//! // A range of sort keys for `BETWEEN`.
//! assert!(CartItemSort::with_status(&Status::Active).contains(text));
//! assert!(!CartItemSort::with_status(&Status::Saved).contains(text));
//! // Only the canonical text is a key.
//! assert!("active#2026-12-01".parse::<CartItemSort>().is_err());
//! # Ok::<(), keys::Invalid>(())
//! ```
#![deny(clippy::disallowed_methods)]

mod alphabet;
pub mod bank;
pub mod cart;
mod id;
pub mod ledger;
mod random;
mod range;
pub mod schema;
mod shard;
mod text;
mod time;
pub mod totals;
pub mod wellness;

pub use alphabet::is_plain_text;
pub use id::{
    AccountId, IdempotencyKey, IdempotencySort, ItemHash, OrderId, RequestId, Sku, TransactionId, is_identifier,
};
pub use random::Random;
pub use range::KeyRange;
pub use shard::{Shard, Shards};
pub use text::Invalid;
pub use time::{Bound, Bounds, Day, TimestampMillis, TimestampSeconds};

#[cfg(test)]
mod tests;
