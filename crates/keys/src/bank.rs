//! Keys of `PaymentScheduler` and `TransactionHistory` (docs/requirements/bank.md#data-model).
//!
//! | item | PK | SK | GSI1PK | GSI1SK | GSI2PK |
//! | --- | --- | --- | --- | --- | --- |
//! | payment | account | `<time>#<payment id>` | shard | `<STATUS>#<time>#<payment id>` | |
//! | transaction | account | `<time>#<payment id>` | shard | `<STATUS>#<time>#<payment id>` | transaction id |
//! | idempotency record | account | `IDEMPOTENCY#<key>` | | | |
//! | transaction guard | `TRANSACTION#<transaction id>` | `TRANSACTION` | | | |
//! | dispatch switch | `SETTING#DISPATCHING` | `DISPATCHING` | | | |
//! | retry record | account | `RETRY#<payment id>` | | | |
//!
//! Items of the table `BankJobs`:
//!
//! | item | PK | SK |
//! | --- | --- | --- |
//! | job | `JOB#<job id>` | `JOB` |
//! | run of an import | `IMPORT#<import id>` | `RUN#<run>` |
//! | certificate of a day | `DAY#<date>` | `CERTIFICATE#<number>` |
//! | payment that was open at the close | `DAY#<date>` | `OPEN#<number>#<time>#<payment id>` |
//! | discrepancy that the close found | `DAY#<date>` | `DISCREPANCY#<number>#<item hash>` |

use crate::{
    Day, IdempotencyKey, KeyRange, Random, TimestampSeconds, TransactionId,
    id::identifier,
    ledger::ItemHash,
    text::{Invalid, constant_key, derived, names, parse_simple, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// Default period of an account's payment list, in days
/// (docs/requirements/bank.md#access-pattern-2-list-scheduled-payments-of-an-account).
pub const DAYS_AHEAD: i64 = 90;

/// Status of a payment. The variants are in alphabetical order, which is also the order of the
/// keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Cancelled before the batch job collected it.
    Cancelled,
    /// Failed after the batch job collected it.
    Failed,
    /// Collected by the batch job, and not yet processed.
    Pending,
    /// Paid. The payment has a transaction id.
    Processed,
    /// Waiting for its scheduled time.
    Scheduled,
}

names!(
    Status, "must be SCHEDULED, PENDING, PROCESSED, CANCELLED or FAILED",
    Cancelled => "CANCELLED",
    Failed => "FAILED",
    Pending => "PENDING",
    Processed => "PROCESSED",
    Scheduled => "SCHEDULED",
);

impl Status {
    /// The final statuses. A payment with one of them is settled.
    pub const SETTLED: [Self; 3] = [Self::Cancelled, Self::Failed, Self::Processed];

    /// Returns the only status from which a payment can change to this status. Returns `None` for
    /// the initial status.
    #[must_use]
    pub const fn predecessor(self) -> Option<Self> {
        match self {
            Self::Scheduled => None,
            Self::Pending | Self::Cancelled => Some(Self::Scheduled),
            Self::Processed | Self::Failed => Some(Self::Pending),
        }
    }
}

/// Payment id: `20261201T093000Z-` and the 32 hexadecimal digits of a version 7 UUID.
///
/// The id contains the scheduled time, so the sort key can be derived from the id. The UUID makes
/// payments of the same second distinct (docs/decisions/payment-id.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentId {
    time: TimestampSeconds,
    unique: Uuid,
}

impl PaymentId {
    /// Creates the id of a payment that is due at `time`. The UUID contains the time `now`.
    #[must_use]
    pub fn new(time: TimestampSeconds, now: Timestamp, random: &Random) -> Self {
        Self { time, unique: uuid_of(now, random) }
    }

    /// Returns the id of the payment that a line of a file schedules. A repeated import of the same
    /// run gets the same id, so it recognizes its own payments (docs/decisions/intake.md).
    #[must_use]
    pub fn imported(time: TimestampSeconds, import: &ImportId, run: &ImportRun, position: u64) -> Self {
        let unique = derived(&["import", import.as_str(), run.as_str(), &position.to_string()]);
        Self { time, unique }
    }

