//! The cart: customers, a guest whose cart is merged, the product team, and expiry.
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::{BoxFuture, join_all};
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::{sync::RwLock, time::sleep};

use super::{attribute, cents, each, number, picked, text};
use crate::{
    clock,
    draw::Draw,
    published,
    trace::lock,
    workloads::{Step, Workload},
    world::{Ask, Caller, Exchange, World},
};

mod lines;
mod orders;
mod stored;

/// Ann owns her account and the cart of a guest. Bob owns one account.
const ACCOUNTS: [&str; 3] = ["ann", "guest", "bob"];
const SKUS: usize = 5;
/// Days after which every item in a cart has expired (parameter `CartDays`, and one day).
const LONG: i64 = 32;

#[derive(Debug, Default)]
pub(super) struct Shop {
    items: Mutex<Vec<(String, String)>>,
    orders: Mutex<Vec<(String, String)>>,
    /// Last known total of each account's cart, as a customer sees it.
    totals: Mutex<BTreeMap<String, String>>,
    /// Requests hold it shared. A pause of days holds it alone.
    gate: RwLock<()>,
    /// Begin and end of the pauses in which every item in a cart expires.
    pauses: Mutex<Vec<(u64, u64)>>,
}

fn operator() -> Caller {
    Caller::new("operator", &json!({"sub": "operator", "scope": "cart:operate"}))
}

fn customer(name: &str, accounts: &[&str]) -> Caller {
    Caller::new(name, &json!({"sub": name, "scope": "cart:read cart:write", "account_ids": accounts.join(" ")}))
}

fn owner(account: &str) -> Caller {
    if account == "bob" { customer("bob", &["bob"]) } else { customer("ann", &["ann", "guest"]) }
}

/// A customer who does not own the account.
fn stranger(account: &str) -> Caller {
    owner(if account == "bob" { "ann" } else { "bob" })
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
        let kind = draw.kind(
            "add 34, count 12, save 8, activate 8, remove 8, check-out 10, merge 5, get 10, list 8, order 4, \
             orders 2, to-ship 3, cancel 4, ship 6, deliver 4, product 8, products 2, sku 3, stranger 4, later 2",
        );
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
            for (known, label, list) in [(&self.items, "last", "items"), (&self.orders, "last-order", "orders")] {
                let known = lock(known).clone();
                for (index, (account, id)) in known.iter().enumerate() {
                    let ask = Ask::of("GET", format!("/cart/accounts/{account}/{list}/{id}"));
                    world.ask(&format!("{label}-{index}"), &owner(account), ask).await;
                }
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
            published::check(world, "cart", &["Cart", "Products"], event_of);
            check_walls(world, history);
            for account in ACCOUNTS {
                check_lists(world, account, &items).await;
            }
            for status in orders::STATUSES {
                let path = format!("/cart/orders?status={status}&limit=6");
                check_list(world, &operator(), status, &path, "orderId", stored::with_status(&items, status)).await;
            }
        })
    }
}

