use crate::Error;
use aws_sdk_dynamodb::{
    config::{ConfigBag, Intercept, RuntimeComponents, interceptors::BeforeTransmitInterceptorContextRef},
    error::{BoxError, SdkError},
    types::ConsumedCapacity,
};
use std::{
    fmt,
    ops::{Add, AddAssign},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, timeout_at};

/// A number of read or write units. The precision is half a unit, which is the cost of an
/// eventually consistent read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash)]
pub struct Units {
    halves: u64,
}

impl Units {
    /// Zero units.
    pub const ZERO: Self = Self { halves: 0 };

    /// A number of whole units.
    #[must_use]
    pub const fn whole(units: u64) -> Self {
        Self { halves: units * 2 }
    }

    /// A number of half units.
    #[must_use]
    pub const fn halves(halves: u64) -> Self {
        Self { halves }
    }

    /// Multiplies the units.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self { halves: self.halves * count }
    }

    /// The units as a number, for metrics.
    #[must_use]
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

/// The units that all calls of one API action consumed on one table or index.
#[derive(Debug, Clone)]
pub struct Call {
    /// The API action, such as `Query`.
    pub action: &'static str,
    /// The key condition of the first call, in readable form.
    pub condition: Option<String>,
    /// The table.
    pub table: String,
    /// The index. `None` for the base table.
    pub index: Option<String>,
    /// Consumed read units.
    pub read: Units,
    /// Consumed write units.
    pub write: Units,
}

/// The DynamoDB usage of one invocation.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// One row per action and table or index, regardless of the number of calls.
    pub calls: Vec<Call>,
    /// Number of items and index entries that queries read, including those that a filter removed.
    pub scanned: u64,
    /// Number of attempts after the first one of each call.
    pub retries: u64,
    /// Number of failed conditions and transaction conflicts.
    pub conflicts: u64,
}

struct Scope {
    deadline: Instant,
    usage: Arc<Mutex<Usage>>,
}

impl Scope {
    fn usage(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

tokio::task_local! {
    static SCOPE: Arc<Scope>;
}

/// Runs `work` with a deadline for the calls that it makes. Returns the result of `work` and the
/// usage of these calls.
///
/// The deadline and the counts apply to the current task. Calls on other tasks that `work` spawns
/// have no deadline and are not counted.
pub async fn measured<F: Future>(deadline: Instant, work: F) -> (F::Output, Usage) {
    let scope = Arc::new(Scope { deadline, usage: Arc::default() });
    let output = SCOPE.scope(Arc::clone(&scope), work).await;
    let usage = std::mem::take(&mut *scope.usage());
    (output, usage)
}

/// Runs `work` with an earlier deadline, so that the time `reserve` remains before the deadline of
/// [`measured`]. In this time the caller can check the outcome of `work`.
pub async fn with_reserved_time<F: Future>(reserve: Duration, work: F) -> F::Output {
    let outer = SCOPE.try_with(Arc::clone);
    let Ok(outer) = outer else { return work.await };
    let deadline = outer.deadline - reserve.min(until(outer.deadline) / 2);
    SCOPE.scope(Arc::new(Scope { deadline, usage: Arc::clone(&outer.usage) }), work).await
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

/// Sends one call, bounded by the deadline.
///
/// The future is boxed because its size is several KB. Without the box, moving the future through
/// all callers took up to a third of our own instructions.
pub(crate) fn call<T, E>(
    request: impl Future<Output = Result<T, SdkError<E>>>,
) -> impl Future<Output = Result<T, Error>>
where
    aws_sdk_dynamodb::Error: From<E>,
    E: std::error::Error + 'static,
{
    let request = Box::pin(request);
    async {
        let answer = match deadline() {
            Some(deadline) => timeout_at(deadline, request).await.ok(),
            None => Some(request.await),
        };
        note(|usage| usage.retries = usage.retries.saturating_sub(1));
        answer.ok_or_else(|| Error::Unavailable("the deadline passed".to_owned()))?.map_err(Error::classify)
    }
}

pub(crate) fn note(change: impl FnOnce(&mut Usage)) {
    // Calls outside of an invocation are not counted.
    let _ = SCOPE.try_with(|scope| change(&mut scope.usage()));
}

/// Adds the consumed capacity in a response to the usage.
pub(crate) fn count<'a>(
    action: &'static str,
    condition: Option<&(dyn Fn() -> String + Sync)>,
    consumed: impl IntoIterator<Item = &'a ConsumedCapacity>,
) {
    note(|usage| {
        for capacity in consumed {
            let table = capacity.table_name.as_deref().unwrap_or_default();
            let indexes = capacity.global_secondary_indexes.iter().flatten();
            let places = capacity.table.iter().map(|units| (None, units));
            for (index, units) in places.chain(indexes.map(|(index, units)| (Some(index.as_str()), units))) {
                let units = Units::reported(units.capacity_units);
                if units != Units::ZERO {
                    usage.add(action, condition, table, index, units);
                }
            }
        }
    });
}

impl Usage {
    /// Adds the units to the row of the action and the table or index. One row for all calls keeps
    /// the log entry small.
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

/// Counts the attempts of each call, including the SDK's retries. [`call`] subtracts the first
/// attempt.
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
        Ok(())
    }
}
