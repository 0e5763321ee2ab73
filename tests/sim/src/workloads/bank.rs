//! The bank: payments from requests and files, their execution by the ledger, and the close of the
//! day.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use todc_utils::Specification;
use tokio::time::sleep;

use crate::{
    case::{Step, Workload},
    clock,
    draw::Draw,
    linear::{Interval, is_linearizable},
    world::{Ask, Caller, Exchange, World, lock},
};

/// Accounts of the ledger that payments debit and credit. The last one funds the others.
const ACCOUNTS: usize = 4;

/// State of a case.
#[derive(Debug, Default)]
pub(super) struct Payments {
    accounts: Mutex<Vec<String>>,
    known: Mutex<Vec<(String, String)>>,
    files: Mutex<Vec<String>>,
}

fn operator() -> Caller {
    Caller::new("operator", json!({"sub": "operator", "scope": "bank:operate ledger:operate"}))
}

fn customer(account: &str) -> Caller {
    Caller::new("customer", json!({"sub": "customer", "scope": "bank:read bank:write", "account_ids": account}))
}

impl Workload for Payments {
    fn stacks(&self) -> &'static [&'static str] {
        &["bank", "ledger"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let [from, to] = [draw.index(ACCOUNTS - 1), draw.index(ACCOUNTS - 1)];
        let kinds = [
            ("schedule", 40),
            ("cancel", 10),
            ("move", 8),
            ("retry", 8),
            ("get", 12),
            ("list", 5),
            ("due", 4),
            ("overdue", 2),
            ("dispatch", 9),
            ("switch", 3),
            ("import", 6),
            ("close", 2),
            ("stranger", 4),
        ];
        let kind = kinds[draw.weighted(&kinds.map(|(_, weight)| weight))].0;
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
                let opened = world
                    .ask(&format!("open-{number}"), &operator(), Ask::with("POST", "/ledger/accounts", terms))
                    .await;
                lock(&self.accounts).push(opened.body["accountId"].as_str().unwrap_or_default().to_owned());
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
            let action = &step.action;
            let account = self.numbered(action, "from");
            let caller = if action["own"] == true { customer(&account) } else { operator() };
            let list = format!("/bank/accounts/{account}/payments");
            match action["do"].as_str().unwrap_or_default() {
                "schedule" => self.schedule(world, action, label, &caller).await,
                "cancel" => {
                    let Some(path) = self.picked(action) else { return };
                    let operator = operator();
                    let cancel = Ask::with("PATCH", path, json!({"status": "CANCELLED"}));
                    let cancelled = world.ask(label, &operator, cancel);
                    if action["own"] == true {
                        let again = format!("{label}d");
                        let dispatch = Ask::of("POST", "/bank/dispatches");
                        futures::join!(cancelled, world.ask(&again, &operator, dispatch));
                    } else {
                        cancelled.await;
                    }
                }
                "move" => {
                    let Some(path) = self.picked(action) else { return };
                    let mut body = json!({"status": action["status"]});
                    if body["status"] == "PROCESSED" {
                        body["transactionId"] = format!("manual-{label}").into();
                    }
                    world.ask(label, &operator(), Ask::with("PATCH", path, body)).await;
                }
                "retry" => {
                    let Some(path) = self.picked(action) else { return };
                    let reply = world.ask(label, &operator(), Ask::of("POST", format!("{path}/retry"))).await;
                    self.remember(&reply.body);
                }
                "get" => {
                    let Some(path) = self.picked(action) else { return };
                    world.ask(label, &operator(), Ask::of("GET", path)).await;
                }
                "list" => drop(world.ask(label, &caller, Ask::of("GET", list)).await),
                "due" => drop(world.ask(label, &operator(), Ask::of("GET", "/bank/payments/due?limit=5")).await),
                "overdue" => drop(world.ask(label, &operator(), Ask::of("GET", "/bank/payments/overdue")).await),
                "dispatch" => drop(world.ask(label, &operator(), Ask::of("POST", "/bank/dispatches")).await),
                "switch" => {
                    world
                        .ask(label, &operator(), Ask::with("PUT", "/bank/dispatching", json!({"enabled": false})))
                        .await;
                    sleep(Duration::from_millis(action["amount"].as_u64().unwrap_or_default())).await;
                    world
                        .ask(
                            &format!("{label}b"),
                            &operator(),
                            Ask::with("PUT", "/bank/dispatching", json!({"enabled": true})),
                        )
                        .await;
                }
                "close" => {
                    let day = (clock::now() - SignedDuration::from_hours(24)).to_string()[..10].to_owned();
                    world.ask(label, &operator(), Ask::of("POST", format!("/bank/days/{day}/close"))).await;
                }
                "stranger" => self.trespass(world, action, label).await,
                _ => self.import(world, action, label),
            }
        })
    }

    fn finish<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            world.ask("enable", &operator(), Ask::with("PUT", "/bank/dispatching", json!({"enabled": true}))).await;
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
            let (open, archived) = (world.items("PaymentScheduler"), world.items("TransactionHistory"));
            let open: Vec<Value> = open.into_iter().filter(is_payment).collect();
            let archived: Vec<Value> = archived.into_iter().filter(is_payment).collect();
            check_places(world, &open, &archived);
            check_retries(world, &open, &archived);
            check_acknowledged(world, history, &open, &archived);
            check_ledger(world, history, &open, &archived);
            self.check_imports(world, &open, &archived).await;
            check_status(world, history, open.iter().chain(&archived));
            for exchange in history.iter().filter(|one| one.caller == "customer" && one.reply.status == 403) {
                world.violation(format!("{}: a customer is refused: {}", exchange.label, exchange.reply.body));
            }
            for day in days(world) {
                let reply =
                    world.ask(&format!("day-{day}"), &operator(), Ask::of("GET", format!("/bank/days/{day}"))).await;
                check_day(world, &day, &reply.body, history, &archived);
            }
        })
    }
}

