//! The clock and the random source of the operating system.
//!
//! Clippy denies access to either of them in all other Lambda code (docs/decisions/randomness.md).
#![expect(clippy::disallowed_methods, reason = "all other code receives the time and the random source as arguments")]

use jiff::Timestamp;
use keys::Random;
use std::{cell::Cell, io};
use tokio::time::Instant;

thread_local! {
    static CLOCK: Cell<fn() -> Timestamp> = const { Cell::new(Timestamp::now) };
}

/// The current time. Outside this crate, only the local stack and the simulation call this
/// function.
pub fn now() -> Timestamp {
    CLOCK.get()()
}

/// Replaces the clock of this thread, for the simulation (docs/simulation.md).
pub fn set_clock(clock: fn() -> Timestamp) {
    CLOCK.set(clock);
}

/// The monotonic clock, for deadlines and latencies.
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Creates a random source with a seed from the operating system. A process creates only one.
///
/// # Errors
/// Returns an error if the operating system provides no random bytes.
pub fn system_random() -> io::Result<Random> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    Ok(Random::new(seed))
}
