//! Keys of the tables `FinancialTransactions` and `LedgerJobs`
//! ([requirement](../../../docs/requirements/ledger.md#table),
//! [decision](../../../docs/decisions/models.md)). `LedgerJobs` stores the reconciliations
//! and their findings.
//!
//! | item | PK | SK | GSI1PK, GSI1SK | GSI2PK, GSI2SK |
//! | --- | --- | --- | --- | --- |
//! | merchant | `MERCHANT#<id>` | `METADATA` | | `MERCHANTS`, `MERCHANT#<id>` |
//! | account | `ACCOUNT#<id>` | `METADATA` | `USER#<user>`, `ACCOUNT#<id>` | `ACCOUNTS`, `ACCOUNT#<id>` |
//! | account count | `USER#<user>` | `ACCOUNT-COUNT` | | |
//! | transaction | `TXN#<id>` | `METADATA` | `STATUS#<status>`, `CREATED#<time>` | `IDEMPOTENCY#<key>`, `TXN` |
//! | leg | `TXN#<id>` | `LEG#<leg>` | `ACCOUNT#<account>`, `LEG#<time>#<leg>` | `ACCOUNT#<account>`, `REVERSED#<time>#<leg>#REVERSAL#<number>` |
//! | credit of a grouped account | `TXN#<id>` | `LEG#<leg>` | | `ACCOUNT#<account>`, `REVERSED#<time>#<leg>#REVERSAL#<number>` |
//! | its inbox item | `ACCOUNT#<account>#INBOX#<shard>` | `CREATED#<time>#<leg>` | | |
//! | its posting | `TXN#<id>` | `POSTING#<leg>` | `ACCOUNT#<account>`, `LEG#<time>#<leg>` | |
//! | guard of a reference | `REFERENCE#<reference>` | `TYPE#<type>#USER#<user>` | | |
//! | reversal marker | `TXN#<id>` | `REVERSAL#<number>` | `REVERSED#<status>`, `CREATED#<time>` | |
//! | hold | `HOLD#<id>` | `METADATA` | `ACCOUNT#<payer>`, `EXPIRES#<time>#<id>` | `HOLD-EXPIRY#<shard>`, `EXPIRES#<time>#<id>` |
//! | refusal of a transfer | `TXN#<id>` | `METADATA` | | |
//! | reconciliation | `RECONCILIATION#<id>` | `METADATA` | `RECONCILIATIONS`, `STARTED#<time>#<id>` | |
//! | finding | `RECONCILIATION#<id>` | `FINDING#<subject>` | | |
//! | settlement of an account | `SETTLEMENT#<account>` | `METADATA` | | |
//!
//! The status index can be sharded. The first shard uses the required partition key, and
//! every other shard uses `STATUS#<status>#<shard>`
//! ([decision](../../../docs/decisions/indexes.md)).
//!
//! Only open holds have index keys. Only legs of a reversal have keys of GSI2: the time and the id
//! of the leg that they reverse. The marker of a reversal has the time of the original.
//!
//! The id of a new item is derived from the caller and the idempotency key of the request that
//! creates it. A retry of a request therefore cannot create a second item
//! ([decision](../../../docs/decisions/idempotency.md)).

use crate::{
    AccountId, Day, IdempotencyKey, ItemHash, KeyRange, Random, Shard, TimestampMillis, TransactionId,
    id::identifier,
    text::{Invalid, derived, names, numbered_key, serde_as_text, uuid_of},
    time::Exact,
};
use derives::Key;
use jiff::Timestamp;
use std::{fmt, str::FromStr};

identifier! {
    /// The id of a ledger user: the `sub` claim of the user's token. A user owns accounts and sends
    /// requests.
    UserId;
    /// The id of a merchant.
    MerchantId;
    /// The id of a leg: the transaction id and the number of the leg.
    LegId;
    /// The id of a hold.
    HoldId;
    /// The id of a reconciliation.
    ReconciliationId;
}

identifier! {
    check_label:
    /// The type of an account, chosen by the caller that opens it, such as `checking` or
    /// `external`.
    AccountType;
}

identifier! {
    check_word:
    /// The type of a transaction, chosen by the caller that posts it, such as `payment`.
    TransactionType;
}

