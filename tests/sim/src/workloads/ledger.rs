//! The ledger: transfers, batches, holds, refunds, settlements, freezes and reconciliations.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::BoxFuture;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{attribute, cents, each, index, minor, number, of_type, picked, text};
use crate::{
    clock,
    draw::Draw,
    linear::{Choices, Histories},
    published,
    trace::lock,
    workloads::{Step, Workload},
    world::{Ask, Caller, Exchange, World},
};

/// Number of accounts: the first funds the others, and the last has grouped posting.
const ACCOUNTS: usize = 5;
const USERS: [&str; 2] = ["ann", "bob"];
/// Number of references, so that transactions compete for them.
const REFERENCES: u64 = 10;

#[derive(Debug, Default)]
pub(super) struct Books {
    accounts: Mutex<Vec<String>>,
    merchant: Mutex<String>,
    holds: Mutex<Vec<String>>,
    transactions: Mutex<Vec<String>>,
}

fn operator() -> Caller {
    Caller::new("operator", &json!({"sub": "operator", "scope": "ledger:operate"}))
}

fn user(name: &str) -> Caller {
    Caller::new(name, &json!({"sub": name, "scope": "ledger:read ledger:write"}))
}

fn owner(account: usize) -> &'static str {
    USERS[account % 2]
}

fn stored(item: &Value, attribute: &str) -> i128 {
    minor(super::attribute(item, attribute))
}

impl Workload for Books {
    fn stacks(&self) -> &'static [&'static str] {
        &["ledger"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let [from, to] = [draw.index(ACCOUNTS), draw.index(ACCOUNTS - 1)];
        let to = if to >= from { to + 1 } else { to };
        let (amount, pick) = (draw.between(1, 6_000), draw.below(1_000));
        let kind = draw.kind(
            "transfer 30, batch 8, hold 14, capture 12, void 6, refund 12, read 16, statement 4, balance-at 2, \
             freeze 4, posting 3, close 4, reconcile 2, list 2, stranger 4",
        );
        json!({
            "from": from, "to": to, "amount": amount, "pick": pick, "do": kind, "whole": draw.happens(500),
            "seconds": draw.one(&[5, 60, 86_400]), "merchant": draw.happens(300), "twice": draw.happens(250),
        })
    }

    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let operator = operator();
            let ask = Ask::with("POST", "/ledger/merchants", json!({"name": "Shop", "category": "food"}));
            let made = world.ask("open-merchant", &operator, ask).await;
            text(&made.body, "merchantId").clone_into(&mut lock(&self.merchant));
            for number in 0..ACCOUNTS {
                let terms = json!({
                    "userId": owner(number), "accountType": if number == 0 { "external" } else { "checking" }, "currency": "USD",
                    "allowNegative": number == 0, "posting": if number == ACCOUNTS - 1 { "grouped" } else { "direct" },
                });
                let ask = Ask::with("POST", "/ledger/accounts", terms);
                let opened = world.ask(&format!("open-{number}"), &operator, ask).await;
                lock(&self.accounts).push(text(&opened.body, "accountId").to_owned());
            }
            for number in 1..ACCOUNTS {
                let action = json!({"from": 0, "to": number, "amount": 10_000});
                self.transfer(world, &action, &format!("fund-{number}"), &operator).await;
            }
        })
    }

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let (action, operator, from) = (&step.action, operator(), index(&step.action, "from"));
            let path = format!("/ledger/accounts/{}", self.account(from));
            let by_owner = action["whole"] == true && from != 0;
            let owner = if by_owner { user(owner(from)) } else { operator.clone() };
            let ask = match text(action, "do") {
                "transfer" => return self.transfer(world, action, label, &owner).await,
                "batch" => return self.batch(world, action, label).await,
                "hold" => return self.hold(world, action, label, &owner).await,
                what @ ("capture" | "void") => return self.with_hold(world, action, label, what).await,
                "refund" => return self.refund(world, action, label).await,
                "read" => return drop(world.ask(label, &owner, Ask::of("GET", path)).await),
                "statement" => Ask::of("GET", format!("{path}/statement?limit=5")),
                "balance-at" => Ask::of("GET", format!("{path}/balance")),
                "freeze" => {
                    let set = |status: &str| Ask::with("PATCH", path.as_str(), json!({"status": status}));
                    world.ask(label, &owner, set("frozen")).await;
                    return drop(world.ask(&format!("{label}b"), &operator, set("active")).await);
                }
                "posting" => {
                    let posting = if action["whole"] == true { "grouped" } else { "direct" };
                    Ask::with("PATCH", path, json!({"posting": posting}))
                }
                "close" if from > 0 => {
                    let body = json!({"status": "closed", "transferTo": self.account(index(action, "to"))});
                    let mut pause = 20 + 5 * number(action, "pick");
                    // An account with an inbox closes once no payment can reach it any more.
                    for again in 0..6 {
                        let ask = Ask::with("PATCH", path.as_str(), body.clone());
                        let reply = world.ask(&format!("{label}-{again}"), &operator, ask).await;
                        if reply.body["status"] != "closing" {
                            break;
                        }
                        sleep(Duration::from_millis(pause)).await;
                        pause *= 3;
                    }
                    return;
                }
                "reconcile" => reconcile(1),
                "stranger" => return self.trespass(world, action, label).await,
                _ => match number(action, "pick") % 3 {
                    0 => return drop(world.ask(label, &owner, Ask::of("GET", format!("{path}/holds?limit=5"))).await),
                    1 => Ask::of("GET", "/ledger/reconciliations?limit=5"),
                    _ => Ask::of("GET", "/ledger/transactions?limit=10"),
                },
            };
            world.ask(label, &operator, ask).await;
        })
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // The checks below take time, in which holds expire.
            published::check(world, "ledger", &["FinancialTransactions", "LedgerJobs"], event_of);
            let items = world.items("FinancialTransactions");
            check_books(world, &items);
            Self::check_outcomes(world, history, &items);
            self.check_balances(world, history);
            self.check_reports(world, &items).await;
            self.check_lists(world).await;
            check_references(world, history).await;
        })
    }
}

