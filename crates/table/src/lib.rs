//! Access to DynamoDB: items, pages and cursors, sharded indexes, batches, transactions, and
//! consumed units.
//!
//! No other crate contains DynamoDB expressions or retries calls. A process creates one [`Dynamo`],
//! whose method `table` returns a [`Table`] by name. A [`Change`] is a conditional write that is
//! executed alone or in a transaction. Calls within [`measured`] are counted, and fail at the
//! deadline that is passed to it.

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

// The code that `Attributes` generates contains the name of this crate.
#[cfg(test)]
extern crate self as table;

/// A DynamoDB client that counts its calls. Clones share the connections.
#[derive(Debug, Clone)]
pub struct Dynamo {
    client: aws_sdk_dynamodb::Client,
    random: Random,
}

impl Dynamo {
    /// Wraps a client. Create one per process. `random` generates the transaction tokens.
    #[must_use]
    pub fn new(client: &aws_sdk_dynamodb::Client, random: Random) -> Self {
        let counted = client.config().to_builder().interceptor(usage::CountAttempts).build();
        Self { client: aws_sdk_dynamodb::Client::from_conf(counted), random }
    }

    /// The random source of the transaction tokens. Other code that needs random values shares it.
    #[must_use]
    pub fn random(&self) -> &Random {
        &self.random
    }

    /// Returns the table with the name.
    #[must_use]
    pub fn table(&self, name: impl Into<Arc<str>>) -> Table {
        Table { dynamo: self.clone(), name: name.into() }
    }
}

/// A table with the keys [`Key::PARTITION`] and [`Key::SORT`], which all tables use.
#[derive(Debug, Clone)]
pub struct Table {
    dynamo: Dynamo,
    name: Arc<str>,
}
