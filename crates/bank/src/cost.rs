use table::{
    Projection, Units,
    cost::{self, Cost},
};

/// A bank access pattern.
pub type Pattern = function::Pattern<Case>;

/// One variant of a bank access pattern: its DynamoDB calls and their cost.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost functions. All sizes are in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case {
    /// Size of a payment or transaction.
    pub item: usize,
    /// Size of the item's entry in a `KEYS_ONLY` index. The entry contains the keys of the table
    /// and of the index.
    pub entry: usize,
    /// Projection of the sharded index.
    pub projection: Projection,
    /// Number of shards that a reader queries.
    pub shards: usize,
    /// Number of items that a page returns, or that an archive run moves. Each shard has at most
    /// one item.
    pub items: usize,
    /// Whether the request has an `Idempotency-Key`.
    pub keyed: bool,
}

/// Names of the tables and indexes, as used in cost declarations.
pub(crate) const PAYMENTS: &str = "PaymentScheduler";
pub(crate) const TRANSACTIONS: &str = "TransactionHistory";
pub(crate) const DUE_PAYMENTS: &str = "PaymentScheduler/GSI1";
pub(crate) const DUE_TRANSACTIONS: &str = "TransactionHistory/GSI1";
pub(crate) const JOBS: &str = "BankJobs";
pub(crate) const BY_TRANSACTION: &str = "TransactionHistory/GSI2";

impl Case {
    /// WRUs consumed by putting or deleting one entry of the sharded index.
    pub(crate) fn index_write(&self) -> Units {
        cost::write(match self.projection {
            Projection::All => self.item,
            Projection::KeysOnly => self.entry,
        })
    }

    /// RRUs consumed by queries of the sharded index, of which each finds at most one item.
    pub(crate) fn queried(&self, queries: usize) -> Units {
        let entry = cost::read_eventually(match self.projection {
            Projection::All => self.item,
            Projection::KeysOnly => self.entry,
        });
        let empty = u64::try_from(queries.saturating_sub(self.items)).unwrap_or_default();
        entry.times(self.count()) + cost::read_eventually(0).times(empty)
    }

    /// RRUs consumed by reading the items of index entries from the table.
    pub(crate) fn fetched(&self) -> Units {
        match self.projection {
            Projection::All => Units::ZERO,
            Projection::KeysOnly => cost::read_eventually(self.item).times(self.count()),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.items).unwrap_or(u64::MAX)
    }

    /// RRUs consumed by querying all shards without finding an item.
    pub(crate) fn empty_shards(&self) -> Units {
        cost::read_eventually(0).times(u64::try_from(self.shards).unwrap_or_default())
    }

    /// RRUs consumed by reading a page of the sharded index. Each shard has at most one item.
    pub(crate) fn sharded_page(&self, table: &'static str, index: &'static str) -> Cost {
        let empty = u64::try_from(self.shards.saturating_sub(self.items)).unwrap_or_default();
        let nothing = cost::read_eventually(0).times(empty);
        match self.projection {
            Projection::All => {
                Cost::default().read(index, nothing + cost::read_eventually(self.item).times(self.count()))
            }
            Projection::KeysOnly => Cost::default()
                .read(index, nothing + cost::read_eventually(self.entry).times(self.count()))
                .read(table, cost::read_eventually(self.item).times(self.count())),
        }
    }
}
