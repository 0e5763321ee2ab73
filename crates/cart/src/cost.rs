use table::{
    Units,
    cost::{read, read_eventually, write},
};

/// Access pattern of the cart.
pub type Pattern = function::Pattern<Case>;

/// Key condition and cost of one variant of an access pattern.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost functions: item sizes in bytes, and item counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case {
    /// Size of a cart item.
    pub cart_item: usize,
    /// Number of cart items that a list returns, that a checkout buys, or that are in the cart
    /// before an addition.
    pub cart_items: usize,
    /// Size of the contents of the cart after a change. 0 if the cart has no contents.
    pub contents: usize,
    /// Size of the idempotency record, if the request has an `Idempotency-Key`.
    pub record: Option<usize>,
    /// Size of a product.
    pub product: usize,
    /// Number of products that a list returns.
    pub products: usize,
    /// Size of an order without its lines.
    pub order: usize,
    /// Number of orders that a list returns.
    pub orders: usize,
    /// Size of the lines of an order.
    pub lines: usize,
}

/// Names of the tables and indexes in the declared costs.
pub(crate) const CART: &str = "Cart";
pub(crate) const BY_SKU: &str = "Cart/GSI1";
pub(crate) const JOBS: &str = "CartJobs";
pub(crate) const PRODUCTS: &str = "Products";
pub(crate) const BY_PRODUCT: &str = "Products/GSI1";

impl Case {
    pub(crate) fn cart_item_write(&self) -> Units {
        write(self.cart_item)
    }

    /// Read request units (RRU) for the contents of a cart.
    pub(crate) fn contents_read(&self) -> Units {
        read(self.contents)
    }

    /// Write request units (WRU) for the contents of a cart. A transaction consumes twice as many.
    pub(crate) fn contents_write(&self) -> Units {
        write(self.contents)
    }

    /// RRU for getting a cart item that has changed its status: its first key and its pointer, with
    /// one RRU each, and the item.
    pub(crate) fn located(&self) -> Units {
        Units::whole(2) + read(self.cart_item)
    }

    /// RRU for getting a cart item in the cart, and the contents of the cart.
    pub(crate) fn located_in_cart(&self) -> Units {
        read(self.cart_item) + self.contents_read()
    }

    /// WRU for the three writes of a status change: delete the old item, put the new item, and put
    /// the pointer. A transaction consumes twice as many WRU.
    pub(crate) fn moved(&self) -> Units {
        self.cart_item_write().times(2) + Units::whole(1)
    }

    /// RRU for a page of cart items, read with eventual consistency.
    pub(crate) fn listed(&self) -> Units {
        read_eventually(self.cart_item * self.cart_items)
    }

    /// RRU for the items of a cart, read with strong consistency.
    pub(crate) fn read_all(&self) -> Units {
        read(self.cart_item * self.cart_items)
    }

    /// RRU for reading the items of a cart without `CART` before an addition.
    pub(crate) fn read_if_empty(&self) -> Units {
        Units::whole(u64::from(self.cart_items == 0))
    }

    /// RRU for getting the product of each listed cart item with eventual consistency.
    pub(crate) fn products_of_list(&self) -> Units {
        read_eventually(self.product).times(self.count())
    }

    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.cart_items).unwrap_or(u64::MAX)
    }

    /// RRU for getting the idempotency record, which does not exist yet. A get of a missing item
    /// consumes one RRU.
    pub(crate) fn record_read(&self) -> Units {
        Units::whole(u64::from(self.record.is_some()))
    }

    /// WRU for putting the idempotency record. A transaction consumes twice as many WRU.
    pub(crate) fn record_write(&self) -> Units {
        self.record.map_or(Units::ZERO, write)
    }
}
