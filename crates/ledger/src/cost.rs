use table::{
    Units,
    cost::{Cost, read, read_eventually, write},
};

/// An access pattern of the ledger.
pub type Pattern = function::Pattern<Case>;

/// The calls of an access pattern of the ledger.
pub(crate) type Calls = function::Calls<Case>;

/// The input of the cost formulas: sizes in bytes, and counts of items.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Size of an account or a merchant.
    pub account: usize,
    /// Size of an account's entry in GSI1, the list of its user's accounts. Payments do not change
    /// the entry.
    pub of_user: usize,
    /// Size of a transaction's header.
    pub transaction: usize,
    /// Size of a transaction's entry in GSI1, the list by status. It has all attributes of the
    /// header except the key of GSI2.
    pub of_status: usize,
    /// Size of a leg, and of its entry in GSI1.
    pub leg: usize,
    /// Number of legs of the transaction, each on a different account.
    pub legs: usize,
    /// Number of items in the list.
    pub items: usize,
    /// Whether the transaction names a merchant.
    pub merchant: bool,
}

/// The tables and indexes that consume units.
pub(crate) const LEDGER: &str = "FinancialTransactions";
pub(crate) const BY_TIME: &str = "FinancialTransactions/GSI1";
pub(crate) const BY_KEY: &str = "FinancialTransactions/GSI2";
pub(crate) const JOBS: &str = "LedgerJobs";

impl Case {
    pub(crate) fn count(items: usize) -> u64 {
        u64::try_from(items).unwrap_or(u64::MAX)
    }

    /// Reads a header and its legs in one query, strongly consistent.
    pub(crate) fn collection(&self) -> Units {
        read(self.transaction + self.leg * self.legs)
    }

    /// Reads before a transaction is posted, all strongly consistent: its accounts, its item
    /// collection, which is still empty, and its merchant if it names one.
    pub(crate) fn looked_at(&self) -> Units {
        read(self.account).times(Self::count(self.legs)) + Units::whole(1) + Units::whole(u64::from(self.merchant))
    }

    /// All writes of a posted transaction.
    pub(crate) fn posted(&self, keyed: bool) -> Cost {
        let legs = Self::count(self.legs);
        let entries = write(self.leg).times(legs);
        Cost::default()
            .write(LEDGER, (write(self.transaction) + entries + write(self.account).times(legs)).times(2))
            .write(BY_TIME, write(self.of_status) + entries)
            .write(BY_KEY, Units::whole(u64::from(keyed)))
    }

    /// Reads a page of an index with entries of the given size.
    pub(crate) fn listed(&self, entry: usize) -> Units {
        read_eventually(entry * self.items)
    }
}
