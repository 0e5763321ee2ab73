//! Rules of the stored items of the cart.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{attribute, each, minor, of_type};
use crate::{clock, world::World};

/// The last part of the sort key: the id of a cart item or an order.
pub(super) fn id_of(item: &Value) -> &str {
    attribute(item, "SK").rsplit('#').next().unwrap_or_default()
}

pub(super) fn status_of(item: &Value) -> &str {
    attribute(item, "SK").split('#').next().unwrap_or_default()
}

/// An amount in hundredths and its currency.
pub(super) fn price(item: &Value, name: &str) -> (i128, String) {
    let money = &item[name]["M"];
    (minor(attribute(money, "Amount")), attribute(money, "Currency").to_owned())
}

/// Whether the item has not expired.
fn is_live(item: &Value) -> bool {
    let expiry = item["ExpiresAt"]["N"].as_str().and_then(|at| at.parse::<i64>().ok());
    expiry.is_none_or(|at| at > clock::now().as_second())
}

/// The ids of a list of an account: cart items with a status that have not expired, or the orders.
pub(super) fn listed(items: &[Value], account: &str, status: &str) -> Vec<String> {
    let own = items.iter().filter(|item| attribute(item, "PK") == account);
    let own = own.filter(|item| match attribute(item, "Type") {
        "Order" => status == "orders",
        "CartItem" => status_of(item) == status && is_live(item),
        _ => false,
    });
    let mut sorts: Vec<&str> = own.map(|item| attribute(item, "SK")).collect();
    sorts.sort_unstable();
    sorts.iter().rev().map(|sort| sort.rsplit('#').next().unwrap_or_default().to_owned()).collect()
}

/// The ids of the orders of all accounts with a status, newest first.
pub(super) fn with_status(items: &[Value], status: &str) -> Vec<String> {
    let orders = of_type(items, "Order").filter(|order| attribute(order, "Status") == status);
    let mut ids: Vec<String> = orders.map(|order| id_of(order).to_owned()).collect();
    ids.sort_unstable_by(|one, other| other.cmp(one));
    ids
}

/// Each item is in one place, and all copies of a fact agree.
pub(super) fn check(world: &World, items: &[Value]) {
    let mut ids = BTreeSet::new();
    for item in of_type(items, "CartItem") {
        if !ids.insert(id_of(item)) {
            world.violation(format!("the cart item {} is stored twice", id_of(item)));
        }
    }
    check_contents(world, items);
    check_pointers(world, items);
    for order in of_type(items, "Order") {
        check_order(world, items, order);
    }
}

/// `CART` names the items of the cart with their versions.
fn check_contents(world: &World, items: &[Value]) {
    let mut entries = BTreeMap::new();
    for contents in of_type(items, "Cart") {
        let account = attribute(contents, "PK");
        for (sku, entry) in contents["Items"]["M"].as_object().into_iter().flatten() {
            entries.insert((account, sku.as_str()), entry["S"].as_str().unwrap_or_default());
        }
        if contents["Moving"]["M"].as_object().is_some_and(|moving| !moving.is_empty()) {
            world.violation(format!("the cart of {account} is still moving items: {contents}"));
        }
    }
    for item in of_type(items, "CartItem").filter(|item| status_of(item) == "ACTIVE" && is_live(item)) {
        let place = (attribute(item, "PK"), attribute(item, "Sku"));
        let wanted = format!("{}#{}", id_of(item), attribute(item, "Version"));
        if entries.remove(&place) != Some(wanted.as_str()) {
            world.violation(format!("the cart does not have the stored item {item}"));
        }
    }
    let expired: BTreeSet<&str> = of_type(items, "CartItem").filter(|item| !is_live(item)).map(id_of).collect();
    for (place, entry) in entries {
        let id = entry.split('#').next().unwrap_or_default();
        let stored = of_type(items, "CartItem").any(|item| id_of(item) == id);
        if stored && !expired.contains(id) {
            world.violation(format!("the cart has {entry} of {place:?}, which is not stored as ACTIVE"));
        }
    }
}

