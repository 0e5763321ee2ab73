//! How we talk to DynamoDB: items, pages and cursors, sharded indexes, batches, transactions, and
//! what each call consumed.
//!
//! Nothing else in the workspace writes an expression or retries a call. A [`Dynamo`] is made once a
//! process; a [`Table`] is a name on it; a [`Change`] is one conditional write, done alone or with
//! others in a transaction. Calls made inside [`measured`] are counted and end at its deadline.

#![deny(clippy::disallowed_methods)]

mod attribute;
mod batch;
mod change;
mod condition;
pub mod cost;
mod cursor;
mod error;
mod item;
mod json;
mod query;
mod sharded;
mod usage;

pub use attribute::Attribute;
pub use batch::{BatchWrite, Leftover};
pub use change::{Change, MAX_CHANGES};
pub use condition::{Condition, Value};
pub use cursor::{BadCursor, Binding, Cursor};
pub use error::{Error, Refused, optimistically};
pub use item::{Item, Key, size};
pub use json::{JsonText, raw_json};
pub use query::{Index, Page, Query};
pub use sharded::{IndexPosition, MergedQuery, Projection, ShardedIndex};
pub use table_derive::Attributes;
pub use usage::{Call, Units, Usage, measured, with_reserved_time};

use keys::Random;
use std::sync::Arc;

// What `Attributes` generates names the crate.
#[cfg(test)]
extern crate self as table;

/// A DynamoDB client whose calls are counted. Clones share its connections.
#[derive(Debug, Clone)]
pub struct Dynamo {
    client: aws_sdk_dynamodb::Client,
    random: Random,
}

impl Dynamo {
    /// Wraps a client, built once a process. The tokens of its transactions come from `random`.
    #[must_use]
    pub fn new(client: &aws_sdk_dynamodb::Client, random: Random) -> Self {
        let counted = client.config().to_builder().interceptor(usage::CountAttempts).build();
        Self { client: aws_sdk_dynamodb::Client::from_conf(counted), random }
    }

    /// The source of its tokens, for whoever shares it.
    #[must_use]
    pub fn random(&self) -> &Random {
        &self.random
    }

    /// The table of that name.
    #[must_use]
    pub fn table(&self, name: impl Into<Arc<str>>) -> Table {
        Table { dynamo: self.clone(), name: name.into() }
    }
}

/// One table, with the keys [`Key::PARTITION`] and [`Key::SORT`] that every table here has.
#[derive(Debug, Clone)]
pub struct Table {
    dynamo: Dynamo,
    name: Arc<str>,
}
