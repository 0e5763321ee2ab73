//! The virtual clock of a thread, for a runtime whose time is paused. Tokio advances it when no
//! task can run.
use std::cell::Cell;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

thread_local! {
    static START: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
}

/// Starts the clock of this thread at a time.
pub fn start(at: Timestamp) {
    START.set(Some((Instant::now(), at)));
    function::set_clock(now);
}

/// Moves the clock forward, without the timers. The services see a long pause.
pub fn jump(by: SignedDuration) {
    if let Some((start, at)) = START.get() {
        START.set(Some((start, at + by)));
    }
}

/// The current virtual time.
pub fn now() -> Timestamp {
    let Some((start, at)) = START.get() else { return Timestamp::UNIX_EPOCH };
    at + SignedDuration::try_from(Instant::now() - start).unwrap_or_default()
}

/// Milliseconds of virtual run time, without jumps.
pub fn elapsed() -> u128 {
    START.get().map_or(0, |(start, _)| (Instant::now() - start).as_millis())
}