impl Payments {
    fn account(&self, number: usize) -> String {
        lock(&self.accounts).get(number).cloned().unwrap_or_default()
    }

    fn numbered(&self, action: &Value, member: &str) -> String {
        self.account(usize::try_from(action[member].as_u64().unwrap_or_default()).unwrap_or_default())
    }

    fn data(&self, action: &Value) -> Value {
        let amount = action["amount"].as_u64().unwrap_or(1);
        let credit = if action["valid"] == true { self.numbered(action, "to") } else { "nowhere".to_owned() };
        json!({"creditAccountId": credit, "amount": format!("{}.{:02}", amount / 100, amount % 100), "currency": "USD"})
    }

    fn remember(&self, payment: &Value) {
        if let (Some(account), Some(id)) = (payment["accountId"].as_str(), payment["paymentId"].as_str()) {
            lock(&self.known).push((account.to_owned(), id.to_owned()));
        }
    }

    /// Path of a recent payment.
    fn picked(&self, action: &Value) -> Option<String> {
        let known = lock(&self.known);
        let pick = usize::try_from(action["pick"].as_u64().unwrap_or_default()).unwrap_or_default();
        let (account, id) = known.get(known.len().checked_sub(1 + pick % known.len().clamp(1, 5))?)?;
        Some(format!("/bank/accounts/{account}/payments/{id}"))
    }

    async fn schedule(&self, world: &World, action: &Value, label: &str, caller: &Caller) {
        let due = clock::now() + SignedDuration::from_secs(action["seconds"].as_i64().unwrap_or_default());
        let body = json!({"scheduledTime": format!("{due:.0}"), "data": self.data(action)});
        let path = format!("/bank/accounts/{}/payments", self.numbered(action, "from"));
        let ask = Ask::with("POST", path, body).key(label);
        let reply = if action["twice"] == true {
            let again = format!("{label}t");
            futures::join!(world.ask(label, caller, ask.clone()), world.ask(&again, caller, ask)).0
        } else {
            world.ask(label, caller, ask).await
        };
        self.remember(&reply.body);
    }

