//! Tests of the reconciliation
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)) and of the tamper evidence
//! ([proof](../../../../docs/ledger-proof.md)). The reconciliation must report each discrepancy
//! once and nothing else, even if runs are interrupted.

use axum::http::StatusCode;
use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use local::Stack;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Client,
    clock::At,
    drained,
    faults::{Call, Fault, Process, Proxy},
    ledger::totals::{COUNT, stored_totals},
    ledger::{
        Item, NOTHING,
        audit::{
            DAY, RECONCILIATIONS, Rows, Shelf, account_key, at, dollars, header_key, leg_key, reconciled, without_steps,
        },
        stack, used,
    },
    patterns::cost_of,
    send, text, texts,
    units::{bytes, consumed, declared},
    until,
};

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

fn wrong_copy(transaction: &str, account: &str) -> Value {
    found("wrong-copy", Some(transaction), Some(account), [None, None])
}

fn broken_chain(transaction: &str, account: &str, leg: usize) -> Value {
    let mut found = found("broken-chain", Some(transaction), Some(account), [None, None]);
    found["legId"] = format!("{transaction}-{leg:02}").into();
    found
}

/// A change that a test makes in the ledger by hand.
enum Change {
    Gone(Value),
    Set(Value, Value),
    Put(Value),
}

use Change::{Gone, Put, Set};

impl Change {
    fn amount(transaction: &str, leg: usize, amount: &str) -> Self {
        Set(leg_key(transaction, leg), json!({"Amount": {"N": amount}}))
    }

    fn after(transaction: &str, leg: usize, amount: &str) -> Self {
        Set(leg_key(transaction, leg), json!({"BalanceAfter": {"N": amount}}))
    }

    fn balance(account: &str, amount: &str) -> Self {
        Set(account_key(account), json!({"Balance": {"N": amount}}))
    }

    fn side(leg: usize, side: &str) -> Self {
        Set(leg_key("T12", leg), json!({"LegType": {"S": side}}))
    }

    /// Gives a leg of A another time.
    fn moved(transaction: &str, leg: usize, milli: i64) -> Self {
        let (time, place) = (at(milli), format!("LEG#{}#{transaction}-{leg:02}", at(milli)));
        Set(leg_key(transaction, leg), json!({"CreatedAt": {"S": time}, "GSI1SK": {"S": place}}))
    }

    async fn make(&self, rows: &Rows) {
        match self {
            Gone(key) => rows.delete(key).await,
            Set(key, attributes) => rows.set(key, attributes.clone()).await,
            Put(item) => rows.put(&[item.to_string()]).await,
        }
    }
}

