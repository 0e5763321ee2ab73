//! Keys of the table `Totals`, which has the daily totals of the ledger
//! ([decision](../../../docs/decisions/ledger-reconciliation.md)).
//!
//! | item | PK | SK |
//! | --- | --- | --- |
//! | total of all transactions | `ALL#<shard>` | `DAY#<date>#<series>` |
//! | total of a merchant | `MERCHANT#<id>#<shard>` | `DAY#<date>#<series>` |
//! | marker of a counted transaction | `COUNTED#<transaction>` | `METADATA` |
//!
//! The total of a day is the sum of its items in all shards.

use crate::{
    Day, KeyRange, Shard, TransactionId,
    id::identifier,
    ledger::{AccountType, MerchantId, TransactionType},
    text::derived,
};
use derives::Key;

identifier! {
    /// A hash of a transaction type, an account type and a currency. An account type can have 512
    /// bytes.
    Series;
}

impl Series {
    /// Returns the hash of the types and of the currency, which is an ISO 4217 code.
    pub fn of(transaction_type: &TransactionType, account_type: &AccountType, currency: &str) -> Self {
        let hash = derived(&["series", transaction_type.as_str(), account_type.as_str(), currency]);
        Self::generated(&hash.to_string())
    }
}

/// The transactions that a total adds up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
pub enum TotalScope {
    /// All transactions.
    #[key("ALL")]
    All,
    /// The transactions of a merchant.
    #[key("MERCHANT#{0}")]
    Merchant(MerchantId),
}

/// PK of a total: `ALL#<shard>` or `MERCHANT#<id>#<shard>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{scope+}#{shard}")]
pub struct TotalPartition {
    /// The transactions that the total adds up.
    pub scope: TotalScope,
    /// The shard. Each write of totals uses one shard.
    pub shard: Shard,
}

/// SK of a total.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("DAY#{day}#{series}")]
#[range(all)]
#[range(of(day))]
pub struct TotalSort {
    /// The UTC date of the transactions.
    pub day: Day,
    /// The types and the currency of the total.
    pub series: Series,
}

impl TotalSort {
    /// The range of the totals from `first` to `last`, both inclusive. The range is empty if `last`
    /// is before `first`.
    pub fn between(first: Day, last: Day) -> KeyRange {
        KeyRange::spanning(&Self::of(&first), &Self::of(&last))
    }

    /// The range of the totals through `last`, inclusive.
    pub fn through(last: Day) -> KeyRange {
        KeyRange::spanning(&Self::all(), &Self::of(&last))
    }
}

/// PK of the marker of a counted transaction.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("COUNTED#{0}")]
pub struct CountedPartition(pub TransactionId);
