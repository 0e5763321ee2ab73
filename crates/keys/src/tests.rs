//! The laws that every key obeys.

mod laws;
mod ledger;
mod properties;
mod random;
mod wellness;