    /// Scheduled time of the payment.
    #[must_use]
    pub fn time(self) -> TimestampSeconds {
        self.time
    }
}

impl From<PaymentId> for IdempotencyKey {
    fn from(id: PaymentId) -> Self {
        Self::generated(&id.to_string())
    }
}

impl FromStr for PaymentId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (time, unique) = text.split_once('-')?;
            Some(Self { time: TimestampSeconds::parse_compact(time)?, unique: parse_simple(unique)? })
        };
        parse().ok_or_else(|| Invalid::new("is not a payment id"))
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.time.compact(), self.unique.simple())
    }
}

serde_as_text!(PaymentId);

/// Sort key of a payment and of a transaction: `<time>#<payment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentSort(pub PaymentId);

impl PaymentSort {
    /// Returns the range of items that are due from `from` to `to`, both inclusive. The range is
    /// empty if `to` is before `from`.
    #[must_use]
    pub fn between(from: TimestampSeconds, to: TimestampSeconds) -> KeyRange {
        KeyRange::through(from.to_string(), format!("{to}#"))
    }

    /// Returns the range of items that are due within 90 days from `now`
    /// (docs/requirements/bank.md#access-pattern-2-list-scheduled-payments-of-an-account).
    #[must_use]
    pub fn next_90_days(now: TimestampSeconds) -> KeyRange {
        Self::between(now, now.plus_days(DAYS_AHEAD))
    }

    /// Returns the range of all payments of an account. It excludes idempotency records, which have
    /// the same partition key.
    #[must_use]
    pub fn history() -> KeyRange {
        KeyRange::through("0", "9")
    }
}

impl FromStr for PaymentSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (time, id) = text.rsplit_once('#')?;
            let id: PaymentId = id.parse().ok()?;
            (TimestampSeconds::parse_exact(time)? == id.time).then_some(Self(id))
        };
        parse().ok_or(Invalid::key("PaymentSort"))
    }
}

impl fmt::Display for PaymentSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.0.time, self.0)
    }
}

serde_as_text!(PaymentSort);

/// GSI1 sort key of a payment and of a transaction: `<STATUS>#<time>#<payment id>`. The payment id
/// makes the sort key unique, so a cursor stores only the sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueSort {
    /// Status of the payment.
    pub status: Status,
    /// Id of the payment, which contains its scheduled time.
    pub payment: PaymentId,
}

impl DueSort {
    /// Returns the range of items that have the status and are due on the day
    /// (docs/requirements/bank.md#access-pattern-3-list-payments-of-a-date-by-status).
    #[must_use]
    pub fn due_on(day: Day, status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#{day}T"))
    }

    /// Returns the range of items that have the status and are due on or before the day.
    #[must_use]
    pub fn due_until(day: Day, status: Status) -> KeyRange {
        KeyRange::through(format!("{status}#"), format!("{status}#{day}T"))
    }

    /// Returns the range of items that have the status and are due at or before the time.
    #[must_use]
    pub fn due_by(time: TimestampSeconds, status: Status) -> KeyRange {
        KeyRange::through(format!("{status}#"), format!("{status}#{time}#"))
    }

    /// Returns an empty range, for warm-up queries.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }

    /// Returns the range from the first `PENDING` item to the last `SCHEDULED` item of the day. It
    /// contains [`Status::Processed`] items too, because the statuses are in alphabetical order.
    #[must_use]
    pub fn pending_to_scheduled(day: Day) -> KeyRange {
        KeyRange::through(format!("{}#", Status::Pending), format!("{}#{day}T", Status::Scheduled))
    }

    /// Returns the range of all items that have the status.
    #[must_use]
    pub fn with_status(status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#"))
    }
}

impl FromStr for DueSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (status, sort) = text.split_once('#')?;
            let PaymentSort(payment) = sort.parse().ok()?;
            Some(Self { status: status.parse().ok()?, payment })
        };
        parse().ok_or(Invalid::key("DueSort"))
    }
}

