//! Tests of the cart over HTTP and through its functions.

mod cost;
mod expiry;
mod idempotency;
mod lists;
mod merge;
mod model;
mod orders;
mod orders_by_status;
mod products;