    /// Requests of a customer for the account of another one. They are refused.
    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let (account, pick) = (self.numbered(action, "from"), action["pick"].as_u64().unwrap_or_default());
        let mut stranger = customer("another-account");
        "stranger".clone_into(&mut stranger.name);
        let list = format!("/bank/accounts/{account}/payments");
        let due = format!("{:.0}", clock::now() + SignedDuration::from_mins(1));
        let ask = match (pick % 5, self.picked(action)) {
            (0, Some(path)) => Ask::of("GET", path),
            (1, Some(path)) => Ask::with("PATCH", path, json!({"status": "CANCELLED"})),
            (2, _) => Ask::with("POST", list, json!({"scheduledTime": due, "data": self.data(action)})).key(label),
            // Only operators retry and dispatch payments.
            (3, Some(path)) => Ask::of("POST", format!("{path}/retry")),
            _ => Ask::of("GET", list),
        };
        let reply = world.ask(label, &stranger, ask.clone()).await;
        if reply.status != 403 {
            world.violation(format!("{label}: a stranger may {} {}: {}", ask.method, ask.path, reply.status));
        }
    }

    /// Uploads a file of payments. Another upload can have the same name.
    fn import(&self, world: &World, action: &Value, label: &str) {
        let pick = action["pick"].as_u64().unwrap_or_default();
        let due = clock::now() + SignedDuration::from_secs(30 + action["seconds"].as_i64().unwrap_or_default());
        let line = |number: u64| {
            let mut one = action.clone();
            one["amount"] = (1 + number).into();
            let time = format!("{due:.0}");
            json!({"id": format!("{label}-{number}"), "accountId": self.numbered(action, "from"), "scheduledTime": time, "data": self.data(&one)}).to_string()
        };
        let mut lines: Vec<String> = (0..=pick % 7).map(line).collect();
        if pick.is_multiple_of(3) {
            lines.push("not JSON".to_owned());
        }
        if pick.is_multiple_of(4) {
            lines.push(line(0));
        }
        let name = format!("file-{label}");
        let bucket = world
            .stack
            .template()
            .lambdas
            .iter()
            .flat_map(|lambda| &lambda.objects)
            .find(|trigger| trigger.prefix == "inbox/");
        let Some(bucket) = bucket.map(|trigger| trigger.bucket.clone()) else { return };
        world.trace.add(label, format!("uploads {name} with {} lines", lines.len()));
        if let Err(error) = world.stack.put_object(&bucket, &format!("inbox/{name}.jsonl"), lines.join("\n").as_bytes())
        {
            world.violation(format!("{label}: {error}"));
        }
        world.net.wrote.notify_waiters();
        lock(&self.files).push(name);
    }

    /// Every file was imported, and each line was counted once.
    async fn check_imports(&self, world: &World, open: &[Value], archived: &[Value]) {
        let files = lock(&self.files).clone();
        for name in files {
            let reply = world
                .ask(&format!("import-{name}"), &operator(), Ask::of("GET", format!("/bank/imports/{name}")))
                .await;
            let number = |member: &str| reply.body[member].as_u64().unwrap_or_default();
            let is_sum = number("read") == number("scheduled") + number("duplicates") + number("rejected");
            if reply.body["status"] != "done" || !is_sum || number("lines") != number("read") {
                world.violation(format!("the import {name} is not complete: {}", reply.body));
            }
        }
        let mut ids = BTreeMap::<&str, u32>::new();
        for payment in open.iter().chain(archived) {
            *ids.entry(id_of(payment)).or_default() += 1;
        }
        if let Some((id, count)) = ids.iter().find(|(_, count)| **count > 1) {
            world.violation(format!("the payment {id} is stored {count} times"));
        }
    }
}

