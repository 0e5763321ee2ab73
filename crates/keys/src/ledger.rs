//! Keys of the tables `FinancialTransactions` and `LedgerJobs`
//! ([requirement](../../../docs/requirements/ledger.md#table),
//! [decision](../../../docs/decisions/ledger-model.md)). `LedgerJobs` stores the reconciliations
//! and their findings.
//!
//! | item | PK | SK | GSI1PK, GSI1SK | GSI2PK, GSI2SK |
//! | --- | --- | --- | --- | --- |
//! | merchant | `MERCHANT#<id>` | `METADATA` | | `MERCHANTS`, `MERCHANT#<id>` |
//! | account | `ACCOUNT#<id>` | `METADATA` | `USER#<user>`, `ACCOUNT#<id>` | `ACCOUNTS`, `ACCOUNT#<id>` |
//! | account count | `USER#<user>` | `ACCOUNT-COUNT` | | |
//! | transaction | `TXN#<id>` | `METADATA` | `STATUS#<status>`, `CREATED#<time>` | `IDEMPOTENCY#<key>`, `TXN` |
//! | leg | `TXN#<id>` | `LEG#<leg>` | `ACCOUNT#<account>`, `LEG#<time>#<leg>` | |
//! | credit of a grouped account | `TXN#<id>` | `LEG#<leg>` | | |
//! | its inbox item | `ACCOUNT#<account>#INBOX#<shard>` | `CREATED#<time>#<leg>` | | |
//! | its posting | `TXN#<id>` | `POSTING#<leg>` | `ACCOUNT#<account>`, `LEG#<time>#<leg>` | |
//! | reversal marker | `TXN#<id>` | `REVERSAL#<number>` | | |
//! | hold | `HOLD#<id>` | `METADATA` | `ACCOUNT#<payer>`, `EXPIRES#<time>#<id>` | `HOLD-EXPIRY#<shard>`, `EXPIRES#<time>#<id>` |
//! | refusal of a transfer | `TXN#<id>` | `METADATA` | | |
//! | reconciliation | `RECONCILIATION#<id>` | `METADATA` | | |
//! | finding | `RECONCILIATION#<id>` | `FINDING#<subject>` | | |
//! | settlement of an account | `SETTLEMENT#<account>` | `METADATA` | | |
//!
//! The status index can be sharded. The first shard uses the required partition key, and
//! every other shard uses `STATUS#<status>#<shard>`
//! ([decision](../../../docs/decisions/ledger-status-shards.md)).
//!
//! Only open holds have index keys.
//!
//! The id of a new item is derived from the caller and the idempotency key of the request that
//! creates it. A retry of a request therefore cannot create a second item
//! ([decision](../../../docs/decisions/ledger-idempotency.md)).

