//! Orders: each is the success of one checkout, at the prices of that time, and its status only
//! moves forward.
use serde_json::Value;

use super::{
    super::{attribute, each, minor, number, of_type, text},
    account_of,
    stored::{id_of, price},
};
use crate::{
    linear::{Choices, Histories},
    world::{Exchange, World},
};

pub(super) const STATUSES: [&str; 4] = ["PLACED", "SHIPPED", "DELIVERED", "CANCELLED"];

pub(super) fn is_checkout(exchange: &Exchange) -> bool {
    exchange.ask.method == "POST" && exchange.ask.path.ends_with("/checkout")
}

/// The checkout that placed the order, or one whose outcome its client does not know.
pub(super) fn checkout_of<'a>(history: &'a [Exchange], account: &str, order: &str) -> Option<&'a Exchange> {
    let mut own = history.iter().filter(|one| is_checkout(one) && account_of(&one.ask.path) == Some(account));
    let unknown = own.clone().find(|one| one.reply.status != 200 && one.attempts > 1);
    own.find(|one| one.reply.status == 200 && text(&one.reply.body, "orderId") == order).or(unknown)
}

pub(super) fn check(world: &World, history: &[Exchange], items: &[Value]) {
    for exchange in history.iter().filter(|one| is_checkout(one) && one.reply.status == 200) {
        check_answer(world, exchange, items);
    }
    for order in of_type(items, "Order") {
        let (account, id) = (attribute(order, "PK"), id_of(order));
        match checkout_of(history, account, id) {
            None => world.violation(format!("the order {id} of {account} was placed, but its request was refused")),
            Some(exchange) if exchange.reply.status == 200 => check_prices(world, history, exchange),
            Some(_) => {}
        }
    }
    check_status(world, history);
    check_lists(world, history);
}

/// Each page of the orders with a status has only such orders, newest first. A list can lag, so
/// only the last one has to be complete.
fn check_lists(world: &World, history: &[Exchange]) {
    for exchange in history.iter().filter(|one| one.ask.path.starts_with("/cart/orders?") && one.reply.status == 200) {
        let query = exchange.ask.path.split_once("status=").map(|(_, rest)| rest.split('&').next());
        let listed: Vec<&Value> = each(&exchange.reply.body, "items").collect();
        let is_newest_first = listed.is_sorted_by(|one, other| text(one, "orderId") > text(other, "orderId"));
        if !is_newest_first || listed.iter().any(|order| Some(order["status"].as_str()) != query) {
            world.violation(format!("{}: the list of {query:?} is {listed:?}", exchange.label));
        }
    }
}

/// The order of a response is stored, and has the expected total.
fn check_answer(world: &World, exchange: &Exchange, items: &[Value]) {
    let body = &exchange.reply.body;
    let id = text(body, "orderId");
    let Some(order) = of_type(items, "Order").find(|order| id_of(order) == id) else {
        return world.violation(format!("{}: the acknowledged order {id} is not stored", exchange.label));
    };
    let lines = each(body, "items");
    let sum: i128 = lines.map(|line| minor(text(line, "price")) * i128::from(number(line, "quantity"))).sum();
    let total = minor(text(body, "total"));
    let is_stored = price(order, "Total") == (total, text(body, "currency").to_owned());
    if total != sum || !is_stored || body["status"] != "PLACED" {
        world.violation(format!("{}: the order {body} is not {order}", exchange.label));
    }
    let expected = exchange.ask.body["expectedTotal"].as_str();
    if expected.is_some_and(|expected| minor(expected) != total) {
        world.violation(format!("{}: bought for {total} instead of {expected:?}", exchange.label));
    }
}

/// Each line has a price that its product had during the checkout.
fn check_prices(world: &World, history: &[Exchange], checkout: &Exchange) {
    for line in each(&checkout.reply.body, "items") {
        let path = format!("/cart/products/{}", text(line, "sku"));
        let puts = history.iter().filter(|one| one.ask.method == "PUT" && one.ask.path == path);
        let puts: Vec<&Exchange> = puts.filter(|one| matches!(one.reply.status, 200 | 201)).collect();
        let is_current = |put: &&Exchange| {
            let is_replaced = puts.iter().any(|later| put.end < later.begin && later.end < checkout.begin);
            let product = &put.ask.body;
            put.begin < checkout.end
                && !is_replaced
                && product["active"] != false
                && minor(text(product, "price")) == minor(text(line, "price"))
                && product["currency"] == checkout.reply.body["currency"]
        };
        // The products of a large cart have one price.
        if !puts.is_empty() && !puts.iter().any(is_current) {
            let puts: Vec<_> = puts.iter().map(|put| (put.begin, put.end, &put.ask.body)).collect();
            world.violation(format!("{}: the line {line} has no price of {puts:?}", checkout.label));
        }
    }
}

struct Life;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum LifeOperation {
    /// A request sets the status, or finds it set.
    Set(String),
    Show(String),
    /// The status does not allow the request.
    Refuse(String),
}

fn can_become(from: &str, to: &str) -> bool {
    matches!((from, to), ("PLACED", "SHIPPED" | "CANCELLED") | ("SHIPPED", "DELIVERED"))
}

impl Choices for Life {
    type State = String;
    type Operation = LifeOperation;

    fn init() -> String {
        "PLACED".to_owned()
    }

    fn after(operation: &LifeOperation, state: &String) -> Option<String> {
        match operation {
            LifeOperation::Set(to) => (state == to || can_become(state, to)).then(|| to.clone()),
            LifeOperation::Show(status) => (status == state).then(|| state.clone()),
            LifeOperation::Refuse(to) => (state != to && !can_become(state, to)).then(|| state.clone()),
        }
    }
}

/// The history of each order's status is linearizable.
fn check_status(world: &World, history: &[Exchange]) {
    let mut orders = Histories::<Life>::new();
    for exchange in history.iter().filter(|one| one.ask.path.contains("/orders/")) {
        let name = format!("status of order {}", exchange.ask.path.rsplit('/').next().unwrap_or_default());
        let wanted = exchange.ask.body["status"].as_str().map(str::to_owned);
        let operation = match (exchange.reply.status, wanted.clone()) {
            (200, Some(status)) => LifeOperation::Set(status),
            (200, None) => LifeOperation::Show(text(&exchange.reply.body, "status").to_owned()),
            (409, Some(status)) => LifeOperation::Refuse(status),
            _ => continue,
        };
        // An attempt without a response may have set the status before.
        orders.write(&name, exchange, Some(operation), wanted.map(LifeOperation::Set));
    }
    orders.check(world);
}