/// The name of a trial, the changes, and the expected discrepancies.
type Trial = (&'static str, Vec<Change>, Vec<Value>);

fn legs_that_are_gone_or_too_many() -> Vec<Trial> {
    let gone = |transaction, number| Gone(leg_key(transaction, number));
    let stray = |id, number, account, milli| Put(Shelf::stray(id, number, account, milli, 9));
    let moved = Set(leg_key("T12", 2), json!({"AccountID": {"S": "D"}, "GSI1PK": {"S": "ACCOUNT#D"}}));
    let [b, a] = [("B", 500), ("A", 500)];
    vec![
        ("a leg between others", vec![gone("T12", 2)], vec![missing("T12", "A", 500)]),
        ("the first leg of an account", vec![gone("T13", 2)], vec![missing("T13", "N", 100)]),
        ("the last leg of an account", vec![gone("T14", 2)], vec![missing("T14", "N", 700)]),
        ("the last leg of a dormant account", vec![gone("T03", 2)], vec![missing("T03", "D", 2_000)]),
        ("both legs", vec![gone("T12", 1), gone("T12", 2)], [b, a].map(|(of, sum)| missing("T12", of, sum)).to_vec()),
        ("a leg moved to another account", vec![moved], vec![missing("T12", "A", 500)]),
        ("a leg without a transaction", vec![stray("X", 1, "A", DAY + 2_000)], vec![orphan("X", "A", 9)]),
        ("a leg without a transaction, dormant", vec![stray("X", 1, "D", DAY + 9)], vec![orphan("X", "D", 9)]),
        ("a leg without a transaction, empty", vec![stray("X", 7, "E", 2 * DAY - 1)], vec![orphan("X", "E", 9)]),
        ("a leg that its transaction does not list", vec![stray("T12", 3, "D", DAY + 1)], vec![orphan("T12", "D", 9)]),
        (NO_HEADER, vec![Gone(header_key("T12"))], [b, a].map(|(of, sum)| orphan("T12", of, sum)).to_vec()),
    ]
}

const NO_HEADER: &str = "the header is missing";

fn wrong_amounts() -> Vec<Trial> {
    let header = Set(header_key("T12"), json!({"Amount": {"N": "7"}}));
    let both = [1, 2].map(|leg| Change::amount("T12", leg, "6")).into();
    let turned = vec![Change::side(1, "credit"), Change::side(2, "debit")];
    vec![
        ("a debit increased", vec![Change::amount("T12", 1, "6")], vec![unbalanced("T12", 600, 500)]),
        ("a credit decreased", vec![Change::amount("T13", 3, "0.5")], vec![unbalanced("T13", 300, 150)]),
        ("a debit became a credit", vec![Change::side(1, "credit")], vec![unbalanced("T12", 0, 1_000)]),
        ("both legs increased", both, vec![wrong_amount("T12", Some("B"), 500, 600)]),
        ("debit and credit exchanged", turned, vec![wrong_amount("T12", Some("B"), -500, 500)]),
        ("the header has another amount", vec![header], vec![wrong_amount("T12", None, 700, 500)]),
    ]
}

fn wrong_balances_and_hashes() -> Vec<Trial> {
    let restored = json!({
        "LastLegHash": {"S": three_days().hash("T12", 2)}, "Balance": {"N": "95.00"},
        "LastTransactionID": {"S": "T12"}, "LastLegID": {"S": "T12-02"}, "LastLegAt": {"S": at(DAY + 1)},
    });
    let exchanged = || vec![Change::moved("T12", 2, DAY + 5_000), Change::moved("T13", 1, DAY + 1)];
    let balanced = exchanged().into_iter().chain([Change::after("T13", 1, "87"), Change::after("T12", 2, "92")]);
    let hash = "0123456789abcdef".repeat(4);
    let last = |account| Set(account_key(account), json!({"LastLegHash": {"S": hash}}));
    let of_leg = |attribute: &str, text: &str| Set(leg_key("T12", 2), json!({attribute: {"S": text}}));
    let everywhere = |attribute: &str| -> Vec<Change> {
        let keys = [header_key("T12"), leg_key("T12", 1), leg_key("T12", 2)];
        keys.map(|key| Set(key, json!({attribute: {"S": "other"}}))).into()
    };
    let uncounted = json!({"kind": "wrong-total", "expected": "5.00", "actual": "0.00", "total": {
        "date": "2020-01-02", "merchantId": "other", "transactionType": "payment", "accountType": "checking",
        "currency": "USD", "sum": "debits",
    }});
    let forged = || vec![broken_chain("T12", "A", 2), broken_chain("T12", "B", 1)];
    let renamed = || Set(header_key("T12"), json!({"Description": {"S": "other"}}));
    let altered = || vec![broken_chain("T12", "A", 2), wrong_copy("T12", "A")];
    let beside = vec![wrong_balance(Some("T13"), "A", 9_201, 9_200), wrong_copy("T12", "B")];
    let reversal = Set(
        leg_key("T12", 2),
        json!({
            "GSI2PK": {"S": "ACCOUNT#A"}, "GSI2SK": {"S": format!("REVERSED#{}#T11-01#REVERSAL#01", at(DAY))},
        }),
    );
    vec![
        ("the description of the header", vec![renamed()], vec![wrong_copy("T12", "B")]),
        ("beside a wrong balance", vec![renamed(), Change::after("T12", 2, "95.01")], beside),
        ("a leg that reverses nothing", vec![reversal], vec![wrong_copy("T12", "A")]),
        ("a balance", vec![Change::balance("A", "1000")], vec![wrong_balance(None, "A", 9_400, 100_000)]),
        ("a dormant balance", vec![Change::balance("D", "19.99")], vec![wrong_balance(None, "D", 2_000, 1_999)]),
        ("a balance without legs", vec![Change::balance("E", "0.01")], vec![wrong_balance(None, "E", 0, 1)]),
        ("after a leg", vec![Change::after("T12", 2, "95.01")], vec![wrong_balance(Some("T13"), "A", 9_201, 9_200)]),
        ("after the first leg", vec![Change::after("T13", 2, "2")], vec![wrong_balance(Some("T14"), "N", 900, 800)]),
        ("an earlier version", vec![Set(account_key("A"), restored)], vec![wrong_balance(None, "A", 9_600, 9_500)]),
        ("two legs exchanged", exchanged(), vec![wrong_balance(Some("T15"), "A", 9_900, 9_600)]),
        ("two legs exchanged, and balances", balanced.collect(), vec![broken_chain("T13", "A", 1)]),
        ("the owner of a leg", vec![of_leg("UserID", "another")], vec![broken_chain("T12", "A", 2)]),
        ("the type of a transaction", vec![of_leg("TransactionType", "other")], altered()),
        ("a description", vec![of_leg("Description", "other")], altered()),
        ("a merchant", vec![of_leg("MerchantID", "other")], altered()),
        ("the counterparty", vec![of_leg("CounterpartyID", "other")], altered()),
        ("a description everywhere", everywhere("Description"), forged()),
        ("a merchant everywhere", everywhere("MerchantID"), [forged(), vec![uncounted]].concat()),
        ("the hash of a leg", vec![of_leg("Hash", &hash)], vec![broken_chain("T12", "A", 2)]),
        ("the hash of the last leg", vec![last("D")], vec![broken_chain("T03", "D", 2)]),
    ]
}

/// Returns the discrepancies as sorted text. Their order in the response is not specified.
fn sorted(discrepancies: &Value) -> Vec<String> {
    let mut texts: Vec<String> = discrepancies.as_array().expect("a list").iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn reports_each_error_once_and_nothing_else() {
    let stack = stack().start().await.expect("a stack");
    let (rows, operator) = (Rows::of(&stack), Client::operator(&stack));
    three_days().put(&rows).await;
    drained(&operator, COUNT).await;
    let nothing: Trial = ("nothing", vec![], vec![]);
    let trials = [vec![nothing], legs_that_are_gone_or_too_many(), wrong_amounts(), wrong_balances_and_hashes()];
    for (name, changes, wanted) in trials.into_iter().flatten() {
        for change in &changes {
            change.make(&rows).await;
        }
        let body = reconciled(&operator, &at(DAY), &at(2 * DAY - 1)).await;
        assert_eq!(sorted(&body["discrepancies"]), sorted(&wanted.into()), "{name}");
        assert_eq!((&body["accounts"], &body["more"]), (&json!(6), &json!(false)), "{name}");
        assert_eq!((&body["from"], &body["to"]), (&json!(at(DAY)), &json!(at(2 * DAY - 1))), "{name}");
        assert_eq!((&body["unchecked"], &body["totals"]["to"]), (&Value::Null, &json!("2020-01-02")), "{name}");
        assert_eq!(body["transactions"], json!(if name == NO_HEADER { 4 } else { 5 }), "{name}");
        for change in changes {
            if let Put(item) = change {
                rows.delete(&json!({"PK": item["PK"], "SK": item["SK"]})).await;
            }
        }
        three_days().put(&rows).await;
    }
    stack.stop().await;
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
        let stack = stack().start().await.expect("a stack");
        around(Shelf::forging(&three_days()), middle).put(&Rows::of(&stack)).await;
        let body = reconciled(&Client::operator(&stack), &at(DAY), &at(2 * DAY - 1)).await;
        assert_eq!(sorted(&body["discrepancies"]), sorted(&wanted.to_vec().into()), "{name}");
        stack.stop().await;
    }
}

/// A stack in which only the test continues reconciliations. A proxy makes calls to DynamoDB fail.
struct Scene {
    stack: Stack,
    proxy: Proxy,
    client: Client,
}

impl Scene {
    /// Starts with an empty ledger.
    async fn empty() -> Self {
        let stack = without_steps().start().await.expect("a stack");
        let proxy = Proxy::start(stack.dynamo_url()).await;
        let client = Client::operator(&stack);
        Self { stack, proxy, client }
    }

    /// Starts a reconciliation. Returns its id.
    async fn begin(&self, from: i64, to: i64) -> String {
        let answer = self.client.post(RECONCILIATIONS, &json!({"from": at(from), "to": at(to)})).await;
        answer.body["reconciliationId"].as_str().expect("an id").to_owned()
    }

    async fn body(&self, id: &str) -> Value {
        self.client.get(&format!("{RECONCILIATIONS}/{id}")).await.body
    }

    fn process(&self) -> Process<'_> {
        Process::start(&self.stack, &self.proxy, RECONCILE, &(ledger::patterns::reconcile::PATTERN.function)())
    }

    /// Invokes the function until the reconciliation is done.
    async fn run(&self, id: &str) {
        for _ in 0..1_000 {
            if self.body(id).await["status"] == "done" {
                return;
            }
            assert_eq!(self.call(&[id]).await, json!([]));
        }
        unreachable!("{id} never ends");
    }

    async fn retry(&self, id: &str) -> Answer {
        send(self.client.request("POST", &format!("{RECONCILIATIONS}/{id}/retry"))).await
    }

    async fn call(&self, ids: &[&str]) -> Value {
        let run = self.process().run(&step_of(ids), MINUTE).await.expect("no crash");
        run.answer.expect("an answer")["batchItemFailures"].clone()
    }

    /// Sets an attribute of the job of the reconciliation.
    async fn set(&self, id: &str, attribute: Value) {
        let key = json!({"PK": {"S": format!("RECONCILIATION#{id}")}, "SK": {"S": "METADATA"}});
        Rows::in_table(&self.stack, "LedgerJobs").set(&key, attribute).await;
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

/// The transactions and the legs of an account fill several pages.
#[tokio::test]
async fn continues_after_a_run_ends_at_its_deadline() {
    let (scene, mut shelf) = (Scene::empty().await, Shelf::default());
    for number in 0..1_200 {
        shelf.post(&format!("T{number}"), DAY + number, &[("O", -100), ("A", 100)]);
    }
    let rows = Rows::of(&scene.stack);
    shelf.put(&rows).await;
    rows.delete(&leg_key("T7", 2)).await;
    drained(&scene.client, COUNT).await;
    let (id, process) = (scene.begin(DAY, 20 * DAY).await, scene.process());
    // Each run has twice the time of the last one, until a run is long enough for a step, on any
    // machine.
    let (mut time, mut runs) = (Duration::from_millis(1), 0);
    while scene.body(&id).await["status"] != "done" {
        assert!(time < MINUTE, "the reconciliation does not end");
        process.run(&step_of(&[&id]), time).await.expect("no crash");
        (time, runs) = (2 * time, runs + 1);
    }
    assert!(runs > 1, "one run of {time:?} was enough");
    let body = scene.body(&id).await;
    assert_eq!((&body["transactions"], &body["accounts"]), (&json!(1_200), &json!(2)));
    assert_eq!(body["discrepancies"], json!([missing("T7", "A", 100)]));
    scene.stack.stop().await;
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
    let scene = Scene::empty().await;
    three_days().put(&Rows::of(&scene.stack)).await;
    let (bad, good) = (scene.begin(DAY, 20 * DAY).await, scene.begin(0, DAY - 1).await);
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
    scene.run(&bad).await;
    let repaired = scene.body(&bad).await;
    assert_eq!((&repaired["transactions"], &repaired["reason"]), (&json!(6), &Value::Null));
    scene.stack.stop().await;
}

#[tokio::test]
async fn fails_after_the_maximum_number_of_attempts() {
    let scene = Scene::empty().await;
    let id = scene.begin(DAY, 20 * DAY).await;
    scene.set(&id, json!({"Attempts": {"N": jobs::MAX_ATTEMPTS.to_string()}})).await;
    assert_eq!(scene.call(&[&id]).await, json!([]));
    let body = scene.body(&id).await;
    assert_eq!(body["status"], "failed");
    assert_eq!(body["reason"], "50 consecutive runs completed no step. They may have run out of time or memory.");
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
    // The day must have ended.
    for day in [json!("9999-12-30"), json!(Timestamp::now().strftime("%Y-%m-%d").to_string())] {
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
    assert_eq!(running["totals"], json!({"from": "2020-01-01", "to": last}));
    assert_eq!((&running["status"], &running["unchecked"]), (&json!("running"), unchecked));
    let other = json!({"from": "2020-01-01T00:00:00Z", "to": "2021-01-01T00:00:00Z"});
    assert_eq!(operator.post_once(RECONCILIATIONS, "K", &other).await.status, 422);
    assert_eq!(all(&stack).await.len(), 1);
    assert_ne!(operator.post(RECONCILIATIONS, &body).await.body["reconciliationId"], id);
    assert_eq!(all(&stack).await.len(), 2);
    stack.stop().await;
}

#[tokio::test]
async fn lists_reconciliations_newest_first_with_their_progress() {
    let scene = Scene::empty().await;
    let rows = Rows::of(&scene.stack);
    three_days().put(&rows).await;
    drained(&scene.client, COUNT).await;
    rows.set(&account_key("A"), json!({"Balance": {"N": "1.5"}})).await;
    let mut ids = Vec::new();
    for day in 0..3 {
        let now = Timestamp::now() + SignedDuration::from_secs(day);
        let body = json!({"from": at(day * DAY), "to": at((day + 1) * DAY - 1)});
        let started = At::new(&scene.stack, &scene.client, now).post(RECONCILIATIONS, &body).await.body;
        ids.push(text(&started, "reconciliationId").to_owned());
    }
    scene.run(&ids[0]).await;
    ids.reverse();
    let (list, _) = scene.client.all(&format!("{RECONCILIATIONS}?limit=2")).await;
    assert_eq!(texts(&list, "reconciliationId"), ids);
    assert_eq!(texts(&list, "status"), ["running", "running", "done"]);
    let body = scene.body(&ids[2]).await;
    for member in ["from", "to", "totals", "transactions", "accounts"] {
        assert_eq!(list[2][member], body[member], "{member}");
    }
    assert_eq!(list[2]["discrepancyCount"], json!(body["discrepancies"].as_array().map(Vec::len)));
    assert_ne!(list[2]["discrepancyCount"], 0);
    // Neither a retry nor a repeated request changes the place in the list.
    scene.set(&ids[2], json!({"State": {"S": "failed"}})).await;
    assert_eq!(scene.retry(&ids[2]).await.status, 202);
    let (again, _) = scene.client.all(RECONCILIATIONS).await;
    assert_eq!(texts(&again, "reconciliationId"), ids);
    let case = ledger::Case { items: 3, ..NOTHING };
    let cost = cost_of(&ledger::patterns(), "list-reconciliations", &case);
    assert_eq!(consumed(&scene.client.get(RECONCILIATIONS).await), declared(&cost));
    scene.stack.stop().await;
}

#[tokio::test]
async fn reconciliation_consumes_its_declared_cost() {
    for (accounts, transactions, variant) in [(5, 40, ""), (3, 5, ", grouped")] {
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
        let id = scene.begin(DAY, 2 * DAY - 1).await;
        let run = scene.process().run(&step_of(&[&id]), MINUTE).await.expect("no crash");
        let totals = stored_totals(&scene.stack).await;
        let total = totals.iter().filter(|item| item["SK"].as_s().is_ok_and(|sort| sort.starts_with("DAY#2020-01-02")));
        let total = total.map(bytes).max().expect("a total");
        let scan = scene.stack.client().expect("a client").scan();
        let items = scan.table_name(scene.stack.table("FinancialTransactions").expect("a table")).send().await;
        let items = items.expect("items").items.unwrap_or_default();
        let size = |partition: &str, sort: &str| {
            let is = |name: &str, value: &str, item: &Item| item[name].as_s().is_ok_and(|text| text == value);
            items.iter().find(|item| is("PK", partition, item) && is("SK", sort, item)).map(bytes).expect("an item")
        };
        let case = ledger::Case {
            account: size("ACCOUNT#A0", "METADATA"),
            transaction: size("TXN#T1", "METADATA"),
            of_status: size("TXN#T1", "METADATA"),
            leg: size("TXN#T1", "LEG#T1-01"),
            legs: accounts,
            items: usize::try_from(transactions).expect("a small number"),
            total,
            totals: 1,
            ..NOTHING
        };
        let cost = cost_of(&ledger::patterns(), &format!("{RECONCILE}{variant}"), &case);
        assert_eq!(used(&run.usage), declared(&cost), "{case:?}");
        scene.set(&id, json!({"State": {"S": "failed"}})).await;
        let retried = scene.retry(&id).await;
        assert_eq!(retried.status, 202, "{}", retried.body);
        let cost = cost_of(&ledger::patterns(), "retry-reconciliation", &case);
        assert_eq!(consumed(&retried), declared(&cost), "{case:?}");
        scene.stack.stop().await;
    }
}
