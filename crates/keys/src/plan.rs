//! The shard planner: the number of shards that an index needs for its write rate.

/// Maximum write units per second of one shard. A shard is one partition key value, and this is
/// DynamoDB's limit for a partition.
pub const UNITS_A_SHARD: u64 = 1_000;

/// A group of writes that each consume the same number of units on the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// The number of writes in the planned period.
    pub count: u64,
    /// Write units that each write consumes on the index. An insert writes one entry; a change of
    /// the sort key writes two.
    pub units_each: u64,
}

/// The result of [`plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Writes per second, rounded down.
    pub writes_per_second: u64,
    /// Write units per second, rounded up.
    pub units_per_second: u64,
    /// The number of shards: ⌈Σ rate × units ÷ (1,000 × utilisation)⌉.
    pub shards: u64,
}

/// Plans shards for `writes` that are spread evenly over `seconds`. Each shard is filled to
/// `utilisation_percent` of its limit.
///
/// The required load is 1,000,000 payments of 8 KB in 30 minutes
/// (docs/requirements/bank.md#volume-and-write-rate). It needs 555 writes and 4,445 units per
/// second, and 5 shards:
///
/// ```
/// use keys::plan::{Plan, Writes, plan};
/// let required = plan(&[Writes { count: 1_000_000, units_each: 8 }], 30 * 60, 100);
/// assert_eq!(required, Plan { writes_per_second: 555, units_per_second: 4_445, shards: 5 });
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
