//! Keys of `Cart` (docs/requirements/cart.md#data-model).
//!
//! | item | PK | SK | GSI1PK | GSI1SK | GSI2PK |
//! | --- | --- | --- | --- | --- | --- |
//! | cart item | account | `<STATUS>#<time of the last status change>#<item id>` | SKU | as SK | |
//! | pointer, once an item has changed its status | account | `ITEM#<item id>` | | | |
//! | contents of the cart | account | `CART` | | | |
//! | order | account | `ORDER#<order id>` | | | `<order status>#<shard>` |
//! | lines of an order | account | `LINES#<order id>` | | | |
//! | idempotency record | account | `IDEMPOTENCY#<key>` | | | |
//!
//! A cart item with the status `REMOVED` or `JOINED` has no GSI1 keys. The sort key of GSI2 is SK.
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

use crate::time::Exact;
use crate::{
    Day, KeyRange, OrderId, Random, Shard, Sku, TimestampMillis,
    id::identifier,
    text::{Simple, names, uuid_of},
};
use derives::Key;
use jiff::Timestamp;
use uuid::Uuid;

names! {
    /// Status of a cart item.
    pub enum Status: "must be ACTIVE, SAVED, PURCHASED, SHIPPED or CANCELLED" {
        /// In the cart.
        Active = "ACTIVE",
        /// Bought in an order that was cancelled. This status is final.
        Cancelled = "CANCELLED",
        /// Merged into the ACTIVE item of the same product. Hidden from customers.
        Joined = "JOINED",
        /// Bought.
        Purchased = "PURCHASED",
        /// Removed by the customer. Hidden from customers.
        Removed = "REMOVED",
        /// Saved for later.
        Saved = "SAVED",
        /// Bought and shipped. This status is final.
        Shipped = "SHIPPED",
    }
}

impl Status {
    /// Returns whether lists show cart items with this status.
    pub const fn is_listed(self) -> bool {
        !matches!(self, Self::Joined | Self::Removed)
    }
}

/// Id of a cart item: the 32 hexadecimal digits of a version 7 UUID. The id never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{0:Simple}")]
#[invalid("is not an item id")]
pub struct ItemId(Uuid);

impl ItemId {
    /// Creates an id. The UUID contains the time `now`.
    pub fn new(now: Timestamp, random: &Random) -> Self {
        Self(uuid_of(now, random))
    }

    /// Returns the time in the UUID: the time at which the item was added to the cart. `None` if
    /// the id has no valid time.
    pub fn time(self) -> Option<TimestampMillis> {
        TimestampMillis::of_uuid(self.0)
    }
}

/// Sort key and GSI1 sort key of a cart item. The item id makes the sort key unique, so a cursor
/// stores only the sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{status}#{since:Exact}#{item}")]
#[range(with_status(status))]
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
    pub fn first(item: ItemId) -> Option<Self> {
        Some(Self { status: Status::Active, since: item.time()?, item })
    }

    /// Returns the range of cart items that got the status on the day
    /// (docs/requirements/cart.md#access-pattern-3-list-items-of-a-product).
    pub fn on(day: Day, status: Status) -> KeyRange {
        Self::with_status(&status).continuing(format_args!("{day}T"))
    }

    /// Returns the range of cart items that got the status from `from` to `to`, both inclusive.
    /// `None` means no limit. The range is empty if `to` is before `from`.
    pub fn between(status: Status, from: Option<TimestampMillis>, to: Option<TimestampMillis>) -> KeyRange {
        let end =
            |time: Option<TimestampMillis>, close: &str| time.map_or_else(String::new, |time| format!("{time}{close}"));
        KeyRange::through(format!("{status}#{}", end(from, "")), format!("{status}#{}", end(to, "#")))
    }

    /// Returns an empty range, for warm-up queries.
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }
}

/// Sort key of the pointer to a cart item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ITEM#{0}")]
pub struct ItemSort(pub ItemId);

/// Sort key of the item `CART`, which has the contents of a cart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CART")]
pub struct CartSort;

names! {
    /// Status of an order.
    #[derive(Default)]
    pub enum OrderStatus as "OrderStatus" ("Status of an order."): "must be PLACED, SHIPPED, DELIVERED or CANCELLED" {
        /// The order was cancelled before it was shipped. This status is final.
        Cancelled = "CANCELLED",
        /// The order was delivered. This status is final.
        Delivered = "DELIVERED",
        /// The order was placed by a checkout.
        #[default]
        Placed = "PLACED",
        /// The order was shipped.
        Shipped = "SHIPPED",
    }
}

impl OrderStatus {
    /// Returns the status of the cart items of an order with this status.
    pub const fn of_cart_items(self) -> Status {
        match self {
            Self::Placed => Status::Purchased,
            Self::Shipped | Self::Delivered => Status::Shipped,
            Self::Cancelled => Status::Cancelled,
        }
    }
}

/// Sort key of an order, in the table and in GSI2. Generated order ids start with the time of their
/// order, so orders sort by age.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ORDER#{0}")]
#[range(all)]
pub struct OrderSort(pub OrderId);

impl OrderSort {
    /// Returns the range of orders that were placed from `from` to `to`, both inclusive. `None`
    /// means no limit. The range is empty if `to` is before `from`. No order is older than 1970.
    pub fn placed(from: Option<TimestampMillis>, to: Option<TimestampMillis>) -> KeyRange {
        let end = |time: Option<TimestampMillis>| time.map_or_else(String::new, OrderId::start);
        KeyRange::through(format!("ORDER#{}", end(from)), format!("ORDER#{}", end(to)))
    }

    /// Returns an empty range, for warm-up queries.
    pub fn nothing() -> KeyRange {
        KeyRange::nothing_from(Self::all().from())
    }
}

/// Partition key of GSI2, which lists the orders of all accounts by status. Each order keeps its
/// shard when its status changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{status}#{shard}")]
pub struct OrdersPartition {
    /// Status of the orders.
    pub status: OrderStatus,
    /// The shard of the index.
    pub shard: Shard,
}

/// Sort key of the lines of an order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("LINES#{0}")]
pub struct LinesSort(pub OrderId);

identifier! {
    /// Id of a job that moves the cart items of an order: `<order id>-<STATUS>`.
    JobId;
}

impl JobId {
    /// Returns the id of the job that moves the cart items of the order to the status.
    pub fn of(order: &OrderId, status: Status) -> Self {
        Self::generated(&format!("{order}-{status}"))
    }
}

/// Partition key of a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("JOB#{0}")]
pub struct JobPartition(pub JobId);

/// Sort key of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("JOB")]
pub struct JobSort;

/// Sort key of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("PRODUCT")]
pub struct ProductSort;

/// GSI1 partition key of every product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("PRODUCTS")]
pub struct ProductsPartition;

/// GSI1 sort key of a product.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("SKU#{0}")]
#[range(all)]
pub struct SkuSort(pub Sku);

crate::schema!(ItemId as "ItemId": {"type": "string", "pattern": "^[0-9a-f]{32}$"});

crate::schema!(Status as "CartItemStatus", |_| {
    let listed = Status::ALL.into_iter().filter(|status| status.is_listed());
    ::schemars::json_schema!({"type": "string", "enum": listed.collect::<Vec<_>>()})
});
