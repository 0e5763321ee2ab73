//! Keys of the table `Totals`, which has the daily totals of the ledger
//! ([decision](../../../docs/decisions/ledger-totals.md)).
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
    text::{Invalid, derived, prefixed_key, serde_as_text},
};
use std::{fmt, str::FromStr};

identifier!(
    /// A hash of a transaction type, an account type and a currency. An account type can have 512
    /// bytes.
    Series
);

impl Series {
    /// Returns the hash of the types and of the currency, which is an ISO 4217 code.
    #[must_use]
    pub fn of(transaction_type: &TransactionType, account_type: &AccountType, currency: &str) -> Self {
        let hash = derived(&["series", transaction_type.as_str(), account_type.as_str(), currency]);
        Self::generated(&hash.to_string())
    }
}

/// The transactions that a total adds up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TotalScope {
    /// All transactions.
    All,
    /// The transactions of a merchant.
    Merchant(MerchantId),
}

impl FromStr for TotalScope {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.strip_prefix("MERCHANT#") {
            Some(merchant) => merchant.parse().map(Self::Merchant),
            None if text == "ALL" => Ok(Self::All),
            None => Err(Invalid::key("TotalScope")),
        }
    }
}

impl fmt::Display for TotalScope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => out.write_str("ALL"),
            Self::Merchant(merchant) => write!(out, "MERCHANT#{merchant}"),
        }
    }
}

serde_as_text!(TotalScope);

/// PK of a total: `ALL#<shard>` or `MERCHANT#<id>#<shard>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TotalPartition {
    /// The transactions that the total adds up.
    pub scope: TotalScope,
    /// The shard. Each write of totals uses one shard.
    pub shard: Shard,
}

impl FromStr for TotalPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (scope, shard) = text.rsplit_once('#').ok_or(Invalid::key("TotalPartition"))?;
        Ok(Self { scope: scope.parse()?, shard: shard.parse()? })
    }
}

impl fmt::Display for TotalPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.scope, self.shard)
    }
}

serde_as_text!(TotalPartition);

/// SK of a total: `DAY#<date>#<series>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TotalSort {
    /// The UTC date of the transactions.
    pub day: Day,
    /// The types and the currency of the total.
    pub series: Series,
}

impl TotalSort {
    /// The range of the totals from `first` to `last`, both inclusive. The range is empty if `last`
    /// is before `first`.
    #[must_use]
    pub fn between(first: Day, last: Day) -> KeyRange {
        let from = format!("DAY#{first}#");
        KeyRange::through(from, format!("DAY#{last}#"))
    }

    /// The range of the totals through `last`, inclusive.
    #[must_use]
    pub fn through(last: Day) -> KeyRange {
        KeyRange::through("DAY#", format!("DAY#{last}#"))
    }
}

impl FromStr for TotalSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (day, series) = text.strip_prefix("DAY#")?.split_once('#')?;
            Some(Self { day: day.parse().ok()?, series: series.parse().ok()? })
        };
        parse().ok_or(Invalid::key("TotalSort"))
    }
}

impl fmt::Display for TotalSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DAY#{}#{}", self.day, self.series)
    }
}

serde_as_text!(TotalSort);

prefixed_key!(
    /// PK of the marker of a counted transaction: `COUNTED#<transaction>`.
    CountedPartition,
    "COUNTED",
    TransactionId
);
