//! The history of each cart item is linearizable: its place and its quantity.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    super::{attribute, text},
    Pause, account_of,
    orders::checkout_of,
    stored::{Version, id_of, of_type, status_of, versions},
};
use crate::{
    linear::{Choices, Effect, Interval, Possible, is_linearizable},
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
    /// A response shows the item.
    Show(Line),
    /// A response does not find the item.
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

type Histories = BTreeMap<String, Vec<Interval<Effect<Operation>>>>;

fn quantity(body: &Value) -> u64 {
    body["quantity"].as_u64().unwrap_or_default()
}

/// The history of each cart item is linearizable.
pub(super) fn check(world: &World, history: &[Exchange], items: &[Value], pauses: &[Pause]) {
    let versions = versions(world);
    let mut lines = Histories::new();
    additions(history, &mut lines);
    for exchange in history {
        of_item(exchange, &mut lines);
    }
    for order in of_type(items, "OrderLines") {
        bought(history, order, &mut lines);
    }
    let last = |versions: &Vec<Version>| versions.last().map_or(0, |last| last.position);
    let mut in_order: Vec<_> = versions.iter().collect();
    in_order.sort_by_key(|(_, versions)| last(versions));
    for (id, versions) in in_order {
        joined(history, id, versions, &mut lines);
    }
    let unknown = unknown(history);
    for (id, mut intervals) in lines {
        for pause in pauses {
            intervals.push(Interval {
                begin: pause.begin,
                end: pause.end,
                operation: Effect::Certain(Operation::Expire),
            });
        }
        let known = versions.get(&id).and_then(|versions| versions.first());
        let of = known.map(|first| (first.account.as_str(), attribute(&first.image, "Sku")));
        if of.is_some_and(|of| unknown.contains(&of)) {
            continue;
        }
        if !is_linearizable::<Possible<Line>>(&intervals) {
            world.violation(format!("the cart item {id} is not linearizable: {intervals:?}"));
        }
    }
    for id in versions.keys().filter(|id| !world.violations().iter().any(|text| text.contains(*id))) {
        created(world, history, id, &versions[id], &unknown);
    }
}

/// Accounts and products with an addition whose outcome its client does not know.
fn unknown(history: &[Exchange]) -> BTreeSet<(&str, &str)> {
    let failed = history.iter().filter(|one| is_addition(one) && one.attempts > 1 && one.reply.status >= 400);
    failed.filter_map(|one| Some((account_of(&one.ask.path)?, text(one.ask.body.as_ref()?, "sku")))).collect()
}

fn is_addition(exchange: &Exchange) -> bool {
    exchange.ask.method == "POST" && exchange.ask.path.ends_with("/items")
}

/// Every item was created by a request or by a merge.
fn created(world: &World, history: &[Exchange], id: &str, versions: &[Version], unknown: &BTreeSet<(&str, &str)>) {
    let Some(first) = versions.first() else { return };
    let added = history.iter().any(|one| is_addition(one) && text(&one.reply.body, "itemId") == id);
    let of = (first.account.as_str(), attribute(&first.image, "Sku"));
    let may_merge =
        history.iter().any(|one| one.ask.path.ends_with("/merge") && account_of(&one.ask.path) == Some(of.0));
    if !added && !may_merge && !unknown.contains(&of) {
        world.violation(format!("nobody added the cart item {}", first.image));
    }
}

/// Adds the additions. Requests with the same key are one addition.
fn additions(history: &[Exchange], lines: &mut Histories) {
    let mut seen = BTreeMap::<(&str, &str), (u64, u64, &Exchange)>::new();
    for exchange in history.iter().filter(|one| is_addition(one) && matches!(one.reply.status, 200 | 201)) {
        let key = (exchange.ask.path.as_str(), exchange.ask.key.as_deref().unwrap_or(&exchange.label));
        let known = seen.entry(key).or_insert((exchange.begin, exchange.end, exchange));
        (known.0, known.1) = (known.0.min(exchange.begin), known.1.min(exchange.end));
    }
    for (begin, end, exchange) in seen.into_values() {
        let (body, after) = (&exchange.reply.body, quantity(&exchange.reply.body));
        let more = exchange.ask.body.as_ref().map(quantity).unwrap_or_default();
        let operation =
            if exchange.reply.status == 201 { Operation::Create(after) } else { Operation::Add(more, after) };
        lines.entry(text(body, "itemId").to_owned()).or_default().push(Interval {
            begin,
            end,
            operation: Effect::Certain(operation),
        });
    }
}

/// Adds the requests for single items.
fn of_item(exchange: &Exchange, lines: &mut Histories) {
    let Some((_, id)) = exchange.ask.path.split_once("/items/") else { return };
    let (begin, end) = (exchange.begin, exchange.end);
    let (body, asked) = (&exchange.reply.body, exchange.ask.body.as_ref());
    let shown = (Place::of(text(body, "status")), quantity(body));
    let mut push = |id: &str, operation| {
        let operation = Effect::Certain(operation);
        lines.entry(id.to_owned()).or_default().push(Interval { begin, end, operation });
    };
    let change = match exchange.ask.method {
        "PATCH" => {
            let status = asked.and_then(|asked| asked["status"].as_str()).map(Place::of);
            Some((asked.and_then(|asked| asked["quantity"].as_u64()), status))
        }
        _ => None,
    };
    match (exchange.reply.status, change) {
        (200, Some((number, status))) if text(body, "itemId") == id => {
            push(id, Operation::Set(number, status, Some(shown)));
        }
        // The item was merged into another one.
        (200, _) => push(text(body, "itemId"), Operation::Show(shown)),
        (204, _) => push(id, Operation::Remove),
        (404, _) => push(id, Operation::Miss),
        (409, _) if exchange.reply.problem() == "purchased" => push(id, Operation::ShowOrdered),
        _ => {}
    }
    if exchange.attempts > 1 && exchange.reply.status != 403 {
        let repeated = match (exchange.ask.method, change) {
            ("DELETE", _) => Operation::Remove,
            (_, Some((number, status))) => Operation::Set(number, status, None),
            _ => return,
        };
        let operation = Effect::Possible(repeated);
        lines.entry(id.to_owned()).or_default().push(Interval { begin, end: begin, operation });
    }
}

/// Adds the purchase of the items of an order.
fn bought(history: &[Exchange], lines_of: &Value, lines: &mut Histories) {
    let order = id_of(lines_of);
    let Some(checkout) = checkout_of(history, attribute(lines_of, "PK"), order) else { return };
    let end = if checkout.reply.status == 200 { checkout.end } else { u64::MAX };
    for line in lines_of["Lines"]["L"].as_array().into_iter().flatten() {
        let line = &line["M"];
        let operation = Effect::Certain(Operation::Buy(attribute(line, "Quantity").parse().unwrap_or_default()));
        let interval = Interval { begin: checkout.begin, end, operation };
        lines.entry(attribute(line, "Item").to_owned()).or_default().push(interval);
    }
}

/// Adds the merge of an item into another one, by a merge of carts or by its activation.
fn joined(history: &[Exchange], id: &str, versions: &[Version], lines: &mut Histories) {
    let Some(last) = versions.last().filter(|last| status_of(&last.image) == "JOINED") else { return };
    let (image, target) = (&last.image, attribute(&last.image, "JoinedTo"));
    let Some(before) = versions.iter().rev().nth(1) else { return };
    let from = (Place::of(status_of(&before.image)), attribute(&before.image, "Quantity").parse().unwrap_or_default());
    let more: u64 = attribute(image, "Quantity").parse().unwrap_or_default();
    let is_merge = from.0 == Place::Active;
    let causes = history.iter().filter(|one| {
        let asked = one.ask.body.as_ref();
        if is_merge {
            one.ask.path.ends_with("/merge") && asked.is_some_and(|body| text(body, "fromAccountId") == last.account)
        } else {
            one.ask.path.ends_with(id) && asked.is_some_and(|body| body["status"] == "ACTIVE")
        }
    });
    let causes: Vec<&Exchange> = causes.filter(|one| one.reply.status != 403).collect();
    let Some(begin) = causes.iter().map(|cause| cause.begin).min() else { return };
    let end = |cause: &&Exchange| if cause.attempts > 1 { u64::MAX } else { cause.end };
    let end = causes.iter().map(end).max().unwrap_or(u64::MAX);
    let arrived = lines.entry(target.to_owned()).or_default();
    let exists = arrived.iter().any(|one| matches!(one.operation, Effect::Certain(Operation::Create(_))));
    let operation = if is_merge && !exists { Operation::Create(more) } else { Operation::Grow(more) };
    arrived.push(Interval { begin, end, operation: Effect::Certain(operation) });
    lines.entry(id.to_owned()).or_default().push(Interval {
        begin,
        end,
        operation: Effect::Certain(Operation::Join(from)),
    });
}
