//! The ledger: transfers, batches, holds, refunds, settlements, freezes and reconciliations.
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use futures::future::BoxFuture;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::{
    case::{Step, Workload},
    clock,
    draw::Draw,
    linear::{Interval, Number, NumberOperation, is_linearizable},
    world::{Ask, Caller, Exchange, World, lock},
};

/// Number of accounts: the first funds the others, and the last has grouped posting.
const ACCOUNTS: usize = 5;
const USERS: [&str; 2] = ["ann", "bob"];

/// State of a case.
#[derive(Debug, Default)]
pub(super) struct Books {
    accounts: Mutex<Vec<String>>,
    merchant: Mutex<String>,
    holds: Mutex<Vec<String>>,
    transactions: Mutex<Vec<String>>,
}

fn operator() -> Caller {
    Caller::new("operator", json!({"sub": "operator", "scope": "ledger:operate"}))
}

fn user(name: &str) -> Caller {
    Caller::new(name, json!({"sub": name, "scope": "ledger:read ledger:write"}))
}

/// The owner of an account.
fn owner(account: usize) -> &'static str {
    USERS[account % 2]
}

fn cents(amount: u64) -> String {
    format!("{}.{:02}", amount / 100, amount % 100)
}

fn minor(amount: &Value) -> i128 {
    let text = amount.as_str().unwrap_or_default();
    let (sign, text) = text.strip_prefix('-').map_or((1, text), |text| (-1, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    sign * format!("{whole}{fraction:0<2}").parse::<i128>().unwrap_or_default()
}

fn stored(item: &Value, attribute: &str) -> i128 {
    minor(&item[attribute]["N"])
}

impl Workload for Books {
    fn stacks(&self) -> &'static [&'static str] {
        &["ledger"]
    }

    fn action(&self, draw: &mut Draw) -> Value {
        let [from, to] = [draw.index(ACCOUNTS), draw.index(ACCOUNTS - 1)];
        let to = if to >= from { to + 1 } else { to };
        let transfer = json!({"from": from, "to": to, "amount": draw.between(1, 6_000), "pick": draw.below(1_000)});
        let mut action = transfer;
        let kind = [
            ("transfer", 30),
            ("batch", 8),
            ("hold", 14),
            ("capture", 12),
            ("void", 6),
            ("refund", 12),
            ("read", 16),
            ("statement", 4),
            ("balance-at", 2),
            ("freeze", 4),
            ("posting", 3),
            ("close", 4),
            ("reconcile", 2),
            ("list", 2),
            ("stranger", 4),
        ];
        action["do"] = kind[draw.weighted(&kind.map(|(_, weight)| weight))].0.into();
        action["whole"] = draw.happens(500).into();
        action["seconds"] = draw.one(&[5, 60, 86_400]).to_owned().into();
        action["merchant"] = draw.happens(300).into();
        action["twice"] = draw.happens(250).into();
        action
    }

    fn prepare<'a>(&'a self, world: &'a Arc<World>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let operator = operator();
            let made = world
                .ask(
                    "open-merchant",
                    &operator,
                    Ask::with("POST", "/ledger/merchants", json!({"name": "Shop", "category": "food"})),
                )
                .await;
            made.body["merchantId"].as_str().unwrap_or_default().clone_into(&mut lock(&self.merchant));
            for number in 0..ACCOUNTS {
                let terms = json!({
                    "userId": owner(number), "accountType": if number == 0 { "external" } else { "checking" }, "currency": "USD",
                    "allowNegative": number == 0, "posting": if number == ACCOUNTS - 1 { "grouped" } else { "direct" },
                });
                let opened =
                    world.ask(&format!("open-{number}"), &operator, Ask::with("POST", "/ledger/accounts", terms)).await;
                lock(&self.accounts).push(opened.body["accountId"].as_str().unwrap_or_default().to_owned());
            }
            for number in 1..ACCOUNTS {
                let action = json!({"from": 0, "to": number, "amount": 10_000});
                self.transfer(world, &action, &format!("fund-{number}"), &operator).await;
            }
        })
    }

    fn act<'a>(&'a self, world: &'a Arc<World>, step: &'a Step, label: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let action = &step.action;
            let by_owner = action["whole"] == true && action["from"] != 0;
            let from = usize::try_from(action["from"].as_u64().unwrap_or_default()).unwrap_or_default();
            let caller = if by_owner { user(owner(from)) } else { operator() };
            match action["do"].as_str().unwrap_or_default() {
                "transfer" => self.transfer(world, action, label, &caller).await,
                "batch" => self.batch(world, action, label).await,
                "hold" => self.hold(world, action, label, &caller).await,
                "capture" => self.with_hold(world, action, label, "capture").await,
                "void" => self.with_hold(world, action, label, "void").await,
                "refund" => self.refund(world, action, label).await,
                "read" => drop(
                    world.ask(label, &caller, Ask::of("GET", format!("/ledger/accounts/{}", self.account(from)))).await,
                ),
                "statement" => drop(
                    world
                        .ask(
                            label,
                            &operator(),
                            Ask::of("GET", format!("/ledger/accounts/{}/statement?limit=5", self.account(from))),
                        )
                        .await,
                ),
                "balance-at" => drop(
                    world
                        .ask(
                            label,
                            &operator(),
                            Ask::of("GET", format!("/ledger/accounts/{}/balance", self.account(from))),
                        )
                        .await,
                ),
                "freeze" => {
                    let path = format!("/ledger/accounts/{}", self.account(from));
                    world.ask(label, &caller, Ask::with("PATCH", path.as_str(), json!({"status": "frozen"}))).await;
                    world
                        .ask(&format!("{label}b"), &operator(), Ask::with("PATCH", path, json!({"status": "active"})))
                        .await;
                }
                "posting" => {
                    let posting = if action["whole"] == true { "grouped" } else { "direct" };
                    let path = format!("/ledger/accounts/{}", self.account(from));
                    world.ask(label, &operator(), Ask::with("PATCH", path, json!({"posting": posting}))).await;
                }
                "close" if from > 0 => {
                    let path = format!("/ledger/accounts/{}", self.account(from));
                    let to = usize::try_from(action["to"].as_u64().unwrap_or_default()).unwrap_or_default();
                    let body = json!({"status": "closed", "transferTo": self.account(to)});
                    let mut pause = 20 + 5 * action["pick"].as_u64().unwrap_or_default();
                    // An account with an inbox closes once no payment can reach it any more.
                    for again in 0..6 {
                        let ask = Ask::with("PATCH", path.as_str(), body.clone());
                        let reply = world.ask(&format!("{label}-{again}"), &operator(), ask).await;
                        if reply.body["status"] != "closing" {
                            break;
                        }
                        tokio::time::sleep(std::time::Duration::from_millis(pause)).await;
                        pause *= 3;
                    }
                }
                "reconcile" => {
                    let now = clock::now();
                    let body =
                        json!({"from": (now - SignedDuration::from_hours(1)).to_string(), "to": now.to_string()});
                    world.ask(label, &operator(), Ask::with("POST", "/ledger/reconciliations", body)).await;
                }
                "stranger" => self.trespass(world, action, label).await,
                _ => drop(world.ask(label, &operator(), Ask::of("GET", "/ledger/transactions?limit=10")).await),
            }
        })
    }

    fn verify<'a>(&'a self, world: &'a Arc<World>, history: &'a [Exchange]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let items = world.items("FinancialTransactions");
            check_books(world, &items);
            Self::check_outcomes(world, history, &items);
            self.check_balances(world, history);
            self.check_reports(world, &items).await;
        })
    }
}