/// The event that a stream record must have.
fn event_of(record: &Value) -> Option<&'static str> {
    let (old, new) = (&record["dynamodb"]["OldImage"], &record["dynamodb"]["NewImage"]);
    match (attribute(new, "Type"), attribute(old, "Type")) {
        ("Transaction", "") if new.get("ReversesID").is_some() => Some("TransactionReversed"),
        ("Transaction", "") => Some("TransactionPosted"),
        ("Hold", "") => Some("HoldCreated"),
        ("Hold", "Hold") if old["Captured"] != new["Captured"] => Some("HoldCaptured"),
        ("Hold", "Hold") if old["Status"] != new["Status"] => match attribute(new, "Status") {
            "expired" => Some("HoldExpired"),
            _ => Some("HoldVoided"),
        },
        ("Job", "Job") if attribute(new, "Kind") == "reconciliation" => {
            let has_ended = attribute(old, "State") == "running" && attribute(new, "State") == "done";
            let found = attribute(&new["Progress"]["M"], "Discrepancies");
            (has_ended && !matches!(found, "" | "0")).then_some("ReconciliationFoundDiscrepancies")
        }
        _ => None,
    }
}

impl Books {
    fn account(&self, number: usize) -> String {
        lock(&self.accounts).get(number).cloned().unwrap_or_default()
    }

