use crate::Key;
use aws_sdk_dynamodb::{
    config::{ConfigBag, Intercept, RuntimeComponents, interceptors::BeforeTransmitInterceptorContextRef},
    error::BoxError,
    types::ConsumedCapacity,
};
use std::{
    collections::BTreeMap,
    fmt,
    ops::{Add, AddAssign},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// A number of read request units (RRU) or write request units (WRU). An eventually consistent read
/// consumes half an RRU, so the precision is half a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Units {
    halves: u64,
}

impl Units {
    /// Zero units.
    pub const ZERO: Self = Self { halves: 0 };

    /// A number of whole units.
    pub const fn whole(units: u64) -> Self {
        Self { halves: units * 2 }
    }

    /// A number of half units.
    pub const fn halves(halves: u64) -> Self {
        Self { halves }
    }

    /// Multiplies the units.
    pub const fn times(self, count: u64) -> Self {
        Self { halves: self.halves * count }
    }

    /// Returns whole units, rounded up.
    pub const fn rounded_up(self) -> u64 {
        self.halves.div_ceil(2)
    }

    /// Returns the units as a float, for metrics.
    #[expect(clippy::cast_precision_loss, reason = "a metric is a float, and no call consumes 2^52 units")]
    pub fn as_f64(self) -> f64 {
        self.halves as f64 / 2.0
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "DynamoDB reports half units as a float"
    )]
    fn reported(units: Option<f64>) -> Self {
        Self { halves: (units.unwrap_or_default() * 2.0).round() as u64 }
    }
}

impl Add for Units {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { halves: self.halves + other.halves }
    }
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl fmt::Display for Units {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", self.halves / 2, if self.halves.is_multiple_of(2) { "" } else { ".5" })
    }
}

/// Consumed units of all calls with the same API action and the same table or index.
#[derive(Debug, Clone)]
pub struct Call {
    /// The API action, such as `Query`.
    pub action: &'static str,
    /// The key condition of the first call, as text.
    pub condition: Option<String>,
    /// The table.
    pub table: String,
    /// The index. `None` for the base table.
    pub index: Option<String>,
    /// Consumed read request units.
    pub read: Units,
    /// Consumed write request units.
    pub write: Units,
}

/// The DynamoDB usage of one invocation.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// One row for each combination of action and table or index.
    pub calls: Vec<Call>,
    /// Number of items and index entries that queries read, including items removed by a filter.
    pub scanned: u64,
    /// Number of retries of all calls.
    pub retries: u64,
    /// Number of failed conditions and transaction conflicts.
    pub conflicts: u64,
    /// Number of stored items that could not be deserialized.
    pub unreadable: u64,
    /// Type and key of the first of these items, at most [`MAX_UNREADABLE`].
    pub unreadable_items: Vec<(&'static str, Option<Key>)>,
    /// The tenant of the whole invocation ([`set_tenant`]).
    pub tenant: Option<String>,
    /// Consumed read and write request units of work for single tenants ([`for_tenant`]).
    pub tenants: BTreeMap<String, (Units, Units)>,
}

/// Maximum number of unreadable items whose keys one invocation reports.
pub const MAX_UNREADABLE: usize = 10;

struct Scope {
    deadline: Instant,
    usage: Arc<Mutex<Usage>>,
    tenant: Option<String>,
}

