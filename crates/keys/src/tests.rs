//! Tests of the properties that every key must have.

mod laws;
mod ledger;
mod properties;
mod random;
mod totals;
mod wellness;
