//! How long calls take that are made side by side.

use std::{
    future::Future,
    time::{Duration, Instant},
};

/// What a call took, in milliseconds.
pub(crate) async fn timed<T>(call: impl Future<Output = T>) -> (T, f64) {
    let start = Instant::now();
    let answer = call.await;
    (answer, millis(start.elapsed()))
}

/// In milliseconds, to the microsecond.
pub(crate) fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0
}

/// As JSON has it.
pub(crate) fn count(number: usize) -> u64 {
    u64::try_from(number).expect("a number")
}
