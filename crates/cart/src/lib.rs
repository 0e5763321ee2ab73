//! A retail cart (docs/requirements/cart.md). Each access pattern has a module in `patterns` and a
//! Lambda of the same name in `src/bin`.
//!
//! The sort key of a cart item starts with the status and the time of the last status change. A
//! status change therefore deletes the item and puts it under a new key. The same transaction
//! updates the pointer from the item id to the sort key (docs/decisions/cart-contents.md).
//!
//! The item `CART` names the items of the cart, and every change of an item in the cart also
//! changes `CART`. A cart therefore never contains a product twice, and a checkout takes all items
//! out of the cart with one write (docs/decisions/cart-contents.md). An order has a copy of its
//! items. Large orders move their cart items with a job (docs/decisions/cart-orders.md).
#![deny(clippy::disallowed_methods)]

mod cost;
mod facts;
mod jobs;
mod model;
pub mod patterns;
mod store;

pub use crate::jobs::Task;
pub use cost::{Case, Pattern};
pub use facts::Fact;
pub use model::{
    cart_item::{CartItem, CartItemBody, Listed, MAX_BYTES, NewStatus, Previous, Prices, Quantity},
    contents::MAX_ITEMS,
    order::{Line, MAX_MOVED_AT_ONCE, Order, OrderLines},
    product::{Product, ProductName},
};
pub use patterns::patterns;

use ::jobs::Jobs;
use function::{App, Clients, SettingsReader};
use keys::{
    KeyRange,
    cart::{CartItemSort, OrderSort, OrderStatus, OrdersPartition},
};
use model::{days::Days, order::OrderEntry};
use publisher::Bus;
use table::{Dynamo, Index, Key, MergedQuery, Projection, Query, ShardedIndex, Table};

/// Prefix of the scopes `cart:read`, `cart:write` and `cart:operate`.
pub(crate) const DOMAIN: &str = "cart";

/// Tables and indexes that the cart's functions use.
#[derive(Debug, Clone)]
pub struct Cart {
    dynamo: Dynamo,
    table: Table,
    /// `GSI1`: cart items by product.
    by_sku: Index,
    /// `GSI2`: orders by status.
    orders: ShardedIndex,
    products: Table,
    /// `GSI1` of `Products`: all products by SKU.
    by_product: Index,
    jobs: Jobs,
    bus: Bus,
    /// Days until an unchanged cart item expires.
    days: Days,
}

impl App for Cart {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let mut table = |name: &str| Some(clients.dynamo().table(settings.get::<String>(name)?));
        let (table, products) = (table("CART_TABLE"), table("PRODUCTS_TABLE"));
        let jobs = settings.get("CART_JOBS_TABLE").map(|name| Jobs::new(clients.dynamo(), name));
        let by_sku = Index { name: "GSI1".into(), partition: CartItem::INDEX_PARTITION, sort: CartItem::INDEX_SORT };
        let by_product = Index { name: "GSI1".into(), partition: Product::INDEX_PARTITION, sort: Product::INDEX_SORT };
        let by_status = Index { name: "GSI2".into(), partition: Order::BY_STATUS, sort: Key::SORT };
        let (dynamo, days) = (clients.dynamo().clone(), settings.get("CART_DAYS"));
        let shards = settings.shards("ORDER_WRITE_SHARDS", "ORDER_READ_SHARDS");
        Some(Self {
            dynamo,
            table: table?,
            by_sku,
            orders: ShardedIndex { index: by_status, projection: Projection::Narrow, shards: shards? },
            products: products?,
            by_product,
            jobs: jobs?,
            bus: Bus::start(settings, clients),
            days: days?,
        })
    }
}

impl Cart {
    /// Returns the query of the orders with the status, merged from all shards.
    fn orders_by_status<'a>(&'a self, status: OrderStatus, range: &'a KeyRange) -> MergedQuery<'a> {
        let ShardedIndex { index, projection, shards } = &self.orders;
        let partitions = shards.read().map(|shard| OrdersPartition { status, shard }.to_string()).collect();
        MergedQuery { index, projection: *projection, partitions, range, behind: None }
    }
}

/// Warm-up calls, which open the connection to DynamoDB during the init phase. Their results are
/// ignored: if DynamoDB is unreachable, the first invocation reports the error.
impl Cart {
    async fn warm_by_get(self) {
        let _ = self.table.get_eventually::<CartItem>(&Key::placeholder()).await;
    }

    async fn warm_by_query(self) {
        let _ = self.table.page::<CartItem>(&Query::new(&"#", &CartItemSort::nothing()), 1).await;
    }

    async fn warm_by_index(self) {
        let _ = self.table.page::<CartItem>(&Query::new(&"#", &CartItemSort::nothing()).on(&self.by_sku), 1).await;
    }

    async fn warm_by_orders(self) {
        let nothing = OrderSort::nothing();
        let _ = self.table.unique_page::<OrderEntry>(self.orders_by_status(OrderStatus::Placed, &nothing), 1).await;
    }

    async fn warm_by_job(self) {
        self.jobs.warm_up().await;
    }

    async fn warm_by_product(self) {
        let _ = self.products.get_eventually::<Product>(&Key::placeholder()).await;
    }

    async fn warm_by_products(self) {
        let nothing = CartItemSort::nothing();
        let _ = self.products.page::<Product>(&Query::new(&"#", &nothing).on(&self.by_product), 1).await;
    }
}
