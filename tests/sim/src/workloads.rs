//! What the people of each service do, and the rules that must hold.
use crate::case::Workload;

mod ledger;

/// Names of all workloads.
pub const ALL: &[&str] = &["ledger"];

/// The workload of a service.
#[must_use]
pub fn of(service: &str) -> Option<Box<dyn Workload>> {
    match service {
        "ledger" => Some(Box::new(ledger::Books::default())),
        _ => None,
    }
}