identifier! {
    check_as check_reference:
    /// The reference of a transaction, which its caller chooses, such as the number of an order. A
    /// caller uses it at most once for each type of transaction.
    ///
    /// The text has the form of a label of at most 64 characters.
    Reference;
}

crate::schema!(Reference as "TransactionReference", |generator| ::schemars::json_schema!({
    "description": "A `Label` of at most 64 characters. A caller uses a reference at most once for each transaction type.",
    "allOf": [generator.subschema_for::<crate::schema::Label>()],
    "maxLength": 64
}));

identifier! {
    check_as check_name:
    /// The name of a text in the metadata of a transaction: 1 to 40 ASCII letters, digits, `-` and
    /// `_`.
    MetadataName;
}

impl MetadataName {
    /// The pattern of all names.
    pub const PATTERN: &'static str = "^[A-Za-z0-9_-]{1,40}$";
}

/// Adds the constructor `of_request` to an id type. All requests with the same caller and
/// idempotency key get the same id. A request without an idempotency key gets a random id.
macro_rules! made_once {
    ($type:ident, $kind:literal) => {
        impl $type {
            /// Returns the id of the item that a request creates. The id is derived from the caller
            /// and the idempotency key. Without an idempotency key, it is random.
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
    pub fn of_service(service: &UserId, key: &IdempotencyKey) -> Self {
        Self::generated(&derived(&["service", service.as_str(), key.as_str()]).to_string())
    }

    /// Returns the id of the transaction that moves the rest of an account when it is closed. An
    /// account is closed at most once.
    pub fn of_closing(account: &AccountId) -> Self {
        Self::generated(&derived(&["closing", account.as_str()]).to_string())
    }
}

impl LegId {
    /// Returns the id of the leg with the given number, from 1 to 99. Legs are numbered in the
    /// order of the request, and their ids sort in the same order.
    pub fn new(transaction: &TransactionId, number: usize) -> Self {
        Self::generated(&format!("{transaction}-{number:02}"))
    }
}

impl ReconciliationId {
    /// Returns the id of the scheduled reconciliation of a day: `daily-<day>`.
    pub fn of_day(day: Day) -> Self {
        Self::generated(&format!("daily-{day}"))
    }
}

names! {
    /// The status of an account.
    pub enum AccountStatus as "AccountStatus": "must be active, frozen or closed" {
        /// Accepts debits and credits.
        Active = "active",
        /// Has a balance of zero and accepts no legs. This status is final.
        Closed = "closed",
        /// Accepts no new payments, and waits for those that were decided before. Then it can be
        /// closed.
        Closing = "closing",
        /// Accepts no legs until the account is reactivated.
        Frozen = "frozen",
    }
}

names! {
    /// How credits reach the balance of an account
    /// ([decision](../../../docs/decisions/ledger-throughput.md)).
    #[derive(Default)]
    pub enum PostingMode as "PostingMode" ("How credits reach the balance. With grouped posting, they wait until a job posts many together."): "must be direct or grouped" {
        /// Each transaction updates the account.
        #[default]
        Direct = "direct",
        /// Credits wait in the inbox of the account until a job posts many of them together.
        Grouped = "grouped",
    }
}

names! {
    /// The role of the caller that froze an account.
    pub enum FrozenBy as "FrozenBy": "must be operator or owner" {
        /// An operator. Only operators may reactivate or close the account.
        Operator = "operator",
        /// The owner, who may also reactivate or close the account.
        Owner = "owner",
    }
}

names! {
    /// The status of a transaction. Rejected requests are not stored, so there is only one status.
    #[derive(Default)]
    pub enum TransactionStatus as "TransactionStatus": "must be completed" {
        /// The transaction is posted. This status is final.
        #[default]
        Completed = "completed",
    }
}

names! {
    /// The status of a hold ([requirement](../../../docs/requirements/ledger.md#holds)). All
    /// statuses but `held` are final.
    pub enum HoldStatus as "HoldStatus": "must be held, captured, voided or expired" {
        /// The whole amount was captured.
        Captured = "captured",
        /// The rest was released because the hold has expired.
        Expired = "expired",
        /// Open: the rest of the amount is reserved.
        Held = "held",
        /// The rest was released by the payee.
        Voided = "voided",
    }
}

names! {
    /// The type of a leg ([requirement](../../../docs/requirements/ledger.md#transaction-legs)).
    pub enum LegType as "LegType": "must be debit or credit" {
        /// Increases the balance of its account.
        Credit = "credit",
        /// Decreases the balance of its account.
        Debit = "debit",
    }
}

impl LegType {
    /// Returns the opposite type.
    pub fn reversed(self) -> Self {
        match self {
            Self::Credit => Self::Debit,
            Self::Debit => Self::Credit,
        }
    }
}

/// SK of merchants, accounts, transactions and reconciliations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("METADATA")]
pub struct Metadata;

/// SK of a user's account count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ACCOUNT-COUNT")]
pub struct AccountCountSort;

/// GSI2PK of every account. The reconciliation reads all accounts from this partition. The index
/// entry of an account is written only when the account is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ACCOUNTS")]
pub struct AccountsPartition;

/// GSI2SK of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("TXN")]
pub struct ByKeySort;

/// GSI2PK of every merchant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("MERCHANTS")]
pub struct MerchantsPartition;

/// PK and GSI2SK of a merchant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("MERCHANT#{0}")]
#[range(all)]
pub struct MerchantPartition(pub MerchantId);

/// PK, GSI1SK and GSI2SK of an account, and GSI1PK of its legs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ACCOUNT#{0}")]
#[range(all)]
pub struct AccountPartition(pub AccountId);

/// GSI1PK of a user's accounts, and PK of the user's account count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("USER#{0}")]
pub struct UserPartition(pub UserId);

/// PK of a transaction and its legs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("TXN#{0}")]
pub struct TransactionPartition(pub TransactionId);

/// GSI2PK of a transaction. Transactions of several callers may have the same idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("IDEMPOTENCY#{0}")]
pub struct ByKeyPartition(pub IdempotencyKey);

/// PK of the guard of a reference. Transactions of several callers and types may have the same
/// reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("REFERENCE#{0}")]
pub struct ReferencePartition(pub Reference);

/// SK of the guard of a reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("TYPE#{transaction_type}#USER#{user}")]
#[range(all)]
pub struct ReferenceSort {
    /// The type of the transaction.
    pub transaction_type: TransactionType,
    /// The caller that posted the transaction.
    pub user: UserId,
}

/// GSI1SK of a transaction. Several transactions may have the same time, so a cursor stores a
/// [`CreatedPlace`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CREATED#{0:Exact}")]
#[range(all)]
pub struct CreatedSort(pub TimestampMillis);

/// SK of a leg.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("LEG#{0}")]
#[range(all)]
pub struct LegSort(pub LegId);

/// SK of the posting of a grouped credit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("POSTING#{0}")]
pub struct PostingSort(pub LegId);

/// PK of the job that settles an account with grouped posting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("SETTLEMENT#{0}")]
pub struct SettlementPartition(pub AccountId);

/// PK of a hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("HOLD#{0}")]
pub struct HoldPartition(pub HoldId);

/// GSI2PK of an open hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("HOLD-EXPIRY#{0}")]
pub struct ExpiryPartition(pub Shard);

/// PK of a reconciliation and its findings.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("RECONCILIATION#{0}")]
pub struct ReconciliationPartition(pub ReconciliationId);

/// GSI1PK of every reconciliation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("RECONCILIATIONS")]
pub struct ReconciliationsPartition;

/// GSI1SK of a reconciliation. Reconciliations sort by the time of the request that started them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("STARTED#{started:Exact}#{reconciliation}")]
#[range(all)]
pub struct StartedSort {
    /// The time of the request.
    pub started: TimestampMillis,
    /// The reconciliation.
    pub reconciliation: ReconciliationId,
}

/// SK of a finding. Each subject has at most one finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("FINDING#{0}")]
#[range(all)]
pub struct FindingSort(pub Subject);

impl TransactionPartition {
    /// The range of all items of a transaction: header, legs and reversal markers.
    pub fn collection() -> KeyRange {
        KeyRange::spanning(&LegSort::all(), &ReversalSort::all())
    }

    /// The range of the header, the postings and the reversal markers.
    pub fn without_legs() -> KeyRange {
        KeyRange::spanning(&KeyRange::of_key(&Metadata), &ReversalSort::all())
    }
}

numbered_key!(
    /// SK of a reversal marker: `REVERSAL#<number>`, from `REVERSAL#01` to `REVERSAL#99`. The
    /// reversals of a transaction are numbered in the order in which they were posted.
    ReversalSort(u8), "REVERSAL#{:02}", 99
);

impl ReversalSort {
    /// The range of all reversal markers of a transaction.
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("REVERSAL#")
    }
}

impl ByKeySort {
    /// The range of all transactions with an idempotency key. It also contains `TXN#<id>`, which is
    /// the form of the positions in cursors.
    pub fn all() -> KeyRange {
        KeyRange::through("TXN", "TXN#")
    }
}

impl FindingSort {
    /// The range of all findings about legs.
    pub fn of_legs() -> KeyRange {
        Self::all().continuing("LEG#")
    }
}

impl CreatedSort {
    /// The range of transactions from `since` to `until`, both inclusive. The range is empty if
    /// `until` is before `since`. `None` means no upper bound.
    pub fn between(since: TimestampMillis, until: Option<TimestampMillis>) -> KeyRange {
        match until {
            // The range must also contain the positions in cursors, which are sort keys with a
            // suffix.
            Some(until) => KeyRange::through(Self(since).to_string(), format!("{}#", Self(until))),
            None => KeyRange::spanning(&KeyRange::of_key(&Self(since)), &Self::all()),
        }
    }

    /// An empty range, also for warm-up queries.
    pub fn nothing() -> KeyRange {
        KeyRange::nothing_from(Self::all().from())
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

impl StatusPartition {
    fn parse(text: &str, prefix: &str) -> Option<Self> {
        let rest = text.strip_prefix(prefix)?;
        let (status, shard) = rest.split_once('#').map_or((rest, None), |(status, shard)| (status, Some(shard)));
        let shard = shard.map_or(Some(Shard::FIRST), |shard| shard.parse().ok())?;
        Some(Self { status: status.parse().ok()?, shard })
    }

    fn write(self, out: &mut fmt::Formatter<'_>, prefix: &str) -> fmt::Result {
        write!(out, "{prefix}{}", self.status)?;
        if self.shard == Shard::FIRST { Ok(()) } else { write!(out, "#{}", self.shard) }
    }
}

impl FromStr for StatusPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let key = Self::parse(text, "STATUS#").filter(|key| key.to_string() == text);
        key.ok_or(Invalid::key("StatusPartition"))
    }
}

impl fmt::Display for StatusPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(out, "STATUS#")
    }
}

