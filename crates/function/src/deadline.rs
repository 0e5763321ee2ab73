use crate::system;
use lambda_runtime::Context;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::{Instant, timeout_at};

/// The time by which an invocation must respond, or by which a part of the work must end.
///
/// Handlers do not read the clock. They call the methods of the deadline instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Returns the deadline of an invocation: Lambda's timeout minus a margin for the response.
    pub(crate) fn of(context: &Context) -> Self {
        const MARGIN: Duration = Duration::from_millis(300);
        // `cargo lambda watch` always reports a deadline ten minutes after the Unix epoch.
        const FIRST_DAY: Duration = Duration::from_hours(24);
        const UNKNOWN: Duration = Duration::from_secs(30);
        let since = Duration::from_millis(context.deadline);
        let left = match (UNIX_EPOCH + since).duration_since(SystemTime::from(system::now())) {
            Ok(left) => left,
            Err(_) if since < FIRST_DAY => UNKNOWN,
            Err(_) => Duration::ZERO,
        };
        Self(system::instant() + left.saturating_sub(MARGIN.min(left / 4)))
    }

    /// Returns a deadline after `budget`.
    pub fn after(budget: Duration) -> Self {
        Self(system::instant() + budget)
    }

    pub(crate) fn instant(self) -> Instant {
        self.0
    }

    fn left(self) -> Duration {
        self.0.saturating_duration_since(system::instant())
    }

    /// Returns a deadline that is earlier by `reserve`, but at most by a quarter of the remaining
    /// time.
    pub fn with_reserve(self, reserve: Duration) -> Self {
        Self(self.0 - reserve.min(self.left() / 4))
    }

    /// Returns this deadline, or a deadline after `budget` if that is earlier.
    pub fn at_most(self, budget: Duration) -> Self {
        self.min(Self::after(budget))
    }

    /// Whether the deadline has passed. No work may start after the deadline.
    pub fn has_passed(self) -> bool {
        self.left().is_zero()
    }

    /// Whether a pause that starts now ends before the deadline.
    pub fn allows(self, pause: Duration) -> bool {
        pause < self.left()
    }

    /// Runs `work` until the deadline. Returns `None` if the work did not finish in time.
    ///
    /// The future of `work` is boxed because SDK calls take several KB. Without the box, every
    /// caller's future would include these bytes.
    pub fn bound<F: Future>(self, work: F) -> impl Future<Output = Option<F::Output>> {
        let work = Box::pin(timeout_at(self.0, work));
        async { work.await.ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_milliseconds(milliseconds: u64) -> Deadline {
        let mut context = Context::default();
        context.deadline = milliseconds;
        Deadline::of(&context)
    }

    #[tokio::test]
    async fn replaces_a_deadline_in_1970_by_a_default() {
        assert!(in_milliseconds(600_000).allows(Duration::from_secs(20)));
        assert!(in_milliseconds(1_500_000_000_000).has_passed());
    }

    #[tokio::test]
    async fn reserve_is_at_most_a_quarter_of_the_time_left() {
        let deadline = Deadline(system::instant() + Duration::from_hours(4));
        let hours = |reserve| {
            let earlier = deadline.with_reserve(Duration::from_mins(reserve));
            (deadline.0 - earlier.0).as_secs_f64() / 3_600.0
        };
        assert!((hours(30) - 0.5).abs() < 1e-9 && (0.9..=1.0).contains(&hours(90)), "{} {}", hours(30), hours(90));
    }

    #[tokio::test]
    async fn budget_never_extends_the_deadline() {
        let (soon, later) = [1, 100].map(|hours| Deadline(system::instant() + Duration::from_hours(hours))).into();
        let budget = Duration::from_hours(50);
        assert!(soon.at_most(budget) == soon && later.at_most(budget) < later);
    }

    #[tokio::test]
    async fn work_ends_at_the_deadline() {
        let (passed, later) = (Deadline(system::instant()), Deadline(system::instant() + Duration::from_hours(1)));
        assert_eq!(passed.bound(std::future::pending::<()>()).await, None);
        assert_eq!(later.bound(async { 1 }).await, Some(1));
        assert!(passed.has_passed() && !later.has_passed());
        assert!(later.allows(Duration::from_mins(59)) && !later.allows(Duration::from_mins(61)));
    }
}
