//! Calculates rates, the number of shards of an index, and warm throughput.

/// Maximum number of write request units (WRU) per second of one shard. A shard is one partition
/// key value, and DynamoDB limits each partition to this rate.
pub(super) const UNITS_A_SHARD: u64 = 1_000;

/// Writes that consume the same number of write request units (WRU) on the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// The number of writes in the planned period.
    pub(super) count: u64,
    /// WRU that each write consumes on the index. An insert writes one index entry. A change of the
    /// index sort key writes two: it deletes the old entry and puts a new one.
    pub(super) units_each: u64,
}

/// The result of [`plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    /// Writes per second, rounded down.
    pub(super) writes_per_second: u64,
    /// WRU per second, rounded up.
    pub(super) units_per_second: u64,
    /// The number of shards: ⌈WRU per second ÷ (1,000 × utilisation)⌉.
    pub(super) shards: u64,
}

/// Returns the number of shards for `writes` that are spread evenly over `seconds`. Each shard uses
/// at most `utilisation_percent` of its limit.
///
/// The required load is 1,000,000 payments of 8 KB in 30 minutes
/// (docs/requirements/bank.md#volume-and-write-rate). This is 555 writes and 4,445 WRU per second,
/// which needs 5 shards.
pub(super) fn plan(writes: &[Writes], seconds: u64, utilisation_percent: u64) -> Plan {
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

/// Capacity units that are consumed at a constant rate during a part of the day. Times are seconds
/// after midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Load {
    /// Start.
    pub(super) from: u64,
    /// End, exclusive.
    pub(super) until: u64,
    /// Read or write request units of the whole part.
    pub(super) units: u64,
}

impl Load {
    /// Units per second, rounded up.
    pub(super) fn per_second(&self) -> u64 {
        self.units.div_ceil(self.until.saturating_sub(self.from).max(1))
    }
}

/// Returns the highest rate of loads that overlap, in units per second.
pub(super) fn peak(loads: &[Load]) -> u64 {
    // The rate can only rise at the start of a load.
    let at = |second: u64| loads.iter().filter(move |load| (load.from..load.until).contains(&second));
    let rate = |load: &Load| at(load.from).map(Load::per_second).fold(0, u64::saturating_add);
    loads.iter().map(rate).max().unwrap_or_default()
}

/// Returns the number of shards for a rate. Each shard uses at most `utilisation_percent` of its
/// limit.
pub(super) fn shards(units_per_second: u64, utilisation_percent: u64) -> u64 {
    at_utilisation(units_per_second, utilisation_percent).div_ceil(UNITS_A_SHARD).max(1)
}

/// Warm throughput is planned in steps of this size.
pub(super) const WARM_STEP: u64 = 1_000;

/// Returns the warm throughput for a rate that uses at most `utilisation_percent` of it, rounded up
/// to a multiple of [`WARM_STEP`]. `None` if the warm throughput of a new table, `default`, is
/// enough.
pub(super) fn warm(units_per_second: u64, utilisation_percent: u64, default: u64) -> Option<u64> {
    let wanted = at_utilisation(units_per_second, utilisation_percent);
    (wanted > default).then(|| wanted.div_ceil(WARM_STEP).saturating_mul(WARM_STEP))
}

/// The throughput of which a rate is `percent`, rounded up.
fn at_utilisation(units_per_second: u64, percent: u64) -> u64 {
    units_per_second.saturating_mul(100).div_ceil(percent.clamp(1, 100))
}