serde_as_text!(StatusPartition);

/// GSI1PK of the reversal markers of the transactions in a shard of the status index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReversedPartition(pub StatusPartition);

impl FromStr for ReversedPartition {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let key = StatusPartition::parse(text, "REVERSED#").map(Self).filter(|key| key.to_string() == text);
        key.ok_or(Invalid::key("ReversedPartition"))
    }
}

impl fmt::Display for ReversedPartition {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(out, "REVERSED#")
    }
}

serde_as_text!(ReversedPartition);

/// GSI2SK of a leg of a reversal, in the partition of its account. The reversals of a leg sort in
/// the order in which they were posted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("REVERSED#{created:Exact}#{leg}#{reversal}")]
#[range(at(created))]
pub struct ReversedLegSort {
    /// The time of the original transaction.
    pub created: TimestampMillis,
    /// The original leg.
    pub leg: LegId,
    /// The reversal.
    pub reversal: ReversalSort,
}

impl ReversedLegSort {
    /// The range of reversals of the legs from `first` to `last`, both inclusive.
    pub fn between(first: TimestampMillis, last: TimestampMillis) -> KeyRange {
        KeyRange::spanning(&Self::at(&first), &Self::at(&last))
    }
}

/// A position in the list of transactions by time.
///
/// No item has this key. A range of [`CreatedSort`] that contains a transaction also contains its
/// position.
#[derive(Debug, Clone, PartialEq, Eq, Key)]
#[key("CREATED#{created:Exact}#{shard}#{transaction}")]
pub struct CreatedPlace {
    /// The time of the transaction.
    pub created: TimestampMillis,
    /// The shard of the transaction.
    pub shard: Shard,
    /// The transaction.
    pub transaction: TransactionId,
}