    /// Requests of a user without accounts.
    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let path = format!("/ledger/accounts/{}", self.account(index(action, "from")));
        let (transaction, hold) = (picked(&self.transactions, action, 4), picked(&self.holds, action, 4));
        let ask = match (number(action, "pick") % 9, transaction, hold) {
            (0, Some(id), _) => Ask::of("GET", format!("/ledger/transactions/{id}")),
            (1, Some(id), _) => Ask::with("POST", format!("/ledger/transactions/{id}/reversal"), json!({})).key(label),
            (2, _, Some(id)) => Ask::with("POST", format!("/ledger/holds/{id}/capture"), json!({})).key(label),
            (3, _, Some(id)) => Ask::of("POST", format!("/ledger/holds/{id}/void")),
            (4, ..) => Ask::with("POST", "/ledger/transactions", self.payment(action)).key(label),
            (5, ..) => Ask::with("PATCH", path, json!({"status": "frozen"})),
            (6, ..) => Ask::of("GET", format!("{path}/statement")),
            (7, ..) => Ask::of("GET", format!("{path}/holds")),
            (8, ..) => Ask::of("GET", "/ledger/reconciliations"),
            _ => Ask::of("GET", path),
        };
        world.trespass(label, &user("eve"), ask, &[403, 404]).await;
    }

    fn payment(&self, action: &Value) -> Value {
        let [from, to] = ["from", "to"].map(|member| self.account(index(action, member)));
        let mut body = json!({
            "transactionType": "payment", "debitAccountId": from, "creditAccountId": to,
            "amount": cents(number(action, "amount")), "currency": "USD",
        });
        if action["merchant"] == true {
            body["merchantId"] = lock(&self.merchant).clone().into();
        }
        let pick = number(action, "pick");
        if pick.is_multiple_of(3) {
            body["reference"] = format!("order {}", pick % REFERENCES).into();
            body["metadata"] = json!({"pick": pick.to_string()});
        }
        body
    }

    fn posted(&self, transaction: &Value) {
        if let Some(id) = transaction["transactionId"].as_str() {
            lock(&self.transactions).push(id.to_owned());
        }
    }

    async fn transfer(&self, world: &World, action: &Value, label: &str, caller: &Caller) {
        let ask = Ask::with("POST", "/ledger/transactions", self.payment(action)).key(label);
        self.posted(&world.ask_twice(label, caller, ask, action["twice"] == true).await.body);
    }

    async fn batch(&self, world: &World, action: &Value, label: &str) {
        let one = |number: u64| {
            let mut one = action.clone();
            one["amount"] = (super::number(action, "amount") / (number + 1) + 1).into();
            if number % 2 == 1 {
                (one["from"], one["to"]) = (action["to"].clone(), action["from"].clone());
            }
            let mut body = self.payment(&one);
            body["idempotencyKey"] = format!("{label}-{number}").into();
            body
        };
        let all: Vec<Value> = (0..2 + number(action, "pick") % 4).map(one).collect();
        let ask = Ask::with("POST", "/ledger/transactions/batch", json!({"transactions": all}));
        let mut reply = world.ask(label, &operator(), ask.clone()).await;
        for again in 0..40 {
            let is_open = each(&reply.body, "results").any(|result| matches!(number(result, "status"), 429 | 503));
            if reply.status != 200 || !is_open {
                break;
            }
            reply = world.ask(&format!("{label}r{again}"), &operator(), ask.clone()).await;
        }
        for result in each(&reply.body, "results") {
            self.posted(&result["transaction"]);
        }
    }

    async fn hold(&self, world: &World, action: &Value, label: &str, caller: &Caller) {
        let mut body = self.payment(action);
        if let Some(members) = body.as_object_mut() {
            members.remove("transactionType");
            for name in ["merchantId", "reference", "metadata"] {
                members.remove(name);
            }
        }
        let seconds = action["seconds"].as_i64().unwrap_or(60);
        if seconds < 86_400 {
            body["expiresAt"] = (clock::now() + SignedDuration::from_secs(seconds)).to_string().into();
        }
        let reply = world.ask(label, caller, Ask::with("POST", "/ledger/holds", body).key(label)).await;
        if let Some(id) = reply.body["holdId"].as_str() {
            lock(&self.holds).push(id.to_owned());
        }
    }

    async fn with_hold(&self, world: &World, action: &Value, label: &str, what: &str) {
        let Some(hold) = picked(&self.holds, action, 4) else { return };
        let mut body = json!({});
        if action["whole"] == false && what == "capture" {
            body["amount"] = cents(number(action, "amount") / 4 + 1).into();
        }
        let ask = |what: &str, label: &str| {
            let ask = Ask::of("POST", format!("/ledger/holds/{hold}/{what}"));
            if what == "capture" { Ask { body: body.clone(), ..ask }.key(label) } else { ask }
        };
        let (other, again) = (if what == "capture" { "void" } else { "capture" }, format!("{label}t"));
        self.once_or_twice(world, action, (label, ask(what, label)), (&again, ask(other, &again))).await;
    }

    async fn refund(&self, world: &World, action: &Value, label: &str) {
        let Some(transaction) = picked(&self.transactions, action, 4) else { return };
        let mut body = json!({});
        if action["whole"] == false {
            body["amount"] = cents(number(action, "amount") / 3 + 1).into();
        }
        let ask = Ask::with("POST", format!("/ledger/transactions/{transaction}/reversal"), body);
        let again = format!("{label}t");
        self.once_or_twice(world, action, (label, ask.clone().key(label)), (&again, ask.key(&again))).await;
    }

    /// Sends the first request, and sometimes the second one at the same time.
    async fn once_or_twice(&self, world: &World, action: &Value, first: (&str, Ask), second: (&str, Ask)) {
        let operator = operator();
        let first = world.ask(first.0, &operator, first.1);
        if action["twice"] == true {
            let (first, second) = futures::join!(first, world.ask(second.0, &operator, second.1));
            self.posted(&first.body);
            self.posted(&second.body);
        } else {
            self.posted(&first.await.body);
        }
    }

    /// Every acknowledged transaction is stored once, with the answered legs.
    fn check_outcomes(world: &World, history: &[Exchange], items: &[Value]) {
        let headers: BTreeSet<&str> = of_type(items, "Transaction").map(|item| attribute(item, "ID")).collect();
        let mut by_key = BTreeMap::<String, BTreeSet<String>>::new();
        let mut answered = BTreeSet::new();
        for (key, transaction) in history.iter().flat_map(transactions) {
            let id = text(&transaction, "transactionId").to_owned();
            if !headers.contains(id.as_str()) {
                world.violation(format!("the acknowledged transaction {id} is not stored"));
            }
            answered.insert(id.clone());
            if let Some(key) = key {
                by_key.entry(key).or_default().insert(id);
            }
        }
        for (key, ids) in by_key.iter().filter(|(_, ids)| ids.len() > 1) {
            world.violation(format!("the idempotency key {key} has several transactions: {ids:?}"));
        }
        // No account and no merchant is ever removed.
        for exchange in history.iter().filter(|one| one.ask.path == "/ledger/transactions" && one.reply.status == 404) {
            world.violation(format!("{}: an account or merchant is missing: {}", exchange.label, exchange.reply.body));
        }
        for exchange in history.iter().filter(|one| one.ask.path.ends_with("/void") && one.reply.status == 200) {
            let key = format!("HOLD#{}", text(&exchange.reply.body, "holdId"));
            let status = of_type(items, "Hold").find(|item| attribute(item, "PK") == key);
            if status.is_none_or(|hold| hold["Status"]["S"] != "voided") {
                world.violation(format!("{}: the voided hold is stored as {status:?}", exchange.label));
            }
        }
        // Every transaction is a success of a request, because each request was repeated until its
        // outcome was known. A closing transaction has no response of its own.
        for item in of_type(items, "Transaction").filter(|item| item["TransactionType"]["S"] != "closing") {
            let id = attribute(item, "ID");
            if !answered.contains(id) {
                world.violation(format!("the transaction {id} was posted, but its request was rejected: {item}"));
            }
        }
    }

    /// The history of each account's balance is linearizable. An account that was closed, or had
    /// grouped posting, has changes without a request of their own.
    fn check_balances(&self, world: &World, history: &[Exchange]) {
        let closings = history.iter().filter(|one| !one.ask.body["transferTo"].is_null());
        let closings = closings.flat_map(|one| [one.ask.path.rsplit('/').next(), one.ask.body["transferTo"].as_str()]);
        let closings: BTreeSet<&str> = closings.flatten().collect();
        let mut balances = Histories::<Balance>::new();
        for account in lock(&self.accounts).iter().filter(|account| !closings.contains(account.as_str())) {
            if is_grouped(world, account) || history.iter().any(|one| changes_posting(one, account)) {
                continue;
            }
            let name = format!("balance of account {account}");
            let mut legs = BTreeMap::<String, (u64, u64, Operation)>::new();
            for exchange in history {
                let (begin, end) = (first_attempt(history, exchange), exchange.end);
                for (_, transaction) in transactions(exchange) {
                    for leg in each(&transaction, "legs").filter(|leg| leg["accountId"] == **account) {
                        let sign = if leg["legType"] == "debit" { -1 } else { 1 };
                        let after = leg["balanceAfter"].as_str().map(minor);
                        let operation = Operation::Add(sign * minor(text(leg, "amount")), after);
                        let id = format!("{} {}", text(&transaction, "transactionId"), leg["legId"]);
                        let known = legs.entry(id).or_insert((begin, end, operation));
                        (known.0, known.1) = (known.0.min(begin), known.1.min(end));
                    }
                }
                let is_read = exchange.ask.method == "GET" && exchange.ask.path.ends_with(account.as_str());
                if is_read && exchange.reply.status == 200 {
                    let balance = minor(text(&exchange.reply.body, "balance"));
                    balances.push(&name, (begin, end), Operation::Read(balance));
                }
            }
            for (begin, end, operation) in legs.into_values() {
                balances.push(&name, (begin, end), operation);
            }
        }
        balances.check(world);
    }

    /// The ledger's own reconciliation finds nothing, and the trial balance is the sum of all legs.
    async fn check_reports(&self, world: &World, items: &[Value]) {
        // A reconciliation leaves out the last 90 seconds.
        sleep(Duration::from_secs(100)).await;
        let started = world.ask("reconcile", &operator(), reconcile(30)).await;
        let path = format!("/ledger/reconciliations/{}", text(&started.body, "reconciliationId"));
        for attempt in 0..200 {
            sleep(Duration::from_secs(2)).await;
            let ask = Ask::of("GET", path.as_str());
            let body = world.ask(&format!("reconciled-{attempt}"), &operator(), ask).await.body;
            if body["status"] == "running" {
                continue;
            }
            if body["status"] != "done" || body["discrepancies"] != json!([]) || !body["skipped"].is_null() {
                world.violation(format!("the reconciliation reports {body}"));
            }
            break;
        }
        let mut days = BTreeMap::<&str, i128>::new();
        for item in of_type(items, "TransactionLeg").filter(|item| item["LegType"]["S"] == "debit") {
            *days.entry(&attribute(item, "CreatedAt")[..10]).or_default() += stored(item, "Amount");
        }
        // A trial balance has everything up to the end of the day.
        let mut debits = 0;
        for (day, of_day) in days {
            debits += of_day;
            let ask = Ask::of("GET", format!("/ledger/trial-balance?date={day}"));
            let report = world.ask(&format!("trial-{day}"), &operator(), ask).await.body;
            let sum = |member: &str| each(&report, "items").map(|row| minor(text(row, member))).sum::<i128>();
            if sum("debits") != debits || sum("credits") != debits {
                world.violation(format!("the trial balance of {day} is not the sum {debits} of its legs: {report}"));
            }
        }
    }
}

