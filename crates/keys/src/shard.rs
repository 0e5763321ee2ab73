use crate::Random;
use crate::text::{Invalid, hashed, serde_as_text};
use std::{fmt, str::FromStr};

/// A partition key value of a write-sharded index: `0`, `1` and so on
/// (docs/requirements/bank.md#shard-the-index-partition-key).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

impl Shard {
    /// The first shard. An index that is not sharded has only this shard.
    pub(crate) const FIRST: Self = Self(0);

    /// Returns the first `count` shards.
    pub(crate) fn first(count: u16) -> impl ExactSizeIterator<Item = Self> {
        (0..count).map(Self)
    }

    /// Returns one of the first `count` shards, by a hash of the text. `count` is at most 100.
    pub(crate) fn hashed(text: &str, count: u16) -> Self {
        Self(hashed(text, u8::try_from(count).unwrap_or(u8::MAX)).into())
    }
}

impl FromStr for Shard {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse()
            .ok()
            .filter(|number: &u16| *number < Shards::MAX && number.to_string() == text)
            .map(Self)
            .ok_or(Invalid::key("Shard"))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

serde_as_text!(Shard);

/// The number of shards that writers use, and the number of shards that readers query.
///
/// To add shards, increase `read` before `write`. Readers then query a new shard before the first
/// entry is written to it, so they miss no entry (docs/decisions/indexes.md).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards {
    write: u16,
    read: u16,
}

impl Shards {
    /// Maximum number of shards. A page reads at least one entry from every shard.
    pub const MAX: u16 = 100;

    /// Creates the numbers of shards: writers pick one of `write` shards, and readers query `read`
    /// shards.
    ///
    /// # Errors
    /// The numbers do not satisfy `1 ≤ write ≤ read ≤ 100`.
    pub fn new(write: u16, read: u16) -> Result<Self, Invalid> {
        if (1..=read).contains(&write) && read <= Self::MAX {
            Ok(Self { write, read })
        } else {
            Err(Invalid::new("numbers of shards must satisfy 1 ≤ write ≤ read ≤ 100"))
        }
    }

    /// Picks a shard for a new item, with equal probability.
    pub fn pick(self, random: &Random) -> Shard {
        Shard(random.below(self.write))
    }

    /// Returns the shards that readers query. No other shard contains an item.
    pub fn read(self) -> impl ExactSizeIterator<Item = Shard> {
        Shard::first(self.read)
    }
}