/// GSI1SK of a leg. The legs of an account sort in the order in which they were applied. No two
/// transactions of an account have the same time. The legs of one transaction sort by number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("LEG#{created:Exact}#{leg}")]
#[range(all)]
#[range(at(created))]
pub struct LegTimeSort {
    /// The time of the transaction.
    pub created: TimestampMillis,
    /// The leg.
    pub leg: LegId,
}

impl LegTimeSort {
    /// The range of legs from `since` to `until`, both inclusive. The range is empty if `until` is
    /// before `since`.
    pub fn between(since: TimestampMillis, until: TimestampMillis) -> KeyRange {
        KeyRange::spanning(&Self::at(&since), &Self::at(&until))
    }

    /// The range of legs in a period. `from` and `to` are inclusive; `None` means no bound. The
    /// range is empty if `to` is before `from`.
    pub fn period(from: Option<TimestampMillis>, to: Option<TimestampMillis>) -> KeyRange {
        let end = |time: Option<TimestampMillis>| time.map_or_else(Self::all, |time| Self::at(&time));
        KeyRange::spanning(&end(from), &end(to))
    }

    /// The range of all legs before `time`.
    pub fn before(time: TimestampMillis) -> KeyRange {
        // The range ends before all legs at `time`, because their keys are longer than its end.
        KeyRange::between(Self::all().from(), Self::at(&time).from())
    }

