//! The bank: payments from requests, files and standing orders, their execution by the ledger, and
//! the close of the day.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp, civil::Weekday, tz::TimeZone};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{attribute, cents, each, index, number, of_type, picked, text};
use crate::{
    clock,
    draw::Draw,
    linear::{Choices, Histories},
    published,
    trace::lock,
    workloads::{Step, Workload},
    world::{Ask, Caller, Exchange, World},
};

/// Accounts of the ledger that payments debit and credit. The last one funds the others.
const ACCOUNTS: usize = 4;

#[derive(Debug, Default)]
pub(super) struct Payments {
    accounts: Mutex<Vec<String>>,
    /// Accounts and ids of payments.
    known: Mutex<Vec<(String, String)>>,
    files: Mutex<Vec<String>>,
}

fn operator() -> Caller {
    Caller::new("operator", &json!({"sub": "operator", "scope": "bank:operate ledger:operate"}))
}

fn customer(name: &str, account: &str) -> Caller {
    Caller::new(name, &json!({"sub": "customer", "scope": "bank:read bank:write", "account_ids": account}))
}

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

fn index_of(day: Weekday) -> usize {
    usize::try_from(day.to_monday_zero_offset()).unwrap_or_default()
}

fn standing_id(action: &Value) -> String {
    format!("order-{}", number(action, "pick") % 2)
}

fn standing_path(account: &str, action: &Value) -> String {
    format!("/bank/accounts/{account}/standing-orders/{}", standing_id(action))
}

fn switched(enabled: bool) -> Ask {
    Ask::with("PUT", "/bank/dispatching", json!({"enabled": enabled}))
}

