//! What a call costs, from the sizes of what it reads and writes (DynamoDB developer guide, "capacity
//! unit consumption").

use crate::Units;
use std::{collections::BTreeMap, fmt};

/// A write: one unit for every KB begun.
#[must_use]
pub fn write(bytes: usize) -> Units {
    Units::whole(begun(bytes, 1_024))
}

/// A strongly consistent read of one item: one unit for every 4 KB begun.
#[must_use]
pub fn read(bytes: usize) -> Units {
    Units::whole(begun(bytes, 4_096))
}

/// An eventually consistent read: half of a strong one. A query adds the sizes up before it rounds.
#[must_use]
pub fn read_eventually(bytes: usize) -> Units {
    Units::halves(begun(bytes, 4_096))
}

fn begun(bytes: usize, unit: usize) -> u64 {
    u64::try_from(bytes.div_ceil(unit).max(1)).unwrap_or(u64::MAX)
}

/// Units by where they are consumed: `table` or an index's name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    by_place: BTreeMap<&'static str, (Units, Units)>,
}

impl Cost {
    /// Adds a read on the place.
    #[must_use]
    pub fn read(mut self, place: &'static str, units: Units) -> Self {
        self.by_place.entry(place).or_default().0 += units;
        self
    }

    /// Adds a write on the place.
    #[must_use]
    pub fn write(mut self, place: &'static str, units: Units) -> Self {
        self.by_place.entry(place).or_default().1 += units;
        self
    }

    /// Read and write units by place.
    pub fn places(&self) -> impl Iterator<Item = (&'static str, Units, Units)> + '_ {
        self.by_place.iter().map(|(place, (read, write))| (*place, *read, *write))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (place, read, write) in self.places() {
            parts.extend((read != Units::ZERO).then(|| format!("{place} {read} R")));
            parts.extend((write != Units::ZERO).then(|| format!("{place} {write} W")));
        }
        out.write_str(&parts.join(", "))
    }
}
