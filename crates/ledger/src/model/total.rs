//! Daily totals, and the markers of counted transactions
//! ([decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{Posting, Transaction};
use keys::{
    AccountId, Day, Shard, TransactionId,
    ledger::{AccountType, LegType, Metadata, TransactionType},
    totals::{CountedPartition, Series, TotalPartition, TotalScope, TotalSort},
};
use money::{Currency, Decimal, Money};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use table::{Attribute, Attributes, Change, Item, Key, Table, Value};

/// A shard of a daily total. The total of a day is the sum of its shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Total {
    #[serde(rename = "PK")]
    partition: TotalPartition,
    #[serde(rename = "SK")]
    sort: TotalSort,
    /// The type of the transactions.
    pub transaction_type: TransactionType,
    /// The type of the accounts.
    pub account_type: AccountType,
    /// The currency of the legs.
    pub currency: Currency,
    /// The sum of the debits.
    pub debits: Decimal,
    /// The sum of the credits.
    pub credits: Decimal,
    /// The number of transactions that have such a leg.
    pub transactions: i64,
    /// Whether the total lacks a transaction, because no shard had room for its amount.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) incomplete: bool,
}

impl Item for Total {
    const TYPE: &'static str = "Total";
    const NUMBERS: &'static [Attribute] = &[Self::DEBITS, Self::CREDITS];
}

/// The types and the currency of a total.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Dimensions {
    pub(crate) transaction_type: TransactionType,
    pub(crate) account_type: AccountType,
    pub(crate) currency: Currency,
}

/// A daily total over all shards: its scope, day, types and currency.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TotalId {
    pub(crate) scope: TotalScope,
    pub(crate) day: Day,
    pub(crate) dimensions: Dimensions,
}

impl TotalId {
    /// The primary key of the total in a shard.
    pub(crate) fn key_in(&self, shard: Shard) -> Key {
        Key::new(&TotalPartition { scope: self.scope.clone(), shard }, &self.sort())
    }

    /// The sort key of the total, which is the same in all shards.
    pub(crate) fn sort(&self) -> TotalSort {
        let Dimensions { transaction_type, account_type, currency } = &self.dimensions;
        TotalSort { day: self.day, series: Series::of(transaction_type, account_type, currency.code()) }
    }
}

/// The sums of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) debits: Money,
    pub(crate) credits: Money,
    pub(crate) transactions: i64,
}

impl Sums {
    pub(crate) fn nothing(currency: Currency) -> Self {
        Self { debits: Money::zero(currency), credits: Money::zero(currency), transactions: 0 }
    }

    /// Adds the sums. `None` if a sum has more than 38 digits.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        Some(Self {
            debits: self.debits.checked_add(other.debits)?,
            credits: self.credits.checked_add(other.credits)?,
            transactions: self.transactions.checked_add(other.transactions)?,
        })
    }

    /// Adds a posting. `None` if a sum has more than 38 digits.
    fn with(self, Posting { leg_type, amount, .. }: &Posting) -> Option<Self> {
        Some(match leg_type {
            LegType::Debit => Self { debits: self.debits.checked_add(*amount)?, ..self },
            LegType::Credit => Self { credits: self.credits.checked_add(*amount)?, ..self },
        })
    }
}

/// The sums that transactions add to each total.
pub(crate) type SumsById = BTreeMap<TotalId, Sums>;

/// The reason why a transaction cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Uncountable {
    #[error("the account of a leg is missing or unreadable")]
    Account,
    #[error("a sum has more than 38 digits")]
    Size,
}

/// Returns what the transaction adds to each total, according to its header.
pub(crate) fn sums_of(header: &Transaction, types: &BTreeMap<AccountId, AccountType>) -> Result<SumsById, Uncountable> {
    let mut sums = SumsById::new();
    let merchant = header.merchant.clone().map(TotalScope::Merchant);
    for posting in &header.postings {
        let account_type = types.get(&posting.account).ok_or(Uncountable::Account)?;
        let currency = posting.amount.currency();
        let transaction_type = header.transaction_type.clone();
        let dimensions = Dimensions { transaction_type, account_type: account_type.clone(), currency };
        for scope in [TotalScope::All].into_iter().chain(merchant.clone()) {
            let id = TotalId { scope, day: header.created_at.day(), dimensions: dimensions.clone() };
            let sum = sums.entry(id).or_insert(Sums { transactions: 1, ..Sums::nothing(currency) });
            *sum = sum.with(posting).ok_or(Uncountable::Size)?;
        }
    }
    Ok(sums)
}

/// Adds sums to other sums. `None` if a sum has more than 38 digits.
pub(crate) fn add_all(into: &mut SumsById, from: &SumsById) -> Option<()> {
    for (id, more) in from {
        let sum = into.entry(id.clone()).or_insert(Sums::nothing(id.dimensions.currency));
        *sum = sum.plus(*more)?;
    }
    Some(())
}

impl Total {
    /// Adds the sums to the total in a shard, or creates it.
    pub(crate) fn adding(table: &Table, id: &TotalId, shard: Shard, sums: &Sums) -> Change {
        let Dimensions { transaction_type, account_type, currency } = &id.dimensions;
        let total = table.upsert(id.key_in(shard)).set(Attribute::TYPE, &Self::TYPE);
        let total = total.set(Self::TRANSACTION_TYPE, transaction_type).set(Self::ACCOUNT_TYPE, account_type);
        total
            .set(Self::CURRENCY, currency)
            .add(Self::DEBITS, Value::number(&sums.debits.amount()))
            .add(Self::CREDITS, Value::number(&sums.credits.amount()))
            .add(Self::TRANSACTIONS, sums.transactions)
    }

    /// Marks the total in a shard as incomplete, or creates it.
    pub(crate) fn lacking(table: &Table, id: &TotalId, shard: Shard) -> Result<Change, table::Error> {
        let nothing = Sums::nothing(id.dimensions.currency);
        Ok(Self::adding(table, id, shard, &nothing).set(Self::INCOMPLETE, Value::of(&true)?))
    }

    pub(crate) fn dimensions(&self) -> Dimensions {
        let Self { transaction_type, account_type, currency, .. } = self.clone();
        Dimensions { transaction_type, account_type, currency }
    }

    /// The primary key.
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// Returns the sums. Counts the total as an unreadable item if a sum is not valid for the
    /// currency.
    pub(crate) fn sums(&self) -> Result<Sums, table::Error> {
        let money = |amount| {
            let unreadable = |error| table::Error::unreadable_part(Self::TYPE, self.key(), &error);
            Money::new(amount, self.currency).map_err(unreadable)
        };
        Ok(Sums { debits: money(self.debits)?, credits: money(self.credits)?, transactions: self.transactions })
    }
}

/// The marker of a counted transaction: `COUNTED#<transaction>`, `METADATA`. Its transaction is not
/// counted again. The marker expires when no record of the transaction can be processed any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Counted {
    #[serde(rename = "PK")]
    partition: CountedPartition,
    #[serde(rename = "SK")]
    sort: Metadata,
    /// The expiry time in seconds since 1970.
    expires_at: i64,
}

impl Item for Counted {
    const TYPE: &'static str = "Counted";
}

impl Counted {
    pub(crate) fn key_of(transaction: &TransactionId) -> Key {
        Key::new(&CountedPartition(transaction.clone()), &Metadata)
    }

    pub(crate) fn new(transaction: TransactionId, expires_at: i64) -> Self {
        Self { partition: CountedPartition(transaction), sort: Metadata, expires_at }
    }
}
