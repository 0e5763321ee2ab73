//! Tests of the ledger over HTTP and through its functions.

mod account_limit;
mod batches;
mod closing;
mod concurrency;
mod cost;
mod faults;
mod foreign;
mod grouped;
mod history;
mod holds;
mod lists;
mod pages;
mod reconciliation;
mod references;
mod refunds;
mod requests;
mod shards;
mod statements;
mod totals;
mod transfers;
mod unreadable;
mod values;