impl Workload for Payments {
    fn stacks(&self) -> &'static [&'static str] {
        &["bank", "ledger"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let [from, to] = [draw.index(ACCOUNTS - 1), draw.index(ACCOUNTS - 1)];
        let kind = draw.kind(
            "schedule 40, cancel 10, move 8, amend 12, retry 8, get 12, list 5, due 4, overdue 2, dispatch 9, switch 3, \
             import 6, close 2, stranger 4, standing 9, end 3",
        );
        // Many payments are due at once, so that they are dispatched and executed during the
        // faults.
        let longest = *draw.one(&[2, 20, 240]);
        json!({
            "do": kind, "from": from, "to": to, "amount": draw.between(1, 4_000), "pick": draw.below(1_000),
            "seconds": draw.below(longest), "valid": draw.happens(850), "own": draw.happens(500),
            "status": draw.one(&["PENDING", "FAILED", "PROCESSED"]), "twice": draw.happens(80),
        })
    }

    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for number in 0..ACCOUNTS {
                let is_source = number == ACCOUNTS - 1;
                let terms = json!({
                    "userId": format!("user-{number}"), "accountType": if is_source { "external" } else { "checking" },
                    "currency": "USD", "allowNegative": is_source, "posting": if number == 2 { "grouped" } else { "direct" },
                });
                let ask = Ask::with("POST", "/ledger/accounts", terms);
                let opened = world.ask(&format!("open-{number}"), &operator(), ask).await;
                lock(&self.accounts).push(text(&opened.body, "accountId").to_owned());
            }
            for (number, amount) in [(0, "100.00"), (1, "30.00")] {
                let body = json!({
                    "transactionType": "funding", "debitAccountId": self.account(ACCOUNTS - 1), "creditAccountId": self.account(number),
                    "amount": amount, "currency": "USD",
                });
                let label = format!("fund-{number}");
                world.ask(&label, &operator(), Ask::with("POST", "/ledger/transactions", body).key(&label)).await;
            }
        })
    }

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (action, operator) = (&step.action, operator());
            let account = self.account(index(action, "from"));
            let payment = picked(&self.known, action, 5);
            let owner = payment.as_ref().map_or(&account, |(account, _)| account).clone();
            let payment = payment.map(|(account, id)| format!("/bank/accounts/{account}/payments/{id}"));
            let own = if action["own"] == true { customer("customer", &account) } else { operator.clone() };
            let ask = match (text(action, "do"), payment) {
                ("cancel", Some(path)) => {
                    let cancel = Ask::with("PATCH", path, json!({"status": "CANCELLED"}));
                    if action["own"] != true {
                        return drop(world.ask(label, &operator, cancel).await);
                    }
                    let again = format!("{label}d");
                    let dispatch = Ask::of("POST", "/bank/dispatches");
                    let both = (world.ask(label, &operator, cancel), world.ask(&again, &operator, dispatch));
                    return drop(futures::join!(both.0, both.1));
                }
                ("move", Some(path)) => {
                    let mut body = json!({"status": action["status"]});
                    if body["status"] == "PROCESSED" {
                        body["transactionId"] = format!("manual-{label}").into();
                    }
                    Ask::with("PATCH", path, body)
                }
                ("amend", Some(path)) => {
                    let caller = if action["own"] == true { customer("customer", &owner) } else { operator };
                    return self.amend(world, action, label, (&caller, path)).await;
                }
                ("retry", Some(path)) => {
                    let reply = world.ask(label, &operator, Ask::of("POST", format!("{path}/retry"))).await;
                    return self.remember(&reply.body);
                }
                ("get", Some(path)) => Ask::of("GET", path),
                ("cancel" | "move" | "amend" | "retry" | "get", None) => return,
                ("schedule", _) => return self.schedule(world, action, label, &own).await,
                ("list", _) => {
                    let list = format!("/bank/accounts/{account}/payments");
                    return drop(world.ask(label, &own, Ask::of("GET", list)).await);
                }
                ("standing", _) => {
                    let ask = Ask::with("PUT", standing_path(&account, action), self.standing(action));
                    return drop(world.ask_twice(label, &own, ask, action["twice"] == true).await);
                }
                ("end", _) => {
                    return drop(world.ask(label, &own, Ask::of("DELETE", standing_path(&account, action))).await);
                }
                ("due", _) => Ask::of("GET", "/bank/payments/due?limit=5"),
                ("overdue", _) => Ask::of("GET", "/bank/payments/overdue"),
                ("dispatch", _) => Ask::of("POST", "/bank/dispatches"),
                ("switch", _) => {
                    world.ask(label, &operator, switched(false)).await;
                    sleep(Duration::from_millis(number(action, "amount"))).await;
                    return drop(world.ask(&format!("{label}b"), &operator, switched(true)).await);
                }
                ("close", _) => {
                    let day = (clock::now() - SignedDuration::from_hours(24)).to_string()[..10].to_owned();
                    Ask::of("POST", format!("/bank/days/{day}/close"))
                }
                ("stranger", payment) => return self.trespass(world, action, label, payment).await,
                _ => return self.import(world, action, label),
            };
            world.ask(label, &operator, ask).await;
        })
    }

    fn finish<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            world.ask("enable", &operator(), switched(true)).await;
            // Half of the cases have faults during the last dispatches and at the end of the day.
            let mut draw = Draw::of(world.net.seed, "end of the day");
            let (is_quiet, is_early) = (is_quiet_at_the_end(world), draw.happens(500));
            world.net.set_quiet(is_quiet);
            // In half of the cases, the days are closed while payments are open and dispatched.
            if is_early {
                clock::jump(SignedDuration::from_hours(48));
            }
            for time in 0..if is_early { 6 } else { 0 } {
                close_all(world, &format!("early-{time}")).await;
                // The schedule of the archive is due again.
                clock::jump(SignedDuration::from_mins(15));
                sleep(Duration::from_millis(draw.between(100, 40_000))).await;
            }
            wait_for_outcomes(world).await;
            world.net.set_quiet(is_quiet);
            // Two operators retry each failed payment.
            for item in with_status(world, "FAILED").into_iter().take(4) {
                let (operator, ask) = (operator(), Ask::of("POST", format!("{}/retry", path_of(&item))));
                let [first, second] = ["first", "second"].map(|name| format!("retry-{}-{name}", id_of(&item)));
                futures::join!(world.ask(&first, &operator, ask.clone()), world.ask(&second, &operator, ask));
            }
            wait_for_outcomes(world).await;
            // The bank does not execute payments that an operator has taken over.
            for item in open(world) {
                let ask = Ask::with("PATCH", path_of(&item), json!({"status": "FAILED"}));
                world.ask(&format!("fail-{}", id_of(&item)), &operator(), ask).await;
            }
            clock::jump(SignedDuration::from_hours(24));
            world.net.set_quiet(is_quiet);
            close_all(world, "close").await;
            // The schedules archive and close again.
            sleep(Duration::from_mins(if is_quiet { 0 } else { 17 })).await;
            world.net.set_quiet(true);
            sleep(Duration::from_mins(2)).await;
            // An index that lags can list a payment as open that the close has just moved. The
            // supplement counts it.
            close_all(world, "close-again").await;
            sleep(Duration::from_mins(2)).await;
        })
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let [open, archived] = ["PaymentScheduler", "TransactionHistory"].map(|table| payments(world, table));
            let all: Vec<&Value> = open.iter().chain(&archived).collect();
            check_places(world, &open, &archived);
            check_moves(world, &all);
            check_retries(world, &all);
            check_acknowledged(world, history, &all);
            check_ledger(world, history, &all);
            published::check(world, "bank", &["PaymentScheduler", "BankJobs"], event_of);
            self.check_imports(world, &all).await;
            check_standing_orders(world, history, &all);
            // Jobs cancel the payments of standing orders, without a request.
            let by_request: Vec<&Value> = all.iter().copied().filter(|payment| order_of(payment).is_none()).collect();
            check_status(world, history, &by_request);
            for exchange in history {
                world.check_refusal(exchange);
            }
            for day in days(world) {
                let ask = Ask::of("GET", format!("/bank/days/{day}"));
                let reply = world.ask(&format!("day-{day}"), &operator(), ask).await;
                check_day(world, &day, &reply.body, history, &archived);
            }
        })
    }
}

