use table::{
    Projection,
    cost::{self, Cost, Size, Sizes, Term},
};

/// A bank access pattern.
pub type Pattern = function::Pattern<Case>;

/// One variant of a bank access pattern: its DynamoDB calls and their cost.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost functions. All sizes are in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case<N = usize> {
    /// Size of a payment or transaction.
    pub item: N,
    /// Size of the item's entry in a `KEYS_ONLY` index. The entry contains the keys of the table
    /// and of the index.
    pub entry: N,
    /// Projection of the sharded index.
    pub projection: Projection,
    /// Number of shards that a reader queries.
    pub shards: N,
    /// Number of items that a page returns, or that an archive run moves. Each shard has at most
    /// one item.
    pub items: N,
    /// Whether the request has an `Idempotency-Key`.
    pub keyed: bool,
    /// Size of a run of an import.
    pub run: N,
}

/// The case with the names that formulas show.
pub(crate) type Named = Case<Size>;

impl Sizes for Case {
    type Named = Named;

    fn named(&self) -> Named {
        Case {
            item: Size::named("item", self.item),
            entry: Size::named("entry", self.entry),
            projection: self.projection,
            shards: Size::named("shards", self.shards),
            items: Size::named("items", self.items),
            keyed: self.keyed,
            run: Size::named("run", self.run),
        }
    }
}

/// Names of the tables and indexes, as used in cost declarations.
pub(crate) const PAYMENTS: &str = "PaymentScheduler";
pub(crate) const TRANSACTIONS: &str = "TransactionHistory";
pub(crate) const DUE_PAYMENTS: &str = "PaymentScheduler/GSI1";
pub(crate) const DUE_TRANSACTIONS: &str = "TransactionHistory/GSI1";
pub(crate) const JOBS: &str = "BankJobs";
pub(crate) const IMPORTS: &str = "BankJobs/GSI1";
pub(crate) const BY_TRANSACTION: &str = "TransactionHistory/GSI2";

impl Named {
    /// WRUs consumed by putting or deleting one entry of the sharded index.
    pub(crate) fn index_write(&self) -> Term {
        cost::write(match self.projection {
            Projection::All => self.item,
            Projection::KeysOnly | Projection::Narrow => self.entry,
        })
    }

    /// WRUs consumed by an update of an item that changes no key.
    pub(crate) fn index_update(&self) -> Term {
        match self.projection {
            Projection::All => cost::write(self.item),
            Projection::KeysOnly | Projection::Narrow => Term::ZERO,
        }
    }

    /// RRUs consumed by queries of the sharded index, of which each finds at most one item.
    pub(crate) fn queried(&self, queries: Size) -> Term {
        let entry = cost::read_eventually(match self.projection {
            Projection::All => self.item,
            Projection::KeysOnly | Projection::Narrow => self.entry,
        });
        let empty = queries.saturating_sub(self.items);
        entry.times(self.items) + cost::read_eventually(0).times(empty)
    }

    /// RRUs consumed by reading the items of index entries from the table.
    pub(crate) fn fetched(&self) -> Term {
        match self.projection {
            Projection::All | Projection::Narrow => Term::ZERO,
            Projection::KeysOnly => cost::read_eventually(self.item).times(self.items),
        }
    }

    /// RRUs consumed by querying all shards without finding an item.
    pub(crate) fn empty_shards(&self) -> Term {
        cost::read_eventually(0).times(self.shards)
    }

    /// RRUs consumed by reading a page of the sharded index. Each shard has at most one item.
    pub(crate) fn sharded_page(&self, table: &'static str, index: &'static str) -> Cost {
        let empty = self.shards.saturating_sub(self.items);
        let nothing = cost::read_eventually(0).times(empty);
        match self.projection {
            Projection::All => {
                Cost::default().read(index, nothing + cost::read_eventually(self.item).times(self.items))
            }
            Projection::Narrow => {
                Cost::default().read(index, nothing + cost::read_eventually(self.entry).times(self.items))
            }
            Projection::KeysOnly => Cost::default()
                .read(index, nothing + cost::read_eventually(self.entry).times(self.items))
                .read(table, cost::read_eventually(self.item).times(self.items)),
        }
    }
}