impl fmt::Display for DueSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}", self.status, PaymentSort(self.payment))
    }
}

serde_as_text!(DueSort);

prefixed_key!(
    /// Partition key of a transaction guard: `TRANSACTION#<transaction id>`. It never equals an
    /// account id, because identifiers contain no `#`.
    GuardPartition,
    "TRANSACTION",
    TransactionId
);

constant_key!(
    /// Sort key of a transaction guard: `TRANSACTION`.
    GuardSort,
    "TRANSACTION"
);

constant_key!(
    /// Partition key of the dispatch switch: `SETTING#DISPATCHING`. It never equals an account id,
    /// because identifiers contain no `#`.
    SwitchPartition,
    "SETTING#DISPATCHING"
);

constant_key!(
    /// Sort key of the dispatch switch: `DISPATCHING`.
    SwitchSort,
    "DISPATCHING"
);

identifier!(
    /// Id of a dispatch that an operator started.
    DispatchId
);

impl DispatchId {
    /// Returns the id of the dispatch that a request starts. The id is derived from the caller and
    /// the idempotency key. Without an idempotency key, it is random.
    #[must_use]
    pub fn of_request(caller: &str, key: Option<&IdempotencyKey>, now: Timestamp, random: &Random) -> Self {
        let id = match key {
            Some(key) => derived(&["dispatch", caller, key.as_str()]),
            None => uuid_of(now, random),
        };
        Self::generated(&id.simple().to_string())
    }
}

/// Id of a bank job, as returned to callers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobId {
    /// `dispatch-<dispatch id>`
    Dispatch(DispatchId),
    /// `close-<date>-<number>`
    Close(Day, CloseNumber),
}

impl fmt::Display for JobId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dispatch(id) => write!(out, "dispatch-{id}"),
            Self::Close(day, number) => write!(out, "close-{day}-{number}"),
        }
    }
}

impl FromStr for JobId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let dispatch = || text.strip_prefix("dispatch-")?.parse().ok().map(Self::Dispatch);
        let close = || {
            let (day, number) = text.strip_prefix("close-")?.rsplit_once('-')?;
            Some(Self::Close(day.parse().ok()?, number.parse().ok()?))
        };
        dispatch().or_else(close).ok_or_else(|| Invalid::new("is not a job id"))
    }
}

serde_as_text!(JobId);

prefixed_key!(
    /// Partition key of a job: `JOB#<job id>`.
    JobPartition,
    "JOB",
    JobId
);

constant_key!(
    /// Sort key of a job: `JOB`.
    JobSort,
    "JOB"
);

/// Id of an import: the name of its file without its ending.
///
/// An object in S3 can have any name of up to 1,024 bytes, and each has an import. A file whose
/// name is not accepted has an import that has failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportId(String);

impl ImportId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ImportId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // The length of a key in S3.
        if (1..=1_024).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Invalid::new("must have 1 to 1024 bytes"))
        }
    }
}

impl fmt::Display for ImportId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

serde_as_text!(ImportId);

/// Run of an import: the sequencer of the event of its object, a hexadecimal number. A later object
/// with the same key has a greater sequencer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportRun(String);

impl ImportRun {
    /// The run as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Another run, which sorts after this one and before later events. Objects whose names differ
    /// only in their ending can have equal sequencers.
    #[must_use]
    pub fn next(&self) -> Self {
        Self(format!("{}0", self.0))
    }
}

impl FromStr for ImportRun {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_number = (1..=64).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if is_number { Ok(Self(text.to_ascii_uppercase())) } else { Err(Invalid::new("is not a sequencer")) }
    }
}

impl fmt::Display for ImportRun {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

serde_as_text!(ImportRun);

prefixed_key!(
    /// Partition key of the runs of an import: `IMPORT#<import id>`.
    ImportPartition,
    "IMPORT",
    ImportId
);

prefixed_key!(
    /// Sort key of a run of an import: `RUN#<run>`.
    ImportSort,
    "RUN",
    ImportRun
);

impl ImportSort {
    /// Returns the range of all runs of an import, latest first.
    #[must_use]
    pub fn latest() -> KeyRange {
        KeyRange::beginning_with("RUN#").newest_first()
    }

