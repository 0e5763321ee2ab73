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
//! | pointer to a payment with a new time | account | `MOVED#<old payment id>` | | | |
//! | standing order | account | `STANDING-ORDER#<order id>` | shard | `STANDING#<date>#<item hash>` | |
//!
//! Items of the table `BankJobs`:
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! | --- | --- | --- | --- | --- |
//! | job | `JOB#<job id>` | `JOB` | | |
//! | run of an import | `IMPORT#<import id>` | `RUN#<run>` | `IMPORTS` | `<start>#<item hash>` |
//! | certificate of a day | `DAY#<date>` | `CERTIFICATE#<number>` | | |
//! | payment that was open at the close | `DAY#<date>` | `OPEN#<number>#<time>#<payment id>` | | |
//! | discrepancy that the close found | `DAY#<date>` | `DISCREPANCY#<number>#<item hash>` | | |

use crate::time::{Compact, Exact};
use crate::{
    AccountId, Day, IdempotencyKey, ItemHash, KeyRange, Random, RequestId, TimestampSeconds, TransactionId,
    id::identifier,
    text::{Invalid, Simple, derived, names, numbered_key, serde_as_text, uuid_of},
};
use derives::Key;
use jiff::Timestamp;
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// Default period of an account's payment list, in days
/// (docs/requirements/bank.md#access-pattern-2-list-scheduled-payments-of-an-account).
pub const DAYS_AHEAD: i64 = 90;

names! {
    /// Status of a payment.
    pub enum Status as "PaymentStatus": "must be SCHEDULED, PENDING, PROCESSED, CANCELLED or FAILED" {
        /// Cancelled before the batch job collected it.
        Cancelled = "CANCELLED",
        /// Failed after the batch job collected it.
        Failed = "FAILED",
        /// Collected by the batch job, and not yet processed.
        Pending = "PENDING",
        /// Paid. The payment has a transaction id.
        Processed = "PROCESSED",
        /// Waiting for its scheduled time.
        Scheduled = "SCHEDULED",
    }
}

impl Status {
    /// The final statuses. A payment with one of them is settled.
    pub const SETTLED: [Self; 3] = [Self::Cancelled, Self::Failed, Self::Processed];

    /// Returns the only status from which a payment can change to this status. Returns `None` for
    /// the initial status.
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
/// payments of the same second distinct (docs/decisions/payments.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{time:Compact}-{unique:Simple}")]
#[invalid("is not a payment id")]
pub struct PaymentId {
    time: TimestampSeconds,
    unique: Uuid,
}

impl PaymentId {
    /// Creates the id of a payment that is due at `time`. The UUID contains the time `now`.
    pub fn new(time: TimestampSeconds, now: Timestamp, random: &Random) -> Self {
        Self { time, unique: uuid_of(now, random) }
    }

    /// Returns the id of the payment that a line of a file schedules. A repeated import of the same
    /// run gets the same id, so it recognizes its own payments (docs/decisions/intake.md).
    pub fn imported(time: TimestampSeconds, import: &ImportId, run: &ImportRun, position: u64) -> Self {
        let unique = derived(&["import", import.as_str(), run.as_str(), &position.to_string()]);
        Self { time, unique }
    }

    /// Returns the id of the payment that this payment becomes with another time. A repeated
    /// request gets the same id (docs/decisions/payments.md).
    pub fn rescheduled(self, time: TimestampSeconds) -> Self {
        Self { time, unique: derived(&["reschedule", &self.to_string(), &time.to_string()]) }
    }

    /// Whether the id derives from a record of a file or another id, and not from a request.
    pub fn is_derived(self) -> bool {
        self.unique.get_version_num() == 8
    }

    /// Returns the id of the payment of a standing order on the day of `time`. A repeated run of
    /// its job gets the same id. An order that is changed, or put again after its end, has another
    /// revision and therefore other ids (docs/decisions/payments.md).
    pub fn standing(
        time: TimestampSeconds,
        account: &AccountId,
        order: &StandingOrderId,
        revision: &RequestId,
    ) -> Self {
        let (revision, day) = (revision.to_string(), time.day().to_string());
        let unique = derived(&["standing-order", account.as_str(), order.as_str(), &revision, &day]);
        Self { time, unique }
    }

    /// Scheduled time of the payment.
    pub fn time(self) -> TimestampSeconds {
        self.time
    }
}

impl From<PaymentId> for IdempotencyKey {
    fn from(id: PaymentId) -> Self {
        Self::generated(&id.to_string())
    }
}

/// Sort key of a payment and of a transaction: `<time>#<payment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentSort(pub PaymentId);

impl PaymentSort {
    /// Returns the range of items that are due from `from` to `to`, both inclusive. The range is
    /// empty if `to` is before `from`.
    pub fn between(from: TimestampSeconds, to: TimestampSeconds) -> KeyRange {
        KeyRange::through(from.to_string(), format!("{to}#"))
    }