use crate::{
    AccountId, Day, IdempotencyKey, KeyRange, Random, Shard, TimestampMillis, TransactionId,
    id::{identifier, label, word},
    text::{Invalid, constant_key, derived, names, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};

identifier!(
    /// The id of a ledger user: the `sub` claim of the user's token. A user owns accounts and sends
    /// requests.
    UserId
);
identifier!(
    /// The id of a merchant.
    MerchantId
);
identifier!(
    /// The id of a leg: the transaction id and the number of the leg.
    LegId
);
identifier!(
    /// The id of a hold.
    HoldId
);
identifier!(
    /// The id of a reconciliation.
    ReconciliationId
);
label!(
    /// The type of an account, chosen by the caller that opens it, such as `checking` or
    /// `external`.
    AccountType
);
word!(
    /// The type of a transaction, chosen by the caller that posts it, such as `payment`.
    TransactionType
);

/// Adds the constructor `of_request` to an id type. All requests with the same caller and
/// idempotency key get the same id. A request without an idempotency key gets a random id.
macro_rules! made_once {
    ($type:ident, $kind:literal) => {
        impl $type {
            /// Returns the id of the item that a request creates. The id is derived from the caller
            /// and the idempotency key. Without an idempotency key, it is random.
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
made_once!(HoldId, "hold");

impl TransactionId {
    /// Returns the id of the transaction that the ledger posts for another service under a key. No
    /// request has this id, even if a user has the same name as the service.
    #[must_use]
    pub fn of_service(service: &UserId, key: &IdempotencyKey) -> Self {
        Self::generated(&derived(&["service", service.as_str(), key.as_str()]).to_string())
    }

    /// Returns the id of the transaction that moves the rest of an account when it is closed. An
    /// account is closed at most once.
    #[must_use]
    pub fn of_closing(account: &AccountId) -> Self {
        Self::generated(&derived(&["closing", account.as_str()]).to_string())
    }
}

impl LegId {
    /// Returns the id of the leg with the given number, from 1 to 99. Legs are numbered in the
    /// order of the request, and their ids sort in the same order.
    #[must_use]
    pub fn new(transaction: &TransactionId, number: usize) -> Self {
        Self::generated(&format!("{transaction}-{number:02}"))
    }
}

impl ReconciliationId {
    /// Returns the id of the scheduled reconciliation of a day: `daily-<day>`.
    #[must_use]
    pub fn of_day(day: Day) -> Self {
        Self::generated(&format!("daily-{day}"))
    }
}

/// The status of an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountStatus {
    /// Accepts debits and credits.
    Active,
    /// Has a balance of zero and accepts no legs. This status is final.
    Closed,
    /// Accepts no new payments, and waits for those that were decided before. Then it can be
    /// closed.
    Closing,
    /// Accepts no legs until the account is reactivated.
    Frozen,
}

names!(
    AccountStatus, "must be active, frozen or closed",
    Active => "active",
    Closed => "closed",
    Closing => "closing",
    Frozen => "frozen",
);

/// How credits reach the balance of an account
/// ([decision](../../../docs/decisions/ledger-grouped-posting.md)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PostingMode {
    /// Each transaction updates the account.
    #[default]
    Direct,
    /// Credits wait in the inbox of the account until a job posts many of them together.
    Grouped,
}

names!(
    PostingMode, "must be direct or grouped",
    Direct => "direct",
    Grouped => "grouped",
);

/// The role of the caller that froze an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrozenBy {
    /// An operator. Only operators may reactivate or close the account.
    Operator,
    /// The owner, who may also reactivate or close the account.
    Owner,
}

names!(
    FrozenBy, "must be operator or owner",
    Operator => "operator",
    Owner => "owner",
);

/// The status of a transaction. Rejected requests are not stored, so there is only one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum TransactionStatus {
    /// The transaction is posted. This status is final.
    #[default]
    Completed,
}

names!(
    TransactionStatus, "must be completed",
    Completed => "completed",
);

/// The status of a hold ([requirement](../../../docs/requirements/ledger.md#holds)). All statuses
/// but `held` are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HoldStatus {
    /// The whole amount was captured.
    Captured,
    /// The rest was released because the hold has expired.
    Expired,
    /// Open: the rest of the amount is reserved.
    Held,
    /// The rest was released by the payee.
    Voided,
}

names!(
    HoldStatus, "must be held, captured, voided or expired",
    Captured => "captured",
    Expired => "expired",
    Held => "held",
    Voided => "voided",
);

/// The type of a leg ([requirement](../../../docs/requirements/ledger.md#transaction-legs)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LegType {
    /// Increases the balance of its account.
    Credit,
    /// Decreases the balance of its account.
    Debit,
}

names!(
    LegType, "must be debit or credit",
    Credit => "credit",
    Debit => "debit",
);

impl LegType {
    /// Returns the opposite type.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Credit => Self::Debit,
            Self::Debit => Self::Credit,
        }
    }
}