/// The event that a stream record must have.
fn event_of(record: &Value) -> Option<&'static str> {
    let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
    let status = |image: &'static str| {
        let sort = record["dynamodb"][image]["GSI1SK"]["S"].as_str().unwrap_or_default();
        sort.split('#').next().unwrap_or_default().to_owned()
    };
    match (attribute(new, "Type"), attribute(old, "Type")) {
        ("Payment", "") => Some("PaymentScheduled"),
        ("MovedPayment", "") => Some("PaymentAmended"),
        ("Payment", "Payment") if status("NewImage") == status("OldImage") => {
            (old["Data"] != new["Data"]).then_some("PaymentAmended")
        }
        ("Payment", "Payment") => match &*status("NewImage") {
            "PENDING" => Some("PaymentDispatched"),
            "PROCESSED" => Some("PaymentProcessed"),
            "FAILED" => Some("PaymentFailed"),
            _ => Some("PaymentCancelled"),
        },
        ("Certificate", "") => Some("DayClosed"),
        ("Job", "Job") => {
            let has_ended = attribute(old, "State") == "running" && attribute(new, "State") != "running";
            (attribute(new, "Kind") == "import" && has_ended).then_some("ImportFinished")
        }
        _ => None,
    }
}

impl Payments {
    fn account(&self, number: usize) -> String {
        lock(&self.accounts).get(number).cloned().unwrap_or_default()
    }

    fn data(&self, action: &Value, amount: u64) -> Value {
        let credit = if action["valid"] == true { self.account(index(action, "to")) } else { "nowhere".to_owned() };
        json!({"creditAccountId": credit, "amount": cents(amount), "currency": "USD"})
    }

    /// A standing order with few different contents, so that some requests repeat the one before.
    /// Its first payment is due within minutes, or its payments are at the end of months.
    fn standing(&self, action: &Value) -> Value {
        let due = (clock::now() + SignedDuration::from_secs(30 + action["seconds"].as_i64().unwrap_or_default()))
            .to_zoned(TimeZone::UTC);
        let mut data = self.data(action, 1 + number(action, "amount") % 2);
        data["order"] = standing_id(action).into();
        let (schedule, day): (&str, Value) = match number(action, "pick") % 4 {
            0 => ("monthly", "last".into()),
            1 => ("monthly", due.day().into()),
            _ => ("weekly", WEEKDAYS[index_of(due.weekday())].into()),
        };
        let time = format!("{:02}:{:02}", due.hour(), due.minute());
        json!({"schedule": schedule, "day": day, "time": time, "firstDate": due.date().to_string(), "data": data})
    }

