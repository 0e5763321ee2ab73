//! What the people of each service do, and the rules that must hold.
use crate::case::Workload;

mod bank;
mod cart;
mod ledger;

/// Names of all workloads.
pub const ALL: &[&str] = &["ledger", "bank", "cart"];

/// The workload of a service.
#[must_use]
pub fn of(service: &str) -> Option<Box<dyn Workload>> {
    match service {
        "bank" => Some(Box::new(bank::Payments::default())),
        "cart" => Some(Box::new(cart::Shop::default())),
        "ledger" => Some(Box::new(ledger::Books::default())),
        _ => None,
    }
}
