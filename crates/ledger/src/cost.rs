use table::{
    Units,
    cost::{Cost, read, read_eventually, write},
};

/// An access pattern of the domain.
pub type Pattern = function::Pattern<Case>;

/// The calls of one of its access patterns.
pub(crate) type Calls = function::Calls<Case>;

/// The input of a cost: sizes in bytes, counts of items.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// An account, or a merchant.
    pub account: usize,
    /// An account's entry in its user's list: what does not change with every payment.
    pub of_user: usize,
    /// The header of a transaction.
    pub transaction: usize,
    /// A transaction's entry in the list by status: all of the header but the key of the other index.
    pub of_status: usize,
    /// A leg, and its entry in the account's index.
    pub leg: usize,
    /// Legs of one transaction, each on an account of its own.
    pub legs: usize,
    /// What a list returns.
    pub items: usize,
    /// Whether the transaction names a merchant.
    pub merchant: bool,
}

/// Places where units are consumed.
pub(crate) const LEDGER: &str = "FinancialTransactions";
pub(crate) const BY_TIME: &str = "FinancialTransactions/GSI1";
pub(crate) const BY_KEY: &str = "FinancialTransactions/GSI2";
pub(crate) const JOBS: &str = "LedgerJobs";

impl Case {
    pub(crate) fn count(items: usize) -> u64 {
        u64::try_from(items).unwrap_or(u64::MAX)
    }

    /// Header and legs in one query, strongly consistent.
    pub(crate) fn collection(&self) -> Units {
        read(self.transaction + self.leg * self.legs)
    }

    /// The accounts of a transaction, strongly consistent; its collection, which is not there yet; the merchant, if it names one.
    pub(crate) fn looked_at(&self) -> Units {
        read(self.account).times(Self::count(self.legs)) + Units::whole(1) + Units::whole(u64::from(self.merchant))
    }

    /// Everything that a transaction writes.
    pub(crate) fn posted(&self, keyed: bool) -> Cost {
        let legs = Self::count(self.legs);
        let entries = write(self.leg).times(legs);
        Cost::default()
            .write(LEDGER, (write(self.transaction) + entries + write(self.account).times(legs)).times(2))
            .write(BY_TIME, write(self.of_status) + entries)
            .write(BY_KEY, Units::whole(u64::from(keyed)))
    }

    /// A page of an index whose entries have that size.
    pub(crate) fn listed(&self, entry: usize) -> Units {
        read_eventually(entry * self.items)
    }
}