    fn remember(&self, payment: &Value) {
        if let (Some(account), Some(id)) = (payment["accountId"].as_str(), payment["paymentId"].as_str()) {
            lock(&self.known).push((account.to_owned(), id.to_owned()));
        }
    }

    async fn schedule(&self, world: &World, action: &Value, label: &str, caller: &Caller) {
        let due = clock::now() + SignedDuration::from_secs(action["seconds"].as_i64().unwrap_or_default());
        let body = json!({"scheduledTime": format!("{due:.0}"), "data": self.data(action, number(action, "amount"))});
        let path = format!("/bank/accounts/{}/payments", self.account(index(action, "from")));
        let ask = Ask::with("POST", path, body).key(label);
        self.remember(&world.ask_twice(label, caller, ask, action["twice"] == true).await.body);
    }

    /// Gives a payment new data, a new time, or both. A dispatch can claim it at the same time.
    async fn amend(&self, world: &World, action: &Value, label: &str, (caller, path): (&Caller, String)) {
        let mut body = json!({});
        if !number(action, "pick").is_multiple_of(3) {
            let due = clock::now() + SignedDuration::from_secs(action["seconds"].as_i64().unwrap_or_default());
            body["scheduledTime"] = format!("{due:.0}").into();
        }
        if !number(action, "pick").is_multiple_of(2) || body["scheduledTime"].is_null() {
            body["data"] = self.data(action, number(action, "amount"));
        }
        let amend = Ask::with("PATCH", path, body);
        self.remember(&world.ask_twice(label, caller, amend, action["twice"] == true).await.body);
    }

    /// Requests of a customer for the account of another one.
    async fn trespass(&self, world: &World, action: &Value, label: &str, payment: Option<String>) {
        let list = format!("/bank/accounts/{}/payments", self.account(index(action, "from")));
        let due = format!("{:.0}", clock::now() + SignedDuration::from_mins(1));
        let data = self.data(action, number(action, "amount"));
        let ask = match (number(action, "pick") % 5, payment) {
            (0, Some(path)) => Ask::of("GET", path),
            (1, Some(path)) => Ask::with("PATCH", path, json!({"status": "CANCELLED"})),
            (2, _) => Ask::with("POST", list, json!({"scheduledTime": due, "data": data})).key(label),
            // Only operators retry and dispatch payments.
            (3, Some(path)) => Ask::of("POST", format!("{path}/retry")),
            _ => Ask::of("GET", list),
        };
        world.trespass(label, &customer("stranger", "another-account"), ask, &[403]).await;
    }

    /// Uploads a file of payments. Another upload can have the same name.
    fn import(&self, world: &World, action: &Value, label: &str) {
        let pick = number(action, "pick");
        let due = clock::now() + SignedDuration::from_secs(30 + action["seconds"].as_i64().unwrap_or_default());
        let account = self.account(index(action, "from"));
        let line = |number: u64| {
            let (id, data) = (format!("{label}-{number}"), self.data(action, 1 + number));
            json!({"id": id, "accountId": account, "scheduledTime": format!("{due:.0}"), "data": data}).to_string()
        };
        let mut lines: Vec<String> = (0..=pick % 7).map(line).collect();
        if pick.is_multiple_of(3) {
            lines.push("not JSON".to_owned());
        }
        if pick.is_multiple_of(4) {
            lines.push(line(0));
        }
        let name = format!("file-{label}");
        let Some(bucket) = world.stack.template().inbox() else { return };
        world.upload(label, bucket, &format!("inbox/{name}.jsonl"), lines.join("\n").as_bytes());
        lock(&self.files).push(name);
    }

    /// Every file was imported, and each line was counted once.
    async fn check_imports(&self, world: &World, payments: &[&Value]) {
        let files = lock(&self.files).clone();
        for name in files {
            let ask = Ask::of("GET", format!("/bank/imports/{name}"));
            let body = world.ask(&format!("import-{name}"), &operator(), ask).await.body;
            let sum: u64 = ["scheduled", "duplicates", "rejected"].map(|member| number(&body, member)).iter().sum();
            let is_sum = number(&body, "read") == sum && number(&body, "lines") == sum;
            if body["status"] != "done" || !is_sum {
                world.violation(format!("the import {name} is not complete: {body}"));
            }
        }
        let mut ids = BTreeSet::new();
        if let Some(payment) = payments.iter().find(|payment| !ids.insert(id_of(payment))) {
            world.violation(format!("the payment {} is stored twice", id_of(payment)));
        }
    }
}

