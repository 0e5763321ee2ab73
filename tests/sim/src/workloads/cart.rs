//! The cart: customers, a guest whose cart is merged, the product team, and expiry.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::{BoxFuture, join_all};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::{sync::RwLock, time::sleep};

use super::{number, text};
use crate::{
    case::{Step, Workload},
    clock,
    draw::Draw,
    world::{Ask, Caller, Exchange, Reply, World, lock},
};

mod lines;
mod orders;
mod stored;

/// Ann owns her account and the cart of a guest. Bob owns one account.
const ACCOUNTS: [&str; 3] = ["ann", "guest", "bob"];
const SKUS: usize = 5;
/// Days after which every item in a cart has expired (parameter `CartDays`, and one day).
const LONG: i64 = 32;

/// State of a case.
#[derive(Debug, Default)]
pub(super) struct Shop {
    items: Mutex<Vec<(String, String)>>,
    orders: Mutex<Vec<(String, String)>>,
    /// Last known total of each account's cart, as a customer sees it.
    totals: Mutex<BTreeMap<String, String>>,
    /// Requests hold it shared. A pause of days holds it alone.
    gate: RwLock<()>,
    pauses: Mutex<Vec<Pause>>,
    /// Labels of the requests that must be refused.
    trespasses: Mutex<BTreeSet<String>>,
}

/// A pause in which every item in a cart expires.
#[derive(Debug, Clone, Copy)]
struct Pause {
    begin: u64,
    end: u64,
}

fn operator() -> Caller {
    Caller::new("operator", json!({"sub": "operator", "scope": "cart:operate"}))
}

fn customer(name: &str, accounts: &[&str]) -> Caller {
    Caller::new(name, json!({"sub": name, "scope": "cart:read cart:write", "account_ids": accounts.join(" ")}))
}

/// The customer who owns the account.
fn owner(account: &str) -> Caller {
    if account == "bob" { customer("bob", &["bob"]) } else { customer("ann", &["ann", "guest"]) }
}

/// A customer who does not own the account.
fn stranger(account: &str) -> Caller {
    owner(if account == "bob" { "ann" } else { "bob" })
}

/// An amount in hundredths.
fn minor(amount: &str) -> i128 {
    let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
    format!("{whole}{fraction:0<2}").parse().unwrap_or_default()
}

/// The account of a path below `/cart/accounts`.
fn account_of(path: &str) -> Option<&str> {
    path.strip_prefix("/cart/accounts/")?.split(['/', '?']).next()
}

impl Workload for Shop {
    fn stacks(&self) -> &'static [&'static str] {
        &["cart"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let kinds = [
            ("add", 34),
            ("count", 12),
            ("save", 8),
            ("activate", 8),
            ("remove", 8),
            ("check-out", 10),
            ("merge", 5),
            ("get", 10),
            ("list", 8),
            ("order", 4),
            ("orders", 2),
            ("cancel", 4),
            ("ship", 6),
            ("deliver", 4),
            ("product", 8),
            ("products", 2),
            ("sku", 3),
            ("stranger", 4),
            ("later", 2),
        ];
        let kind = kinds[draw.weighted(&kinds.map(|(_, weight)| weight))].0;
        json!({
            "do": kind, "account": draw.one(&ACCOUNTS), "sku": draw.index(SKUS), "quantity": draw.between(1, 5),
            "pick": draw.below(1_000), "price": draw.between(1, 9_999), "euro": draw.happens(60),
            "active": draw.happens(900), "twice": draw.happens(80), "expect": draw.happens(400),
            "both": draw.happens(150), "keyed": draw.happens(700), "hours": draw.one(&[1, 30, 24 * LONG]),
            "status": draw.one(&["ACTIVE", "SAVED", "PURCHASED", "SHIPPED", "CANCELLED"]),
        })
    }

    fn steps(&self, draw: &mut Draw) -> u64 {
        draw.between(10, 45)
    }

    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for sku in 0..SKUS {
                let body =
                    json!({"name": format!("Product {sku}"), "price": format!("{}.50", sku + 1), "currency": "USD"});
                let path = format!("/cart/products/S-{sku}");
                world.ask(&format!("stock-{sku}"), &operator(), Ask::with("PUT", path, body)).await;
            }
            let mut draw = Draw::of(world.net.seed, "large carts");
            let many = match draw.below(200) {
                0 => draw.between(100, 190),
                1..=24 => draw.between(28, 45),
                _ => 0,
            };
            self.fill(world, if draw.happens(600) { "ann" } else { "guest" }, many).await;
        })
    }

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if step.action["do"] == "later" {
                return self.later(world, &step.action, label).await;
            }
            let _open = self.gate.read().await;
            self.request(world, &step.action, label).await;
        })
    }

    fn finish<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Reads with eventual consistency see the last writes.
            sleep(Duration::from_secs(30)).await;
            let items = lock(&self.items).clone();
            for (index, (account, item)) in items.iter().enumerate() {
                let ask = Ask::of("GET", format!("/cart/accounts/{account}/items/{item}"));
                world.ask(&format!("last-{index}"), &owner(account), ask).await;
            }
            let orders = lock(&self.orders).clone();
            for (index, (account, order)) in orders.iter().enumerate() {
                let ask = Ask::of("GET", format!("/cart/accounts/{account}/orders/{order}"));
                world.ask(&format!("last-order-{index}"), &owner(account), ask).await;
            }
        })
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let items = world.items("Cart");
            stored::check(world, &items);
            stored::check_versions(world);
            orders::check(world, history, &items);
            lines::check(world, history, &items, &lock(&self.pauses).clone());
            check_walls(world, history, &lock(&self.trespasses));
            for account in ACCOUNTS {
                check_lists(world, account, &items).await;
            }
        })
    }
}

