use crate::Random;
use crate::text::{Invalid, serde_as_text};
use std::{fmt, str::FromStr};

/// One partition key value of a write-sharded index: `0`, `1`, … (seed 000: `RAND(0,4)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(u16);

impl Shard {
    /// The one that there is where there is one.
    pub(crate) const FIRST: Self = Self(0);
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

/// How many shards are written and how many are read. To grow, readers go first: a new shard is
/// read before anything is written to it, so no reader misses an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards {
    write: u16,
    read: u16,
}

impl Shards {
    /// More shards than any design here needs; a page reads at least one entry of each.
    pub const MAX: u16 = 100;

    /// `write` shards to choose from, of the `read` that readers ask.
    ///
    /// # Errors
    /// Not `1 ≤ write ≤ read ≤ 100`.
    pub fn new(write: u16, read: u16) -> Result<Self, Invalid> {
        if (1..=read).contains(&write) && read <= Self::MAX {
            Ok(Self { write, read })
        } else {
            Err(Invalid::new("shards must be 1 ≤ write ≤ read ≤ 100"))
        }
    }

    /// A shard for a new item, each as likely as the others.
    #[must_use]
    pub fn pick(self, random: &Random) -> Shard {
        Shard(random.below(self.write))
    }

    /// Every shard that may hold an item.
    pub fn read(self) -> impl ExactSizeIterator<Item = Shard> {
        (0..self.read).map(Shard)
    }
}
