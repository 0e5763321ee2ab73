//! The clock and the randomness of the operating system. Nothing else that a Lambda links reads them: clippy denies it.
#![expect(clippy::disallowed_methods, reason = "everyone else gets the time and the random source passed in")]

use jiff::Timestamp;
use keys::Random;
use std::io;
use tokio::time::Instant;

/// The time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The runtime's clock, for deadlines and latencies.
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// A random source that the operating system seeds. A process makes one.
///
/// # Errors
/// The system has no random bits.
pub fn system_random() -> io::Result<Random> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed)?;
    Ok(Random::new(seed))
}