    /// Returns the range of items that are due within 90 days from `now`
    /// (docs/requirements/bank.md#access-pattern-2-list-scheduled-payments-of-an-account).
    pub fn next_90_days(now: TimestampSeconds) -> KeyRange {
        Self::between(now, now.plus_days(DAYS_AHEAD))
    }

    /// Returns the range of all payments of an account. It excludes idempotency records, which have
    /// the same partition key.
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
            let Exact(time): Exact<TimestampSeconds> = time.parse().ok()?;
            (time == id.time).then_some(Self(id))
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

/// GSI1 sort key of a payment and of a transaction. The payment id makes the sort key unique, so a
/// cursor stores only the sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{status}#{payment:PaymentSort}")]
#[range(with_status(status))]
pub struct DueSort {
    /// Status of the payment.
    pub status: Status,
    /// Id of the payment, which contains its scheduled time.
    pub payment: PaymentId,
}

impl DueSort {
    /// Returns the range of items that have the status and are due on the day
    /// (docs/requirements/bank.md#access-pattern-3-list-payments-of-a-date-by-status).
    pub fn due_on(day: Day, status: Status) -> KeyRange {
        Self::with_status(&status).continuing(format_args!("{day}T"))
    }

    /// Returns the range of items that have the status and are due on or before the day.
    pub fn due_until(day: Day, status: Status) -> KeyRange {
        KeyRange::spanning(&Self::with_status(&status), &Self::due_on(day, status))
    }

    /// Returns the range of items that have the status and are due at or before the time.
    pub fn due_by(time: TimestampSeconds, status: Status) -> KeyRange {
        let all = Self::with_status(&status);
        KeyRange::spanning(&all, &all.continuing(format_args!("{time}#")))
    }

    /// Returns an empty range, for warm-up queries.
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }

    /// Returns the range from the first `PENDING` item to the last `SCHEDULED` item of the day. It
    /// contains [`Status::Processed`] items too, because the statuses are in alphabetical order.
    pub fn pending_to_scheduled(day: Day) -> KeyRange {
        KeyRange::spanning(&Self::with_status(&Status::Pending), &Self::due_on(day, Status::Scheduled))
    }
}

/// Partition key of a transaction guard. It never equals an account id, because identifiers contain
/// no `#`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("TRANSACTION#{0}")]
pub struct GuardPartition(pub TransactionId);

/// Sort key of a transaction guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("TRANSACTION")]
pub struct GuardSort;

/// Partition key of the dispatch switch. It never equals an account id, because identifiers contain
/// no `#`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("SETTING#DISPATCHING")]
pub struct SwitchPartition;

/// Sort key of the dispatch switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("DISPATCHING")]
pub struct SwitchSort;

identifier! {
    /// Id of a dispatch that an operator started.
    DispatchId;
}

impl DispatchId {
    /// Returns the id of the dispatch that a request starts. The id is derived from the caller and
    /// the idempotency key. Without an idempotency key, it is random.
    pub fn of_request(caller: &str, key: Option<&IdempotencyKey>, now: Timestamp, random: &Random) -> Self {
        let id = match key {
            Some(key) => derived(&["dispatch", caller, key.as_str()]),
            None => uuid_of(now, random),
        };
        Self::generated(&id.simple().to_string())
    }
}

/// Id of a bank job, as returned to callers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[invalid("is not a job id")]
pub enum JobId {
    /// A dispatch.
    #[key("dispatch-{0}")]
    Dispatch(DispatchId),
    /// A close of a day.
    #[key("close-{0+}-{1}")]
    Close(Day, CloseNumber),
    /// The work after a change or the end of a standing order, by the request that made it.
    #[key("standing-order-{0:Exact}")]
    StandingOrder(RequestId),
    /// The daily run over all standing orders.
    #[key("standing-orders-{0}")]
    StandingOrders(Day),
}

/// Partition key of a job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("JOB#{0}")]
pub struct JobPartition(pub JobId);

/// Sort key of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("JOB")]
pub struct JobSort;

/// Id of an import: the name of its file without its ending.
///
/// An object in S3 can have any name of up to 1,024 bytes, and each has an import. A file whose
/// name is not accepted has an import that has failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImportId(String);

impl ImportId {
    /// The id as text.
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
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Another run, which sorts after this one and before later events. Objects whose names differ
    /// only in their ending can have equal sequencers.
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

/// Partition key of the runs of an import.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("IMPORT#{0}")]
pub struct ImportPartition(pub ImportId);

/// Sort key of a run of an import.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("RUN#{0}")]
#[range(all)]
pub struct ImportSort(pub ImportRun);

impl ImportSort {
    /// Returns the range of all runs of an import, latest first.
    pub fn latest() -> KeyRange {
        Self::all().newest_first()
    }

