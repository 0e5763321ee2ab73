//! Keys of `FinancialTransactions` and, of the reconciliations, of `LedgerJobs` (seed 004).
//!
//! | item | PK | SK | GSI1PK, GSI1SK | GSI2PK, GSI2SK |
//! | --- | --- | --- | --- | --- |
//! | merchant | `MERCHANT#<id>` | `METADATA` | | |
//! | account | `ACCOUNT#<id>` | `METADATA` | `USER#<user>`, `ACCOUNT#<id>` | `ACCOUNTS`, `ACCOUNT#<id>` |
//! | transaction | `TXN#<id>` | `METADATA` | `STATUS#<status>`, `CREATED#<time>` | `IDEMPOTENCY#<key>`, `TXN` |
//! | leg | `TXN#<id>` | `LEG#<leg>` | `ACCOUNT#<account>`, `LEG#<time>#<leg>` | |
//! | its reversal | `TXN#<id>` | `REVERSAL` | | |
//! | reconciliation | `RECONCILIATION#<id>` | `METADATA` | | |
//! | finding | `RECONCILIATION#<id>` | `FINDING#<subject>` | | |
//!
//! The status index is sharded where it is hot: the first shard has the seed's key, the others `STATUS#<status>#<shard>`.
//! What a request makes has an id that its caller and its idempotency key make, so that the same request can't make two.

use crate::{
    AccountId, Day, IdempotencyKey, KeyRange, Random, Shard, TimestampMillis, TransactionId,
    id::identifier,
    text::{Invalid, constant_key, derived, names, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};

identifier!(
    /// Whose an account is, and who asks: the `sub` of a token.
    UserId
);
identifier!(
    /// A merchant.
    MerchantId
);
identifier!(
    /// A leg of a transaction.
    LegId
);
identifier!(
    /// A run of the reconciliation.
    ReconciliationId
);
identifier!(
    /// What kind of account it is, in the words of who keeps the books: `checking`, `external`.
    AccountType
);
identifier!(
    /// What kind of transaction it is, in the words of who posts it: `payment`.
    TransactionType
);

/// What a request makes: one thing for each caller and key, and another each time where there is no key.
macro_rules! made_once {
    ($type:ident, $kind:literal) => {
        impl $type {
            /// The id of what the caller's request with that key makes, or a new one where it has none.
            #[must_use]
            pub fn of_request(caller: &UserId, key: Option<&IdempotencyKey>, now: Timestamp, random: &Random) -> Self {
                let id = match key {
                    Some(key) => derived(&[$kind, caller.as_str(), key.as_str()]),
                    None => uuid_of(now, random),
                };
                Self::generated(&id.to_string())
            }
        }
    };
}

made_once!(MerchantId, "merchant");
made_once!(AccountId, "account");
made_once!(TransactionId, "transaction");
made_once!(ReconciliationId, "reconciliation");

impl LegId {
    /// The leg of that number, 1 to 99, in the order in which they are applied: text order is their order.
    #[must_use]
    pub fn new(transaction: &TransactionId, number: usize) -> Self {
        Self::generated(&format!("{transaction}-{number:02}"))
    }
}

impl ReconciliationId {
    /// The one of a day, that the schedule starts.
    #[must_use]
    pub fn of_day(day: Day) -> Self {
        Self::generated(&format!("daily-{day}"))
    }
}

/// Where an account stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountStatus {
    /// It takes debits and credits.
    Active,
    /// Empty, and nothing any more; final.
    Closed,
    /// Neither, for a while.
    Frozen,
}

names!(
    AccountStatus, "must be active, frozen or closed",
    Active => "active",
    Closed => "closed",
    Frozen => "frozen",
);

/// Where a transaction stands. Only what was committed is one, so there is one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TransactionStatus {
    /// It has happened; final.
    #[default]
    Completed,
}

names!(
    TransactionStatus, "must be completed: what was refused is no transaction",
    Completed => "completed",
);

/// What a leg does to its account's balance (the seed's convention).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LegType {
    /// Adds to it.
    Credit,
    /// Takes from it.
    Debit,
}

names!(
    LegType, "must be debit or credit",
    Credit => "credit",
    Debit => "debit",
);

impl LegType {
    /// What undoes it.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Credit => Self::Debit,
            Self::Debit => Self::Credit,
        }
    }
}