/// The payments or archived payments in a table. Guards have another form.
fn payments(world: &World, table: &str) -> Vec<Value> {
    let items = world.items(table).into_iter();
    let is_payment = |item: &Value| item["Data"].is_object() && item["Type"]["S"] != "StandingOrder";
    items.filter(|item| is_payment(item) && item["GSI1SK"].is_object()).collect()
}

/// Sort key of a payment: `<scheduled time>#<payment id>` or similar. It is unique.
fn id_of(item: &Value) -> &str {
    attribute(item, "SK")
}

fn status_of(item: &Value) -> &str {
    attribute(item, "GSI1SK").split('#').next().unwrap_or_default()
}

/// The standing order of a payment, from its data.
fn order_of(item: &Value) -> Option<String> {
    let data: Value = serde_json::from_str(attribute(item, "Data")).ok()?;
    Some(data["order"].as_str()?.to_owned())
}

/// The scheduled time in the keys of a payment.
fn time_of(item: &Value) -> Option<Timestamp> {
    id_of(item).split('#').find_map(|part| part.parse::<Timestamp>().ok())
}

/// Whether the payment belongs to a standing order and is due later. It stays as it is.
fn is_ahead(item: &Value) -> bool {
    order_of(item).is_some() && time_of(item).is_some_and(|time| time > clock::now())
}

/// Whether the end of the day has no faults.
fn is_quiet_at_the_end(world: &World) -> bool {
    Draw::of(world.net.seed, "quiet end of the day").happens(500)
}

/// Payments with a status that are not archived.
fn with_status(world: &World, status: &str) -> Vec<Value> {
    payments(world, "PaymentScheduler").into_iter().filter(|item| status_of(item) == status).collect()
}

fn open(world: &World) -> Vec<Value> {
    let open = ["SCHEDULED", "PENDING"].into_iter().flat_map(|status| with_status(world, status));
    open.filter(|item| !is_ahead(item)).collect()
}

fn path_of(item: &Value) -> String {
    let id = id_of(item).rsplit('#').next().unwrap_or_default();
    format!("/bank/accounts/{}/payments/{id}", attribute(item, "PK"))
}

/// Waits until the bank has executed all payments, except those that an operator has set to
/// `PENDING`. Faults stop after ten minutes, and attempts without an outcome wait up to an hour.
async fn wait_for_outcomes(world: &World) {
    let is_by_hand = |item: &Value| status_of(item) == "PENDING" && item["Execution"].is_null();
    for number in 0..90 {
        sleep(Duration::from_mins(2)).await;
        if open(world).iter().all(is_by_hand) {
            break;
        }
        if number == 4 {
            world.net.set_quiet(true);
        }
    }
    world.net.set_quiet(true);
}

/// Whether the request may have set one of these statuses. An attempt without a response may have.
fn may_set(one: &Exchange, is_wanted: impl Fn(&str) -> bool) -> bool {
    let is_possible = one.reply.status == 200 || one.attempts > 1;
    one.ask.method == "PATCH" && is_possible && one.ask.body["status"].as_str().is_some_and(is_wanted)
}

/// Starts the close of the days of all payments.
async fn close_all(world: &World, label: &str) {
    for day in days(world) {
        let ask = Ask::of("POST", format!("/bank/days/{day}/close"));
        world.ask(&format!("{label}-{day}"), &operator(), ask).await;
    }
}

fn days(world: &World) -> BTreeSet<String> {
    let items = ["PaymentScheduler", "TransactionHistory"].into_iter().flat_map(|table| payments(world, table));
    items.filter(|item| !is_ahead(item)).filter_map(|item| day_of(&item)).collect()
}

/// The day of the scheduled time in the keys of a payment.
fn day_of(item: &Value) -> Option<String> {
    Some(time_of(item)?.to_string()[..10].to_owned())
}