constant_key!(
    /// SK of merchants, accounts, transactions and reconciliations: `METADATA`.
    Metadata,
    "METADATA"
);
constant_key!(
    /// SK of a user's account count: `ACCOUNT-COUNT`.
    AccountCountSort,
    "ACCOUNT-COUNT"
);
constant_key!(
    /// GSI2PK of every account: `ACCOUNTS`. The reconciliation reads all accounts from this
    /// partition. The index entry of an account is written only when the account is opened.
    AccountsPartition,
    "ACCOUNTS"
);
constant_key!(
    /// GSI2SK of transactions: `TXN`.
    ByKeySort,
    "TXN"
);
constant_key!(
    /// GSI2PK of every merchant: `MERCHANTS`.
    MerchantsPartition,
    "MERCHANTS"
);
prefixed_key!(
    /// PK and GSI2SK of a merchant: `MERCHANT#<id>`.
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
    /// GSI1PK of a user's accounts, and PK of the user's account count: `USER#<id>`.
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
    /// GSI2PK of a transaction: `IDEMPOTENCY#<key>`. Transactions of several callers may have the
    /// same idempotency key.
    ByKeyPartition,
    "IDEMPOTENCY",
    IdempotencyKey
);
prefixed_key!(
    /// GSI1SK of a transaction: `CREATED#<time>`. Several transactions may have the same time, so a
    /// cursor stores a [`CreatedPlace`].
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
    /// SK of the posting of a grouped credit: `POSTING#<leg>`.
    PostingSort,
    "POSTING",
    LegId
);
prefixed_key!(
    /// PK of the job that settles an account with grouped posting: `SETTLEMENT#<account>`.
    SettlementPartition,
    "SETTLEMENT",
    AccountId
);
prefixed_key!(
    /// PK of a hold: `HOLD#<id>`.
    HoldPartition,
    "HOLD",
    HoldId
);
prefixed_key!(
    /// GSI2PK of an open hold: `HOLD-EXPIRY#<shard>`.
    ExpiryPartition,
    "HOLD-EXPIRY",
    Shard
);
prefixed_key!(
    /// PK of a reconciliation and its findings: `RECONCILIATION#<id>`.
    ReconciliationPartition,
    "RECONCILIATION",
    ReconciliationId
);
prefixed_key!(
    /// SK of a finding: `FINDING#TXN#<transaction>`, `FINDING#LEG#<leg>`,
    /// `FINDING#HOLDS#<account>`, `FINDING#ACCOUNT#<account>`, `FINDING#TOTAL#<hash>` or
    /// `FINDING#ITEM#<hash>`. Each subject has at most one finding.
    FindingSort,
    "FINDING",
    Subject
);

impl AccountPartition {
    /// The range of all accounts, in the partition of a user or in the partition of all accounts.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("ACCOUNT#")
    }
}

impl MerchantPartition {
    /// The range of all merchants, in the partition of all merchants.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("MERCHANT#")
    }
}

impl TransactionPartition {
    /// The range of all items of a transaction: header, legs and reversal markers.
    #[must_use]
    pub fn collection() -> KeyRange {
        KeyRange::through("LEG#", "REVERSAL#")
    }
}

/// SK of a reversal marker: `REVERSAL#<number>`, from `REVERSAL#01` to `REVERSAL#99`. The reversals
/// of a transaction are numbered in the order in which they were posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReversalSort(u8);

impl ReversalSort {
    /// The marker of the first reversal.
    pub const FIRST: Self = Self(1);

    const MAX: u8 = 99;

    /// The marker of the next reversal. `None` after the last one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self.0 < Self::MAX).then_some(Self(self.0 + 1))
    }

    /// The range of all reversal markers of a transaction.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("REVERSAL#")
    }
}

impl FromStr for ReversalSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.strip_prefix("REVERSAL#").and_then(|number| number.parse().ok());
        let key = number.filter(|number| (1..=Self::MAX).contains(number)).map(Self);
        key.filter(|key| key.to_string() == text).ok_or(Invalid::key("ReversalSort"))
    }
}

impl fmt::Display for ReversalSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "REVERSAL#{:02}", self.0)
    }
}

serde_as_text!(ReversalSort);

impl ByKeySort {
    /// The range of all transactions with an idempotency key. It also contains `TXN#<id>`, which is
    /// the form of the positions in cursors.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::through("TXN", "TXN#")
    }
}

impl FindingSort {
    /// The range of all findings of a reconciliation.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("FINDING#")
    }

    /// The range of all findings about legs.
    #[must_use]
    pub fn of_legs() -> KeyRange {
        KeyRange::beginning_with("FINDING#LEG#")
    }
}