/// Whether the item is a payment or an archived payment. Guards have another form.
fn is_payment(item: &Value) -> bool {
    item["Data"].is_object() && item["GSI1SK"].is_object()
}

/// Sort key of a payment: `<scheduled time>#<payment id>` or similar. It is unique.
fn id_of(item: &Value) -> &str {
    item["SK"]["S"].as_str().unwrap_or_default()
}

fn status_of(item: &Value) -> &str {
    item["GSI1SK"]["S"].as_str().unwrap_or_default().split('#').next().unwrap_or_default()
}

/// Whether the end of the day has no faults.
fn is_quiet_at_the_end(world: &World) -> bool {
    Draw::of(world.net.seed, "quiet end of the day").happens(500)
}

/// Payments with a status that are not archived.
fn with_status(world: &World, status: &str) -> Vec<Value> {
    let items = world.items("PaymentScheduler").into_iter().filter(is_payment);
    items.filter(|item| status_of(item) == status).collect()
}

/// Payments that are not settled.
fn open(world: &World) -> Vec<Value> {
    ["SCHEDULED", "PENDING"].into_iter().flat_map(|status| with_status(world, status)).collect()
}

/// Path of a stored payment.
fn path_of(item: &Value) -> String {
    let (account, id) = (item["PK"]["S"].as_str().unwrap_or_default(), id_of(item).rsplit('#').next());
    format!("/bank/accounts/{account}/payments/{}", id.unwrap_or_default())
}

