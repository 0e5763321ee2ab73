//! Tests of the bank over HTTP and through its functions.

mod archive;
mod batches;
mod close;
mod close_ledger;
mod cost;
mod day;
mod dispatch;
mod execution;
mod idempotency;
mod intake;
mod lists;
mod moves;
mod overdue;
mod requests;
mod roles;
mod shards;
