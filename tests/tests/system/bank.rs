//! Tests of the bank over HTTP and through its functions.

mod access;
mod archive;
mod batches;
mod close;
mod close_ledger;
mod cost;
mod day;
mod dispatch;
mod due_scale;
mod execution;
mod idempotency;
mod intake;
mod lists;
mod model;
mod moves;
mod overdue;
mod requests;
mod roles;
mod shards;
mod unreadable;