impl CreatedSort {
    /// The range of transactions from `since` to `until`, both inclusive. The range is empty if
    /// `until` is before `since`. `None` means no upper bound.
    #[must_use]
    pub fn between(since: TimestampMillis, until: Option<TimestampMillis>) -> KeyRange {
        match until {
            // The range must also contain the positions in cursors, which are sort keys with a
            // suffix.
            Some(until) => KeyRange::through(Self(since).to_string(), format!("{}#", Self(until))),
            None => KeyRange::through(Self(since).to_string(), "CREATED#"),
        }
    }

    /// An empty range, also for warm-up queries.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::nothing_from("CREATED#")
    }
}

/// GSI1PK of a transaction: `STATUS#<status>` in the first shard, `STATUS#<status>#<shard>` in the
/// other shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatusPartition {
    /// The status of the transactions.
    pub status: TransactionStatus,
    /// The shard of the index.
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

/// A position in the list of transactions by time: `CREATED#<time>#<shard>#<transaction>`.
///
/// No item has this key. A range of [`CreatedSort`] that contains a transaction also contains its
/// position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedPlace {
    /// The time of the transaction.
    pub created: TimestampMillis,
    /// The shard of the transaction.
    pub shard: Shard,
    /// The transaction.
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

/// GSI1SK of a leg: `LEG#<time>#<leg>`. The legs of an account sort in the order in which they were
/// applied. No two transactions of an account have the same time. The legs of one transaction sort
/// by number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LegTimeSort {
    /// The time of the transaction.
    pub created: TimestampMillis,
    /// The leg.
    pub leg: LegId,
}

impl LegTimeSort {
    /// The range of all legs of an account.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("LEG#")
    }

    /// The range of legs from `since` to `until`, both inclusive. The range is empty if `until` is
    /// before `since`.
    #[must_use]
    pub fn between(since: TimestampMillis, until: TimestampMillis) -> KeyRange {
        let first = format!("LEG#{since}");
        KeyRange::through(first, format!("LEG#{until}#"))
    }

    /// The range of legs in a period. `from` and `to` are inclusive; `None` means no bound. The
    /// range is empty if `to` is before `from`.
    #[must_use]
    pub fn period(from: Option<TimestampMillis>, to: Option<TimestampMillis>) -> KeyRange {
        match (from, to) {
            (Some(from), Some(to)) => Self::between(from, to),
            (Some(from), None) => KeyRange::through(format!("LEG#{from}"), "LEG#"),
            (None, Some(to)) => KeyRange::through("LEG#", format!("LEG#{to}#")),
            (None, None) => Self::all(),
        }
    }

    /// The range of all legs before `time`.
    #[must_use]
    pub fn before(time: TimestampMillis) -> KeyRange {
        // The range ends before all legs at `time`, because their keys are longer than its end.
        KeyRange::between("LEG#", format!("LEG#{time}"))
    }

    /// The range of legs from `first` to `last`, both inclusive. If `first` is `None`, the range
    /// starts with the account's first leg.
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

/// SK of an entry in the history of an account: `LEG#<leg>` or `POSTING#<leg>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntrySort {
    /// A leg that its transaction has posted.
    Leg(LegSort),
    /// The posting of a grouped credit.
    Posting(PostingSort),
}

impl FromStr for EntrySort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let leg = text.parse().map(Self::Leg);
        leg.or_else(|_| text.parse().map(Self::Posting)).map_err(|_: Invalid| Invalid::key("EntrySort"))
    }
}

impl fmt::Display for EntrySort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leg(sort) => sort.fmt(out),
            Self::Posting(sort) => sort.fmt(out),
        }
    }
}

serde_as_text!(EntrySort);

/// PK of the inbox of an account with grouped posting: `ACCOUNT#<account>#INBOX#<shard>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxPartition {
    /// The account.
    pub account: AccountId,
    /// The shard of the inbox.
    pub shard: Shard,
}

impl InboxPartition {
    /// Number of shards of an inbox. A shard accepts 1,000 write units per second, and a payment
    /// and its settlement consume four of them. To change the number, only increase it.
    const SHARDS: u16 = 8;

