//! Tests of the properties that every key must have.

mod golden;
mod laws;
mod ledger;
mod properties;
mod random;
mod totals;
mod wellness;
