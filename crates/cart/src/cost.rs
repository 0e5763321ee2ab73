use table::{
    Units,
    cost::{read, read_eventually, write},
};

/// Access pattern of the cart.
pub type Pattern = function::Pattern<Case>;

/// Key condition and cost of one variant of an access pattern.
pub(crate) type Calls = function::Calls<Case>;

/// Item sizes and counts from which a cost function calculates the units. Sizes are in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Size of a cart item.
    pub cart_item: usize,
    /// Number of cart items: the items that a list returns, the items that a checkout buys, or the
    /// ACTIVE items before an addition.
    pub cart_items: usize,
    /// Size of the idempotency record, if the request has an `Idempotency-Key`.
    pub record: Option<usize>,
}

/// Names of the tables and indexes in a cost.
pub(crate) const CART: &str = "Cart";
pub(crate) const BY_SKU: &str = "Cart/GSI1";

impl Case {
    pub(crate) fn cart_item_write(&self) -> Units {
        write(self.cart_item)
    }

    /// Cost of reading a pointer by the item id, and then the cart item. A pointer costs one unit.
    pub(crate) fn locate(&self) -> Units {
        Units::whole(1) + read(self.cart_item)
    }

    /// Cost of the three writes of a status change: delete the old item, put the new item, put the
    /// pointer. The transaction doubles this cost.
    pub(crate) fn moved(&self) -> Units {
        self.cart_item_write().times(2) + Units::whole(1)
    }

    /// Cost of a page of cart items.
    pub(crate) fn listed(&self) -> Units {
        read_eventually(self.cart_item * self.cart_items)
    }

    /// Cost of reading the item `CART` and the ACTIVE cart items with strong consistency.
    pub(crate) fn looked_at(&self) -> Units {
        Units::whole(1) + read(self.cart_item * self.cart_items)
    }

    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.cart_items).unwrap_or(u64::MAX)
    }

    /// Cost of reading the idempotency record. Reading a missing record costs one unit.
    pub(crate) fn record_read(&self) -> Units {
        Units::whole(u64::from(self.record.is_some()))
    }

    /// Cost of writing the idempotency record. The transaction doubles this cost.
    pub(crate) fn record_write(&self) -> Units {
        self.record.map_or(Units::ZERO, write)
    }
}