    /// The inbox of an account, all shards.
    pub fn all(account: &AccountId) -> impl Iterator<Item = Self> {
        Shard::first(Self::SHARDS).map(|shard| Self { account: account.clone(), shard })
    }

    /// Returns the shard for a new leg. The leg stores the shard.
    #[must_use]
    pub fn shard_of(leg: &LegId) -> Shard {
        Shard::hashed(leg.as_str(), Self::SHARDS)
    }
}

impl FromStr for InboxPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (account, shard) = text.strip_prefix("ACCOUNT#")?.split_once("#INBOX#")?;
            Some(Self { account: account.parse().ok()?, shard: shard.parse().ok()? })
        };
        parse().ok_or(Invalid::key("InboxPartition"))
    }
}

impl fmt::Display for InboxPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ACCOUNT#{}#INBOX#{}", self.account, self.shard)
    }
}

serde_as_text!(InboxPartition);

/// SK of an inbox item: `CREATED#<time>#<leg>`. The items of a shard sort by the time of their
/// transactions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxSort {
    /// The time of the transaction.
    pub created: TimestampMillis,
    /// The leg.
    pub leg: LegId,
}

impl InboxSort {
    /// The range of all items of a shard.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("CREATED#")
    }
}

impl FromStr for InboxSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (created, leg) = text.strip_prefix("CREATED#")?.split_once('#')?;
            Some(Self { created: created.parse().ok()?, leg: leg.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("InboxSort"))
    }
}

impl fmt::Display for InboxSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CREATED#{}#{}", self.created, self.leg)
    }
}

serde_as_text!(InboxSort);

/// GSI1SK and GSI2SK of an open hold: `EXPIRES#<time>#<hold>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldExpirySort {
    /// The time from which the hold is expired.
    pub expires: TimestampMillis,
    /// The hold.
    pub hold: HoldId,
}

impl HoldExpirySort {
    /// The range of all open holds of an account.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("EXPIRES#")
    }

    /// The range of the open holds that are expired at `now`.
    #[must_use]
    pub fn expired(now: TimestampMillis) -> KeyRange {
        KeyRange::through("EXPIRES#", format!("EXPIRES#{now}#"))
    }
}

impl FromStr for HoldExpirySort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (expires, hold) = text.strip_prefix("EXPIRES#")?.split_once('#')?;
            Some(Self { expires: expires.parse().ok()?, hold: hold.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("HoldExpirySort"))
    }
}

impl fmt::Display for HoldExpirySort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "EXPIRES#{}#{}", self.expires, self.hold)
    }
}

serde_as_text!(HoldExpirySort);

identifier!(
    /// A hash of an item's primary key. The key itself can be invalid or too long for a sort key.
    ItemHash
);
prefixed_key!(
    /// The text of an item hash in a sort key: `ITEM#<hash>`.
    ItemHashText,
    "ITEM",
    ItemHash
);

impl ItemHash {
    /// Returns the hash of a primary key.
    #[must_use]
    pub fn of(partition: &str, sort: &str) -> Self {
        Self::generated(&derived(&["item", partition, sort]).to_string())
    }
}

prefixed_key!(
    /// The text of an account's open holds in a sort key: `HOLDS#<account>`.
    HoldsText,
    "HOLDS",
    AccountId
);

prefixed_key!(
    /// The text of a daily total in a sort key: `TOTAL#<hash>`.
    TotalText,
    "TOTAL",
    ItemHash
);

/// The subject of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An account, formatted as its partition key.
    Account(AccountId),
    /// The open holds of an account.
    Holds(AccountId),
    /// An unreadable item, formatted as a hash of its key.
    Item(ItemHash),
    /// A leg, formatted as its sort key.
    Leg(LegId),
    /// A daily total, formatted as a hash of its scope and sort key.
    Total(ItemHash),
    /// A transaction, formatted as its partition key.
    Transaction(TransactionId),
}

