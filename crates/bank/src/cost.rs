use table::{
    Projection, Units,
    cost::{self, Cost},
};

/// An access pattern of the domain.
pub type Pattern = function::Pattern<Case>;

/// The calls of one of its access patterns.
pub(crate) type Calls = function::Calls<Case>;

/// The input of a cost: sizes in bytes, counts of items.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// A payment or transaction.
    pub item: usize,
    /// Its entry in a `KEYS_ONLY` index: keys of the table and of the index.
    pub entry: usize,
    /// What the index carries.
    pub projection: Projection,
    /// Shards that readers ask.
    pub shards: usize,
    /// Items that the page returns or the run moves, at most one a shard.
    pub items: usize,
    /// Whether the request had an `Idempotency-Key`.
    pub keyed: bool,
}

/// Places where units are consumed.
pub(crate) const PAYMENTS: &str = "PaymentScheduler";
pub(crate) const TRANSACTIONS: &str = "TransactionHistory";
pub(crate) const DUE_PAYMENTS: &str = "PaymentScheduler/GSI1";
pub(crate) const DUE_TRANSACTIONS: &str = "TransactionHistory/GSI1";
pub(crate) const BY_TRANSACTION: &str = "TransactionHistory/GSI2";

impl Case {
    /// An entry of the sharded index put or deleted.
    pub(crate) fn index_write(&self) -> Units {
        cost::write(match self.projection {
            Projection::All => self.item,
            Projection::KeysOnly => self.entry,
        })
    }

    pub(crate) fn count(&self) -> u64 {
        u64::try_from(self.items).unwrap_or(u64::MAX)
    }

    /// A page of the sharded index that holds at most one item a shard.
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
