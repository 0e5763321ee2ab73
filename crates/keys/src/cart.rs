//! Keys of `Cart` (docs/requirements/cart.md#data-model).
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! | --- | --- | --- | --- | --- |
//! | cart item | account | `<STATUS>#<time of the last status change>#<item id>` | SKU | as SK |
//! | pointer, once an item has changed its status | account | `ITEM#<item id>` | | |
//! | contents of the cart | account | `CART` | | |
//! | order | account | `ORDER#<order id>` | | |
//! | lines of an order | account | `LINES#<order id>` | | |
//! | idempotency record | account | `IDEMPOTENCY#<key>` | | |
//!
//! A cart item with the status `REMOVED` or `JOINED` has no GSI1 keys.
//!
//! Keys of `CartJobs`:
//!
//! | item | PK | SK |
//! | --- | --- | --- |
//! | job | `JOB#<job id>` | `JOB` |
//!
//! Keys of `Products` (docs/requirements/cart.md#products-and-prices):
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! | --- | --- | --- | --- | --- |
//! | product | SKU | `PRODUCT` | `PRODUCTS` | `SKU#<SKU>` |

use crate::{
    Day, KeyRange, OrderId, Random, Sku, TimestampMillis,
    id::identifier,
    text::{Invalid, constant_key, names, parse_simple, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// Status of a cart item. The variants are in alphabetical order, which is also the order of the
/// keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// In the cart.
    Active,
    /// Bought in an order that was cancelled. This status is final.
    Cancelled,
    /// Merged into the ACTIVE item of the same product. Hidden from customers.
    Joined,
    /// Bought.
    Purchased,
    /// Removed by the customer. Hidden from customers.
    Removed,
    /// Saved for later.
    Saved,
    /// Bought and shipped. This status is final.
    Shipped,
}

names!(
    Status, "must be ACTIVE, SAVED, PURCHASED, SHIPPED or CANCELLED",
    Active => "ACTIVE",
    Cancelled => "CANCELLED",
    Joined => "JOINED",
    Purchased => "PURCHASED",
    Removed => "REMOVED",
    Saved => "SAVED",
    Shipped => "SHIPPED",
);

impl Status {
    /// Returns whether lists show cart items with this status.
    #[must_use]
    pub const fn is_listed(self) -> bool {
        !matches!(self, Self::Joined | Self::Removed)
    }
}

/// Id of a cart item: the 32 hexadecimal digits of a version 7 UUID. The id never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(Uuid);

impl ItemId {
    /// Creates an id. The UUID contains the time `now`.
    #[must_use]
    pub fn new(now: Timestamp, random: &Random) -> Self {
        Self(uuid_of(now, random))
    }

    /// Returns the time in the UUID: the time at which the item was added to the cart. `None` if
    /// the id has no valid time.
    #[must_use]
    pub fn time(self) -> Option<TimestampMillis> {
        let (seconds, nanoseconds) = self.0.get_timestamp()?.to_unix();
        let instant = Timestamp::new(i64::try_from(seconds).ok()?, i32::try_from(nanoseconds).ok()?).ok()?;
        TimestampMillis::containing(instant).ok()
    }
}

impl FromStr for ItemId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse_simple(text).map(Self).ok_or_else(|| Invalid::new("is not an item id"))
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(out)
    }
}

serde_as_text!(ItemId);

/// Sort key and GSI1 sort key of a cart item: `<STATUS>#<time of the last status change>#<item
/// id>`. The item id makes the sort key unique, so a cursor stores only the sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CartItemSort {
    /// Status of the cart item.
    pub status: Status,
    /// Time of the last status change.
    pub since: TimestampMillis,
    /// Id of the cart item.
    pub item: ItemId,
}

impl CartItemSort {
    /// Returns the sort key of a cart item that has never changed its status.
    #[must_use]
    pub fn first(item: ItemId) -> Option<Self> {
        Some(Self { status: Status::Active, since: item.time()?, item })
    }

    /// Returns the range of all cart items that have the status
    /// (docs/requirements/cart.md#access-pattern-2-list-products-of-a-customer,
    /// docs/requirements/cart.md#access-pattern-3-list-items-of-a-product).
    #[must_use]
    pub fn with_status(status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#"))
    }

    /// Returns the range of cart items that got the status on the day
    /// (docs/requirements/cart.md#access-pattern-3-list-items-of-a-product).
    #[must_use]
    pub fn on(day: Day, status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#{day}T"))
    }

    /// Returns the range of cart items that got the status from `from` to `to`, both inclusive.
    /// `None` means no limit. The range is empty if `to` is before `from`.
    #[must_use]
    pub fn between(status: Status, from: Option<TimestampMillis>, to: Option<TimestampMillis>) -> KeyRange {
        let end =
            |time: Option<TimestampMillis>, close: &str| time.map_or_else(String::new, |time| format!("{time}{close}"));
        KeyRange::through(format!("{status}#{}", end(from, "")), format!("{status}#{}", end(to, "#")))
    }

    /// Returns an empty range, for warm-up queries.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }
}

impl FromStr for CartItemSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (status, rest) = text.split_once('#')?;
            let (since, item) = rest.split_once('#')?;
            Some(Self { status: status.parse().ok()?, since: since.parse().ok()?, item: item.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("CartItemSort"))
    }
}

impl fmt::Display for CartItemSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}#{}", self.status, self.since, self.item)
    }
}

serde_as_text!(CartItemSort);

prefixed_key!(
    /// Sort key of the pointer to a cart item: `ITEM#<item id>`.
    ItemSort,
    "ITEM",
    ItemId
);

constant_key!(
    /// Sort key of the item `CART`, which has the contents of a cart.
    CartSort,
    "CART"
);

prefixed_key!(
    /// Sort key of an order: `ORDER#<order id>`. Generated order ids start with their time.
    OrderSort,
    "ORDER",
    OrderId
);

impl OrderSort {
    /// Returns the range of all orders.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("ORDER#")
    }
}

prefixed_key!(
    /// Sort key of the lines of an order: `LINES#<order id>`.
    LinesSort,
    "LINES",
    OrderId
);

identifier!(
    /// Id of a job that moves the cart items of an order: `<order id>-<STATUS>`.
    JobId
);

impl JobId {
    /// Returns the id of the job that moves the cart items of the order to the status.
    #[must_use]
    pub fn of(order: &OrderId, status: Status) -> Self {
        Self::generated(&format!("{order}-{status}"))
    }
}

prefixed_key!(
    /// Partition key of a job: `JOB#<job id>`.
    JobPartition,
    "JOB",
    JobId
);

constant_key!(
    /// Sort key of a job.
    JobSort,
    "JOB"
);

constant_key!(
    /// Sort key of a product.
    ProductSort,
    "PRODUCT"
);

constant_key!(
    /// GSI1 partition key of every product.
    ProductsPartition,
    "PRODUCTS"
);

prefixed_key!(
    /// GSI1 sort key of a product: `SKU#<sku>`.
    SkuSort,
    "SKU",
    Sku
);

impl SkuSort {
    /// Returns the range of all products.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("SKU#")
    }
}