impl Shop {
    /// Puts many products into a cart.
    async fn fill(&self, world: &World, account: &str, many: u64) {
        if many == 0 {
            return;
        }
        let table = world.table("Products");
        let key = json!({"PK": {"S": "S-0"}, "SK": {"S": "PRODUCT"}});
        let Ok(found) = world.stack.dynamodb("GetItem", &json!({"TableName": table, "Key": key})) else { return };
        for number in 0..many {
            let text = found["Item"].to_string().replace("S-0", &format!("L-{number}"));
            let item: Value = serde_json::from_str(&text).unwrap_or_default();
            if let Err(error) = world.stack.dynamodb("PutItem", &json!({"TableName": table, "Item": item})) {
                world.violation(format!("the product L-{number} can't be put: {error}"));
            }
        }
        let numbers: Vec<u64> = (0..many).collect();
        for some in numbers.chunks(10) {
            let added = some.iter().map(|number| async move {
                let body = json!({"sku": format!("L-{number}"), "quantity": 1 + number % 3});
                let ask = Ask::with("POST", format!("/cart/accounts/{account}/items"), body);
                let label = format!("fill-{number}");
                world.ask(&label, &owner(account), ask.key(&label)).await
            });
            for reply in join_all(added).await {
                self.remember(&reply);
            }
        }
    }

    /// Lets hours or days pass, while no request is open.
    async fn later(&self, world: &World, action: &Value, label: &str) {
        let _closed = self.gate.write().await;
        let begin = world.event();
        // Late calls arrive, and jobs end.
        for _ in 0..100 {
            sleep(Duration::from_secs(10)).await;
            if world.is_idle() && !world.items("CartJobs").iter().any(|job| job["State"]["S"] == "running") {
                break;
            }
        }
        let hours = action["hours"].as_i64().unwrap_or_default();
        world.trace.add(label, format!("{hours} hours pass"));
        clock::jump(SignedDuration::from_hours(hours));
        lock(&self.totals).clear();
        if hours >= 24 * LONG {
            lock(&self.pauses).push(Pause { begin, end: world.event() });
        }
    }

    fn remember(&self, reply: &Reply) {
        let body = &reply.body;
        if let (Some(account), Some(item)) = (body["accountId"].as_str(), body["itemId"].as_str()) {
            let one = (account.to_owned(), item.to_owned());
            let mut items = lock(&self.items);
            if !items.contains(&one) {
                items.push(one);
            }
        }
        if let (Some(account), Some(order)) = (body["accountId"].as_str(), body["orderId"].as_str())
            && body["items"].is_array()
        {
            lock(&self.orders).push((account.to_owned(), order.to_owned()));
        }
    }

    /// A recent item or order of any account.
    fn picked(known: &Mutex<Vec<(String, String)>>, action: &Value, of: usize) -> Option<(String, String)> {
        let known = lock(known);
        let pick = usize::try_from(number(action, "pick")).unwrap_or_default();
        known.get(known.len().checked_sub(1 + pick % known.len().clamp(1, of))?).cloned()
    }