/// An item that has changed its status has a pointer.
fn check_pointers(world: &World, items: &[Value]) {
    let pointers = of_type(items, "CartPointer").map(|pointer| (id_of(pointer), attribute(pointer, "CartItem")));
    let pointers: BTreeMap<&str, &str> = pointers.collect();
    for item in of_type(items, "CartItem").filter(|item| item["Previous"].is_object() && is_live(item)) {
        let found = pointers.get(id_of(item));
        let is_removed = status_of(item) == "REMOVED" && found.is_none();
        if !is_removed && found != Some(&attribute(item, "SK")) {
            world.violation(format!("the pointer {found:?} does not lead to {item}"));
        }
    }
}

/// The total of an order is the sum of its lines, and each line has its cart item.
fn check_order(world: &World, items: &[Value], order: &Value) {
    let (account, id) = (attribute(order, "PK"), id_of(order));
    let is_own = |item: &&Value| attribute(item, "PK") == account;
    let all: Vec<_> = of_type(items, "OrderLines").filter(is_own).filter(|lines| id_of(lines) == id).collect();
    let [lines] = all[..] else {
        return world.violation(format!("the order {id} has {} items with lines", all.len()));
    };
    let wanted = match attribute(order, "Status") {
        "PLACED" => "PURCHASED",
        "DELIVERED" => "SHIPPED",
        status => status,
    };
    if attribute(order, "GSI2PK").split('#').next() != Some(attribute(order, "Status")) {
        world.violation(format!("the index entry of the order {id} has another status: {order}"));
    }
    let (total, currency) = price(order, "Total");
    let mut sum = 0;
    let own = of_type(items, "CartItem").filter(is_own).filter(|item| attribute(item, "OrderId") == id);
    let mut bought: BTreeMap<&str, &Value> = own.map(|item| (id_of(item), item)).collect();
    for line in each(&lines["Lines"], "L") {
        let line = &line["M"];
        let (amount, of_line) = price(line, "Price");
        sum += amount * attribute(line, "Quantity").parse::<i128>().unwrap_or_default();
        let Some(item) = bought.remove(attribute(line, "Item")) else {
            world.violation(format!("the line {line} of the order {id} has no cart item"));
            continue;
        };
        let is_same = attribute(item, "Quantity") == attribute(line, "Quantity")
            && attribute(item, "Sku") == attribute(line, "Sku")
            && price(item, "Price") == price(line, "Price")
            && status_of(item) == wanted
            && of_line == currency;
        if !is_same {
            world.violation(format!("the cart item {item} differs from its line {line} in {order}"));
        }
    }
    if sum != total {
        world.violation(format!("the order {id} has the total {total}, but its lines sum to {sum}"));
    }
    if !bought.is_empty() || order["Moving"].is_object() {
        world.violation(format!("the order {id} is moving, or has other cart items {:?}", bought.keys()));
    }
}

/// Versions of a cart item in the order of their writes, with their positions in the stream.
pub(super) type Versions = Vec<(i64, Value)>;

/// The versions of each cart item.
pub(super) fn versions(world: &World) -> BTreeMap<String, Versions> {
    let mut versions = BTreeMap::<String, Versions>::new();
    for (position, mut record) in world.changes("Cart") {
        let image = record["dynamodb"]["NewImage"].take();
        if image["Type"]["S"] == "CartItem" {
            versions.entry(id_of(&image).to_owned()).or_default().push((position, image));
        }
    }
    versions
}

/// No version of a cart item is lost or written twice, and each one continues the one before.
pub(super) fn check_versions(world: &World) {
    for (id, versions) in versions(world) {
        for (index, (_, image)) in versions.iter().enumerate() {
            if attribute(image, "Version") != (index + 1).to_string() {
                world.violation(format!("version {} of the cart item {id} is {image}", index + 1));
            }
            let Some(before) = index.checked_sub(1).map(|before| &versions[before].1) else { continue };
            let is_moved = status_of(before) != status_of(image);
            let previous = &image["Previous"]["M"];
            let same = |name: &str| before[name] == image[name];
            let is_next = same("PK") && same("Sku") && same("AddedAt");
            let is_move = attribute(previous, "Status") == status_of(before)
                && attribute(previous, "Quantity") == attribute(before, "Quantity");
            if !is_next || is_moved && !is_move {
                world.violation(format!("the cart item {image} does not continue {before}"));
            }
        }
    }
}
