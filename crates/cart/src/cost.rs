use table::cost::{Size, Sizes, Term, read, read_eventually, write};

/// Access pattern of the cart.
pub type Pattern = function::Pattern<Case>;

/// Key condition and cost of one variant of an access pattern.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost functions: item sizes in bytes, and item counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case<N = usize> {
    /// Size of a cart item.
    pub cart_item: N,
    /// Number of cart items that a list returns, that a checkout buys, or that are in the cart
    /// before an addition.
    pub cart_items: N,
    /// Size of the contents of the cart after a change. 0 if the cart has no contents.
    pub contents: N,
    /// Size of the idempotency record, if the request has an `Idempotency-Key`.
    pub record: Option<N>,
    /// Size of a product.
    pub product: N,
    /// Number of products that a list returns.
    pub products: N,
    /// Size of an order without its lines.
    pub order: N,
    /// Number of orders that a list returns.
    pub orders: N,
    /// Size of the entry of an order in GSI2.
    pub entry: N,
    /// Number of entries of GSI2 that the query of a shard reads.
    pub entries: N,
    /// Number of shards of GSI2 that a reader queries.
    pub shards: N,
    /// Size of the lines of an order.
    pub lines: N,
}

/// The case with the names that formulas show.
pub(crate) type Named = Case<Size>;

impl Sizes for Case {
    type Named = Named;

    fn named(&self) -> Named {
        Case {
            cart_item: Size::named("cart item", self.cart_item),
            cart_items: Size::named("cart items", self.cart_items),
            contents: Size::named("CART", self.contents),
            record: self.record.map(|size| Size::named("record", size)),
            product: Size::named("product", self.product),
            products: Size::named("products", self.products),
            order: Size::named("order", self.order),
            orders: Size::named("orders", self.orders),
            entry: Size::named("entry", self.entry),
            entries: Size::named("entries of a shard", self.entries),
            shards: Size::named("shards", self.shards),
            lines: Size::named("lines", self.lines),
        }
    }
}

/// Names of the tables and indexes in the declared costs.
pub(crate) const CART: &str = "Cart";
pub(crate) const BY_SKU: &str = "Cart/GSI1";
pub(crate) const BY_STATUS: &str = "Cart/GSI2";
pub(crate) const JOBS: &str = "CartJobs";
pub(crate) const PRODUCTS: &str = "Products";
pub(crate) const BY_PRODUCT: &str = "Products/GSI1";

impl Named {
    pub(crate) fn cart_item_write(&self) -> Term {
        write(self.cart_item)
    }

    /// Read request units (RRU) for the contents of a cart.
    pub(crate) fn contents_read(&self) -> Term {
        read(self.contents)
    }

    /// Write request units (WRU) for the contents of a cart. A transaction consumes twice as many.
    pub(crate) fn contents_write(&self) -> Term {
        write(self.contents)
    }

    /// RRU for getting a cart item that has changed its status: its first key and its pointer, with
    /// one RRU each, and the item.
    pub(crate) fn located(&self) -> Term {
        Term::whole(2) + read(self.cart_item)
    }

    /// RRU for getting a cart item in the cart, and the contents of the cart.
    pub(crate) fn located_in_cart(&self) -> Term {
        read(self.cart_item) + self.contents_read()
    }

    /// WRU for the three writes of a status change: delete the old item, put the new item, and put
    /// the pointer. A transaction consumes twice as many WRU.
    pub(crate) fn moved(&self) -> Term {
        self.cart_item_write().times(2) + 1
    }

    /// RRU for a page of cart items, read with eventual consistency.
    pub(crate) fn listed(&self) -> Term {
        read_eventually(self.cart_item * self.cart_items)
    }

    /// RRU for the items of a cart, read with strong consistency.
    pub(crate) fn read_all(&self) -> Term {
        read(self.cart_item * self.cart_items)
    }

    /// RRU for reading the items of a cart without `CART` before an addition.
    pub(crate) fn read_if_empty(&self) -> Term {
        Term::whole(usize::from(self.cart_items.value() == 0))
    }

    /// RRU for getting the product of each listed cart item with eventual consistency.
    pub(crate) fn products_of_list(&self) -> Term {
        read_eventually(self.product).times(self.cart_items)
    }

    /// RRU for getting the idempotency record, which does not exist yet. A get of a missing item
    /// consumes one RRU.
    pub(crate) fn record_read(&self) -> Term {
        Term::whole(usize::from(self.record.is_some()))
    }

    /// WRU for putting the idempotency record. A transaction consumes twice as many WRU.
    pub(crate) fn record_write(&self) -> Term {
        self.record.map_or(Term::ZERO, write)
    }
}