impl Books {
    fn account(&self, number: usize) -> String {
        lock(&self.accounts).get(number).cloned().unwrap_or_default()
    }

    fn numbered(&self, action: &Value, member: &str) -> String {
        self.account(usize::try_from(action[member].as_u64().unwrap_or_default()).unwrap_or_default())
    }

    /// Requests of a user without accounts. They are refused.
    async fn trespass(&self, world: &World, action: &Value, label: &str) {
        let path = format!("/ledger/accounts/{}", self.numbered(action, "from"));
        let transaction = Self::picked(&self.transactions, action);
        let hold = Self::picked(&self.holds, action);
        let ask = match (action["pick"].as_u64().unwrap_or_default() % 7, transaction, hold) {
            (0, Some(id), _) => Ask::of("GET", format!("/ledger/transactions/{id}")),
            (1, Some(id), _) => Ask::with("POST", format!("/ledger/transactions/{id}/reversal"), json!({})).key(label),
            (2, _, Some(id)) => Ask::with("POST", format!("/ledger/holds/{id}/capture"), json!({})).key(label),
            (3, _, Some(id)) => Ask::of("POST", format!("/ledger/holds/{id}/void")),
            (4, ..) => Ask::with("POST", "/ledger/transactions", self.payment(action)).key(label),
            (5, ..) => Ask::with("PATCH", path, json!({"status": "frozen"})),
            (6, ..) => Ask::of("GET", format!("{path}/statement")),
            _ => Ask::of("GET", path),
        };
        let reply = world.ask(label, &user("eve"), ask.clone()).await;
        if !matches!(reply.status, 403 | 404) {
            world.violation(format!("{label}: a stranger may {} {}: {}", ask.method, ask.path, reply.status));
        }
    }