/// Each payment is in exactly one table, and all are settled and archived.
fn check_places(world: &World, open: &[Value], archived: &[Value]) {
    let keys = |items: &[Value]| -> BTreeSet<String> {
        items.iter().map(|item| format!("{}|{}", item["PK"]["S"], id_of(item))).collect()
    };
    for key in keys(open).intersection(&keys(archived)) {
        world.violation(format!("the payment {key} is in both tables"));
    }
    let today = clock::now().to_string()[..10].to_owned();
    // The days of later payments are not over, and their payments stay in the table.
    for item in open.iter().filter(|item| order_of(item).is_none() || day_of(item).is_some_and(|day| day < today)) {
        world.violation(format!("the payment {} is still {} after the close", id_of(item), status_of(item)));
    }
}

/// The new ids of payments that got a new time, by their old ids.
fn moves(world: &World) -> BTreeMap<String, String> {
    let items = world.items("PaymentScheduler");
    let moved = of_type(&items, "MovedPayment");
    moved.map(|item| (own_id(item).to_owned(), attribute(item, "MovedTo").to_owned())).collect()
}

/// Id of a payment: the last part of its sort key.
fn own_id(item: &Value) -> &str {
    id_of(item).rsplit('#').next().unwrap_or_default()
}

/// A payment that got a new time is stored under its new id only.
fn check_moves(world: &World, payments: &[&Value]) {
    let moves = moves(world);
    for payment in payments.iter().filter(|payment| moves.contains_key(own_id(payment))) {
        world.violation(format!("the payment {} got a new time, but is stored under its old id", id_of(payment)));
    }
    let stored: BTreeSet<&str> = payments.iter().map(|payment| own_id(payment)).collect();
    for (old, new) in &moves {
        if !stored.contains(new.as_str()) && !moves.contains_key(new) {
            world.violation(format!("the payment {old} became {new}, which is not stored"));
        }
    }
}

/// A failed payment has at most one retry.
fn check_retries(world: &World, payments: &[&Value]) {
    let mut retried = BTreeSet::new();
    for payment in payments {
        let Some(failed) = payment["RetryOf"]["S"].as_str() else { continue };
        if !retried.insert((attribute(payment, "PK"), failed)) {
            world.violation(format!("the failed payment {failed} has two retries"));
        }
    }
}

/// Every acknowledged payment is stored, under its own id or a later one.
fn check_acknowledged(world: &World, history: &[Exchange], payments: &[&Value]) {
    let moves = moves(world);
    let is_made = |one: &&Exchange| match one.ask.method {
        "POST" => one.reply.status == 201,
        "PATCH" => one.reply.status == 200,
        _ => false,
    };
    for exchange in history.iter().filter(is_made) {
        let Some(id) = exchange.reply.body["paymentId"].as_str() else { continue };
        if !moves.contains_key(id) && !payments.iter().any(|payment| own_id(payment) == id) {
            world.violation(format!("{}: the acknowledged payment {id} is not stored", exchange.label));
        }
    }
}