/// The items of the first page of a list. No case has more than 100.
async fn listed(world: &World, label: &str, path: String) -> Vec<Value> {
    let ask = Ask::of("GET", format!("{path}?limit=100"));
    let reply = world.ask(label, &operator(), ask).await;
    if !reply.body["skipped"].is_null() {
        world.violation(format!("{label} omits items that cannot be read: {}", reply.body));
    }
    each(&reply.body, "items").cloned().collect()
}

/// The keys of the reconciliations.
fn reconciliations(world: &World) -> BTreeSet<String> {
    let jobs = world.items("LedgerJobs");
    let keys = of_type(&jobs, "Job").map(|job| attribute(job, "PK"));
    keys.filter(|key| key.starts_with("RECONCILIATION#")).map(str::to_owned).collect()
}

impl Books {
    /// Once the indexes have no delay, the lists have each open hold and each reconciliation once.
    async fn check_lists(&self, world: &World) {
        let accounts = lock(&self.accounts).clone();
        for account in accounts {
            let before = clock::now();
            let list = listed(world, &format!("holds-{account}"), format!("/ledger/accounts/{account}/holds")).await;
            let rests = list.iter().map(|hold| (text(hold, "holdId").to_owned(), minor(text(hold, "remaining"))));
            let rests: BTreeMap<String, i128> = rests.collect();
            let items = world.items("FinancialTransactions");
            let open_at = |now: jiff::Timestamp| {
                let own = of_type(&items, "Hold").filter(|item| item["DebitAccountID"]["S"] == account.as_str());
                let open = own.filter(move |item| item["Status"]["S"] == "held" && is_after(item, now));
                let rest = |item: &Value| stored(item, "Amount") - stored(item, "Captured");
                open.map(|item| (attribute(item, "ID").to_owned(), rest(item))).collect::<BTreeMap<String, i128>>()
            };
            let (most, least) = (open_at(before), open_at(clock::now()));
            let is_listed = |(id, rest): (&String, &i128)| rests.get(id) == Some(rest);
            let is_open = |(id, rest): (&String, &i128)| most.get(id) == Some(rest);
            if rests.len() != list.len() || !least.iter().all(is_listed) || !rests.iter().all(is_open) {
                world.violation(format!("the open holds of {account} are {most:?}, but its list is {list:?}"));
            }
        }
        let first = reconciliations(world);
        let list = listed(world, "reconciliations", "/ledger/reconciliations".to_owned()).await;
        let keys: BTreeSet<String> =
            list.iter().map(|one| format!("RECONCILIATION#{}", text(one, "reconciliationId"))).collect();
        let is_sorted = list.iter().rev().is_sorted_by_key(|one| text(one, "startedAt"));
        let is_complete = keys.is_superset(&first) && keys.is_subset(&reconciliations(world));
        if keys.len() != list.len() || !is_sorted || !is_complete {
            world.violation(format!("the reconciliations are {first:?}, but their list is {list:?}"));
        }
    }
}