impl Scope {
    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

tokio::task_local! {
    static SCOPE: Arc<Scope>;
}

/// Runs `work` with a deadline for its DynamoDB calls. Returns the result of `work` and the usage
/// of the calls.
///
/// The deadline and the counts apply only to the current task. Tasks spawned by `work` have no
/// deadline, and their calls are not counted.
pub async fn measured<F: Future>(deadline: Instant, work: F) -> (F::Output, Usage) {
    let scope = Arc::new(Scope { deadline, usage: Arc::default(), tenant: None });
    let output = SCOPE.scope(Arc::clone(&scope), work).await;
    let usage = std::mem::take(&mut *scope.usage());
    (output, usage)
}

/// Runs `work` with a deadline that is earlier by `reserve`, or by half of the remaining time if
/// that is shorter. The caller can use the reserved time to check the outcome of `work`.
pub async fn with_reserved_time<F: Future>(reserve: Duration, work: F) -> F::Output {
    let outer = SCOPE.try_with(Arc::clone);
    let Ok(outer) = outer else { return work.await };
    let deadline = outer.deadline - reserve.min(until(outer.deadline) / 2);
    let (usage, tenant) = (Arc::clone(&outer.usage), outer.tenant.clone());
    SCOPE.scope(Arc::new(Scope { deadline, usage, tenant }), work).await
}

/// Runs `work` for a tenant. The units that its calls consume are also counted for this tenant. Use
/// this function if an invocation works for several tenants.
pub fn for_tenant<F: Future, T: fmt::Display>(tenant: &T, work: F) -> impl Future<Output = F::Output> + use<F, T> {
    let tenant = Some(tenant.to_string());
    async {
        let Ok(outer) = SCOPE.try_with(Arc::clone) else { return work.await };
        let usage = Arc::clone(&outer.usage);
        SCOPE.scope(Arc::new(Scope { deadline: outer.deadline, usage, tenant }), work).await
    }
}

/// Sets the tenant for which the whole invocation works.
pub fn set_tenant(tenant: &impl fmt::Display) {
    note(|usage| usage.tenant = Some(tenant.to_string()));
}

/// Returns the deadline of the invocation, or `None` outside of [`measured`].
pub(crate) fn deadline() -> Option<Instant> {
    SCOPE.try_with(|scope| scope.deadline).ok()
}

/// Returns the time until the deadline, or the maximum duration outside of [`measured`].
pub(crate) fn time_left() -> Duration {
    deadline().map_or(Duration::MAX, until)
}

#[expect(clippy::disallowed_methods, reason = "the runtime's clock, which bounds the calls")]
fn until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

pub(crate) fn note(change: impl FnOnce(&mut Usage)) {
    // Calls outside of an invocation are not counted.
    let _ = SCOPE.try_with(|scope| change(&mut scope.usage()));
}

/// Counts a stored item that could not be deserialized.
pub(crate) fn unreadable(item_type: &'static str, key: Option<Key>) {
    note(|usage| {
        usage.unreadable += 1;
        if usage.unreadable_items.len() < MAX_UNREADABLE {
            usage.unreadable_items.push((item_type, key));
        }
    });
}

/// Adds the consumed capacity in a response to the usage.
pub(crate) fn count<'a>(
    action: &'static str,
    condition: Option<&(dyn Fn() -> String + Sync)>,
    consumed: impl IntoIterator<Item = &'a ConsumedCapacity>,
) {
    let tenant = SCOPE.try_with(|scope| scope.tenant.clone()).ok().flatten();
    note(|usage| {
        for capacity in consumed {
            let table = capacity.table_name.as_deref().unwrap_or_default();
            let indexes = capacity.global_secondary_indexes.iter().flatten();
            let places = capacity.table.iter().map(|units| (None, units));
            for (index, units) in places.chain(indexes.map(|(index, units)| (Some(index.as_str()), units))) {
                let units = Units::reported(units.capacity_units);
                if units != Units::ZERO {
                    usage.add(action, condition, table, index, units);
                    usage.add_for(tenant.as_deref(), action, units);
                }
            }
        }
    });
}

impl Usage {
    fn add_for(&mut self, tenant: Option<&str>, action: &str, units: Units) {
        let Some(tenant) = tenant else { return };
        let (read, write) = self.tenants.entry(tenant.to_owned()).or_default();
        *(if writes(action) { write } else { read }) += units;
    }

    /// Adds the units to the row of this action and this table or index. Aggregated rows keep the
    /// log entry small.
    fn add(
        &mut self,
        action: &'static str,
        condition: Option<&(dyn Fn() -> String + Sync)>,
        table: &str,
        index: Option<&str>,
        units: Units,
    ) {
        let (read, write) = if writes(action) { (Units::ZERO, units) } else { (units, Units::ZERO) };
        let is_same = |call: &&mut Call| call.action == action && call.table == table && call.index.as_deref() == index;
        if let Some(call) = self.calls.iter_mut().find(is_same) {
            call.read += read;
            call.write += write;
        } else {
            let (table, index) = (table.to_owned(), index.map(str::to_owned));
            let condition = condition.map(|text| text());
            self.calls.push(Call { action, condition, table, index, read, write });
        }
    }
}

fn writes(action: &str) -> bool {
    !matches!(action, "GetItem" | "BatchGetItem" | "Query")
}

/// Counts all attempts of a call as retries, including the SDK's own retries. [`call`] subtracts
/// the first attempt.
#[derive(Debug)]
pub(crate) struct CountAttempts;

impl Intercept for CountAttempts {
    fn name(&self) -> &'static str {
        "CountAttempts"
    }

    fn read_before_attempt(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        note(|usage| usage.retries += 1);
        // Most calls are outside of `Attempts::during`.
        let _ = ATTEMPTS.try_with(|attempts| attempts.0.fetch_add(1, Ordering::Relaxed));
        Ok(())
    }
}

/// Counts the attempts of calls, including those of the SDK.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attempts(Arc<AtomicU64>);

tokio::task_local! {
    static ATTEMPTS: Attempts;
}

impl Attempts {
    /// Counts the attempts of the calls that `work` makes. An interceptor per call would execute
    /// 50,000 instructions more.
    pub(crate) async fn during<F: Future>(&self, work: F) -> F::Output {
        ATTEMPTS.scope(self.clone(), work).await
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