/// Waits until the bank has executed all payments. Faults stop after ten minutes, and attempts
/// without an outcome wait up to an hour.
async fn wait_for_outcomes(world: &World) {
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

/// Whether an operator has set the payment to `PENDING`, so that the bank does not execute it.
fn is_by_hand(item: &Value) -> bool {
    status_of(item) == "PENDING" && item["Execution"].is_null()
}

/// Whether a request may have set one of these statuses. An attempt without a response may have.
fn has_patch(history: &[Exchange], is_wanted: impl Fn(&str) -> bool) -> bool {
    history.iter().any(|one| {
        one.ask.method == "PATCH"
            && (one.reply.status == 200 || one.attempts > 1)
            && one.ask.body.as_ref().and_then(|body| body["status"].as_str()).is_some_and(&is_wanted)
    })
}

/// Starts the close of the days of all payments.
async fn close_all(world: &World, label: &str) {
    for day in days(world) {
        let ask = Ask::of("POST", format!("/bank/days/{day}/close"));
        world.ask(&format!("{label}-{day}"), &operator(), ask).await;
    }
}

/// Days of all payments.
fn days(world: &World) -> BTreeSet<String> {
    let items = world.items("PaymentScheduler").into_iter().chain(world.items("TransactionHistory"));
    let times = items.filter(is_payment).filter_map(|item| time_of(&item));
    times.map(|time| time.to_string()[..10].to_owned()).collect()
}

/// The scheduled time in the keys of a payment.
fn time_of(item: &Value) -> Option<Timestamp> {
    id_of(item).split('#').find_map(|part| part.parse().ok())
}

/// Each payment is in exactly one table, and all are settled and archived.
fn check_places(world: &World, open: &[Value], archived: &[Value]) {
    let keys = |items: &[Value]| -> BTreeSet<String> {
        items.iter().map(|item| format!("{}|{}", item["PK"]["S"], id_of(item))).collect()
    };
    for key in keys(open).intersection(&keys(archived)) {
        world.violation(format!("the payment {key} is in both tables"));
    }
    for item in open {
        world.violation(format!("the payment {} is still {} after the close", id_of(item), status_of(item)));
    }
}

/// A failed payment has at most one retry.
fn check_retries(world: &World, open: &[Value], archived: &[Value]) {
    let mut retried = BTreeSet::new();
    for payment in open.iter().chain(archived) {
        let Some(failed) = payment["RetryOf"]["S"].as_str() else { continue };
        if !retried.insert((payment["PK"]["S"].as_str(), failed)) {
            world.violation(format!("the failed payment {failed} has two retries"));
        }
    }
}

/// Every acknowledged payment is stored.
fn check_acknowledged(world: &World, history: &[Exchange], open: &[Value], archived: &[Value]) {
    let stored: BTreeSet<String> = open.iter().chain(archived).map(|item| id_of(item).to_owned()).collect();
    for exchange in history.iter().filter(|one| one.ask.method == "POST" && one.reply.status == 201) {
        let Some(id) = exchange.reply.body["paymentId"].as_str() else { continue };
        if !stored.iter().any(|key| key.contains(id)) {
            world.violation(format!("{}: the acknowledged payment {id} is not stored", exchange.label));
        }
    }
}

/// Each processed payment has exactly one transaction in the ledger, and no other payment has one.
fn check_ledger(world: &World, history: &[Exchange], open: &[Value], archived: &[Value]) {
    let ledger = world.items("FinancialTransactions");
    let posted: Vec<&Value> = ledger
        .iter()
        .filter(|item| item["Type"]["S"] == "Transaction" && item["TransactionType"]["S"] == "payment")
        .collect();
    let posted: BTreeSet<&str> = posted.iter().filter_map(|item| item["ID"]["S"].as_str()).collect();
    let mut paid = BTreeSet::new();
    for payment in open.iter().chain(archived) {
        let transaction = ["TransactionID", "GSI2PK"].iter().find_map(|name| payment[*name]["S"].as_str());
        let is_manual = transaction.is_some_and(|id| id.contains("manual-"));
        match (status_of(payment), transaction) {
            ("PROCESSED", Some(id)) if !is_manual => {
                let id = id.rsplit('#').next().unwrap_or(id);
                if !posted.contains(id) {
                    world.violation(format!(
                        "the payment {} is PROCESSED, but the ledger has no transaction {id}",
                        id_of(payment)
                    ));
                }
                if !paid.insert(id.to_owned()) {
                    world.violation(format!("two payments have the transaction {id}"));
                }
            }
            ("PROCESSED", None) => world.violation(format!("the payment {} has no transaction", id_of(payment))),
            _ => {}
        }
    }
    // An operator can record an outcome that the ledger does not confirm.
    let is_by_hand = |payment: &str| {
        let own: Vec<Exchange> =
            history.iter().filter(|one| !payment.is_empty() && one.ask.path.ends_with(payment)).cloned().collect();
        has_patch(&own, |status| matches!(status, "FAILED" | "PROCESSED"))
    };
    let key_of = |id: &str| {
        let header = ledger.iter().find(|item| item["Type"]["S"] == "Transaction" && item["ID"]["S"] == id);
        header.and_then(|header| header["IdempotencyKey"]["S"].as_str()).unwrap_or_default()
    };
    let unpaid: Vec<&&str> = posted.iter().filter(|id| !paid.contains(**id) && !is_by_hand(key_of(id))).collect();
    if !unpaid.is_empty() {
        world.violation(format!("the ledger has transactions without a PROCESSED payment: {unpaid:?}"));
    }
}

/// The certificate counts each archived payment of the day once.
fn check_day(world: &World, day: &str, body: &Value, history: &[Exchange], archived: &[Value]) {
    let of_day: Vec<&Value> =
        archived.iter().filter(|item| time_of(item).is_some_and(|time| time.to_string()[..10] == *day)).collect();
    let mut expected = BTreeMap::<&str, u64>::new();
    for payment in &of_day {
        *expected.entry(status_of(payment)).or_default() += 1;
    }
    let certificates: Vec<&Value> =
        std::iter::once(body).chain(body["supplements"].as_array().into_iter().flatten()).collect();
    for status in ["PROCESSED", "FAILED", "CANCELLED"] {
        let counted: u64 = certificates.iter().map(|one| one["counts"][status].as_u64().unwrap_or_default()).sum();
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
    let by_hand = has_patch(history, |status| status != "CANCELLED");
    // During faults, a close can meet a payment whose outcome could not be recorded yet.
    let quiet = if is_quiet_at_the_end(world) { 0 } else { certificates.len().saturating_sub(1) };
    let discrepancies: u64 =
        certificates[quiet..].iter().map(|one| one["discrepancyCount"].as_u64().unwrap_or_default()).sum();
    if discrepancies > 0 && !by_hand {
        world.violation(format!("the certificates of {day} have discrepancies: {body}"));
    }
}

/// Status of a payment. The bank itself dispatches and executes payments at any time.
#[derive(Debug)]
struct Life;

#[derive(Debug, Clone, PartialEq, Eq)]
enum LifeOperation {
    /// A request changes the status.
    Change(&'static str, &'static str),
    /// A request changes the status, or finds it changed.
    Set(&'static str, &'static str),
    /// A response shows the status.
    Show(String),
}

impl Specification for Life {
    type State = String;
    type Operation = LifeOperation;

    fn init() -> String {
        "SCHEDULED".to_owned()
    }

    fn apply(operation: &LifeOperation, state: &String) -> (bool, String) {
        let reaches = |to: &str| {
            state == to
                || matches!(
                    (state.as_str(), to),
                    ("SCHEDULED", "PENDING" | "PROCESSED" | "FAILED") | ("PENDING", "PROCESSED" | "FAILED")
                )
        };
        match operation {
            LifeOperation::Change(from, to) if reaches(from) => (true, (*to).to_owned()),
            LifeOperation::Set(from, to) if state == to || reaches(from) => (true, (*to).to_owned()),
            LifeOperation::Show(status) if reaches(status) => (true, status.clone()),
            _ => (false, state.clone()),
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
            let wanted = exchange.ask.body.as_ref()?["status"].as_str()?;
            let is_set = body["detail"].as_str()?.ends_with(&format!("is {wanted}."));
            is_set.then_some((exchange.ask.path.rsplit('/').next()?, wanted))
        }
        _ => None,
    }
}

/// The history of each payment's status is linearizable.
fn check_status<'a>(world: &World, history: &[Exchange], stored: impl Iterator<Item = &'a Value>) {
    let mut payments = BTreeMap::<String, Vec<Interval<LifeOperation>>>::new();
    for exchange in history {
        let Some((id, status)) = shown(exchange) else { continue };
        let operation = match (exchange.ask.method, status) {
            ("PATCH", "CANCELLED") => LifeOperation::Change("SCHEDULED", "CANCELLED"),
            ("PATCH", "PENDING") => LifeOperation::Change("SCHEDULED", "PENDING"),
            ("PATCH", "PROCESSED") => LifeOperation::Change("PENDING", "PROCESSED"),
            ("PATCH", "FAILED") => LifeOperation::Change("PENDING", "FAILED"),
            ("GET" | "POST", status) => LifeOperation::Show(status.to_owned()),
            _ => continue,
        };
        let operation = match operation {
            LifeOperation::Change(from, to) if exchange.reply.status == 409 => LifeOperation::Set(from, to),
            operation => operation,
        };
        let interval = Interval { begin: exchange.begin, end: exchange.end, operation };
        payments.entry(id.to_owned()).or_default().push(interval);
    }
    // The stored status is the last response.
    let end = history.iter().map(|exchange| exchange.end).max().unwrap_or_default();
    for payment in stored {
        let id = id_of(payment).rsplit('#').next().unwrap_or_default();
        let operation = LifeOperation::Show(status_of(payment).to_owned());
        let interval = Interval { begin: end + 1, end: end + 2, operation };
        payments.entry(id.to_owned()).or_default().push(interval);
    }
    for (id, intervals) in payments {
        if !is_linearizable::<Life>(&intervals) {
            world.violation(format!("the status of payment {id} is not linearizable: {intervals:?}"));
        }
    }
}