/// The caller, the type and the reference of a transaction with a reference.
fn reference_of(header: &Value) -> Option<[&str; 3]> {
    let reference = header["Reference"]["S"].as_str()?;
    Some([attribute(header, "CreatedBy"), attribute(header, "TransactionType"), reference])
}

/// A reference has at most one transaction for each caller and type, with a guard. An operator
/// finds all its transactions. A request is rejected only if another transaction has its reference.
async fn check_references(world: &World, history: &[Exchange]) {
    let items = world.items("FinancialTransactions");
    let mut used = BTreeMap::<[&str; 3], Vec<&str>>::new();
    for header in of_type(&items, "Transaction") {
        if let Some(reference) = reference_of(header) {
            used.entry(reference).or_default().push(attribute(header, "ID"));
        }
    }
    for (reference, ids) in used.iter().filter(|(_, ids)| ids.len() > 1) {
        world.violation(format!("the reference {reference:?} has several transactions: {ids:?}"));
    }
    let guards: BTreeSet<&str> =
        of_type(&items, "ReferenceGuard").map(|item| attribute(item, "TransactionID")).collect();
    let ids: BTreeSet<&str> = used.values().flatten().copied().collect();
    if guards != ids {
        world.violation(format!("the transactions {ids:?} have references, but guards exist for {guards:?}"));
    }
    for exchange in history.iter().filter(|one| one.reply.problem() == "reference-used") {
        let reference = text(&exchange.ask.body, "reference");
        if !used.keys().any(|[_, _, used]| *used == reference) {
            world.violation(format!("{}: no transaction has the reference {reference}", exchange.label));
        }
    }
    for number in 0..REFERENCES {
        let reference = format!("order {number}");
        let path = format!("/ledger/transactions?reference=order%20{number}");
        let ask = Ask::of("GET", path);
        let reply = world.ask(&format!("referred-{number}"), &operator(), ask).await;
        let listed: BTreeSet<&str> = each(&reply.body, "items").map(|one| text(one, "transactionId")).collect();
        let own = used.iter().filter(|([_, _, used], _)| *used == reference);
        let own: BTreeSet<&str> = own.flat_map(|(_, ids)| ids).copied().collect();
        if listed != own {
            world.violation(format!("{reference} has the transactions {own:?}, but its list is {}", reply.body));
        }
    }
}

