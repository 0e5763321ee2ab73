use table::{
    Units,
    cost::{Cost, read, read_eventually, write},
};

/// An access pattern of the ledger.
pub type Pattern = function::Pattern<Case>;

/// The DynamoDB calls of an access pattern of the ledger.
pub(crate) type Calls = function::Calls<Case>;

/// The input of the cost formulas: sizes in bytes, and counts of items.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Size of an account or a merchant.
    pub account: usize,
    /// Size of an account's entry in GSI1, which lists the accounts of a user. Payments do not
    /// change this entry.
    pub of_user: usize,
    /// Size of a transaction's header.
    pub transaction: usize,
    /// Size of a transaction's entry in GSI1, which lists transactions by status. The entry has all
    /// attributes of the header except the key of GSI2.
    pub of_status: usize,
    /// Size of a leg. Its entry in GSI1 has the same size.
    pub leg: usize,
    /// Number of legs of the transaction. Each leg is on a different account.
    pub legs: usize,
    /// Number of items in the list.
    pub items: usize,
    /// Whether the transaction names a merchant.
    pub merchant: bool,
}

/// Names of the tables and indexes that consume units.
pub(crate) const LEDGER: &str = "FinancialTransactions";
pub(crate) const BY_TIME: &str = "FinancialTransactions/GSI1";
pub(crate) const BY_KEY: &str = "FinancialTransactions/GSI2";
pub(crate) const JOBS: &str = "LedgerJobs";

impl Case {
    pub(crate) fn count(items: usize) -> u64 {
        u64::try_from(items).unwrap_or(u64::MAX)
    }

    /// The units of a strongly consistent query that reads a header and its legs.
    pub(crate) fn collection(&self) -> Units {
        read(self.transaction + self.leg * self.legs)
    }

    /// The units of the strongly consistent reads before a transaction is posted. They read its
    /// accounts, its item collection, which is still empty, and its merchant if it names one.
    pub(crate) fn looked_at(&self) -> Units {
        read(self.account).times(Self::count(self.legs)) + Units::whole(1) + Units::whole(u64::from(self.merchant))
    }

    /// The cost of all writes that post a transaction.
    pub(crate) fn posted(&self, keyed: bool) -> Cost {
        let legs = Self::count(self.legs);
        let entries = write(self.leg).times(legs);
        Cost::default()
            .write(LEDGER, (write(self.transaction) + entries + write(self.account).times(legs)).times(2))
            .write(BY_TIME, write(self.of_status) + entries)
            .write(BY_KEY, Units::whole(u64::from(keyed)))
    }

    /// The units of reading a page of an index whose entries have the size `entry`.
    pub(crate) fn listed(&self, entry: usize) -> Units {
        read_eventually(entry * self.items)
    }
}