/// Each date of a standing order in the next 90 days has exactly one payment that is not cancelled,
/// with the data of the order. An order that has ended has none.
fn check_standing_orders(world: &World, history: &[Exchange], payments: &[&Value]) {
    let now = clock::now();
    // An order that is put again after its end does not know the payments from before.
    let was_ended = |(account, order): &(String, String)| {
        let path = format!("/bank/accounts/{account}/standing-orders/{order}");
        history.iter().any(|one| one.ask.method == "DELETE" && one.ask.path == path)
    };
    let mut ahead = BTreeMap::<(String, String), BTreeMap<Timestamp, Vec<String>>>::new();
    for payment in payments.iter().filter(|payment| status_of(payment) != "CANCELLED") {
        let Some((order, time)) = order_of(payment).zip(time_of(payment)) else { continue };
        let name = (attribute(payment, "PK").to_owned(), order);
        let is_once = !was_ended(&name);
        let same = ahead.entry(name).or_default().entry(time).or_default();
        same.push(attribute(payment, "Data").to_owned());
        if is_once && same.len() > 1 {
            world.violation(format!("two payments of a standing order at {time}: {}", id_of(payment)));
        }
    }
    for times in ahead.values_mut() {
        times.retain(|time, _| *time > now);
    }
    for order in of_type(&world.items("PaymentScheduler"), "StandingOrder") {
        let name = (
            attribute(order, "PK").to_owned(),
            attribute(order, "SK").rsplit('#').next().unwrap_or_default().to_owned(),
        );
        let paid = ahead.remove(&name).unwrap_or_default();
        let recurrence = &order["Recurrence"]["M"];
        let (day, time) = (attribute(recurrence, "Day"), attribute(recurrence, "Time"));
        let mut zoned = now.to_zoned(TimeZone::UTC);
        let end = now + SignedDuration::from_hours(24 * 90);
        while zoned.timestamp() <= end + SignedDuration::from_hours(24) {
            let date = zoned.date();
            let is_day = match day {
                "last" => date == date.last_of_month(),
                day => match day.parse::<i8>() {
                    Ok(number) => date.day() == number.min(date.days_in_month()),
                    Err(_) => WEEKDAYS[index_of(date.weekday())] == day,
                },
            };
            let due: Option<Timestamp> = format!("{date}T{time}:00Z").parse().ok();
            if let Some(due) = due.filter(|due| is_day && *due > now && *due <= end)
                && paid.get(&due).is_none_or(|data| *data != [attribute(order, "Data")])
            {
                world.violation(format!("the standing order {name:?} has no payment at {due}, or with other data"));
            }
            zoned += SignedDuration::from_hours(24);
        }
        for time in paid.keys() {
            let date = time.to_zoned(TimeZone::UTC).date();
            if format!("{date}T{of_day}:00Z", of_day = attribute(recurrence, "Time")) != time.to_string() {
                world.violation(format!("the standing order {name:?} has a payment at {time}, which is not its time"));
            }
        }
    }
    for (name, times) in ahead.iter().filter(|(_, times)| !times.is_empty()) {
        world.violation(format!("the ended standing order {name:?} has payments: {:?}", times.keys()));
    }
}

/// Each processed payment has exactly one transaction in the ledger, and no other payment has one.
fn check_ledger(world: &World, history: &[Exchange], payments: &[&Value]) {
    let ledger = world.items("FinancialTransactions");
    let posted = of_type(&ledger, "Transaction").filter(|item| attribute(item, "TransactionType") == "payment");
    let posted: BTreeMap<&str, &Value> = posted.map(|item| (attribute(item, "ID"), item)).collect();
    let mut paid = BTreeSet::new();
    for payment in payments.iter().filter(|payment| status_of(payment) == "PROCESSED") {
        let id = match attribute(payment, "TransactionID") {
            "" => attribute(payment, "GSI2PK"),
            id => id,
        };
        if id.is_empty() {
            world.violation(format!("the payment {} has no transaction", id_of(payment)));
            continue;
        }
        if id.contains("manual-") {
            continue;
        }
        let id = id.rsplit('#').next().unwrap_or(id);
        if !posted.contains_key(id) {
            let payment = id_of(payment);
            world.violation(format!("the payment {payment} is PROCESSED, but the ledger has no transaction {id}"));
        }
        if !paid.insert(id) {
            world.violation(format!("two payments have the transaction {id}"));
        }
    }
    // An operator can record an outcome that the ledger does not confirm.
    let is_by_hand = |payment: &str| {
        let mut own = history.iter().filter(|one| !payment.is_empty() && one.ask.path.ends_with(payment));
        own.any(|one| may_set(one, |status| matches!(status, "FAILED" | "PROCESSED")))
    };
    let unpaid =
        posted.iter().filter(|(id, item)| !paid.contains(*id) && !is_by_hand(attribute(item, "IdempotencyKey")));
    let unpaid: Vec<_> = unpaid.map(|(id, _)| id).collect();
    if !unpaid.is_empty() {
        world.violation(format!("the ledger has transactions without a PROCESSED payment: {unpaid:?}"));
    }
}

