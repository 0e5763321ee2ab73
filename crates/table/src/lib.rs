//! Typed access to DynamoDB: items, pages, cursors, sharded indexes, batches, transactions and
//! consumed capacity.
//!
//! Only this crate contains DynamoDB expressions and retries DynamoDB calls.
//!
//! - [`Dynamo`] is the client. Each process creates one.
//! - [`Table`] reads items and creates changes. [`Dynamo::table`] returns it.
//! - [`Change`] is a conditional write. It is executed alone or in a transaction.
//! - [`measured`] sets a deadline for calls, and returns the read and write request units that they
//!   consumed.
//!
//! # Example
//!
//! ```
//! use keys::{AccountId, cart::CartItemSort};
//! use serde::{Deserialize, Serialize};
//! use table::{Attributes, Condition, Dynamo, Error, Item, Key};
//!
//! #[derive(Serialize, Deserialize, Attributes)]
//! #[serde(rename_all = "PascalCase")]
//! struct CartItem {
//!     #[serde(rename = "PK")]
//!     account: AccountId,
//!     #[serde(rename = "SK")]
//!     sort: CartItemSort,
//!     quantity: i64,
//! }
//!
//! impl Item for CartItem {
//!     const TYPE: &'static str = "CartItem";
//! }
//!
//! /// Adds one to the quantity. Fails if the quantity has changed in the meantime.
//! async fn add_one(dynamo: &Dynamo, key: Key) -> Result<(), Error> {
//!     let carts = dynamo.table("Cart");
//!     let Some(item) = carts.get::<CartItem>(&key).await? else { return Ok(()) };
//!     let unchanged = Condition::is(CartItem::QUANTITY, item.quantity);
//!     let update = carts.update(key).set(CartItem::QUANTITY, item.quantity + 1);
//!     dynamo.write(update.only_if(unchanged)).await
//! }
//!
//! let item = CartItem {
//!     account: "Sue".parse()?,
//!     sort: "ACTIVE#2026-12-01T09:30:00.000Z#01938c2a7b5e7c1d8e2f3a4b5c6d7e8f".parse()?,
//!     quantity: 2,
//! };
//! let _key = Key::new(&item.account, &item.sort);
//! // A write of up to 1 KB consumes one write request unit.
//! assert_eq!(table::cost::write(table::size(&item)?).units(), table::Units::whole(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
mod key;
mod query;
mod sharded;
mod usage;

pub use attribute::Attribute;
pub use batch::{BatchWrite, Found, Leftover};
pub use change::{Change, MAX_CHANGES};
pub use condition::{Condition, Value};
pub use cursor::{BadCursor, Binding, Cursor};
pub use derives::Attributes;
pub use error::{Error, Refused, optimistically};
pub use item::{Item, read_image, size};
pub use json::{JsonText, raw_json};
pub use key::Key;
pub use query::{Index, Page, Query};
pub use sharded::{IndexPosition, MergedPage, MergedQuery, Projection, ShardedIndex};
pub use usage::{Call, MAX_UNREADABLE, Units, Usage, for_tenant, measured, set_tenant, with_reserved_time};

use keys::Random;
use std::sync::Arc;

/// A DynamoDB client that counts its calls. Clones share connections.
#[derive(Debug, Clone)]
pub struct Dynamo {
    client: aws_sdk_dynamodb::Client,
    random: Random,
}

impl Dynamo {
    /// Wraps an SDK client. `random` generates the client request tokens of transactions.
    pub fn new(client: &aws_sdk_dynamodb::Client, random: Random) -> Self {
        let counted = client.config().to_builder().interceptor(usage::CountAttempts).build();
        Self { client: aws_sdk_dynamodb::Client::from_conf(counted), random }
    }

    /// The random source of the process. Transactions use it for their client request tokens.
    pub fn random(&self) -> &Random {
        &self.random
    }

    /// Returns the table with this name.
    pub fn table(&self, name: impl Into<Arc<str>>) -> Table {
        Table { dynamo: self.clone(), name: name.into() }
    }
}

/// A DynamoDB table. Its key attributes are [`Key::PARTITION`] and [`Key::SORT`].
#[derive(Debug, Clone)]
pub struct Table {
    dynamo: Dynamo,
    name: Arc<str>,
}