    async fn request(&self, world: &World, action: &Value, label: &str) {
        let account = text(action, "account");
        let path = format!("/cart/accounts/{account}");
        match text(action, "do") {
            "add" => self.add(world, action, label).await,
            "count" | "save" | "activate" | "remove" | "get" => self.with_item(world, action, label).await,
            "check-out" => self.check_out(world, action, label).await,
            "merge" => {
                let (to, from) = if action["twice"] == true { ("guest", "ann") } else { ("ann", "guest") };
                let ask = Ask::with("POST", format!("/cart/accounts/{to}/merge"), json!({"fromAccountId": from}));
                let ask = if action["keyed"] == true { ask.key(label) } else { ask };
                world.ask(label, &owner(to), ask).await;
            }
            "list" => {
                let status = text(action, "status");
                let ask = Ask::of("GET", format!("{path}/items?status={status}&limit=7"));
                let reply = world.ask(label, &owner(account), ask).await;
                for item in reply.body["items"].as_array().into_iter().flatten() {
                    self.remember(&Reply { body: item.clone(), ..Reply::default() });
                }
            }
            "order" => {
                let Some((account, order)) = Self::picked(&self.orders, action, 4) else { return };
                let ask = Ask::of("GET", format!("/cart/accounts/{account}/orders/{order}"));
                world.ask(label, &owner(&account), ask).await;
            }
            "orders" => {
                world.ask(label, &owner(account), Ask::of("GET", format!("{path}/orders?limit=3"))).await;
            }
            "cancel" => self.set_status(world, action, label, "CANCELLED").await,
            "ship" => self.set_status(world, action, label, "SHIPPED").await,
            "deliver" => self.set_status(world, action, label, "DELIVERED").await,
            "product" => {
                let (sku, price) = (number(action, "sku"), number(action, "price"));
                let body = json!({
                    "name": format!("Product {sku}"), "price": format!("{}.{:02}", price / 100, price % 100),
                    "currency": if action["euro"] == true { "EUR" } else { "USD" }, "active": action["active"],
                });
                world.ask(label, &operator(), Ask::with("PUT", format!("/cart/products/S-{sku}"), body)).await;
            }
            "products" => drop(world.ask(label, &owner(account), Ask::of("GET", "/cart/products?limit=4")).await),
            "sku" => {
                let (sku, status) = (number(action, "sku"), text(action, "status"));
                let ask = Ask::of("GET", format!("/cart/skus/S-{sku}/items?status={status}"));
                world.ask(label, &operator(), ask).await;
            }
            _ => self.trespass(world, action, label).await,
        }
    }

    async fn add(&self, world: &World, action: &Value, label: &str) {
        let account = text(action, "account");
        let body = json!({"sku": format!("S-{}", number(action, "sku")), "quantity": action["quantity"]});
        let ask = Ask::with("POST", format!("/cart/accounts/{account}/items"), body).key(label);
        let caller = owner(account);
        let reply = if action["twice"] == true {
            let again = format!("{label}t");
            futures::join!(world.ask(label, &caller, ask.clone()), world.ask(&again, &caller, ask)).0
        } else {
            world.ask(label, &caller, ask).await
        };
        self.remember(&reply);
    }

    async fn with_item(&self, world: &World, action: &Value, label: &str) {
        let Some((account, item)) = Self::picked(&self.items, action, 8) else { return };
        let path = format!("/cart/accounts/{account}/items/{item}");
        let ask = match text(action, "do") {
            "count" => Ask::with("PATCH", path, json!({"quantity": action["quantity"]})),
            "remove" => Ask::of("DELETE", path),
            "get" => Ask::of("GET", path),
            kind => {
                let status = if kind == "save" { "SAVED" } else { "ACTIVE" };
                let mut body = json!({"status": status});
                if action["both"] == true {
                    body["quantity"] = action["quantity"].clone();
                }
                Ask::with("PATCH", path, body)
            }
        };
        let reply = world.ask(label, &owner(&account), ask).await;
        self.remember(&reply);
    }

    async fn check_out(&self, world: &World, action: &Value, label: &str) {
        let account = text(action, "account");
        let expected = lock(&self.totals).get(account).cloned().filter(|_| action["expect"] == true);
        let path = format!("/cart/accounts/{account}/checkout");
        let ask = expected.map_or_else(
            || Ask::of("POST", path.clone()),
            |total| Ask::with("POST", path.clone(), json!({"expectedTotal": total})),
        );
        let reply = world.ask(label, &owner(account), ask.key(label)).await;
        self.remember(&reply);
        // A client that has learned the new total repeats the checkout with it.
        if reply.problem() == "total-changed" {
            let (total, currency) = (reply.body["total"].clone(), reply.body["currency"].clone());
            lock(&self.totals).insert(account.to_owned(), text(&reply.body, "total").to_owned());
            let again = format!("{label}n");
            let body = json!({"expectedTotal": total, "expectedCurrency": currency});
            let ask = Ask::with("POST", path, body).key(&again);
            let reply = world.ask(&again, &owner(account), ask).await;
            self.remember(&reply);
        } else {
            lock(&self.totals).insert(account.to_owned(), "1.00".to_owned());
        }
    }

