//! Tests of the cart over HTTP and through its functions.
#![expect(clippy::expect_used, reason = "a test may panic")]

mod concurrency;
mod cost;
mod expiry;
mod idempotency;
mod isolation;
mod lists;
mod merge;
mod model;
mod orders;
mod products;
mod random;
mod requests;
mod unreadable;