constant_key!(
    /// SK of a merchant, an account, a transaction and a reconciliation: `METADATA`.
    Metadata,
    "METADATA"
);
constant_key!(
    /// SK of what says that a transaction was reversed, and by which: `REVERSAL`.
    ReversalSort,
    "REVERSAL"
);
constant_key!(
    /// GSI2PK of every account: `ACCOUNTS`. For the reconciliation, which goes through all of them; written once an account.
    AccountsPartition,
    "ACCOUNTS"
);
constant_key!(
    /// GSI2SK of a transaction: `TXN`.
    ByKeySort,
    "TXN"
);
prefixed_key!(
    /// PK of a merchant: `MERCHANT#<id>`.
    MerchantPartition,
    "MERCHANT",
    MerchantId
);
prefixed_key!(
    /// PK, GSI1SK and GSI2SK of an account, and GSI1PK of its legs: `ACCOUNT#<id>`.
    AccountPartition,
    "ACCOUNT",
    AccountId
);
prefixed_key!(
    /// GSI1PK of a user's accounts: `USER#<id>`.
    UserPartition,
    "USER",
    UserId
);
prefixed_key!(
    /// PK of a transaction and its legs: `TXN#<id>`.
    TransactionPartition,
    "TXN",
    TransactionId
);
prefixed_key!(
    /// GSI2PK of a transaction: `IDEMPOTENCY#<key>`. Several callers may have used the same.
    ByKeyPartition,
    "IDEMPOTENCY",
    IdempotencyKey
);
prefixed_key!(
    /// GSI1SK of a transaction: `CREATED#<time>`. Several may have the same: what a list goes on from is a [`CreatedPlace`].
    CreatedSort,
    "CREATED",
    TimestampMillis
);
prefixed_key!(
    /// SK of a leg: `LEG#<leg>`.
    LegSort,
    "LEG",
    LegId
);
prefixed_key!(
    /// PK of a reconciliation and its findings: `RECONCILIATION#<id>`.
    ReconciliationPartition,
    "RECONCILIATION",
    ReconciliationId
);
prefixed_key!(
    /// SK of a finding: `FINDING#TXN#<transaction>`, `FINDING#LEG#<leg>` or `FINDING#ACCOUNT#<account>`, so that nothing is found twice.
    FindingSort,
    "FINDING",
    Subject
);

impl AccountPartition {
    /// All accounts of a user, and all accounts.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("ACCOUNT#")
    }
}

impl TransactionPartition {
    /// A transaction, its legs and what tells of its reversal: all that its partition has.
    #[must_use]
    pub fn collection() -> KeyRange {
        KeyRange::between("LEG#", "REVERSAL")
    }
}

impl ByKeySort {
    /// The transactions of one key. What their list goes on from, `TXN#<id>`, extends the key and lies in the range as well.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::through("TXN", "TXN#")
    }
}

impl FindingSort {
    /// All findings of a reconciliation.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("FINDING#")
    }

    /// Those about legs.
    #[must_use]
    pub fn of_legs() -> KeyRange {
        KeyRange::beginning_with("FINDING#LEG#")
    }
}

impl CreatedSort {
    /// Made from the one time to the other, both included; nothing where the other comes first. An open end is open.
    #[must_use]
    pub fn between(since: TimestampMillis, until: Option<TimestampMillis>) -> KeyRange {
        match until {
            // Also two ends within one millisecond: what was made at its beginning or end is not between them.
            Some(until) if until < since => Self::nothing(),
            // The places that lists go on from extend the key, and lie in the range as well.
            Some(until) => KeyRange::through(Self(since).to_string(), format!("{}#", Self(until))),
            None => KeyRange::through(Self(since).to_string(), "CREATED#"),
        }
    }

    /// A range that no transaction lies in; also for calls that only open the connection.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::nothing_from("CREATED#")
    }
}

/// GSI1PK of a transaction: `STATUS#<status>`, and `STATUS#<status>#<shard>` of every shard but the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusPartition {
    /// Where the transactions stand.
    pub status: TransactionStatus,
    /// Which part of them.
    pub shard: Shard,
}

impl FromStr for StatusPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let rest = text.strip_prefix("STATUS#")?;
            let (status, shard) = rest.split_once('#').map_or((rest, None), |(status, shard)| (status, Some(shard)));
            let shard = shard.map_or(Some(Shard::FIRST), |shard| shard.parse().ok())?;
            Some(Self { status: status.parse().ok()?, shard })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("StatusPartition"))
    }
}

impl fmt::Display for StatusPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "STATUS#{}", self.status)?;
        if self.shard == Shard::FIRST { Ok(()) } else { write!(out, "#{}", self.shard) }
    }
}

serde_as_text!(StatusPartition);

/// A place in the list of transactions by time: `CREATED#<time>#<shard>#<transaction>`. No key of an item; it lies in the
/// ranges of [`CreatedSort`] where the transaction's key does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedPlace {
    /// When it was made.
    pub created: TimestampMillis,
    /// In which shard it is.
    pub shard: Shard,
    /// Which it is.
    pub transaction: TransactionId,
}

impl FromStr for CreatedPlace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let mut parts = text.strip_prefix("CREATED#")?.splitn(3, '#');
            let (created, shard) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Self { created, shard, transaction: parts.next()?.parse().ok()? })
        };
        parse().filter(|place| place.to_string() == text).ok_or(Invalid::key("CreatedPlace"))
    }
}

