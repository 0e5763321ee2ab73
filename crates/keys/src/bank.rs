//! Keys of `PaymentScheduler` and `TransactionHistory` (seed 000).
//!
//! | item | PK | SK | GSI1PK | GSI1SK | GSI2PK |
//! | --- | --- | --- | --- | --- | --- |
//! | payment | account | `<time>#<payment id>` | shard | `<STATUS>#<time>#<payment id>` | |
//! | transaction | account | `<time>#<payment id>` | shard | `<STATUS>#<time>#<payment id>` | transaction id |
//! | idempotency record | account | `IDEMPOTENCY#<key>` | | | |
//! | transaction guard | `TRANSACTION#<transaction id>` | `TRANSACTION` | | | |

use crate::{
    Day, KeyRange, Random, TimestampSeconds, TransactionId,
    text::{Invalid, constant_key, names, parse_simple, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// Days that an account's list shows when nobody says otherwise (seed 000, access pattern two).
pub const DAYS_AHEAD: i64 = 90;

/// Where a payment stands. In the order of their names, which is the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Called off before it was taken up.
    Cancelled,
    /// Taken up, and failed.
    Failed,
    /// Taken up by the batch that pays.
    Pending,
    /// Paid; carries a transaction id.
    Processed,
    /// Waits for its time.
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
    /// The one status that a payment may come from; none for the first.
    #[must_use]
    pub const fn predecessor(self) -> Option<Self> {
        match self {
            Self::Scheduled => None,
            Self::Pending | Self::Cancelled => Some(Self::Scheduled),
            Self::Processed | Self::Failed => Some(Self::Pending),
        }
    }
}

/// Names a payment: `20261201T093000Z-` and 32 hexadecimal digits of a UUID of version 7.
///
/// It encodes the scheduled time, so that it alone finds the sort key, and the UUID lets any number
/// of payments of an account stand in one second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentId {
    time: TimestampSeconds,
    unique: Uuid,
}

impl PaymentId {
    /// A new identifier for a payment due at `time`, made at `now`.
    #[must_use]
    pub fn new(time: TimestampSeconds, now: Timestamp, random: &Random) -> Self {
        Self { time, unique: uuid_of(now, random) }
    }

    /// When the payment is due.
    #[must_use]
    pub fn time(self) -> TimestampSeconds {
        self.time
    }
}

impl FromStr for PaymentId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (time, unique) = text.split_once('-')?;
            Some(Self { time: TimestampSeconds::parse_compact(time)?, unique: parse_simple(unique)? })
        };
        parse().ok_or_else(|| Invalid::new("is no payment id"))
    }
}

impl fmt::Display for PaymentId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.time.compact(), self.unique.simple())
    }
}

serde_as_text!(PaymentId);

/// SK of a payment and of a transaction: `<time>#<payment id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PaymentSort(pub PaymentId);

impl PaymentSort {
    /// Due from the one second to the other, both included; nothing where the other comes first.
    #[must_use]
    pub fn between(from: TimestampSeconds, to: TimestampSeconds) -> KeyRange {
        if to < from {
            return KeyRange::nothing_from(from.to_string());
        }
        KeyRange::through(from.to_string(), format!("{to}#"))
    }

    /// Due from now to 90 days ahead (seed 000, access pattern two).
    #[must_use]
    pub fn next_90_days(now: TimestampSeconds) -> KeyRange {
        Self::between(now, now.plus_days(DAYS_AHEAD))
    }

    /// Every payment of the account, and none of its idempotency records.
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

/// GSI1SK of a payment and of a transaction: `<STATUS>#<time>#<payment id>`. The id makes the order
/// total, so one position is a whole cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DueSort {
    /// Where the payment stands.
    pub status: Status,
    /// Which payment.
    pub payment: PaymentId,
}

impl DueSort {
    /// Due on the day, with the status (seed 000, access pattern three).
    #[must_use]
    pub fn due_on(day: Day, status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#{day}T"))
    }

    /// Due on the day or any day before it, with the status.
    #[must_use]
    pub fn due_until(day: Day, status: Status) -> KeyRange {
        KeyRange::through(format!("{status}#"), format!("{status}#{day}T"))
    }

    /// A range that no payment lies in, for calls that only open the connection.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }

    /// Everything with the status, whenever it is due.
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
    /// PK of the item that lets a transaction id name one payment only: `TRANSACTION#<id>`. No
    /// account is called so, because no identifier has a `#`.
    GuardPartition,
    "TRANSACTION",
    TransactionId
);

constant_key!(
    /// SK of the transaction guard.
    GuardSort,
    "TRANSACTION"
);