impl Shop {
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
                self.remember(&reply.body);
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
            lock(&self.pauses).push((begin, world.event()));
        }
    }

    fn remember(&self, body: &Value) {
        let Some(account) = body["accountId"].as_str() else { return };
        if let Some(item) = body["itemId"].as_str() {
            let one = (account.to_owned(), item.to_owned());
            let mut items = lock(&self.items);
            if !items.contains(&one) {
                items.push(one);
            }
        }
        if let Some(order) = body["orderId"].as_str().filter(|_| body["items"].is_array()) {
            lock(&self.orders).push((account.to_owned(), order.to_owned()));
        }
    }

    async fn request(&self, world: &World, action: &Value, label: &str) {
        let (account, sku) = (text(action, "account"), number(action, "sku"));
        let path = format!("/cart/accounts/{account}");
        let (caller, ask) = match text(action, "do") {
            "add" => {
                let body = json!({"sku": format!("S-{sku}"), "quantity": action["quantity"]});
                let ask = Ask::with("POST", format!("{path}/items"), body).key(label);
                let reply = world.ask_twice(label, &owner(account), ask, action["twice"] == true).await;
                return self.remember(&reply.body);
            }
            "count" | "save" | "activate" | "remove" | "get" => return self.with_item(world, action, label).await,
            "check-out" => return self.check_out(world, action, label).await,
            "merge" => {
                let (to, from) = if action["twice"] == true { ("guest", "ann") } else { ("ann", "guest") };
                let ask = Ask::with("POST", format!("/cart/accounts/{to}/merge"), json!({"fromAccountId": from}));
                (owner(to), if action["keyed"] == true { ask.key(label) } else { ask })
            }
            "list" => {
                let ask = Ask::of("GET", format!("{path}/items?status={}&limit=7", text(action, "status")));
                let reply = world.ask(label, &owner(account), ask).await;
                for item in each(&reply.body, "items") {
                    self.remember(item);
                }
                return;
            }
            "order" => {
                let Some((account, order)) = picked(&self.orders, action, 4) else { return };
                (owner(&account), Ask::of("GET", format!("/cart/accounts/{account}/orders/{order}")))
            }
            "orders" => (owner(account), Ask::of("GET", format!("{path}/orders?limit=3"))),
            "to-ship" => {
                let status = orders::STATUSES[usize::try_from(number(action, "pick")).unwrap_or_default() % 4];
                (operator(), Ask::of("GET", format!("/cart/orders?status={status}&limit=3")))
            }
            "cancel" => return self.set_status(world, action, label, "CANCELLED").await,
            "ship" => return self.set_status(world, action, label, "SHIPPED").await,
            "deliver" => return self.set_status(world, action, label, "DELIVERED").await,
            "product" => {
                let body = json!({
                    "name": format!("Product {sku}"), "price": cents(number(action, "price")),
                    "currency": if action["euro"] == true { "EUR" } else { "USD" }, "active": action["active"],
                });
                (operator(), Ask::with("PUT", format!("/cart/products/S-{sku}"), body))
            }
            "products" => (owner(account), Ask::of("GET", "/cart/products?limit=4")),
            "sku" => {
                let status = text(action, "status");
                (operator(), Ask::of("GET", format!("/cart/skus/S-{sku}/items?status={status}")))
            }
            _ => return self.trespass(world, action, label).await,
        };
        world.ask(label, &caller, ask).await;
    }

    async fn with_item(&self, world: &World, action: &Value, label: &str) {
        let Some((account, item)) = picked(&self.items, action, 8) else { return };
        let path = format!("/cart/accounts/{account}/items/{item}");
        let ask = match text(action, "do") {
            "count" => Ask::with("PATCH", path, json!({"quantity": action["quantity"]})),
            "remove" => Ask::of("DELETE", path),
            "get" => Ask::of("GET", path),
            kind => {
                let mut body = json!({"status": if kind == "save" { "SAVED" } else { "ACTIVE" }});
                if action["both"] == true {
                    body["quantity"] = action["quantity"].clone();
                }
                Ask::with("PATCH", path, body)
            }
        };
        self.remember(&world.ask(label, &owner(&account), ask).await.body);
    }

    async fn check_out(&self, world: &World, action: &Value, label: &str) {
        let account = text(action, "account");
        let expected = lock(&self.totals).get(account).cloned().filter(|_| action["expect"] == true);
        let path = format!("/cart/accounts/{account}/checkout");
        let body = expected.map_or(Value::Null, |total| json!({"expectedTotal": total}));
        let ask = Ask::with("POST", path.as_str(), body).key(label);
        let reply = world.ask(label, &owner(account), ask).await;
        self.remember(&reply.body);
        // A client that has learned the new total repeats the checkout with it.
        if reply.problem() == "total-changed" {
            lock(&self.totals).insert(account.to_owned(), text(&reply.body, "total").to_owned());
            let again = format!("{label}n");
            let body = json!({"expectedTotal": reply.body["total"], "expectedCurrency": reply.body["currency"]});
            let ask = Ask::with("POST", path, body).key(&again);
            self.remember(&world.ask(&again, &owner(account), ask).await.body);
        } else {
            lock(&self.totals).insert(account.to_owned(), "1.00".to_owned());
        }
    }

    async fn set_status(&self, world: &World, action: &Value, label: &str, status: &str) {
        let Some((account, order)) = picked(&self.orders, action, 3) else { return };
        let by_customer = status == "CANCELLED" && action["expect"] == true;
        let caller = if by_customer { owner(&account) } else { operator() };
        let path = format!("/cart/accounts/{account}/orders/{order}");
        world.ask(label, &caller, Ask::with("PATCH", path, json!({"status": status}))).await;
    }

    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let account = text(action, "account");
        let path = format!("/cart/accounts/{account}");
        let item = picked(&self.items, action, 8).filter(|(owner, _)| owner == account);
        let item = item.map_or_else(|| format!("{path}/items"), |(_, item)| format!("{path}/items/{item}"));
        let order = picked(&self.orders, action, 3);
        let ask = match number(action, "pick") % 9 {
            8 => return world.trespass(label, &owner(account), Ask::of("GET", "/cart/orders"), &[403]).await,
            0 => Ask::of("GET", item),
            1 if item.contains("/items/") => Ask::with("PATCH", item, json!({"quantity": 9})),
            2 if item.contains("/items/") => Ask::of("DELETE", item),
            3 => Ask::of("POST", format!("{path}/checkout")).key(label),
            4 => {
                let stranger = if account == "bob" { "ann" } else { "bob" };
                Ask::with("POST", format!("/cart/accounts/{stranger}/merge"), json!({"fromAccountId": account}))
            }
            5 => {
                let body = json!({"name": "Cheap", "price": "0.01", "currency": "USD"});
                let ask = Ask::with("PUT", "/cart/products/S-1", body);
                return world.trespass(label, &owner(account), ask, &[403]).await;
            }
            6 => {
                let Some((account, order)) = order else {
                    let ask = Ask::of("GET", format!("{path}/orders"));
                    return world.trespass(label, &stranger(account), ask, &[403]).await;
                };
                let path = format!("/cart/accounts/{account}/orders/{order}");
                let ask = Ask::with("PATCH", path, json!({"status": "SHIPPED"}));
                return world.trespass(label, &owner(&account), ask, &[403]).await;
            }
            _ => Ask::with("POST", format!("{path}/items"), json!({"sku": "S-1"})),
        };
        world.trespass(label, &stranger(account), ask, &[403]).await;
    }
}

