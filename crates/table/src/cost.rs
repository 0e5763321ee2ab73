//! Calculates read and write request units (RRU and WRU) from item sizes (DynamoDB Developer Guide,
//! "Capacity unit consumption").

use crate::Units;
use std::{collections::BTreeMap, fmt};

/// Returns the write request units consumed by a write of `bytes`: one per KB, rounded up.
#[must_use]
pub fn write(bytes: usize) -> Units {
    Units::whole(begun(bytes, 1_024))
}

/// Returns the read request units consumed by a strongly consistent read of `bytes`: one per 4 KB,
/// rounded up.
#[must_use]
pub fn read(bytes: usize) -> Units {
    Units::whole(begun(bytes, 4_096))
}

/// Returns the read request units consumed by an eventually consistent read of `bytes`: half a unit
/// per 4 KB, rounded up. For a query, pass the sum of the item sizes, because DynamoDB rounds only
/// the sum.
#[must_use]
pub fn read_eventually(bytes: usize) -> Units {
    Units::halves(begun(bytes, 4_096))
}

fn begun(bytes: usize, unit: usize) -> u64 {
    u64::try_from(bytes.div_ceil(unit).max(1)).unwrap_or(u64::MAX)
}

/// Read and write request units, by table or index name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cost {
    by_place: BTreeMap<&'static str, (Units, Units)>,
}

impl Cost {
    /// Adds read request units for the table or index `place`.
    #[must_use]
    pub fn read(mut self, place: &'static str, units: Units) -> Self {
        self.by_place.entry(place).or_default().0 += units;
        self
    }

    /// Adds write request units for the table or index `place`.
    #[must_use]
    pub fn write(mut self, place: &'static str, units: Units) -> Self {
        self.by_place.entry(place).or_default().1 += units;
        self
    }

    /// Returns each table and index with its read and write request units.
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