    fn payment(&self, action: &Value) -> Value {
        let mut body = json!({
            "transactionType": "payment", "debitAccountId": self.numbered(action, "from"), "creditAccountId": self.numbered(action, "to"),
            "amount": cents(action["amount"].as_u64().unwrap_or(1)), "currency": "USD",
        });
        if action["merchant"] == true {
            body["merchantId"] = lock(&self.merchant).clone().into();
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
        let reply = if action["twice"] == true {
            let again = format!("{label}t");
            futures::join!(world.ask(label, caller, ask.clone()), world.ask(&again, caller, ask)).0
        } else {
            world.ask(label, caller, ask).await
        };
        self.posted(&reply.body);
    }

    async fn batch(&self, world: &World, action: &Value, label: &str) {
        let pick = action["pick"].as_u64().unwrap_or_default();
        let one = |number: u64| {
            let mut one = action.clone();
            one["amount"] = (action["amount"].as_u64().unwrap_or(1) / (number + 1) + 1).into();
            if number % 2 == 1 {
                (one["from"], one["to"]) = (action["to"].clone(), action["from"].clone());
            }
            let mut body = self.payment(&one);
            body["idempotencyKey"] = format!("{label}-{number}").into();
            body
        };
        let body = json!({"transactions": (0..2 + pick % 4).map(one).collect::<Vec<_>>()});
        let mut reply =
            world.ask(label, &operator(), Ask::with("POST", "/ledger/transactions/batch", body.clone())).await;
        for again in 0..40 {
            let results = reply.body["results"].as_array().into_iter().flatten();
            if reply.status != 200
                || !results.into_iter().any(|result| matches!(result["status"].as_u64(), Some(429 | 503)))
            {
                break;
            }
            reply = world
                .ask(
                    &format!("{label}r{again}"),
                    &operator(),
                    Ask::with("POST", "/ledger/transactions/batch", body.clone()),
                )
                .await;
        }
        for result in reply.body["results"].as_array().into_iter().flatten() {
            self.posted(&result["transaction"]);
        }
    }

    async fn hold(&self, world: &World, action: &Value, label: &str, caller: &Caller) {
        let mut body = self.payment(action);
        if let Some(members) = body.as_object_mut() {
            members.remove("transactionType");
            members.remove("merchantId");
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

    fn picked(known: &Mutex<Vec<String>>, action: &Value) -> Option<String> {
        let known = lock(known);
        let pick = usize::try_from(action["pick"].as_u64().unwrap_or_default()).unwrap_or_default();
        (!known.is_empty()).then(|| known[known.len() - 1 - pick % known.len().min(4)].clone())
    }

    async fn with_hold(&self, world: &World, action: &Value, label: &str, what: &str) {
        let Some(hold) = Self::picked(&self.holds, action) else { return };
        let mut body = json!({});
        if action["whole"] == false && what == "capture" {
            body["amount"] = cents(action["amount"].as_u64().unwrap_or(1) / 4 + 1).into();
        }
        let ask = |what: &str, label: &str| {
            let ask = Ask::of("POST", format!("/ledger/holds/{hold}/{what}"));
            if what == "capture" { Ask { body: Some(body.clone()), ..ask }.key(label) } else { ask }
        };
        let (other, again) = (if what == "capture" { "void" } else { "capture" }, format!("{label}t"));
        self.once_or_twice(world, action, (label, ask(what, label)), (&again, ask(other, &again))).await;
    }

    async fn refund(&self, world: &World, action: &Value, label: &str) {
        let Some(transaction) = Self::picked(&self.transactions, action) else { return };
        let mut body = json!({});
        if action["whole"] == false {
            body["amount"] = cents(action["amount"].as_u64().unwrap_or(1) / 3 + 1).into();
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
        let headers: BTreeSet<&str> =
            items.iter().filter(|item| is(item, "Transaction")).filter_map(|item| item["ID"]["S"].as_str()).collect();
        let mut by_key = BTreeMap::<String, BTreeSet<String>>::new();
        let mut answered = BTreeSet::new();
        for (key, transaction) in history.iter().flat_map(transactions) {
            let id = transaction["transactionId"].as_str().unwrap_or_default().to_owned();
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
            let key = format!("HOLD#{}", exchange.reply.body["holdId"].as_str().unwrap_or_default());
            let status = items.iter().find(|item| is(item, "Hold") && item["PK"]["S"] == key);
            if status.is_none_or(|hold| hold["Status"]["S"] != "voided") {
                world.violation(format!("{}: the voided hold is stored as {status:?}", exchange.label));
            }
        }
        // Every transaction is a success of a request, because each request was repeated until its
        // outcome was known. A closing transaction has no response of its own.
        for item in items.iter().filter(|item| is(item, "Transaction") && item["TransactionType"]["S"] != "closing") {
            let id = item["ID"]["S"].as_str().unwrap_or_default();
            if !answered.contains(id) {
                world.violation(format!("the transaction {id} was posted, but its request was rejected: {item}"));
            }
        }
    }

    /// The history of each account's balance is linearizable.
    fn check_balances(&self, world: &World, history: &[Exchange]) {
        let closings: BTreeSet<&str> = history
            .iter()
            .filter(|exchange| exchange.ask.body.as_ref().is_some_and(|body| !body["transferTo"].is_null()))
            .flat_map(|exchange| {
                let to = exchange.ask.body.as_ref().and_then(|body| body["transferTo"].as_str());
                [exchange.ask.path.rsplit('/').next(), to].into_iter().flatten()
            })
            .collect();
        for account in lock(&self.accounts).iter() {
            if closings.contains(account.as_str())
                || is_grouped(world, account)
                || history.iter().any(|one| changes_posting(one, account))
            {
                continue;
            }
            let mut intervals = Vec::new();
            let mut seen = BTreeMap::<String, usize>::new();
            for exchange in history {
                let (begin, end) = (first_attempt(history, exchange), exchange.end);
                for (_, transaction) in transactions(exchange) {
                    let id = transaction["transactionId"].as_str().unwrap_or_default();
                    for leg in
                        transaction["legs"].as_array().into_iter().flatten().filter(|leg| leg["accountId"] == **account)
                    {
                        let name = format!("{id} {}", leg["legId"]);
                        if let Some(index) = seen.get(&name) {
                            let known: &mut Interval<NumberOperation> = &mut intervals[*index];
                            (known.begin, known.end) = (known.begin.min(begin), known.end.min(end));
                            continue;
                        }
                        let sign = if leg["legType"] == "debit" { -1 } else { 1 };
                        let after = leg["balanceAfter"].as_str().map(|_| minor(&leg["balanceAfter"]));
                        seen.insert(name, intervals.len());
                        intervals.push(Interval {
                            begin,
                            end,
                            operation: NumberOperation::Add(sign * minor(&leg["amount"]), after),
                        });
                    }
                }
                let is_read = exchange.ask.method == "GET" && exchange.ask.path.ends_with(account.as_str());
                if is_read && exchange.reply.status == 200 {
                    let operation = NumberOperation::Read(minor(&exchange.reply.body["balance"]));
                    intervals.push(Interval { begin, end, operation });
                }
            }
            if !is_linearizable::<Number>(&intervals) {
                world.violation(format!("the balance of account {account} is not linearizable: {intervals:?}"));
            }
        }
    }

    /// The ledger's own reconciliation finds nothing, and the trial balance is the sum of all legs.
    async fn check_reports(&self, world: &World, items: &[Value]) {
        // A reconciliation leaves out the last 90 seconds.
        tokio::time::sleep(std::time::Duration::from_secs(100)).await;
        let now = clock::now();
        let body = json!({"from": (now - SignedDuration::from_hours(30)).to_string(), "to": now.to_string()});
        let started = world.ask("reconcile", &operator(), Ask::with("POST", "/ledger/reconciliations", body)).await;
        let path = format!("/ledger/reconciliations/{}", started.body["reconciliationId"].as_str().unwrap_or_default());
        for attempt in 0..200 {
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            let report = world.ask(&format!("reconciled-{attempt}"), &operator(), Ask::of("GET", path.clone())).await;
            if report.body["status"] == "running" {
                continue;
            }
            if report.body["status"] != "done"
                || report.body["discrepancies"] != json!([])
                || !report.body["skipped"].is_null()
            {
                world.violation(format!("the reconciliation reports {}", report.body));
            }
            break;
        }
        let mut days = BTreeMap::<String, i128>::new();
        for item in items.iter().filter(|item| is(item, "TransactionLeg") && item["LegType"]["S"] == "debit") {
            *days.entry(item["CreatedAt"]["S"].as_str().unwrap_or_default()[..10].to_owned()).or_default() +=
                stored(item, "Amount");
        }
        // A trial balance has everything up to the end of the day.
        let mut debits = 0;
        for (day, of_day) in days {
            debits += of_day;
            let report = world
                .ask(&format!("trial-{day}"), &operator(), Ask::of("GET", format!("/ledger/trial-balance?date={day}")))
                .await;
            let sum = |member: &str| {
                report.body["items"].as_array().into_iter().flatten().map(|row| minor(&row[member])).sum::<i128>()
            };
            if sum("debits") != debits || sum("credits") != debits {
                world.violation(format!(
                    "the trial balance of {day} is not the sum {debits} of its legs: {}",
                    report.body
                ));
            }
        }
    }
}

fn is(item: &Value, kind: &str) -> bool {
    item["Type"]["S"] == kind
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
    exchange.ask.method == "PATCH"
        && exchange.ask.path.ends_with(account)
        && exchange.ask.body.as_ref().is_some_and(|body| !body["posting"].is_null())
}

/// The transactions of the successful responses of a request, with their idempotency keys.
fn transactions(exchange: &Exchange) -> Vec<(Option<String>, Value)> {
    let mut found = Vec::new();
    for reply in &exchange.replies {
        if reply.status == 201 && !reply.body["transactionId"].is_null() {
            let key = exchange.ask.key.as_ref().map(|key| format!("{} {key}", exchange.ask.path));
            found.push((key, reply.body.clone()));
        }
        for result in reply.body["results"].as_array().into_iter().flatten().filter(|result| result["status"] == 201) {
            let key = result["idempotencyKey"].as_str().map(|key| format!("batch {key}"));
            found.push((key, result["transaction"].clone()));
        }
    }
    found
}

/// Rules of the stored items: conservation, balances, holds and no overdraft.
fn check_books(world: &World, items: &[Value]) {
    let total: i128 = items.iter().filter(|item| is(item, "Account")).map(|item| stored(item, "Balance")).sum();
    let inbox: i128 = items.iter().filter(|item| is(item, "InboxItem")).map(|item| stored(item, "Amount")).sum();
    if total + inbox != 0 {
        world.violation(format!("money is not conserved: balances {total}, inbox {inbox}"));
    }
    if inbox != 0 {
        world.violation(format!("credits of {inbox} cents are still in an inbox"));
    }
    for account in items.iter().filter(|item| is(item, "Account")) {
        let id = account["ID"]["S"].as_str().unwrap_or_default();
        let own = |item: &&Value| item["AccountID"]["S"] == id;
        let side = |item: &Value| {
            if item["LegType"]["S"] == "debit" { -stored(item, "Amount") } else { stored(item, "Amount") }
        };
        let legs: i128 = items.iter().filter(|item| is(item, "TransactionLeg")).filter(own).map(side).sum();
        let balance = stored(account, "Balance");
        if legs != balance {
            world.violation(format!("account {id} has the balance {balance}, but its legs sum to {legs}"));
        }
        let after = items.iter().filter(|item| !item["BalanceAfter"].is_null()).filter(own);
        if account["AllowNegative"]["BOOL"] != true && after.into_iter().any(|leg| stored(leg, "BalanceAfter") < 0) {
            world.violation(format!("account {id} was overdrawn"));
        }
        if account["Status"]["S"] == "closed" && balance != 0 {
            world.violation(format!("the closed account {id} has the balance {balance}"));
        }
        let open = items
            .iter()
            .filter(|item| is(item, "Hold") && item["Status"]["S"] == "held" && item["DebitAccountID"]["S"] == id);
        let held: i128 = open.map(|hold| stored(hold, "Amount") - stored(hold, "Captured")).sum();
        if held != stored(account, "Held") {
            world
                .violation(format!("account {id} holds {}, but its open holds sum to {held}", stored(account, "Held")));
        }
    }
    for hold in items.iter().filter(|item| is(item, "Hold")) {
        if stored(hold, "Captured") > stored(hold, "Amount") {
            world.violation(format!("a hold was captured beyond its amount: {hold}"));
        }
    }
    for transaction in items.iter().filter(|item| is(item, "Transaction")) {
        let of = |item: &&Value| is(item, "Transaction") && item["ReversesID"] == transaction["ID"];
        let reversed: i128 = items.iter().filter(of).map(|item| stored(item, "Amount")).sum();
        if reversed > stored(transaction, "Amount") {
            world.violation(format!("more than the amount of a transaction was reversed: {reversed} of {transaction}"));
        }
    }
}
