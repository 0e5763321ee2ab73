//! Keys of `Cart` (docs/requirements/cart.md#data-model).
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! | --- | --- | --- | --- | --- |
//! | cart item | account | `<STATUS>#<time of the last status change>#<item id>` | SKU | as SK |
//! | pointer, one per cart item | account | `ITEM#<item id>` | | |
//! | cart, written by every addition | account | `CART` | | |
//! | idempotency record | account | `IDEMPOTENCY#<key>` | | |
//!
//! A cart item with the status `REMOVED` or `JOINED` has no GSI1 keys.
//!
//! Keys of `Products` (docs/requirements/cart.md#products-and-prices):
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! | --- | --- | --- | --- | --- |
//! | product | SKU | `PRODUCT` | `PRODUCTS` | `SKU#<SKU>` |

use crate::{
    Day, KeyRange, Random, Sku, TimestampMillis,
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
    /// Merged into the ACTIVE item of the same product. Hidden from customers.
    Joined,
    /// Bought. This status is final.
    Purchased,
    /// Removed by the customer. Hidden from customers.
    Removed,
    /// Saved for later.
    Saved,
}

names!(
    Status, "must be ACTIVE, SAVED or PURCHASED",
    Active => "ACTIVE",
    Joined => "JOINED",
    Purchased => "PURCHASED",
    Removed => "REMOVED",
    Saved => "SAVED",
);

impl Status {
    /// Returns whether lists show cart items with this status.
    #[must_use]
    pub const fn is_listed(self) -> bool {
        matches!(self, Self::Active | Self::Saved | Self::Purchased)
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
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            return KeyRange::nothing_from(format!("{status}#{}", end(from, "")));
        }
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
    /// Sort key of the item `CART`, which every addition to a cart writes.
    CartSort,
    "CART"
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
