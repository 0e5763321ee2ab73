//! The clock and random source of the operating system.
//!
//! Clippy denies both to all other code of a Lambda (docs/decisions/randomness.md).
#![expect(clippy::disallowed_methods, reason = "all other code receives the time and the random source as arguments")]

use jiff::Timestamp;
use keys::Random;
use std::io;
use tokio::time::Instant;

/// The current time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The runtime's clock, for deadlines and latencies.
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// Creates a random source that the operating system seeds. A process creates only one.
///
/// # Errors
/// Returns an error if the system has no random bits.
pub fn system_random() -> io::Result<Random> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    Ok(Random::new(seed))
}
