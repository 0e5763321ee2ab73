//! Keys of `Cart` (seed 003).
//!
//! | item | PK | SK | GSI1PK | GSI1SK |
//! | --- | --- | --- | --- | --- |
//! | line | account | `<STATUS>#<time of the last status change>#<item id>` | SKU | as SK |
//! | pointer, one a line | account | `ITEM#<item id>` | | |
//! | cart | account | `CART` | | |
//! | idempotency record | account | `IDEMPOTENCY#<key>` | | |
//!
//! A line that was removed or joined into another leaves GSI1.

use crate::{
    Day, KeyRange, Random, TimestampMillis,
    text::{Invalid, constant_key, names, parse_simple, prefixed_key, serde_as_text, uuid_of},
};
use jiff::Timestamp;
use std::{fmt, str::FromStr};
use uuid::Uuid;

/// Where a line stands. In the order of their names, which is the order of their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// In the cart.
    Active,
    /// Became a part of the line of the same SKU that was in the cart already. Nobody sees it any more.
    Joined,
    /// Bought; final.
    Purchased,
    /// Taken out by the customer. Nobody sees it any more.
    Removed,
    /// Kept for later.
    Saved,
}

names!(
    Status, "must be ACTIVE, SAVED or PURCHASED",
    Active => "ACTIVE",
    Joined => "JOINED",
    Purchased => "PURCHASED",
    Removed => "REMOVED",
    Saved => "SAVED",
);

impl Status {
    /// Whether customers see lines that stand so.
    #[must_use]
    pub const fn is_listed(self) -> bool {
        matches!(self, Self::Active | Self::Saved | Self::Purchased)
    }
}

/// Names a line: 32 hexadecimal digits of a UUID of version 7. It stays the same while the status moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(Uuid);

impl ItemId {
    /// A new one, made at `now`.
    #[must_use]
    pub fn new(now: Timestamp, random: &Random) -> Self {
        Self(uuid_of(now, random))
    }
}

impl FromStr for ItemId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse_simple(text).map(Self).ok_or_else(|| Invalid::new("is no item id"))
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(out)
    }
}

serde_as_text!(ItemId);

/// SK and GSI1SK of a line: `<STATUS>#<time of the last status change>#<item id>`. The id lets any number of lines stand in
/// one millisecond, and makes the order total, so one position is a whole cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineSort {
    /// Where the line stands.
    pub status: Status,
    /// Since when.
    pub since: TimestampMillis,
    /// Which line.
    pub item: ItemId,
}

impl LineSort {
    /// Every line with the status (seed 003, access patterns two and three).
    #[must_use]
    pub fn with_status(status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#"))
    }

    /// With the status since some time of the day (seed 003, access pattern three).
    #[must_use]
    pub fn on(day: Day, status: Status) -> KeyRange {
        KeyRange::beginning_with(format!("{status}#{day}T"))
    }

    /// With the status since a time from the one to the other, both included; nothing where the other comes first. An end
    /// that is not given is open.
    #[must_use]
    pub fn between(status: Status, from: Option<TimestampMillis>, to: Option<TimestampMillis>) -> KeyRange {
        let end =
            |time: Option<TimestampMillis>, close: &str| time.map_or_else(String::new, |time| format!("{time}{close}"));
        if from.zip(to).is_some_and(|(from, to)| to < from) {
            return KeyRange::nothing_from(format!("{status}#{}", end(from, "")));
        }
        KeyRange::through(format!("{status}#{}", end(from, "")), format!("{status}#{}", end(to, "#")))
    }

    /// A range that no line lies in, for calls that only open the connection.
    #[must_use]
    pub fn nothing() -> KeyRange {
        KeyRange::beginning_with("#")
    }
}

impl FromStr for LineSort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parse = || {
            let (status, rest) = text.split_once('#')?;
            let (since, item) = rest.split_once('#')?;
            Some(Self { status: status.parse().ok()?, since: since.parse().ok()?, item: item.parse().ok()? })
        };
        parse().filter(|key| key.to_string() == text).ok_or(Invalid::key("LineSort"))
    }
}

impl fmt::Display for LineSort {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}#{}#{}", self.status, self.since, self.item)
    }
}

serde_as_text!(LineSort);

prefixed_key!(
    /// SK of the item that says where a line is now: `ITEM#<item id>`.
    ItemSort,
    "ITEM",
    ItemId
);

constant_key!(
    /// SK of the item that every addition to a cart changes.
    CartSort,
    "CART"
);
