//! Measures the duration of calls.

use std::{
    future::Future,
    time::{Duration, Instant},
};

/// Returns the result of a call and its duration in milliseconds.
pub(crate) async fn timed<T>(call: impl Future<Output = T>) -> (T, f64) {
    let start = Instant::now();
    let answer = call.await;
    (answer, millis(start.elapsed()))
}

/// Converts a duration to milliseconds, rounded to microseconds.
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// Converts a count to a JSON number.
pub(crate) fn count(number: usize) -> u64 {
    u64::try_from(number).expect("a number")
}