/// Whether a hold expires after `now`.
fn is_after(hold: &Value, now: jiff::Timestamp) -> bool {
    attribute(hold, "ExpiresAt").parse::<jiff::Timestamp>().is_ok_and(|expires| now < expires)
}

/// Starts a reconciliation of the last hours.
fn reconcile(hours: i64) -> Ask {
    let now = clock::now();
    let body = json!({"from": (now - SignedDuration::from_hours(hours)).to_string(), "to": now.to_string()});
    Ask::with("POST", "/ledger/reconciliations", body)
}

/// The balance of an account, which operations change by a difference.
struct Balance;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Operation {
    /// Adds a difference. The result is the new balance, if it is known.
    Add(i128, Option<i128>),
    Read(i128),
}

impl Choices for Balance {
    type State = i128;
    type Operation = Operation;

    fn init() -> i128 {
        0
    }

    fn after(operation: &Operation, state: &i128) -> Option<i128> {
        let (new, shown) = match operation {
            Operation::Add(difference, after) => (state + difference, *after),
            Operation::Read(balance) => (*state, Some(*balance)),
        };
        shown.is_none_or(|shown| shown == new).then_some(new)
    }
}

fn is_grouped(world: &World, account: &str) -> bool {
    let key = json!({"PK": {"S": format!("ACCOUNT#{account}")}, "SK": {"S": "METADATA"}});
    let got = world.stack.dynamodb("GetItem", &json!({"TableName": world.table("FinancialTransactions"), "Key": key}));
    got.is_ok_and(|got| got["Item"]["Posting"]["S"] == "grouped")
}