impl fmt::Display for CreatedPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}#{}", CreatedSort(self.created), self.shard, self.transaction)
    }
}

serde_as_text!(CreatedPlace);

/// GSI1SK of a leg: `LEG#<time>#<leg>`. No account has legs of two transactions at one time, and those of one transaction
/// are in the order of their ids, so it is the order in which they were applied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LegTimeSort {
    /// When its transaction was made.
    pub created: TimestampMillis,
    /// Which leg it is.
    pub leg: LegId,
}

impl LegTimeSort {
    /// Every leg of an account.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("LEG#")
    }

    /// The legs from the one time to the other, both included; nothing where the other comes first.
    #[must_use]
    pub fn between(since: TimestampMillis, until: TimestampMillis) -> KeyRange {
        let first = format!("LEG#{since}");
        if until < since { KeyRange::nothing_from(first) } else { KeyRange::through(first, format!("LEG#{until}#")) }
    }

    /// Every leg before a time.
    #[must_use]
    pub fn before(time: TimestampMillis) -> KeyRange {
        // No leg's key is its time alone, and one of that very time is longer.
        KeyRange::between("LEG#", format!("LEG#{time}"))
    }

    /// The legs from the one, or from the first of all, to the other, both included.
    #[must_use]
    pub fn stretch(first: Option<&Self>, last: &Self) -> KeyRange {
        KeyRange::between(first.map_or_else(|| "LEG#".to_owned(), ToString::to_string), last.to_string())
    }
}

impl FromStr for LegTimeSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (created, leg) = text.strip_prefix("LEG#")?.split_once('#')?;
            Some(Self { created: created.parse().ok()?, leg: leg.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("LegTimeSort"))
    }
}

impl fmt::Display for LegTimeSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LEG#{}#{}", self.created, self.leg)
    }
}

serde_as_text!(LegTimeSort);

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An account, as its partition key names it.
    Account(AccountId),
    /// A leg, as its sort key names it.
    Leg(LegId),
    /// A transaction, as its partition key names it.
    Transaction(TransactionId),
}

impl FromStr for Subject {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let account = text.parse().map(|AccountPartition(id)| Self::Account(id));
        let leg = account.or_else(|_| text.parse().map(|LegSort(id)| Self::Leg(id)));
        leg.or_else(|_| text.parse().map(|TransactionPartition(id)| Self::Transaction(id)))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => AccountPartition(id.clone()).fmt(out),
            Self::Leg(id) => LegSort(id.clone()).fmt(out),
            Self::Transaction(id) => TransactionPartition(id.clone()).fmt(out),
        }
    }
}

serde_as_text!(Subject);

#[cfg(test)]
mod tests {
    use super::*;

    fn leg(time: &str, leg: &str) -> LegTimeSort {
        LegTimeSort { created: time.parse().expect("a time"), leg: leg.parse().expect("a leg") }
    }

    #[test]
    fn ranges_of_legs_are_exact_at_both_ends() {
        let times = ["2026-01-01T23:59:59.999Z", "2026-01-02T00:00:00.000Z", "2026-01-02T23:59:59.999Z"];
        let legs: Vec<LegTimeSort> = times.iter().flat_map(|time| [leg(time, "!"), leg(time, "~")]).collect();
        let within = |range: KeyRange| {
            legs.iter().map(|leg| if range.contains(&leg.to_string()) { '1' } else { '0' }).collect::<String>()
        };
        let [before, first, last] = times.map(|time| time.parse::<TimestampMillis>().expect("a time"));
        assert_eq!(within(LegTimeSort::all()), "111111");
        assert_eq!(within(LegTimeSort::between(first, last)), "001111");
        assert_eq!(within(LegTimeSort::between(before, first)), "111100");
        assert_eq!(within(LegTimeSort::between(first, before)), "000000");
        assert_eq!(within(LegTimeSort::before(first)), "110000");
        assert_eq!(within(LegTimeSort::stretch(Some(&legs[1]), &legs[4])), "011110");
        assert_eq!(within(LegTimeSort::stretch(None, &legs[2])), "111000");
    }

    #[test]
    fn a_day_is_from_its_first_millisecond_to_its_last() {
        let day: Day = "2026-01-02".parse().expect("a day");
        let ends = [day.first_milli(), day.last_milli()].map(|end| end.to_string());
        assert_eq!(ends, ["2026-01-02T00:00:00.000Z", "2026-01-02T23:59:59.999Z"]);
    }

    #[test]
    fn a_finding_is_about_what_its_key_names() {
        for text in ["FINDING#TXN#T", "FINDING#LEG#T-01", "FINDING#ACCOUNT#A"] {
            assert_eq!(text.parse::<FindingSort>().map(|key| key.to_string()).as_deref(), Ok(text));
        }
        assert!(["FINDING#", "FINDING#T", "FINDING#USER#A"].iter().all(|bad| bad.parse::<FindingSort>().is_err()));
    }
}
