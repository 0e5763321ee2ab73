//! The shard planner: how many partition key values an index needs for its writes.

/// What a partition key value takes: 1,000 write units a second (DynamoDB's limit a partition).
pub const UNITS_A_SHARD: u64 = 1_000;

/// A stream of writes to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// Writes in the period of the plan.
    pub count: u64,
    /// Write units that each costs the index: an insertion one entry, a move of a key two.
    pub units_each: u64,
}

/// What the writes come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Whole writes a second.
    pub writes_per_second: u64,
    /// Write units a second, rounded up.
    pub units_per_second: u64,
    /// Shards that hold them: ⌈Σ rate × units ÷ (1,000 × utilisation)⌉.
    pub shards: u64,
}

/// Plans for `writes` spread evenly over `seconds`, with shards filled to `utilisation_percent`.
///
/// The seed's numbers, 1,000,000 payments of 8 KB in 30 minutes, come to 555 writes a second, 4,445
/// units and 5 shards:
///
/// ```
/// use keys::plan::{Plan, Writes, plan};
/// let seed = plan(&[Writes { count: 1_000_000, units_each: 8 }], 30 * 60, 100);
/// assert_eq!(seed, Plan { writes_per_second: 555, units_per_second: 4_445, shards: 5 });
/// ```
#[must_use]
pub fn plan(writes: &[Writes], seconds: u64, utilisation_percent: u64) -> Plan {
    let seconds = seconds.max(1);
    let total = |each: fn(&Writes) -> u64| -> u64 {
        writes.iter().map(|w| w.count.saturating_mul(each(w))).fold(0, u64::saturating_add)
    };
    let units = total(|writes| writes.units_each);
    let a_shard = UNITS_A_SHARD.saturating_mul(seconds).saturating_mul(utilisation_percent.clamp(1, 100));
    Plan {
        writes_per_second: total(|_| 1) / seconds,
        units_per_second: units.div_ceil(seconds),
        shards: units.saturating_mul(100).div_ceil(a_shard).max(1),
    }
}