impl FromStr for Subject {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let account = text.parse().map(|AccountPartition(id)| Self::Account(id));
        let account = account.or_else(|_| text.parse().map(|ItemHashText(hash)| Self::Item(hash)));
        let account = account.or_else(|_| text.parse().map(|HoldsText(id)| Self::Holds(id)));
        let account = account.or_else(|_| text.parse().map(|TotalText(hash)| Self::Total(hash)));
        let leg = account.or_else(|_| text.parse().map(|LegSort(id)| Self::Leg(id)));
        leg.or_else(|_| text.parse().map(|TransactionPartition(id)| Self::Transaction(id)))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(id) => AccountPartition(id.clone()).fmt(out),
            Self::Holds(id) => HoldsText(id.clone()).fmt(out),
            Self::Item(hash) => ItemHashText(hash.clone()).fmt(out),
            Self::Leg(id) => LegSort(id.clone()).fmt(out),
            Self::Total(hash) => TotalText(hash.clone()).fmt(out),
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
    fn leg_ranges_include_both_ends() {
        let times = ["2026-01-01T23:59:59.999Z", "2026-01-02T00:00:00.000Z", "2026-01-02T23:59:59.999Z"];
        let legs: Vec<LegTimeSort> = times.iter().flat_map(|time| [leg(time, "!"), leg(time, "~")]).collect();
        let within = |range: KeyRange| {
            legs.iter().map(|leg| if range.contains(&leg.to_string()) { '1' } else { '0' }).collect::<String>()
        };
        let [before, first, last] = times.map(|time| time.parse::<TimestampMillis>().expect("a time"));
        assert_eq!(within(LegTimeSort::all()), "111111");
        assert_eq!(within(LegTimeSort::between(first, last)), "001111");
        assert_eq!(within(LegTimeSort::between(before, first)), "111100");
        assert_eq!(within(LegTimeSort::period(Some(before), Some(first))), "111100");
        assert_eq!(within(LegTimeSort::period(Some(first), None)), "001111");
        assert_eq!(within(LegTimeSort::period(None, Some(first))), "111100");
        assert_eq!(within(LegTimeSort::period(None, None)), "111111");
        assert_eq!(within(LegTimeSort::between(first, before)), "000000");
        assert_eq!(within(LegTimeSort::before(first)), "110000");
        assert_eq!(within(LegTimeSort::stretch(Some(&legs[1]), &legs[4])), "011110");
        assert_eq!(within(LegTimeSort::stretch(None, &legs[2])), "111000");
    }

    #[test]
    fn expired_holds_include_the_time_of_expiry() {
        let sort = |time: &str| format!("EXPIRES#{time}#H").parse::<HoldExpirySort>().expect("a key");
        let [before, at, after] =
            ["2026-01-01T23:59:59.999Z", "2026-01-02T00:00:00.000Z", "2026-01-02T00:00:00.001Z"].map(sort);
        let expired = HoldExpirySort::expired(at.expires);
        let holds = [&before, &at, &after];
        assert_eq!(holds.map(|hold| expired.contains(&hold.to_string())), [true, true, false]);
        assert!(holds.iter().all(|hold| HoldExpirySort::all().contains(&hold.to_string())));
    }

    #[test]
    fn day_spans_first_to_last_millisecond() {
        let day: Day = "2026-01-02".parse().expect("a day");
        let ends = [day.first_milli(), day.last_milli()].map(|end| end.to_string());
        assert_eq!(ends, ["2026-01-02T00:00:00.000Z", "2026-01-02T23:59:59.999Z"]);
    }

    #[test]
    fn finding_keys_round_trip_for_every_subject() {
        for text in [
            "FINDING#TXN#T",
            "FINDING#LEG#T-01",
            "FINDING#ACCOUNT#A",
            "FINDING#HOLDS#A",
            "FINDING#TOTAL#5f",
            "FINDING#ITEM#5f",
        ] {
            assert_eq!(text.parse::<FindingSort>().map(|key| key.to_string()).as_deref(), Ok(text));
        }
        assert!(["FINDING#", "FINDING#T", "FINDING#USER#A"].iter().all(|bad| bad.parse::<FindingSort>().is_err()));
    }
}
