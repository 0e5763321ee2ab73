//! Calculates the number of shards that an index needs for its write rate.

/// Maximum number of write request units (WRU) per second of one shard. A shard is one partition
/// key value, and DynamoDB limits each partition to this rate.
pub const UNITS_A_SHARD: u64 = 1_000;

/// Writes that consume the same number of write request units (WRU) on the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writes {
    /// The number of writes in the planned period.
    pub count: u64,
    /// WRU that each write consumes on the index. An insert writes one index entry. A change of the
    /// index sort key writes two: it deletes the old entry and puts a new one.
    pub units_each: u64,
}

/// The result of [`plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Writes per second, rounded down.
    pub writes_per_second: u64,
    /// WRU per second, rounded up.
    pub units_per_second: u64,
    /// The number of shards: ⌈WRU per second ÷ (1,000 × utilisation)⌉.
    pub shards: u64,
}

/// Returns the number of shards for `writes` that are spread evenly over `seconds`. Each shard uses
/// at most `utilisation_percent` of its limit.
///
/// The required load is 1,000,000 payments of 8 KB in 30 minutes
/// (docs/requirements/bank.md#volume-and-write-rate). This is 555 writes and 4,445 WRU per second,
/// which needs 5 shards:
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