    /// Returns the range of a run and all runs before it, latest first.
    #[must_use]
    pub fn until(run: &ImportRun) -> KeyRange {
        KeyRange::between("RUN#", Self(run.clone()).to_string()).newest_first()
    }
}

prefixed_key!(
    /// Sort key of the record that a failed payment was retried: `RETRY#<payment id>`. Its
    /// partition key is the account.
    RetrySort,
    "RETRY",
    PaymentId
);

/// Number of a close of a day: four digits. The first close has number 1. Each later close adds a
/// supplement with the next number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseNumber(u16);

impl CloseNumber {
    /// The number of the first close.
    pub const FIRST: Self = Self(1);
    /// The greatest number.
    const MAX: u16 = 9_999;

    /// Returns the next number. Returns `None` after the last number with four digits.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        (self.0 < Self::MAX).then_some(Self(self.0 + 1))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }
}

impl FromStr for CloseNumber {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let number = text.parse().ok().filter(|number| *number > 0).map(Self);
        number.filter(|number| number.to_string() == text).ok_or(Invalid::key("CloseNumber"))
    }
}

impl fmt::Display for CloseNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:04}", self.0)
    }
}

serde_as_text!(CloseNumber);

prefixed_key!(
    /// Partition key of everything that the closes of a day store: `DAY#<date>`.
    DayPartition,
    "DAY",
    Day
);

prefixed_key!(
    /// Sort key of a certificate: `CERTIFICATE#<number>`.
    CertificateSort,
    "CERTIFICATE",
    CloseNumber
);

impl CertificateSort {
    /// Returns the range of all certificates of a day.
    #[must_use]
    pub fn all() -> KeyRange {
        KeyRange::beginning_with("CERTIFICATE#")
    }
}

/// Sort key of a payment that was open at a close: `OPEN#<number>#<time>#<payment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenSort {
    /// The close.
    pub number: CloseNumber,
    /// The payment.
    pub payment: PaymentId,
}

impl OpenSort {
    /// Returns the range of all payments that were open at the close.
    #[must_use]
    pub fn all(number: CloseNumber) -> KeyRange {
        KeyRange::beginning_with(format!("OPEN#{number}#"))
    }

    /// Returns the range of the open payments from one payment to another, both included.
    #[must_use]
    pub fn between(number: CloseNumber, first: PaymentId, last: PaymentId) -> KeyRange {
        let sort = |payment| Self { number, payment }.to_string();
        KeyRange::between(sort(first), sort(last))
    }
}

impl FromStr for OpenSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (number, sort) = text.strip_prefix("OPEN#")?.split_once('#')?;
            let PaymentSort(payment) = sort.parse().ok()?;
            Some(Self { number: number.parse().ok()?, payment })
        };
        parse().ok_or(Invalid::key("OpenSort"))
    }
}

impl fmt::Display for OpenSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OPEN#{}#{}", self.number, PaymentSort(self.payment))
    }
}

serde_as_text!(OpenSort);

/// Sort key of a discrepancy that a close found: `DISCREPANCY#<number>#<item hash>`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiscrepancySort {
    /// The close.
    pub number: CloseNumber,
    /// Hash of the primary key of the item.
    pub item: ItemHash,
}

impl DiscrepancySort {
    /// Returns the range of all discrepancies that the close found.
    #[must_use]
    pub fn all(number: CloseNumber) -> KeyRange {
        KeyRange::beginning_with(format!("DISCREPANCY#{number}#"))
    }
}

impl FromStr for DiscrepancySort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (number, item) = text.strip_prefix("DISCREPANCY#")?.split_once('#')?;
            Some(Self { number: number.parse().ok()?, item: item.parse().ok()? })
        };
        parse().ok_or(Invalid::key("DiscrepancySort"))
    }
}

impl fmt::Display for DiscrepancySort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DISCREPANCY#{}#{}", self.number, self.item)
    }
}

serde_as_text!(DiscrepancySort);