/// The certificate counts each archived payment of the day once.
fn check_day(world: &World, day: &str, body: &Value, history: &[Exchange], archived: &[Value]) {
    let of_day = archived.iter().filter(|item| day_of(item).as_deref() == Some(day));
    let mut expected = BTreeMap::<&str, u64>::new();
    for payment in of_day {
        *expected.entry(status_of(payment)).or_default() += 1;
    }
    let certificates: Vec<&Value> = std::iter::once(body).chain(each(body, "supplements")).collect();
    for status in ["PROCESSED", "FAILED", "CANCELLED"] {
        let counted: u64 = certificates.iter().map(|one| number(&one["counts"], status)).sum();
        let expected = expected.get(status).copied().unwrap_or_default();
        if body["status"] == "closed" && counted != expected {
            world.violation(format!(
                "the certificates of {day} count {counted} {status} payments, but there are {expected}: {body}"
            ));
        }
    }
    if body["status"] != "closed" {
        world.violation(format!("the day {day} is not closed: {body}"));
    }
    let by_hand = history.iter().any(|one| may_set(one, |status| status != "CANCELLED"));
    // During faults, a close can meet a payment whose outcome could not be recorded yet.
    let quiet = if is_quiet_at_the_end(world) { 0 } else { certificates.len().saturating_sub(1) };
    let discrepancies: u64 = certificates[quiet..].iter().map(|one| number(one, "discrepancyCount")).sum();
    if discrepancies > 0 && !by_hand {
        world.violation(format!("the certificates of {day} have discrepancies: {body}"));
    }
}

/// Status of a payment. The bank itself dispatches and executes payments at any time.
struct Life;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Move {
    /// A request changes the status.
    Change(&'static str, &'static str),
    /// A request changes the status, or finds it changed.
    Set(&'static str, &'static str),
    Show(String),
}

impl Choices for Life {
    type State = String;
    type Operation = Move;

    fn init() -> String {
        "SCHEDULED".to_owned()
    }

    fn after(operation: &Move, state: &String) -> Option<String> {
        let reaches = |to: &str| match (state.as_str(), to) {
            ("SCHEDULED", "PENDING" | "PROCESSED" | "FAILED") | ("PENDING", "PROCESSED" | "FAILED") => true,
            (state, to) => state == to,
        };
        match operation {
            Move::Change(from, to) => reaches(from).then(|| (*to).to_owned()),
            Move::Set(from, to) => (state == to || reaches(from)).then(|| (*to).to_owned()),
            Move::Show(status) => reaches(status).then(|| status.clone()),
        }
    }
}

/// Id and status of the payment in the response. A repeated request for a status that the payment
/// has gets 409: an earlier attempt may have set it.
fn shown(exchange: &Exchange) -> Option<(&str, &str)> {
    let body = &exchange.reply.body;
    match exchange.reply.status {
        200 | 201 => Some((body["paymentId"].as_str()?, body["status"].as_str()?)),
        409 if exchange.attempts > 1 && exchange.ask.method == "PATCH" => {
            let wanted = exchange.ask.body["status"].as_str()?;
            let is_set = body["detail"].as_str()?.ends_with(&format!("is {wanted}."));
            is_set.then_some((exchange.ask.path.rsplit('/').next()?, wanted))
        }
        _ => None,
    }
}

/// The history of each payment's status is linearizable.
fn check_status(world: &World, history: &[Exchange], stored: &[&Value]) {
    let mut payments = Histories::<Life>::new();
    for exchange in history {
        let Some((id, status)) = shown(exchange) else { continue };
        let change = match status {
            "CANCELLED" => ("SCHEDULED", "CANCELLED"),
            "PENDING" => ("SCHEDULED", "PENDING"),
            "PROCESSED" => ("PENDING", "PROCESSED"),
            _ => ("PENDING", "FAILED"),
        };
        let operation = match exchange.ask.method {
            "PATCH" if exchange.ask.body["status"].is_null() => Move::Show(status.to_owned()),
            "PATCH" if exchange.reply.status == 409 => Move::Set(change.0, change.1),
            "PATCH" => Move::Change(change.0, change.1),
            _ => Move::Show(status.to_owned()),
        };
        payments.add(&format!("status of payment {id}"), exchange, operation);
    }
    for payment in stored {
        let id = id_of(payment).rsplit('#').next().unwrap_or_default();
        payments.end(&format!("status of payment {id}"), Move::Show(status_of(payment).to_owned()));
    }
    payments.check(world);
}