    /// Returns the range of a run and all runs before it, latest first.
    pub fn until(run: &ImportRun) -> KeyRange {
        KeyRange::spanning(&Self::all(), &KeyRange::of_key(&Self(run.clone()))).newest_first()
    }
}

/// GSI1 partition key of every run of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("IMPORTS")]
pub struct ImportsPartition;

/// GSI1 sort key of a run of an import. The hash of its primary key makes the sort key unique, so a
/// cursor stores only the sort key. An import id can be too long for a sort key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("{started_at:Exact}#{run}")]
pub struct ImportStartSort {
    /// Start of the run.
    pub started_at: TimestampSeconds,
    /// Hash of the primary key of the run.
    pub run: ItemHash,
}

impl ImportStartSort {
    /// Returns the range of all runs, newest first.
    pub fn all() -> KeyRange {
        KeyRange::through("0", "9").newest_first()
    }

    /// Returns the range of the runs that started on the day, newest first.
    pub fn on(day: Day) -> KeyRange {
        KeyRange::beginning_with(format!("{day}T")).newest_first()
    }
}

/// Sort key of the record that a failed payment was retried. Its partition key is the account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("RETRY#{0}")]
pub struct RetrySort(pub PaymentId);

/// Sort key of the pointer from a payment id to the id with the new time. Its partition key is the
/// account. It sorts after all payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("MOVED#{0}")]
pub struct MovedSort(pub PaymentId);

identifier! {
    /// Id of a standing order, which its caller chooses. It is unique within the account.
    StandingOrderId;
}

/// Sort key of a standing order. Its partition key is the account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("STANDING-ORDER#{0}")]
#[range(all)]
pub struct StandingOrderSort(pub StandingOrderId);

/// GSI1 sort key of a standing order. It sorts after the keys of all payments, so no range of
/// [`DueSort`] contains it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("STANDING#{day}#{order}")]
#[range(all)]
pub struct StandingDueSort {
    /// Date of the next payment that is not yet scheduled.
    pub day: Day,
    /// Hash of the primary key of the order. The ids could be too long for a sort key.
    pub order: ItemHash,
}

impl StandingDueSort {
    /// Returns the range of the orders whose next payment is on or before the day.
    pub fn until(day: Day) -> KeyRange {
        let all = Self::all();
        KeyRange::spanning(&all, &all.continuing(format_args!("{day}#")))
    }
}

numbered_key!(
    /// Number of a close of a day: four digits. The first close has number 1. Each later close adds
    /// a supplement with the next number.
    CloseNumber(u16), "{:04}", 9_999
);

/// Partition key of everything that the closes of a day store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("DAY#{0}")]
pub struct DayPartition(pub Day);

/// Sort key of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("CERTIFICATE#{0}")]
#[range(all)]
pub struct CertificateSort(pub CloseNumber);

/// Sort key of a payment that was open at a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("OPEN#{number}#{payment:PaymentSort}")]
#[range(all(number))]
pub struct OpenSort {
    /// The close.
    pub number: CloseNumber,
    /// The payment.
    pub payment: PaymentId,
}

impl OpenSort {
    /// Returns the range of the open payments from one payment to another, both included.
    pub fn between(number: CloseNumber, first: PaymentId, last: PaymentId) -> KeyRange {
        let sort = |payment| Self { number, payment }.to_string();
        KeyRange::between(sort(first), sort(last))
    }
}

/// Sort key of a discrepancy that a close found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Key)]
#[key("DISCREPANCY#{number}#{item}")]
#[range(all(number))]
pub struct DiscrepancySort {
    /// The close.
    pub number: CloseNumber,
    /// Hash of the primary key of the item.
    pub item: ItemHash,
}

crate::schema!(PaymentId as "PaymentId": {
    "type": "string",
    "pattern": "^[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]Z-[0-9a-f]{32}$"
});

crate::schema!(JobId as "BankJobId": {
    "description": "The kind of the job and its id.",
    "type": "string",
    "maxLength": 200,
    "pattern": "^(dispatch-.+|close-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{4,}|standing-order-[0-9a-f]{32}|standing-orders-[0-9]{4}-[0-9]{2}-[0-9]{2})$"
});

crate::schema!(ImportId as "ImportId": {
    "description": "Name of the file without its ending. A name in another folder has slashes, as %2F in the path.",
    "type": "string",
    "minLength": 1,
    "maxLength": 1024
});

crate::schema!(ImportRun as "ImportRunId": {"type": "string", "pattern": "^[0-9A-Fa-f]{1,64}$"});
