//! Tests of the bank over HTTP and through its functions.

mod amendments;
mod archive;
mod close;
mod close_ledger;
mod cost;
mod dispatch;
mod execution;
mod idempotency;
mod intake;
mod lists;
mod moves;
mod overdue;
mod recurrence;
mod requests;
mod service;
mod shards;
mod standing;
