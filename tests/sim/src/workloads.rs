//! What the people of each service do, and the rules that must hold.
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{
    draw::Draw,
    trace::lock,
    world::{Exchange, World},
};

mod bank;
mod cart;
mod ledger;
mod plans;
mod wellness;

#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) id: u32,
    pub(crate) client: u32,
    /// Pause before the step in milliseconds.
    pub(crate) pause: u64,
    pub(crate) action: Value,
}

/// What the clients of a service do, and the rules that must hold.
pub(crate) trait Workload: Send + Sync {
    fn stacks(&self) -> &'static [&'static str];

    fn action(&self, draw: &mut Draw) -> Value;

    fn steps(&self, draw: &mut Draw) -> u64 {
        draw.between(8, 30)
    }

    /// Creates the data that the clients use, without faults.
    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()>;

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()>;

    /// Ends the day of the service, without faults.
    fn finish<'a>(&'a self, _: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()>;
}

pub(crate) const ALL: &[&str] = &["ledger", "bank", "cart", "wellness", "plans"];

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

fn of_type<'a>(items: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    items.iter().filter(move |item| item["Type"]["S"] == kind)
}

/// A text member of a body. Empty if it is missing.
fn text<'a>(body: &'a Value, member: &str) -> &'a str {
    body[member].as_str().unwrap_or_default()
}

/// A whole number of a body. 0 if it is missing.
fn number(body: &Value, member: &str) -> u64 {
    body[member].as_u64().unwrap_or_default()
}

fn index(body: &Value, member: &str) -> usize {
    usize::try_from(number(body, member)).unwrap_or_default()
}

/// The elements of a list in a body. None if it is missing.
fn each<'a>(body: &'a Value, member: &'static str) -> impl Iterator<Item = &'a Value> {
    body[member].as_array().into_iter().flatten()
}

/// A path segment after a name, such as the user after `/users/`.
fn after<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    path.split_once(name)?.1.split(['/', '?']).next()
}

/// One of the newest values, so that several clients use the same one.
fn recent<T: Clone>(all: &[T], pick: usize, newest: usize) -> Option<T> {
    all.get(all.len().checked_sub(1 + pick % all.len().clamp(1, newest))?).cloned()
}

/// One of the newest values that clients know, by the `pick` of the action.
fn picked<T: Clone>(known: &Mutex<Vec<T>>, action: &Value, newest: usize) -> Option<T> {
    recent(&lock(known), index(action, "pick"), newest)
}

/// An amount in hundredths.
fn minor(amount: &str) -> i128 {
    let (sign, text) = amount.strip_prefix('-').map_or((1, amount), |text| (-1, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    sign * format!("{whole}{fraction:0<2}").parse::<i128>().unwrap_or_default()
}

/// An amount of hundredths as text.
fn cents(amount: u64) -> String {
    format!("{}.{:02}", amount / 100, amount % 100)
}