/// The event that a stream record must have.
fn event_of(record: &Value) -> Option<&'static str> {
    let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
    let status = |image: &Value| attribute(image, "Status").to_owned();
    match (attribute(new, "Type"), attribute(old, "Type")) {
        ("CartItem", "") if new.get("Previous").is_none() => Some("CartItemAdded"),
        ("", "CartItem") if record.get("userIdentity").is_some() => {
            matches!(stored::status_of(old), "ACTIVE" | "SAVED").then_some("CartItemExpired")
        }
        ("Order", "") => Some("OrderPlaced"),
        ("Order", "Order") if status(old) != status(new) => match &*status(new) {
            "SHIPPED" => Some("OrderShipped"),
            "DELIVERED" => Some("OrderDelivered"),
            _ => Some("OrderCancelled"),
        },
        ("Product", "Product") if old["Price"] != new["Price"] => Some("ProductPriceChanged"),
        _ => None,
    }
}

/// No response for an account has anything of another account, and the owner is never refused.
fn check_walls(world: &World, history: &[Exchange]) {
    for exchange in history {
        world.check_refusal(exchange);
        let Some(account) = account_of(&exchange.ask.path) else { continue };
        let body = &exchange.reply.body;
        let all = [body].into_iter().chain(each(body, "items"));
        for one in all.filter(|one| one["accountId"].is_string() && one["accountId"] != account) {
            world.violation(format!("{}: a response for {account} has {one}", exchange.label));
        }
    }
}

/// The lists have each stored item and order once, and nothing else.
async fn check_lists(world: &World, account: &str, items: &[Value]) {
    let caller = owner(account);
    for status in ["ACTIVE", "SAVED", "PURCHASED", "SHIPPED", "CANCELLED", "orders"] {
        let (list, name) = match status {
            "orders" => ("orders?limit=6".to_owned(), "orderId"),
            _ => (format!("items?status={status}&limit=60"), "itemId"),
        };
        let (of, path) = (format!("{account}-{status}"), format!("/cart/accounts/{account}/{list}"));
        check_list(world, &caller, &of, &path, name, stored::listed(items, account, status)).await;
    }
}

/// The pages of a list have the wanted ids, in this order.
async fn check_list(world: &World, caller: &Caller, of: &str, path: &str, name: &str, wanted: Vec<String>) {
    let (mut listed, mut cursor) = (Vec::new(), String::new());
    for page in 0..60 {
        let label = format!("list-{of}-{page}");
        let reply = world.ask(&label, caller, Ask::of("GET", format!("{path}{cursor}"))).await;
        listed.extend(each(&reply.body, "items").map(|one| text(one, name).to_owned()));
        match reply.body["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    if listed != wanted {
        world.violation(format!("the list {path} is {listed:?}, but {wanted:?} is stored"));
    }
}