    /// The range of legs from `first` to `last`, both inclusive. If `first` is `None`, the range
    /// starts with the account's first leg.
    pub fn stretch(first: Option<&Self>, last: &Self) -> KeyRange {
        KeyRange::spanning(&first.map_or_else(Self::all, KeyRange::of_key), &KeyRange::of_key(last))
    }
}

/// SK of an entry in the history of an account: `LEG#<leg>` or `POSTING#<leg>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
pub enum EntrySort {
    /// A leg that its transaction has posted.
    #[key("{0}")]
    Leg(LegSort),
    /// The posting of a grouped credit.
    #[key("{0}")]
    Posting(PostingSort),
}

/// PK of the inbox of an account with grouped posting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("ACCOUNT#{account}#INBOX#{shard}")]
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
    pub fn shard_of(leg: &LegId) -> Shard {
        Shard::hashed(leg.as_str(), Self::SHARDS)
    }
}

/// SK of an inbox item. The items of a shard sort by the time of their transactions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CREATED#{created:Exact}#{leg}")]
#[range(all)]
pub struct InboxSort {
    /// The time of the transaction.
    pub created: TimestampMillis,
    /// The leg.
    pub leg: LegId,
}

/// GSI1SK and GSI2SK of an open hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("EXPIRES#{expires:Exact}#{hold}")]
#[range(all)]
#[range(at(expires))]
pub struct HoldExpirySort {
    /// The time from which the hold is expired.
    pub expires: TimestampMillis,
    /// The hold.
    pub hold: HoldId,
}

impl HoldExpirySort {
    /// The range of the open holds that are expired at `now`.
    pub fn expired(now: TimestampMillis) -> KeyRange {
        KeyRange::spanning(&Self::all(), &Self::at(&now))
    }

    /// The range of the open holds that are not expired at `now`.
    pub fn open(now: TimestampMillis) -> KeyRange {
        KeyRange::spanning(&Self::at(&now.next()), &Self::all())
    }
}

/// The subject of a finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
pub enum Subject {
    /// An account, formatted as its partition key.
    #[key("{0:AccountPartition}")]
    Account(AccountId),
    /// The open holds of an account.
    #[key("HOLDS#{0}")]
    Holds(AccountId),
    /// An unreadable item, formatted as a hash of its key.
    #[key("ITEM#{0}")]
    Item(ItemHash),
    /// A leg, formatted as its sort key.
    #[key("{0:LegSort}")]
    Leg(LegId),
    /// A daily total, formatted as a hash of its scope and sort key.
    #[key("TOTAL#{0}")]
    Total(ItemHash),
    /// A transaction, formatted as its partition key.
    #[key("{0:TransactionPartition}")]
    Transaction(TransactionId),
}