/// Position of the first attempt. A batch is sent again if payments of it have no outcome.
fn first_attempt(history: &[Exchange], exchange: &Exchange) -> u64 {
    let is_batch = exchange.ask.path.ends_with("/batch");
    let same = |one: &&Exchange| is_batch && one.ask.path == exchange.ask.path && one.ask.body == exchange.ask.body;
    history.iter().find(same).map_or(exchange.begin, |first| first.begin)
}

fn changes_posting(exchange: &Exchange, account: &str) -> bool {
    let is_change = exchange.ask.method == "PATCH" && exchange.ask.path.ends_with(account);
    is_change && !exchange.ask.body["posting"].is_null()
}

/// The transactions of the successful responses of a request, with their idempotency keys.
fn transactions(exchange: &Exchange) -> Vec<(Option<String>, Value)> {
    let mut found = Vec::new();
    for reply in &exchange.replies {
        if reply.status == 201 && !reply.body["transactionId"].is_null() {
            let key = exchange.ask.key.as_ref().map(|key| format!("{} {key}", exchange.ask.path));
            found.push((key, reply.body.clone()));
        }
        for result in each(&reply.body, "results").filter(|result| result["status"] == 201) {
            let key = result["idempotencyKey"].as_str().map(|key| format!("batch {key}"));
            found.push((key, result["transaction"].clone()));
        }
    }
    found
}

/// Rules of the stored items: conservation, balances, holds and no overdraft.
fn check_books(world: &World, items: &[Value]) {
    let total: i128 = of_type(items, "Account").map(|item| stored(item, "Balance")).sum();
    let inbox: i128 = of_type(items, "InboxItem").map(|item| stored(item, "Amount")).sum();
    if total + inbox != 0 {
        world.violation(format!("money is not conserved: balances {total}, inbox {inbox}"));
    }
    if inbox != 0 {
        world.violation(format!("credits of {inbox} cents are still in an inbox"));
    }
    for account in of_type(items, "Account") {
        let (id, balance) = (attribute(account, "ID"), stored(account, "Balance"));
        let own = |item: &&Value| item["AccountID"]["S"] == id;
        let sign = |item: &Value| if item["LegType"]["S"] == "debit" { -1 } else { 1 };
        let own_legs = of_type(items, "TransactionLeg").filter(own);
        let legs: i128 = own_legs.map(|item| sign(item) * stored(item, "Amount")).sum();
        if legs != balance {
            world.violation(format!("account {id} has the balance {balance}, but its legs sum to {legs}"));
        }
        let mut after = items.iter().filter(|item| !item["BalanceAfter"].is_null()).filter(own);
        if account["AllowNegative"]["BOOL"] != true && after.any(|leg| stored(leg, "BalanceAfter") < 0) {
            world.violation(format!("account {id} was overdrawn"));
        }
        if account["Status"]["S"] == "closed" && balance != 0 {
            world.violation(format!("the closed account {id} has the balance {balance}"));
        }
        let open = of_type(items, "Hold").filter(|item| item["Status"]["S"] == "held");
        let open = open.filter(|item| item["DebitAccountID"]["S"] == id);
        let sum: i128 = open.map(|hold| stored(hold, "Amount") - stored(hold, "Captured")).sum();
        let held = stored(account, "Held");
        if sum != held {
            world.violation(format!("account {id} holds {held}, but its open holds sum to {sum}"));
        }
    }
    for hold in of_type(items, "Hold").filter(|hold| stored(hold, "Captured") > stored(hold, "Amount")) {
        world.violation(format!("a hold was captured beyond its amount: {hold}"));
    }
    for transaction in of_type(items, "Transaction") {
        let of = of_type(items, "Transaction").filter(|item| item["ReversesID"] == transaction["ID"]);
        let reversed: i128 = of.map(|item| stored(item, "Amount")).sum();
        if reversed > stored(transaction, "Amount") {
            world.violation(format!("more than the amount of a transaction was reversed: {reversed} of {transaction}"));
        }
    }
}
