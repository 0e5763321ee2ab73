//! What the people of each service do, and the rules that must hold.
use serde_json::Value;

use crate::case::Workload;

mod bank;
mod cart;
mod ledger;
mod plans;
mod wellness;

/// Names of all workloads.
pub(crate) const ALL: &[&str] = &["ledger", "bank", "cart", "wellness", "plans"];

/// The workload of a service.
pub(crate) fn of(service: &str) -> Option<Box<dyn Workload>> {
    match service {
        "bank" => Some(Box::new(bank::Payments::default())),
        "cart" => Some(Box::new(cart::Shop::default())),
        "ledger" => Some(Box::new(ledger::Books::default())),
        "plans" => Some(Box::new(plans::Programs::default())),
        "wellness" => Some(Box::new(wellness::Companies::default())),
        _ => None,
    }
}

/// A string or number attribute of a stored item.
fn attribute<'a>(item: &'a Value, name: &str) -> &'a str {
    let value = &item[name];
    value["S"].as_str().or_else(|| value["N"].as_str()).unwrap_or_default()
}

/// A text member of a body. Empty if it is missing.
fn text<'a>(body: &'a Value, member: &str) -> &'a str {
    body[member].as_str().unwrap_or_default()
}

/// A whole number of a body. 0 if it is missing.
fn number(body: &Value, member: &str) -> u64 {
    body[member].as_u64().unwrap_or_default()
}

/// A path segment after a name, such as the user after `/users/`.
fn after<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    path.split_once(name)?.1.split(['/', '?']).next()
}
