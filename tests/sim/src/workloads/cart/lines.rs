//! The history of each cart item is linearizable: its place and its quantity.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{attribute, each, number, of_type, text},
    account_of,
    orders::checkout_of,
    stored::{Versions, id_of, status_of, versions},
};
use crate::{
    linear::{Choices, Effect, Histories},
    world::{Exchange, World},
};

/// Where a cart item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// The item does not exist yet.
    Absent,
    Active,
    Saved,
    Ordered,
    /// Removed, merged into another item, or expired.
    Gone,
}

impl Place {
    fn of(status: &str) -> Self {
        match status {
            "ACTIVE" => Self::Active,
            "SAVED" => Self::Saved,
            _ => Self::Ordered,
        }
    }

    fn is_open(self) -> bool {
        matches!(self, Self::Active | Self::Saved)
    }
}

type Line = (Place, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operation {
    /// The item appears in the cart.
    Create(u64),
    /// An addition increases the quantity. The response has the new quantity.
    Add(u64, u64),
    /// Another item is merged into this one.
    Grow(u64),
    /// A request sets the quantity, the status or both. The response has the result, if known.
    Set(Option<u64>, Option<Place>, Option<Line>),
    /// The item leaves the cart or the saved items.
    Remove,
    /// The item is merged into another item.
    Join(Line),
    /// A checkout buys the item.
    Buy(u64),
    Show(Line),
    Miss,
    /// A response says that the item was bought.
    ShowOrdered,
    /// The item expires, if it is in the cart.
    Expire,
}

impl Operation {
    fn apply(&self, (place, quantity): Line) -> Option<Line> {
        match self {
            Self::Create(new) => (place == Place::Absent).then_some((Place::Active, *new)),
            Self::Add(more, after) => (place == Place::Active && quantity + more == *after).then_some((place, *after)),
            Self::Grow(more) => (place == Place::Active).then_some((place, quantity + more)),
            Self::Set(number, to, result) => {
                let new = (to.unwrap_or(place), number.unwrap_or(quantity));
                // A request that changes nothing also succeeds for an item that was bought.
                if place == Place::Ordered && new == (place, quantity) && *result == Some(new) {
                    return Some(new);
                }
                (place.is_open() && result.is_none_or(|result| result == new)).then_some(new)
            }
            Self::Remove => place.is_open().then_some((Place::Gone, quantity)),
            Self::Join(from) => {
                // An activation can set the quantity of the item that it merges.
                let is_same = place == from.0 && (place == Place::Saved || quantity == from.1);
                is_same.then_some((Place::Gone, quantity))
            }
            Self::Buy(bought) => (place == Place::Active && quantity == *bought).then_some((Place::Ordered, quantity)),
            Self::Show(line) => (*line == (place, quantity)).then_some(*line),
            Self::Miss => matches!(place, Place::Absent | Place::Gone).then_some((place, quantity)),
            Self::ShowOrdered => (place == Place::Ordered).then_some((place, quantity)),
            Self::Expire if place == Place::Active => Some((Place::Gone, quantity)),
            Self::Expire => Some((place, quantity)),
        }
    }
}

impl Choices for Line {
    type State = Self;
    type Operation = Operation;

    fn init() -> Self {
        (Place::Absent, 0)
    }

    fn after(operation: &Operation, line: &Self) -> Option<Self> {
        operation.apply(*line)
    }
}

fn name(id: &str) -> String {
    format!("cart item {id}")
}

/// The history of each cart item is linearizable.
pub(super) fn check(world: &World, history: &[Exchange], items: &[Value], pauses: &[(u64, u64)]) {
    let versions = versions(world);
    let mut lines = Histories::<Line>::new();
    additions(history, &mut lines);
    for exchange in history {
        of_item(exchange, &mut lines);
    }
    for order in of_type(items, "OrderLines") {
        bought(history, order, &mut lines);
    }
    let mut in_order: Vec<_> = versions.iter().collect();
    in_order.sort_by_key(|(_, versions)| versions.last().map(|(position, _)| *position));
    for (id, versions) in in_order {
        joined(history, id, versions, &mut lines);
    }
    let names: Vec<String> = lines.0.keys().cloned().collect();
    for (name, pause) in names.iter().flat_map(|name| pauses.iter().map(move |pause| (name, pause))) {
        lines.push(name, *pause, Operation::Expire);
    }
    let unknown = unknown(history);
    for (id, versions) in &versions {
        if unknown.contains(&place_of(versions)) {
            lines.0.remove(&name(id));
        }
    }
    lines.check(world);
    for (id, versions) in &versions {
        if !world.violations().iter().any(|text| text.contains(id)) {
            created(world, history, id, versions, &unknown);
        }
    }
}

/// Account and product of a cart item.
fn place_of(versions: &Versions) -> (&str, &str) {
    versions.first().map_or(("", ""), |(_, first)| (attribute(first, "PK"), attribute(first, "Sku")))
}

/// Accounts and products with an addition whose outcome its client does not know.
fn unknown(history: &[Exchange]) -> BTreeSet<(&str, &str)> {
    let failed = history.iter().filter(|one| is_addition(one) && one.attempts > 1 && one.reply.status >= 400);
    failed.filter_map(|one| Some((account_of(&one.ask.path)?, text(&one.ask.body, "sku")))).collect()
}

fn is_addition(exchange: &Exchange) -> bool {
    exchange.ask.method == "POST" && exchange.ask.path.ends_with("/items")
}

/// Every item was created by a request or by a merge.
fn created(world: &World, history: &[Exchange], id: &str, versions: &Versions, unknown: &BTreeSet<(&str, &str)>) {
    let Some((_, first)) = versions.first() else { return };
    let place = place_of(versions);
    let added = history.iter().any(|one| is_addition(one) && text(&one.reply.body, "itemId") == id);
    let is_merge = |one: &Exchange| one.ask.path.ends_with("/merge") && account_of(&one.ask.path) == Some(place.0);
    if !added && !history.iter().any(is_merge) && !unknown.contains(&place) {
        world.violation(format!("nobody added the cart item {first}"));
    }
}

/// Adds the additions. Requests with the same key are one addition.
fn additions(history: &[Exchange], lines: &mut Histories<Line>) {
    let mut seen = BTreeMap::<(&str, &str), (u64, u64, &Exchange)>::new();
    for exchange in history.iter().filter(|one| is_addition(one) && matches!(one.reply.status, 200 | 201)) {
        let key = (exchange.ask.path.as_str(), exchange.ask.key.as_deref().unwrap_or(&exchange.label));
        let known = seen.entry(key).or_insert((exchange.begin, exchange.end, exchange));
        (known.0, known.1) = (known.0.min(exchange.begin), known.1.min(exchange.end));
    }
    for (begin, end, exchange) in seen.into_values() {
        let (body, after) = (&exchange.reply.body, number(&exchange.reply.body, "quantity"));
        let more = number(&exchange.ask.body, "quantity");
        let operation =
            if exchange.reply.status == 201 { Operation::Create(after) } else { Operation::Add(more, after) };
        lines.push(&name(text(body, "itemId")), (begin, end), operation);
    }
}

/// Adds the requests for single items.
fn of_item(exchange: &Exchange, lines: &mut Histories<Line>) {
    let Some((_, id)) = exchange.ask.path.split_once("/items/") else { return };
    let (body, asked) = (&exchange.reply.body, &exchange.ask.body);
    let shown = (Place::of(text(body, "status")), number(body, "quantity"));
    let change = (asked["quantity"].as_u64(), asked["status"].as_str().map(Place::of));
    let (is_patch, is_same) = (exchange.ask.method == "PATCH", text(body, "itemId") == id);
    let outcome = match exchange.reply.status {
        200 if is_patch && is_same => Some(Operation::Set(change.0, change.1, Some(shown))),
        200 => {
            // The item can have been merged into another one.
            lines.add(&name(text(body, "itemId")), exchange, Operation::Show(shown));
            None
        }
        204 => Some(Operation::Remove),
        404 => Some(Operation::Miss),
        409 if exchange.reply.problem() == "purchased" => Some(Operation::ShowOrdered),
        _ => None,
    };
    let attempt = match exchange.ask.method {
        "DELETE" => Some(Operation::Remove),
        "PATCH" => Some(Operation::Set(change.0, change.1, None)),
        _ => None,
    };
    lines.write(&name(id), exchange, outcome, attempt.filter(|_| exchange.reply.status != 403));
}

/// Adds the purchase of the items of an order.
fn bought(history: &[Exchange], lines_of: &Value, lines: &mut Histories<Line>) {
    let order = id_of(lines_of);
    let Some(checkout) = checkout_of(history, attribute(lines_of, "PK"), order) else { return };
    let end = if checkout.reply.status == 200 { checkout.end } else { u64::MAX };
    for line in each(&lines_of["Lines"], "L").map(|line| &line["M"]) {
        let operation = Operation::Buy(attribute(line, "Quantity").parse().unwrap_or_default());
        lines.push(&name(attribute(line, "Item")), (checkout.begin, end), operation);
    }
}

/// Adds the merge of an item into another one, by a merge of carts or by its activation.
fn joined(history: &[Exchange], id: &str, versions: &Versions, lines: &mut Histories<Line>) {
    let [.., (_, before), (_, image)] = &versions[..] else { return };
    if status_of(image) != "JOINED" {
        return;
    }
    let quantity = |image: &Value| attribute(image, "Quantity").parse::<u64>().unwrap_or_default();
    let from = (Place::of(status_of(before)), quantity(before));
    let is_merge = from.0 == Place::Active;
    let causes = history.iter().filter(|one| {
        if is_merge {
            one.ask.path.ends_with("/merge") && text(&one.ask.body, "fromAccountId") == attribute(image, "PK")
        } else {
            one.ask.path.ends_with(id) && one.ask.body["status"] == "ACTIVE"
        }
    });
    let causes: Vec<&Exchange> = causes.filter(|one| one.reply.status != 403).collect();
    let Some(begin) = causes.iter().map(|cause| cause.begin).min() else { return };
    let end = |cause: &&Exchange| if cause.attempts > 1 { u64::MAX } else { cause.end };
    let end = causes.iter().map(end).max().unwrap_or(u64::MAX);
    let target = name(attribute(image, "JoinedTo"));
    let mut arrived = lines.0.get(&target).into_iter().flatten();
    let exists = arrived.any(|one| matches!(one.2, Effect::Certain(Operation::Create(_))));
    let more = quantity(image);
    let operation = if is_merge && !exists { Operation::Create(more) } else { Operation::Grow(more) };
    lines.push(&target, (begin, end), operation);
    lines.push(&name(id), (begin, end), Operation::Join(from));
}
