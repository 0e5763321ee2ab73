use table::cost::{Cost, Size, Sizes, Term, read, read_eventually, write};

/// A ledger access pattern.
pub type Pattern = function::Pattern<Case>;

/// One variant of a ledger access pattern: its DynamoDB calls and their cost.
pub(crate) type Calls = function::Calls<Case>;

/// Input of the cost formulas. All sizes are in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Case<N = usize> {
    /// Size of an account or a merchant.
    pub account: N,
    /// Size of an account's entry in GSI1, which lists the accounts of a user. Payments do not
    /// change this entry.
    pub of_user: N,
    /// Size of a transaction's header.
    pub transaction: N,
    /// Size of a transaction's entry in GSI1, which lists transactions by status. The entry has all
    /// attributes of the header except the key of GSI2.
    pub of_status: N,
    /// Size of a leg.
    pub leg: N,
    /// Size of a leg's entry in GSI1, which lists the legs of an account.
    pub of_account: N,
    /// Size of the entries of the reversals that a list finds.
    pub reversals: N,
    /// Size of an inbox item.
    pub inbox: N,
    /// Size of a hold.
    pub hold: N,
    /// Size of an open hold's entry in GSI1, which lists the open holds of an account.
    pub of_hold: N,
    /// Number of legs of the transaction. Each leg is on a different account.
    pub legs: N,
    /// Number of items in the list.
    pub items: N,
    /// Size of a total.
    pub total: N,
    /// Number of total items: those that a transaction changes, or those in the requested period.
    pub totals: N,
    /// Number of shards of the totals.
    pub shards: N,
    /// Whether the transaction names a merchant.
    pub merchant: bool,
}

/// The case with the names that formulas show.
pub(crate) type Named = Case<Size>;

impl Sizes for Case {
    type Named = Named;

    fn named(&self) -> Named {
        Case {
            account: Size::named("account", self.account),
            of_user: Size::named("user entry", self.of_user),
            transaction: Size::named("header", self.transaction),
            of_status: Size::named("status entry", self.of_status),
            leg: Size::named("leg", self.leg),
            of_account: Size::named("leg entry", self.of_account),
            reversals: Size::named("reversals", self.reversals),
            inbox: Size::named("inbox item", self.inbox),
            hold: Size::named("hold", self.hold),
            of_hold: Size::named("hold entry", self.of_hold),
            legs: Size::named("legs", self.legs),
            items: Size::named("items", self.items),
            total: Size::named("total", self.total),
            totals: Size::named("totals", self.totals),
            shards: Size::named("shards", self.shards),
            merchant: self.merchant,
        }
    }
}

/// Names of the tables and indexes, as used in cost declarations.
pub(crate) const LEDGER: &str = "FinancialTransactions";
pub(crate) const BY_TIME: &str = "FinancialTransactions/GSI1";
pub(crate) const BY_KEY: &str = "FinancialTransactions/GSI2";
pub(crate) const JOBS: &str = "LedgerJobs";
pub(crate) const BY_START: &str = "LedgerJobs/GSI1";
pub(crate) const TOTALS: &str = "Totals";

impl Named {
    /// Returns the size of a header and its legs.
    pub(crate) fn collection(&self) -> Size {
        self.transaction + self.leg * self.legs
    }

    /// Returns the RRUs consumed by the strongly consistent reads before a transaction is posted.
    /// These reads cover each account, strongly consistent, and the merchant, if any.
    pub(crate) fn looked_at(&self) -> Term {
        read(self.account).times(self.legs) + Term::halves(usize::from(self.merchant))
    }

    /// Returns the cost of a status change: reading and updating the account.
    pub(crate) fn changed(&self) -> Cost {
        Cost::default()
            .read(LEDGER, read(self.account))
            .write(LEDGER, write(self.account))
            .write(BY_TIME, write(self.of_user))
    }

    /// Adds the RRUs consumed by reading an account twice, and its inbox of 8 shards in between.
    pub(crate) fn with_inbox(&self, cost: Cost) -> Cost {
        cost.read(LEDGER, read(self.account).times(2) + 8)
    }

    /// Returns the WRUs consumed by posting a transaction, for the table and each index. `keyed`
    /// must be true if the transaction has an idempotency key.
    pub(crate) fn posted(&self, keyed: bool) -> Cost {
        let legs = self.legs;
        let items = write(self.transaction) + write(self.leg).times(legs) + write(self.account).times(legs);
        Cost::default()
            .write(LEDGER, items.times(2))
            .write(BY_TIME, write(self.of_status) + write(self.of_account).times(legs))
            .write(BY_KEY, Term::whole(usize::from(keyed)))
    }

    /// Returns the WRUs consumed by posting a transaction that credits one account with grouped
    /// posting and has only direct debits.
    pub(crate) fn posted_to_inbox(&self) -> Cost {
        let (legs, debits) = (self.legs, self.legs.saturating_sub(1));
        let items = write(self.transaction) + write(self.leg).times(legs) + write(self.inbox);
        Cost::default()
            .write(LEDGER, (items + write(self.account).times(debits)).times(2))
            .write(BY_TIME, write(self.of_status) + write(self.of_account).times(debits))
            .write(BY_KEY, 1)
    }

    /// Returns the RRUs consumed by reading the totals of a period, if all of them are in one
    /// shard.
    pub(crate) fn added_up(&self) -> Term {
        read_eventually(self.total * self.totals) + read_eventually(0).times(self.shards.saturating_sub(1))
    }

    /// Returns the RRUs consumed by reading one page of an index. `entry` is the size of an index
    /// entry.
    pub(crate) fn listed(&self, entry: impl Into<Size>) -> Term {
        read_eventually(entry.into() * self.items)
    }
}