    async fn set_status(&self, world: &World, action: &Value, label: &str, status: &str) {
        let Some((account, order)) = Self::picked(&self.orders, action, 3) else { return };
        let by_customer = status == "CANCELLED" && action["expect"] == true;
        let caller = if by_customer { owner(&account) } else { operator() };
        let path = format!("/cart/accounts/{account}/orders/{order}");
        world.ask(label, &caller, Ask::with("PATCH", path, json!({"status": status}))).await;
    }

    /// Requests that are always refused.
    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let account = text(action, "account");
        let path = format!("/cart/accounts/{account}");
        let item = Self::picked(&self.items, action, 8).filter(|(owner, _)| owner == account);
        let item = item.map_or_else(|| format!("{path}/items"), |(_, item)| format!("{path}/items/{item}"));
        let order = Self::picked(&self.orders, action, 3);
        let ship = order.map(|(account, order)| {
            let path = format!("/cart/accounts/{account}/orders/{order}");
            (owner(&account), Ask::with("PATCH", path, json!({"status": "SHIPPED"})))
        });
        let by_stranger = |ask: Ask| (stranger(account), ask);
        let (caller, ask) = match number(action, "pick") % 8 {
            0 => by_stranger(Ask::of("GET", item)),
            1 if item.contains("/items/") => by_stranger(Ask::with("PATCH", item, json!({"quantity": 9}))),
            2 if item.contains("/items/") => by_stranger(Ask::of("DELETE", item)),
            3 => by_stranger(Ask::of("POST", format!("{path}/checkout")).key(label)),
            4 => {
                let stranger = if account == "bob" { "ann" } else { "bob" };
                let ask =
                    Ask::with("POST", format!("/cart/accounts/{stranger}/merge"), json!({"fromAccountId": account}));
                by_stranger(ask)
            }
            5 => {
                let body = json!({"name": "Cheap", "price": "0.01", "currency": "USD"});
                (owner(account), Ask::with("PUT", "/cart/products/S-1", body))
            }
            6 => ship.unwrap_or_else(|| by_stranger(Ask::of("GET", format!("{path}/orders")))),
            _ => by_stranger(Ask::with("POST", format!("{path}/items"), json!({"sku": "S-1"}))),
        };
        lock(&self.trespasses).insert(label.to_owned());
        let reply = world.ask(label, &caller, ask.clone()).await;
        if reply.status != 403 {
            world.violation(format!("{label}: {} may {} {}: {}", caller.name, ask.method, ask.path, reply.status));
        }
    }
}

/// No response for an account has anything of another account, and the owner is never refused.
fn check_walls(world: &World, history: &[Exchange], trespasses: &BTreeSet<String>) {
    for exchange in history {
        if exchange.reply.status == 403 && !trespasses.contains(&exchange.label) {
            world.violation(format!("{}: an owner is refused: {}", exchange.label, exchange.reply.body));
        }
        let Some(account) = account_of(&exchange.ask.path) else { continue };
        let body = &exchange.reply.body;
        let all = [body].into_iter().chain(body["items"].as_array().into_iter().flatten());
        for one in all.filter(|one| one["accountId"].is_string() && one["accountId"] != account) {
            world.violation(format!("{}: a response for {account} has {one}", exchange.label));
        }
    }
}

/// The lists have each stored item and order once, and nothing else.
async fn check_lists(world: &World, account: &str, items: &[Value]) {
    let caller = owner(account);
    for status in ["ACTIVE", "SAVED", "PURCHASED", "SHIPPED", "CANCELLED", "orders"] {
        let path = if status == "orders" {
            format!("/cart/accounts/{account}/orders?limit=6")
        } else {
            format!("/cart/accounts/{account}/items?status={status}&limit=60")
        };
        let (mut listed, mut cursor) = (Vec::new(), String::new());
        for page in 0..60 {
            let label = format!("list-{account}-{status}-{page}");
            let reply = world.ask(&label, &caller, Ask::of("GET", format!("{path}{cursor}"))).await;
            let found = reply.body["items"].as_array().into_iter().flatten();
            let name = if status == "orders" { "orderId" } else { "itemId" };
            listed.extend(found.map(|one| text(one, name).to_owned()));
            match reply.body["nextCursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let wanted: Vec<String> = if status == "orders" {
            stored::ids_of(items, account, "Order").into_iter().rev().collect()
        } else {
            let mut sorts = stored::live(items, account, status);
            sorts.sort();
            sorts.iter().rev().map(|sort| sort.rsplit('#').next().unwrap_or_default().to_owned()).collect()
        };
        if listed != wanted {
            world.violation(format!("the list {status} of {account} is {listed:?}, but {wanted:?} is stored"));
        }
    }
}
