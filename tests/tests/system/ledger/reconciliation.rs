//! Tests of the reconciliation
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)). The reconciliation must report
//! each discrepancy once and nothing else, even if runs are interrupted.

use aws_sdk_dynamodb::types::AttributeValue;
use axum::http::StatusCode;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use system_tests::{
    Answer, Client, drained,
    faults::{Call, Fault, Process, Proxy},
    ledger::totals::{COUNT, stored_totals},
    ledger::{
        audit::{
            DAY, RECONCILIATIONS, Rows, Shelf, account_key, at, dollars, header_key, leg_key, reconciled, without_steps,
        },
        stack,
    },
    patterns::cost_of,
    send,
    units::{Consumed, bytes, consumed, declared},
    until,
};
use table::Usage;

const RECONCILE: &str = "reconcile";
const DAILY: &str = "start-daily-reconciliation";
const MINUTE: Duration = Duration::from_mins(1);

/// Returns transactions of three days. The tests reconcile the second day. Account D has no legs
/// after the first day, account N is opened on the second day, and account E has no legs.
fn three_days() -> Shelf {
    around(Shelf::default(), &[TWELVE, THIRTEEN])
}

/// The id, time and legs of a transaction.
type Transfer = (&'static str, i64, &'static [(&'static str, i64)]);

const TWELVE: Transfer = ("T12", DAY + 1, &[("B", -500), ("A", 500)]);
const THIRTEEN: Transfer = ("T13", DAY + 5_000, &[("A", -300), ("N", 100), ("B", 200)]);

/// Posts the transactions of three days, with those in the middle of the second day.
fn around(mut shelf: Shelf, middle: &[Transfer]) -> Shelf {
    shelf.open("E");
    shelf.post("T01", 1_000, &[("O", -10_000), ("A", 10_000)]);
    shelf.post("T02", 2_000, &[("O", -5_000), ("B", 5_000)]);
    shelf.post("T03", 3_000, &[("O", -2_000), ("D", 2_000)]);
    shelf.post("T11", DAY, &[("A", -1_000), ("B", 1_000)]);
    for (id, time, legs) in middle {
        shelf.post(id, *time, legs);
    }
    shelf.post("T14", DAY + 6_000, &[("O", -700), ("N", 700)]);
    shelf.post("T15", 2 * DAY - 1, &[("O", -400), ("A", 400)]);
    shelf.post("T21", 2 * DAY, &[("A", -200), ("B", 200)]);
    shelf
}

fn found(kind: &str, transaction: Option<&str>, account: Option<&str>, amounts: [Option<i64>; 2]) -> Value {
    let [expected, actual] = amounts.map(|cents| cents.map_or(Value::Null, |cents| dollars(cents).into()));
    let mut found = json!({"kind": kind, "expected": expected, "actual": actual});
    for (name, id) in [("transactionId", transaction), ("accountId", account)] {
        if let Some(id) = id {
            found[name] = id.into();
        }
    }
    found
}

fn missing(transaction: &str, account: &str, cents: i64) -> Value {
    found("missing-leg", Some(transaction), Some(account), [Some(cents), None])
}

fn orphan(transaction: &str, account: &str, cents: i64) -> Value {
    found("orphan-leg", Some(transaction), Some(account), [None, Some(cents)])
}

fn unbalanced(transaction: &str, debits: i64, credits: i64) -> Value {
    found("unbalanced-transaction", Some(transaction), None, [Some(debits), Some(credits)])
}

fn wrong_amount(transaction: &str, account: Option<&str>, expected: i64, actual: i64) -> Value {
    found("wrong-amount", Some(transaction), account, [Some(expected), Some(actual)])
}

fn wrong_balance(transaction: Option<&str>, account: &str, expected: i64, actual: i64) -> Value {
    found("wrong-balance", transaction, Some(account), [Some(expected), Some(actual)])
}

/// A discrepancy that a test writes into the ledger.
enum Error {
    Gone(Value),
    Set(Value, &'static str, Value),
    Put(Value),
}

impl Error {
    fn amount(transaction: &str, leg: usize, amount: &str) -> Self {
        Self::Set(leg_key(transaction, leg), "Amount", json!({"N": amount}))
    }

    fn after(transaction: &str, leg: usize, amount: &str) -> Self {
        Self::Set(leg_key(transaction, leg), "BalanceAfter", json!({"N": amount}))
    }

    fn balance(account: &str, amount: &str) -> Self {
        Self::Set(account_key(account), "Balance", json!({"N": amount}))
    }

    async fn plant(&self, rows: &Rows) {
        match self {
            Self::Gone(key) => rows.delete(key).await,
            Self::Set(key, name, value) => rows.set(key, json!({*name: value})).await,
            Self::Put(item) => rows.put(&[item.to_string()]).await,
        }
    }
}

/// The name of a trial, the errors to write, and the expected discrepancies.
type Trial = (&'static str, Vec<Error>, Vec<Value>);

fn text(text: &str) -> Value {
    json!({"S": text})
}

fn legs_that_are_gone() -> Vec<Trial> {
    let gone = |transaction, number| Error::Gone(leg_key(transaction, number));
    let moved = vec![
        Error::Set(leg_key("T12", 2), "AccountID", text("D")),
        Error::Set(leg_key("T12", 2), "GSI1PK", text("ACCOUNT#D")),
    ];
    vec![
        ("a leg between others is missing", vec![gone("T12", 2)], vec![missing("T12", "A", 500)]),
        ("the first leg of an account is missing", vec![gone("T13", 2)], vec![missing("T13", "N", 100)]),
        ("the last leg of an account is missing", vec![gone("T14", 2)], vec![missing("T14", "N", 700)]),
        ("the last leg of a dormant account is missing", vec![gone("T03", 2)], vec![missing("T03", "D", 2_000)]),
        (
            "both legs of a transaction are missing",
            vec![gone("T12", 1), gone("T12", 2)],
            vec![missing("T12", "B", 500), missing("T12", "A", 500)],
        ),
        ("a leg moved to another account", moved, vec![missing("T12", "A", 500)]),
    ]
}

fn legs_too_many() -> Vec<Trial> {
    let stray = |id, number, account, milli| Error::Put(Shelf::stray(id, number, account, milli, 9));
    vec![
        ("a leg without a transaction", vec![stray("X", 1, "A", DAY + 2_000)], vec![orphan("X", "A", 9)]),
        ("a leg without a transaction, dormant", vec![stray("X", 1, "D", DAY + 9)], vec![orphan("X", "D", 9)]),
        ("a leg without a transaction, empty", vec![stray("X", 7, "E", 2 * DAY - 1)], vec![orphan("X", "E", 9)]),
        ("a leg that its transaction does not list", vec![stray("T12", 3, "D", DAY + 1)], vec![orphan("T12", "D", 9)]),
        (
            "the header is missing",
            vec![Error::Gone(header_key("T12"))],
            vec![orphan("T12", "B", 500), orphan("T12", "A", 500)],
        ),
    ]
}

fn wrong_amounts() -> Vec<Trial> {
    let turned = |number, side| Error::Set(leg_key("T12", number), "LegType", text(side));
    let header = Error::Set(header_key("T12"), "Amount", json!({"N": "7"}));
    vec![
        ("a debit increased", vec![Error::amount("T12", 1, "6")], vec![unbalanced("T12", 600, 500)]),
        ("a credit decreased", vec![Error::amount("T13", 3, "0.5")], vec![unbalanced("T13", 300, 150)]),
        ("a debit became a credit", vec![turned(1, "credit")], vec![unbalanced("T12", 0, 1_000)]),
        (
            "both legs increased",
            vec![Error::amount("T12", 1, "6"), Error::amount("T12", 2, "6")],
            vec![wrong_amount("T12", Some("B"), 500, 600)],
        ),
        (
            "debit and credit exchanged",
            vec![turned(1, "credit"), turned(2, "debit")],
            vec![wrong_amount("T12", Some("B"), -500, 500)],
        ),
        ("the header has another amount", vec![header], vec![wrong_amount("T12", None, 700, 500)]),
    ]
}

fn wrong_balances() -> Vec<Trial> {
    let hash = three_days().hash("T12", 2);
    let restored = vec![
        Error::Set(account_key("A"), "LastLegHash", text(&hash)),
        Error::balance("A", "95.00"),
        Error::Set(account_key("A"), "LastTransactionID", text("T12")),
        Error::Set(account_key("A"), "LastLegID", text("T12-02")),
        Error::Set(account_key("A"), "LastLegAt", text(&at(DAY + 1))),
    ];
    vec![
        ("a balance", vec![Error::balance("A", "1000")], vec![wrong_balance(None, "A", 9_400, 100_000)]),
        ("a dormant balance", vec![Error::balance("D", "19.99")], vec![wrong_balance(None, "D", 2_000, 1_999)]),
        ("a balance without legs", vec![Error::balance("E", "0.01")], vec![wrong_balance(None, "E", 0, 1)]),
        (
            "the balance after a leg",
            vec![Error::after("T12", 2, "95.01")],
            vec![wrong_balance(Some("T13"), "A", 9_201, 9_200)],
        ),
        (
            "the balance after the first leg",
            vec![Error::after("T13", 2, "2")],
            vec![wrong_balance(Some("T14"), "N", 900, 800)],
        ),
        ("an earlier version of an account", restored, vec![wrong_balance(None, "A", 9_600, 9_500)]),
    ]
}

fn broken_chain(transaction: &str, account: &str, leg: usize) -> Value {
    let mut found = found("broken-chain", Some(transaction), Some(account), [None, None]);
    found["legId"] = format!("{transaction}-{leg:02}").into();
    found
}

async fn found_in(books: Shelf, errors: &[Error]) -> Value {
    let stack = stack().start().await.expect("a stack");
    let (mut books, rows, operator) = (books, Rows::of(&stack), Client::operator(&stack));
    books.put(&rows).await;
    for error in errors {
        error.plant(&rows).await;
    }
    let body = reconciled(&operator, &at(DAY), &at(2 * DAY - 1)).await;
    stack.stop().await;
    body
}

/// Returns the discrepancies as sorted text. Their order in the response is not specified.
fn sorted(discrepancies: &Value) -> Vec<String> {
    let mut texts: Vec<String> = discrepancies.as_array().expect("a list").iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn reports_each_error_once_and_nothing_else() {
    let nothing: Trial = ("nothing", vec![], vec![]);
    let trials = [vec![nothing], legs_that_are_gone(), legs_too_many(), wrong_amounts(), wrong_balances()];
    for (name, errors, wanted) in trials.into_iter().flatten() {
        let body = found_in(three_days(), &errors).await;
        assert_eq!(sorted(&body["discrepancies"]), sorted(&wanted.into()), "{name}");
        assert_eq!((&body["accounts"], &body["more"]), (&json!(6), &json!(false)), "{name}");
        assert_eq!((&body["from"], &body["to"]), (&json!(at(DAY)), &json!(at(2 * DAY - 1))), "{name}");
        assert_eq!((&body["unchecked"], &body["totals"]["to"]), (&Value::Null, &json!("2020-01-02")), "{name}");
        let headers = if name == "the header is missing" { 4 } else { 5 };
        assert_eq!(body["transactions"], json!(headers), "{name}");
    }
}

/// In each forged history, all balances and all headers agree with the legs. Only the hashes of the
/// original history show the forgery.
#[tokio::test]
async fn names_the_first_leg_of_each_account_that_was_forged() {
    let larger: Transfer = ("T12", DAY + 1, &[("B", -600), ("A", 600)]);
    let another: Transfer = ("T12x", DAY + 2, &[("B", -500), ("A", 500)]);
    let (late, early) = (("T12", DAY + 5_000, TWELVE.2), ("T13", DAY + 1, THIRTEEN.2));
    let next = [broken_chain("T13", "A", 1), broken_chain("T13", "B", 3)];
    let trials: [(&str, &[Transfer], &[Value]); 5] = [
        ("nothing", &[TWELVE, THIRTEEN], &[]),
        ("an altered amount", &[larger, THIRTEEN], &[broken_chain("T12", "A", 2), broken_chain("T12", "B", 1)]),
        ("a removed transaction", &[THIRTEEN], &next),
        ("an inserted transaction", &[TWELVE, another, THIRTEEN], &next),
        ("exchanged transactions", &[early, late], &[&next[..], &[broken_chain("T13", "N", 2)]].concat()),
    ];
    for (name, middle, wanted) in trials {
        let body = found_in(around(Shelf::forging(&three_days()), middle), &[]).await;
        assert_eq!(sorted(&body["discrepancies"]), sorted(&wanted.to_vec().into()), "{name}");
    }
}

#[tokio::test]
async fn reports_an_account_with_another_hash_of_its_last_leg() {
    let error = Error::Set(account_key("D"), "LastLegHash", text(&"0".repeat(64)));
    let body = found_in(three_days(), &[error]).await;
    assert_eq!(body["discrepancies"], json!([broken_chain("T03", "D", 2)]));
}

/// Writes transactions between the accounts. Each transaction has 2 to `each` legs. The first
/// transaction is at the start of the second day, and each further transaction is 0.1 seconds
/// later. Returns the number of transactions.
async fn crowd(rows: &Rows, accounts: usize, legs: usize, each: usize) -> i64 {
    let (mut shelf, mut random, mut number) = (Shelf::default(), fastrand::Rng::with_seed(5), 0);
    let names: Vec<String> = (0..accounts).map(|number| format!("A{number:04}")).collect();
    shelf.post("T-of-Z", 0, &[("A0000", -100), ("Z", 100)]);
    while shelf.legs < legs {
        let left = legs - shelf.legs;
        let count = if left < each + 3 { left } else { random.usize(2..=each) };
        let mut of = random.choose_multiple(&names, count);
        of.sort();
        let mut changes: Vec<(&str, i64)> = of.iter().map(|name| (name.as_str(), random.i64(1..10_000))).collect();
        changes[0].1 = -changes.iter().skip(1).map(|(_, change)| change).sum::<i64>();
        shelf.post(&format!("T{number:07}"), DAY + number * 100, &changes);
        number += 1;
        if number % 2_000 == 0 {
            shelf.put(rows).await;
        }
    }
    shelf.put(rows).await;
    number
}

fn cents(amount: &Value) -> i64 {
    let text = amount["N"].as_str().expect("a number");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{fraction:0<2}").parse().expect("cents")
}

/// Writes seven errors that cover all five kinds, one of them in the last transaction. Returns the
/// expected discrepancies.
async fn plant_seven(rows: &Rows, transactions: i64) -> Vec<String> {
    let id = |part: i64| format!("T{:07}", (transactions * part / 10).min(transactions - 1));
    let leg = async |part: i64, number| {
        let leg = rows.get(&leg_key(&id(part), number)).await;
        (leg["AccountID"]["S"].as_str().expect("an account").to_owned(), cents(&leg["Amount"]))
    };
    let balance = async |account: &str| cents(&rows.get(&account_key(account)).await["Balance"]);
    let (first, last, debit) = (leg(1, 1).await, leg(10, 2).await, leg(3, 1).await);
    let sum = cents(&rows.get(&header_key(&id(5))).await["Amount"]);
    let errors = [
        Error::Gone(leg_key(&id(1), 1)),
        Error::Gone(leg_key(&id(10), 2)),
        Error::Put(Shelf::stray("X", 1, "A0007", DAY + 50, 9)),
        Error::amount(&id(3), 1, &dollars(debit.1 + 1)),
        Error::Set(header_key(&id(5)), "Amount", json!({"N": "0.01"})),
        Error::balance("A0011", "123456.78"),
        Error::balance("Z", "1.01"),
    ];
    let wanted = [
        missing(&id(1), &first.0, first.1),
        missing(&id(10), &last.0, last.1),
        orphan("X", "A0007", 9),
        unbalanced(&id(3), debit.1 + 1, debit.1),
        wrong_amount(&id(5), None, 1, sum),
        wrong_balance(None, "A0011", balance("A0011").await, 12_345_678),
        wrong_balance(None, "Z", 100, 101),
    ];
    for error in &errors {
        error.plant(rows).await;
    }
    sorted(&wanted.to_vec().into())
}

async fn seven_errors_among(legs: usize, stack: Builder) {
    let stack = stack.start().await.expect("a stack");
    let (rows, operator) = (Rows::of(&stack), Client::operator(&stack));
    let transactions = crowd(&rows, 200, legs, 40).await;
    let wanted = plant_seven(&rows, transactions).await;
    let body = reconciled(&operator, &at(DAY), &at(20 * DAY)).await;
    assert_eq!(sorted(&body["discrepancies"]), wanted);
    assert_eq!((&body["accounts"], &body["transactions"]), (&json!(201), &json!(transactions)));
    stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn reports_seven_errors_among_100_000_legs() {
    Box::pin(seven_errors_among(100_000, stack())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn reports_seven_errors_among_1_000_000_legs() {
    // The in-memory database of the local DynamoDB engine is limited to 1 GB. This test therefore
    // uses a file.
    let folder = std::env::temp_dir().join(format!("ledger-{}", fastrand::u64(..)));
    std::fs::create_dir(&folder).expect("a folder");
    Box::pin(seven_errors_among(1_000_000, stack().data(folder.join("data.db")))).await;
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
}

/// A stack in which only the test continues reconciliations. A proxy makes calls to DynamoDB fail.
struct Scene {
    stack: Stack,
    proxy: Proxy,
    client: Client,
    transactions: i64,
    wanted: Vec<String>,
}

/// Number of legs. The transactions fill two pages, and so do the 61 accounts.
const LEGS: usize = 1_200;

impl Scene {
    /// Starts with an empty ledger.
    async fn empty() -> Self {
        let stack = without_steps().start().await.expect("a stack");
        let proxy = Proxy::start(stack.dynamo_url()).await;
        let client = Client::operator(&stack);
        Self { stack, proxy, client, transactions: 0, wanted: Vec::new() }
    }

    /// Starts with a ledger that has seven errors.
    async fn start() -> Self {
        let scene = Self::empty().await;
        let rows = Rows::of(&scene.stack);
        let transactions = crowd(&rows, 60, LEGS, 2).await;
        Self { transactions, wanted: plant_seven(&rows, transactions).await, ..scene }
    }

    async fn item(&self, table: &str, [partition, sort]: [&str; 2]) -> HashMap<String, AttributeValue> {
        let get =
            self.stack.client().expect("a client").get_item().table_name(self.stack.table(table).expect("a table"));
        let get = get.key("PK", AttributeValue::S(partition.to_owned())).key("SK", AttributeValue::S(sort.to_owned()));
        get.send().await.expect("an answer").item.expect("an item")
    }

    /// Starts a reconciliation of all transactions. Returns its id.
    async fn begin(&self) -> String {
        self.begin_until(20 * DAY).await
    }

    async fn begin_until(&self, to: i64) -> String {
        let answer = self.client.post(RECONCILIATIONS, &json!({"from": at(DAY), "to": at(to)})).await;
        answer.body["reconciliationId"].as_str().expect("an id").to_owned()
    }

    async fn body(&self, id: &str) -> Value {
        self.client.get(&format!("{RECONCILIATIONS}/{id}")).await.body
    }

    fn process(&self) -> Process<'_> {
        Process::start(&self.stack, &self.proxy, RECONCILE, &ledger::patterns::reconcile::function())
    }

    /// Invokes the function until the reconciliation is done. Returns the number of invocations, or
    /// `None` if the function crashed.
    async fn run(&self, id: &str) -> Option<usize> {
        let process = self.process();
        for calls in 0..1_000 {
            if self.body(id).await["status"] == "done" {
                return Some(calls);
            }
            process.run(&step_of(&[id]), MINUTE).await?;
        }
        unreachable!("{id} never ends");
    }

    /// Asserts that every transaction and account was checked, and that each discrepancy was
    /// counted once.
    async fn assert_done(&self, id: &str, when: &str) {
        let body = self.body(id).await;
        assert_eq!(sorted(&body["discrepancies"]), self.wanted, "{when}");
        assert_eq!((&body["status"], &body["accounts"]), (&json!("done"), &json!(61)), "{when}");
        assert_eq!(body["transactions"], json!(self.transactions), "{when}");
        let item = self.item("LedgerJobs", [&format!("RECONCILIATION#{id}"), "METADATA"]).await;
        let progress = item["Progress"].as_m().expect("a map");
        assert_eq!(progress["Discrepancies"], AttributeValue::N("7".to_owned()), "{when}");
    }
}

/// Returns a stream event with one record for each reconciliation.
fn step_of(ids: &[&str]) -> Value {
    let record = |(number, id): (usize, &&str)| {
        let keys = json!({"PK": {"S": format!("RECONCILIATION#{id}")}, "SK": {"S": "METADATA"}});
        json!({"eventName": "MODIFY", "dynamodb": {"Keys": keys, "SequenceNumber": (number + 1).to_string()}})
    };
    json!({"Records": ids.iter().enumerate().map(record).collect::<Vec<_>>()})
}

#[tokio::test]
async fn continues_after_a_run_ends_at_its_deadline() {
    let scene = Scene::start().await;
    let (id, process) = (scene.begin().await, scene.process());
    // No run can read 1,200 legs within a millisecond. Each run has twice the time of the last one,
    // until a run is long enough for a step, on any machine.
    let (mut time, mut runs) = (Duration::from_millis(1), 0);
    while scene.body(&id).await["status"] != "done" {
        assert!(time < MINUTE, "the reconciliation does not end");
        process.run(&step_of(&[&id]), time).await.expect("no crash");
        (time, runs) = (2 * time, runs + 1);
    }
    assert!(runs > 1, "one run of {time:?} was enough");
    scene.assert_done(&id, "short of time").await;
    scene.stack.stop().await;
}

#[tokio::test]
async fn throttled_reconciliation_is_retried_without_blocking_others() {
    let scene = Scene::start().await;
    for action in ["Query", "BatchGetItem", "PutItem", "UpdateItem", "GetItem"] {
        let ids = [scene.begin().await, scene.begin().await, "nobody".to_owned()];
        let first = ids[0].clone();
        scene.proxy.rule(move |call| {
            let is_meant =
                call.action == action && (call.body.to_string().contains(&first) || action.starts_with(['Q', 'B']));
            if is_meant { Fault::throttled() } else { Fault::None }
        });
        let batch = step_of(&ids.each_ref().map(String::as_str));
        let answer = scene.process().run(&batch, MINUTE).await.expect("no crash").answer.expect("an answer");
        assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": "1"}]}), "{action}");
        scene.proxy.heal();
        for id in &ids[..2] {
            assert!(scene.run(id).await.is_some());
            scene.assert_done(id, action).await;
        }
    }
    scene.stack.stop().await;
}

impl Scene {
    async fn retry(&self, id: &str) -> Answer {
        send(self.client.request("POST", &format!("{RECONCILIATIONS}/{id}/retry"))).await
    }

    async fn call(&self, ids: &[&str]) -> Value {
        let run = self.process().run(&step_of(ids), MINUTE).await.expect("no crash");
        run.answer.expect("an answer")["batchItemFailures"].clone()
    }

    /// Sets an attribute of the job of the reconciliation.
    async fn set(&self, id: &str, attribute: &str, value: AttributeValue) {
        let update = self.stack.client().expect("a client").update_item();
        let update = update.table_name(self.stack.table("LedgerJobs").expect("a table"));
        let update = update.key("PK", AttributeValue::S(format!("RECONCILIATION#{id}")));
        let update = update.key("SK", AttributeValue::S("METADATA".to_owned())).update_expression("SET #a = :v");
        let update = update.expression_attribute_names("#a", attribute).expression_attribute_values(":v", value);
        update.send().await.expect("written");
    }

    /// Starts a reconciliation of the first day, which has one transaction. Returns its id.
    async fn begin_first_day(&self) -> String {
        let answer = self.client.post(RECONCILIATIONS, &json!({"from": at(0), "to": at(DAY - 1)})).await;
        answer.body["reconciliationId"].as_str().expect("an id").to_owned()
    }
}

/// Makes DynamoDB reject each call that matches the condition, as a defect would.
fn rejecting(is_rejected: impl Fn(&Call) -> bool + Send + 'static) -> impl FnMut(&Call) -> Fault + Send {
    move |call| {
        let body = json!({"__type": "com.amazonaws.dynamodb.v20120810#ValidationException", "message": "injected"});
        if is_rejected(call) { Fault::Refused(StatusCode::BAD_REQUEST, body) } else { Fault::None }
    }
}

#[tokio::test]
async fn defect_fails_only_its_reconciliation() {
    let scene = Scene::start().await;
    let (bad, good) = (scene.begin().await, scene.begin_first_day().await);
    let step = scene.body(&bad).await["from"].as_str().expect("a time")[..10].to_owned();
    // Only the first reconciliation reads transactions of the second day.
    let of_window = move |call: &Call| {
        let body = call.body.to_string();
        call.action == "Query" && body.contains("STATUS#completed") && body.contains(&format!("CREATED#{step}"))
    };
    scene.proxy.rule(rejecting(of_window));
    for _ in 0..3 {
        assert_eq!(scene.call(&[&bad, &good]).await, json!([]));
    }
    assert_eq!(scene.body(&good).await["status"], "done");
    let failed = scene.body(&bad).await;
    let reason = json!("An internal error stopped the job. The log contains the cause.");
    assert_eq!((&failed["status"], &failed["reason"], &failed["transactions"]), (&json!("failed"), &reason, &json!(0)));
    let again = scene.retry(&bad).await;
    assert_eq!((again.status, &again.body["status"]), (202, &json!("running")), "{}", again.body);
    assert_eq!(again.headers["location"], format!("{RECONCILIATIONS}/{bad}"));
    assert_eq!(scene.call(&[&bad]).await, json!([]));
    assert_eq!(scene.body(&bad).await, failed, "the retry fails for the same reason");
    scene.proxy.heal();
    assert_eq!(scene.retry(&bad).await.status, 202);
    assert!(scene.run(&bad).await.is_some());
    scene.assert_done(&bad, "repaired").await;
    assert_eq!(scene.body(&bad).await["reason"], Value::Null);
    scene.stack.stop().await;
}

#[tokio::test]
async fn fails_after_the_maximum_number_of_attempts() {
    let scene = Scene::empty().await;
    let id = scene.begin().await;
    scene.set(&id, "Attempts", AttributeValue::N(jobs::MAX_ATTEMPTS.to_string())).await;
    assert_eq!(scene.call(&[&id]).await, json!([]));
    let body = scene.body(&id).await;
    assert_eq!(body["status"], "failed");
    assert_eq!(body["reason"], "50 consecutive runs completed no step. They may have run out of time or memory.");
    scene.stack.stop().await;
}

/// Whether the call is eventually consistent, so that its result may be incomplete.
fn is_eventual(call: &Call) -> bool {
    call.body["ConsistentRead"] != true && !call.body.to_string().contains("\"ConsistentRead\":true")
}

#[tokio::test]
async fn late_index_entries_are_not_reported_as_missing() {
    let scene = Scene::empty().await;
    let rows = Rows::of(&scene.stack);
    three_days().put(&rows).await;
    // In the first round, batch reads return neither legs nor headers. In the second round, the
    // index omits two legs of account A.
    let mut entries = Vec::new();
    for (transaction, number) in [("T15", 2), ("T13", 1), ("T11", 1)] {
        entries.push(rows.get(&leg_key(transaction, number)).await);
    }
    let page = json!({"Items": entries, "Count": 3, "ScannedCount": 3});
    for late in ["BatchGetItem", "Query"] {
        let (page, mut is_late) = (page.clone(), false);
        scene.proxy.rule(move |call| {
            let body = call.body.to_string();
            let is_of_a = body.contains("ACCOUNT#A\"") && body.contains("LEG#") && call.index.is_some();
            let answer = match late {
                "Query" if is_of_a && !std::mem::replace(&mut is_late, is_of_a) => page.clone(),
                "BatchGetItem" if call.action == late && is_eventual(call) => json!({"Responses": {}}),
                _ => return Fault::None,
            };
            Fault::Refused(StatusCode::OK, answer)
        });
        let id = scene.begin().await;
        assert!(scene.run(&id).await.is_some());
        let body = scene.body(&id).await;
        assert_eq!((&body["discrepancies"], &body["transactions"]), (&json!([]), &json!(6)), "{late}");
        let answered = scene.proxy.calls().iter().filter(|call| call.action == late && is_eventual(call)).count();
        assert!(answered > 0, "{late}");
    }
    scene.stack.stop().await;
}

/// A step reads at most 2,000 holds of an account.
#[tokio::test(flavor = "multi_thread")]
async fn checks_more_open_holds_than_a_step_reads() {
    let stack = stack().start().await.expect("a stack");
    let (mut shelf, rows) = (three_days(), Rows::of(&stack));
    for number in 0..2_100 {
        shelf.hold(&format!("H-{number:04}"), ["A", "B"], 1);
        shelf.hold(&format!("I-{number:04}"), ["B", "A"], 2);
    }
    shelf.put(&rows).await;
    let key = json!({"PK": {"S": "HOLD#I-2099"}, "SK": {"S": "METADATA"}});
    rows.delete(&key).await;
    let body = reconciled(&Client::operator(&stack), &at(DAY), &at(2 * DAY - 1)).await;
    let wanted = found("wrong-held", None, Some("B"), [Some(4_198), Some(4_200)]);
    assert_eq!((&body["discrepancies"], &body["accounts"]), (&json!([wanted]), &json!(6)));
    stack.stop().await;
}

#[tokio::test]
async fn stores_at_most_1_000_discrepancies() {
    let stack = stack().start().await.expect("a stack");
    let (mut shelf, rows, operator) = (Shelf::default(), Rows::of(&stack), Client::operator(&stack));
    (0..1_001).for_each(|number| shelf.open_with(&format!("A{number}"), 1));
    shelf.put(&rows).await;
    let body = reconciled(&operator, &at(0), &at(DAY)).await;
    assert_eq!(body["discrepancies"].as_array().map(Vec::len), Some(1_000));
    assert_eq!((&body["more"], &body["accounts"]), (&json!(true), &json!(1_001)));
    stack.stop().await;
}

/// Reads the partition keys of all reconciliations.
async fn all(stack: &Stack) -> Vec<String> {
    let client = stack.client().expect("a client");
    let scan = client.scan().table_name(stack.table("LedgerJobs").expect("a table")).send().await;
    let items = scan.expect("items").items.unwrap_or_default();
    items.iter().map(|item| item["PK"].as_s().expect("a text").clone()).collect()
}

#[tokio::test]
async fn each_day_has_one_scheduled_reconciliation() {
    let stack = stack().start().await.expect("a stack");
    let (mut books, rows, operator) = (three_days(), Rows::of(&stack), Client::operator(&stack));
    books.put(&rows).await;
    let firing = json!({"detail-type": "Scheduled Event", "time": "2020-01-03T00:20:00Z", "detail": {}});
    let by_hand = json!({"day": "2020-01-02"});
    let answers = join_all([&firing, &firing, &by_hand].map(|event| operator.invoke(DAILY, event))).await;
    for answer in answers {
        let days = json!({"from": "2020-01-02", "to": "2020-01-02"});
        let wanted = json!({
            "reconciliationId": "daily-2020-01-02", "from": at(DAY), "to": at(2 * DAY - 1), "totals": days,
        });
        assert_eq!(answer.body, wanted);
    }
    let path = format!("{RECONCILIATIONS}/daily-2020-01-02");
    let body = until(&operator, &path, |answer| answer.body["status"] == "done").await.body;
    assert_eq!((&body["transactions"], &body["discrepancies"]), (&json!(5), &json!([])));
    assert_eq!(all(&stack).await, ["RECONCILIATION#daily-2020-01-02"]);
    let today = Timestamp::now().strftime("%Y-%m-%d").to_string();
    for day in [json!("2020-02-30"), json!("9999-12-30"), json!(today), json!(1)] {
        let answer = operator.invoke(DAILY, &json!({"day": day})).await;
        assert!(answer.headers.contains_key("x-amz-function-error"), "{day}: {}", answer.body);
    }
    stack.stop().await;
}

#[tokio::test]
async fn repeated_request_starts_one_reconciliation_without_the_newest_transactions() {
    let stack = without_steps().start().await.expect("a stack");
    let operator = Client::operator(&stack);
    let body = json!({"from": "2020-01-01T00:00:00Z", "to": Timestamp::now()});
    let answers = join_all((0..3).map(|_| operator.post_once(RECONCILIATIONS, "K", &body))).await;
    let first = &answers[0];
    let id = first.body["reconciliationId"].as_str().expect("an id");
    let location = format!("{RECONCILIATIONS}/{id}");
    assert_eq!((first.status, first.headers["location"].to_str().ok()), (202, Some(location.as_str())));
    assert!(answers.iter().all(|answer| answer.status == 202 && answer.body == first.body));
    let to: Timestamp = first.body["to"].as_str().expect("a time").parse().expect("a time");
    assert!(Timestamp::now().duration_since(to) >= SignedDuration::from_secs(90), "{to}");
    // The response says which part of the requested time is not checked.
    let unchecked = &first.body["unchecked"];
    let parsed = |time: &Value| time.as_str().expect("a time").parse::<Timestamp>().expect("a time");
    assert_eq!(parsed(&unchecked["from"]), to + SignedDuration::from_millis(1), "{}", first.body);
    assert_eq!(parsed(&unchecked["to"]).as_millisecond(), parsed(&body["to"]).as_millisecond(), "{}", first.body);
    let running = operator.get(&location).await.body;
    let last = (to - SignedDuration::from_hours(24)).strftime("%Y-%m-%d").to_string();
    let wanted = json!({
        "reconciliationId": id, "status": "running", "from": at(0), "to": first.body["to"], "unchecked": unchecked,
        "totals": {"from": "2020-01-01", "to": last}, "transactions": 0, "accounts": 0, "discrepancies": [],
        "more": false,
    });
    assert_eq!(running, wanted);
    let other = json!({"from": "2020-01-01T00:00:00Z", "to": "2021-01-01T00:00:00Z"});
    assert_eq!(operator.post_once(RECONCILIATIONS, "K", &other).await.status, 422);
    assert_eq!(all(&stack).await.len(), 1);
    assert_ne!(operator.post(RECONCILIATIONS, &body).await.body["reconciliationId"], id);
    assert_eq!(all(&stack).await.len(), 2);
    stack.stop().await;
}

fn sum(usage: &Usage) -> Consumed {
    let mut sums = Consumed::new();
    for call in &usage.calls {
        let table = call.table.rsplit('-').next().unwrap_or(&call.table).to_owned();
        let place = call.index.as_ref().map_or_else(|| table.clone(), |index| format!("{table}/{index}"));
        let sum = sums.entry(place).or_default();
        *sum = (sum.0 + call.read, sum.1 + call.write);
    }
    sums
}

#[tokio::test]
async fn reconciliation_consumes_its_declared_cost() {
    for (accounts, transactions, variant) in [(2, 3, ""), (5, 40, ""), (3, 5, ", grouped")] {
        let scene = Scene::empty().await;
        let mut shelf = Shelf::default();
        let names: Vec<String> = (0..accounts).map(|number| format!("A{number}")).collect();
        let changes = |sign: i64| {
            let debit = -sign * (i64::try_from(accounts).expect("a small number") - 1);
            let others = names.iter().skip(1).map(|name| (name.as_str(), sign));
            [(names[0].as_str(), debit)].into_iter().chain(others).collect::<Vec<_>>()
        };
        if !variant.is_empty() {
            shelf.open_grouped("A1");
        }
        for number in 0..=transactions {
            shelf.post(&format!("T{number}"), DAY * number.min(1) + number, &changes(100));
            if !variant.is_empty() {
                shelf.settle("A1", DAY * number.min(1) + number);
            }
        }
        let rows = Rows::of(&scene.stack);
        shelf.put(&rows).await;
        drained(&scene.client, COUNT).await;
        let id = scene.begin_until(2 * DAY - 1).await;
        let run = scene.process().run(&step_of(&[&id]), MINUTE).await.expect("no crash");
        let totals = stored_totals(&scene.stack).await;
        let total = totals.iter().filter(|item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("DAY#2020-01-02")));
        let total = total.map(bytes).max().expect("a total");
        let size =
            async |partition: &str, sort: &str| bytes(&scene.item("FinancialTransactions", [partition, sort]).await);
        let case = ledger::Case {
            account: size("ACCOUNT#A0", "METADATA").await,
            of_user: 0,
            transaction: size("TXN#T1", "METADATA").await,
            of_status: size("TXN#T1", "METADATA").await,
            leg: size("TXN#T1", "LEG#T1-01").await,
            inbox: 0,
            hold: 0,
            of_hold: 0,
            legs: accounts,
            items: usize::try_from(transactions).expect("a small number"),
            total,
            totals: 1,
            shards: 4,
            merchant: false,
        };
        let cost = cost_of(&ledger::patterns(), &format!("{RECONCILE}{variant}"), &case);
        assert_eq!(sum(&run.usage), declared(&cost), "{case:?}");
        scene.set(&id, "State", AttributeValue::S("failed".to_owned())).await;
        let retried = scene.retry(&id).await;
        assert_eq!(retried.status, 202, "{}", retried.body);
        let cost = cost_of(&ledger::patterns(), "retry-reconciliation", &case);
        assert_eq!(consumed(&retried), declared(&cost), "{case:?}");
        scene.stack.stop().await;
    }
}
