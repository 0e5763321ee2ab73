//! Tests of accounts with grouped posting
//! ([decision](../../../../docs/decisions/ledger-grouped-posting.md)). A payment does not touch the
//! account that receives it. The settlement posts each credit exactly once.

use futures::future::{join, join_all};
use jiff::{SignedDuration, Timestamp};
use local::Builder;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Client, End, assert_problem, changed, drained,
    faults::{Fault, Process, Proxy},
    ledger::audit::{RECONCILIATIONS, Rows, leg_key},
    ledger::model::{Stored, until_told},
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, legs, payment},
    patterns::cost_of,
    requests::{Case, all_are_refused},
    send,
    units::{consumed, declared},
    until,
};

const SETTLE: &str = "settle-account";
const MINUTE: Duration = Duration::from_mins(1);

/// Configures a stack in which the event source mapping of the settlement is disabled.
fn unsettled() -> Builder {
    let mapping = "        Settlements:\n          Type: DynamoDB\n          Properties:\n";
    changed("ledger", (mapping, 1), &format!("{mapping}            Enabled: false\n"))
}

/// A ledger with a shop that has grouped posting, and a payer with 1,000.00.
struct Scene {
    books: Books,
    shop: String,
    payer: String,
}

impl Scene {
    async fn of(books: Books) -> Self {
        let (shop, payer) = (grouped(&books, "shop").await, books.funded("ann", "1000.00").await);
        Self { books, shop, payer }
    }

    async fn start() -> Self {
        Self::of(Books::open().await).await
    }

    async fn unsettled() -> Self {
        Self::of(Books::of(unsettled().start().await.expect("a stack")).await).await
    }

    /// Pays 5.00 to the shop. Returns the id of the transaction.
    async fn pay(&self, key: &str) -> String {
        id(&self.books.pay(key, &self.payer, &self.shop, "5.00").await, "transactionId")
    }

    async fn shop(&self) -> Value {
        self.books.operator.get(&path(&self.shop)).await.body
    }

    /// Waits until the inbox of the shop is empty. Returns the account.
    async fn settled(&self) -> Value {
        until(&self.books.operator, &path(&self.shop), |answer| answer.body["pending"] == "0.00").await.body
    }

    /// Waits until the settlement of the shop is started, and runs it.
    async fn settle(&self) {
        until_job(self, &format!("SETTLEMENT#{}", self.shop)).await;
        self.settle_now().await;
    }

    /// Runs the settlement of the shop, if it is started.
    async fn settle_now(&self) {
        let answer = self.books.operator.invoke(SETTLE, &step(&self.shop)).await;
        assert_eq!(answer.body, json!({"batchItemFailures": []}));
    }

    async fn stored(&self) -> Stored {
        let stored = Stored::read(&self.books.stack).await;
        stored.check();
        stored
    }

    /// Reconciles all transactions, and returns the discrepancies.
    async fn discrepancies(&self) -> Vec<Value> {
        let now = Timestamp::now();
        let body = json!({"from": now - SignedDuration::from_hours(1), "to": now + SignedDuration::from_hours(1)});
        let later = self.books.at(now + SignedDuration::from_hours(2));
        let begun = later.post(RECONCILIATIONS, &body).await;
        assert_eq!(begun.status, 202, "{}", begun.body);
        let path = format!("{RECONCILIATIONS}/{}", begun.body["reconciliationId"].as_str().expect("an id"));
        let done = until(&self.books.operator, &path, |answer| answer.body["status"] != "running").await;
        assert_eq!(done.body["status"], "done", "{}", done.body);
        done.body["discrepancies"].as_array().expect("a list").clone()
    }

    async fn stop(self) {
        self.books.stack.stop().await;
    }
}

fn path(account: &str) -> String {
    format!("{ACCOUNTS}/{account}")
}

async fn grouped(books: &Books, user: &str) -> String {
    let terms = json!({"userId": user, "accountType": "merchant", "currency": "USD", "posting": "grouped"});
    id(&books.operator.post(ACCOUNTS, &terms).await, "accountId")
}

/// A stream event of the settlement job of the account.
fn step(account: &str) -> Value {
    let keys = json!({"PK": {"S": format!("SETTLEMENT#{account}")}, "SK": {"S": "METADATA"}});
    json!({"Records": [{"eventName": "MODIFY", "dynamodb": {"Keys": keys, "SequenceNumber": "1"}}]})
}

async fn set_posting(client: &Client, account: &str, posting: &str) -> Answer {
    client.patch(&path(account), &json!({"posting": posting})).await
}

#[tokio::test]
async fn payments_are_settled_and_appear_in_the_statement() {
    let scene = Scene::start().await;
    let mut transactions = Vec::new();
    for number in 0..3 {
        transactions.push(scene.pay(&format!("K-{number}")).await);
    }
    let shop = scene.settled().await;
    assert_eq!((&shop["balance"], &shop["posting"]), (&json!("15.00"), &json!("grouped")), "{shop}");
    let operator = &scene.books.operator;
    let statement = operator.get(&format!("{}/statement", path(&scene.shop))).await.body;
    let items = statement["items"].as_array().expect("items");
    let balances: Vec<&Value> = items.iter().map(|leg| &leg["balanceAfter"]).collect();
    assert_eq!(balances, ["15.00", "10.00", "5.00"]);
    for leg in items {
        assert!(leg["postedAt"].as_str() >= leg["createdAt"].as_str(), "{leg}");
        assert_eq!(leg["counterpartyAccountId"], json!(scene.payer));
    }
    let csv = operator.request("GET", &format!("{}/statement", path(&scene.shop))).header("accept", "text/csv");
    let csv = send(csv).await.body;
    let posted: Vec<&str> =
        csv.as_str().expect("a text").lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(posted, items.iter().map(|leg| leg["postedAt"].as_str().expect("a time")).collect::<Vec<_>>());
    // A balance at a time goes by the time of the posting.
    let before = items[2]["createdAt"].as_str().expect("a time");
    let at = operator.get(&format!("{}/balance?at={before}", path(&scene.shop))).await.body;
    assert_eq!(at["balance"], if items[2]["postedAt"] == items[2]["createdAt"] { "5.00" } else { "0.00" });
    let shown = operator.get(&format!("{TRANSACTIONS}/{}", transactions[0])).await.body;
    assert!(shown["legs"][1]["postedAt"].is_string() && shown["legs"][1]["balanceAfter"].is_string(), "{shown}");
    let stored = scene.stored().await;
    assert_eq!((stored.inbox.len(), stored.postings.len()), (0, 3));
    assert_eq!(scene.discrepancies().await, Vec::<Value>::new());
    // The settled balance can be spent.
    assert_eq!(scene.books.pay("out", &scene.shop, &scene.payer, "15.00").await.status, 201);
    scene.stored().await;
    scene.stop().await;
}

#[tokio::test]
async fn one_settlement_posts_more_credits_than_fit_into_one_transaction() {
    let scene = Scene::unsettled().await;
    for number in 0..3 {
        let credits = [("credit", scene.shop.as_str(), "0.10", "USD"); 40];
        let body = legs([("debit", scene.payer.as_str(), "4.00", "USD")].into_iter().chain(credits));
        let paid = scene.books.operator.post_once(TRANSACTIONS, &format!("J-{number}"), &body).await;
        assert_eq!(paid.status, 201, "{}", paid.body);
    }
    scene.settle().await;
    let stored = scene.stored().await;
    assert_eq!((stored.inbox.len(), stored.postings.len()), (0, 120));
    let shop = scene.shop().await;
    assert_eq!((&shop["balance"], &shop["version"]), (&json!("12.00"), &json!(4)), "three transactions of 40: {shop}");
    assert_eq!(scene.discrepancies().await, Vec::<Value>::new());
    scene.stop().await;
}

#[tokio::test]
async fn captures_reversals_and_closings_credit_a_grouped_account() {
    let scene = Scene::start().await;
    let held = id(&scene.books.hold("H", &scene.payer, &scene.shop, "7.00").await, "holdId");
    let captured = scene.books.operator.post_once(&format!("/ledger/holds/{held}/capture"), "C", &json!({})).await;
    assert_eq!(captured.status, 201, "{}", captured.body);
    assert_eq!(scene.settled().await["balance"], "7.00");
    let out = id(&scene.books.pay("out", &scene.shop, &scene.payer, "2.00").await, "transactionId");
    let undone = scene.books.operator.post_once(&format!("{TRANSACTIONS}/{out}/reversal"), "R", &json!({})).await;
    assert_eq!(undone.status, 201, "{}", undone.body);
    assert_eq!(scene.settled().await["balance"], "7.00");
    let other = scene.books.funded("ann", "3.00").await;
    let close = json!({"status": "closed", "transferTo": scene.shop});
    assert_eq!(scene.books.operator.patch(&path(&other), &close).await.status, 200);
    assert_eq!(scene.settled().await["balance"], "10.00");
    scene.stored().await;
    assert_eq!(scene.discrepancies().await, Vec::<Value>::new());
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_posting_changes_in_both_directions_under_load() {
    let scene = Scene::start().await;
    let payers = join_all((0..8).map(|_| scene.books.funded("bob", "100.00"))).await;
    let payments = join_all(payers.iter().enumerate().map(|(number, payer)| {
        let scene = &scene;
        async move {
            for payment_number in 0..15 {
                let key = format!("K-{number}-{payment_number}");
                let body = payment(payer, &scene.shop, "1.00");
                let paid = until_told(async || scene.books.operator.post_once(TRANSACTIONS, &key, &body).await).await;
                assert_eq!(paid.status, 201, "{}", paid.body);
            }
        }
    }));
    let changes = async {
        for number in 0..10 {
            let posting = ["direct", "grouped"][number % 2];
            let changed = until_told(async || set_posting(&scene.books.operator, &scene.shop, posting).await).await;
            assert_eq!((changed.status, &changed.body["posting"]), (200, &json!(posting)), "{}", changed.body);
        }
    };
    join(payments, changes).await;
    assert_eq!(scene.settled().await["balance"], "120.00");
    scene.stored().await;
    assert_eq!(scene.discrepancies().await, Vec::<Value>::new());
    scene.stop().await;
}

#[tokio::test]
async fn a_grouped_account_is_closed_after_its_inbox_is_drained() {
    let scene = Scene::unsettled().await;
    scene.pay("K-1").await;
    let close = json!({"status": "closed", "transferTo": scene.payer});
    let closing = scene.books.operator.patch(&path(&scene.shop), &close).await;
    assert_eq!((closing.status, &closing.body["status"]), (200, &json!("closing")), "{}", closing.body);
    let closes_at: Timestamp = closing.body["closesAt"].as_str().expect("a time").parse().expect("a time");
    // No payment is accepted any more, and a repeated request changes nothing.
    assert_problem(&scene.books.pay("K-2", &scene.payer, &scene.shop, "1.00").await, 409, "account-closed");
    let again = scene.books.operator.patch(&path(&scene.shop), &close).await;
    assert_eq!((again.status, &again.body), (200, &closing.body));
    assert_problem(&set_posting(&scene.books.operator, &scene.shop, "direct").await, 409, "account-closed");
    // From then on, only the inbox keeps the account open.
    let later = scene.books.at(closes_at + SignedDuration::from_secs(1));
    let waiting = later.patch(&path(&scene.shop), &close).await;
    assert_eq!(
        (waiting.status, &waiting.body["status"], &waiting.body["pending"]),
        (200, &json!("closing"), &json!("5.00"))
    );
    scene.settle().await;
    let closed = later.patch(&path(&scene.shop), &close).await;
    assert_eq!((closed.status, &closed.body["status"]), (200, &json!("closed")), "{}", closed.body);
    assert_eq!((&closed.body["balance"], &closed.body["pending"]), (&json!("0.00"), &json!("0.00")));
    assert_eq!(scene.books.balance(&scene.payer).await, "1000.00");
    scene.stored().await;
    scene.stop().await;
}

/// The settlement has read the inbox, and is about to end, when another credit arrives.
#[tokio::test]
async fn a_settlement_does_not_end_before_a_new_credit_is_posted() {
    let scene = Scene::unsettled().await;
    scene.pay("A").await;
    until_job(&scene, &format!("SETTLEMENT#{}", scene.shop)).await;
    let proxy = Proxy::start(scene.books.stack.dynamo_url()).await;
    let function = ledger::patterns::settle_account::function();
    let process = Process::start(&scene.books.stack, &proxy, SETTLE, &function);
    // The first update counts the attempt, and the second one ends the job.
    proxy.rule(|call| if call.action == "UpdateItem" && call.nth == 2 { Fault::Held } else { Fault::None });
    let event = step(&scene.shop);
    let pay = async {
        proxy.held(1).await;
        scene.pay("B").await;
        drained(&scene.books.operator, "react-to-transactions").await;
        proxy.release();
    };
    let (run, ()) = join(process.run(&event, MINUTE), pay).await;
    assert!(run.is_some());
    assert_eq!((scene.stored().await.inbox.len(), scene.shop().await["balance"].clone()), (1, json!("5.00")));
    scene.settle_now().await;
    assert_eq!((scene.stored().await.inbox.len(), scene.shop().await["balance"].clone()), (0, json!("10.00")));
    scene.stop().await;
}

/// Waits until the settlement job is running.
async fn until_job(scene: &Scene, job: &str) {
    until_state(scene, job, "running").await;
}

/// Waits until the job has the state.
async fn until_state(scene: &Scene, job: &str, state: &str) {
    let client = scene.books.stack.client().expect("a client");
    let table = scene.books.stack.table("LedgerJobs").expect("a table");
    for _ in 0..6_000 {
        let key = |name: &str| aws_sdk_dynamodb::types::AttributeValue::S(name.to_owned());
        let found = client.get_item().table_name(table).key("PK", key(job)).key("SK", key("METADATA")).send().await;
        if found.expect("an answer").item.is_some_and(|item| item["State"] == key(state)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    unreachable!("{job} is not {state}");
}

/// The stream also passes the unreadable job to the settlement, which marks it as failed.
#[tokio::test]
async fn an_unreadable_settlement_job_is_replaced() {
    let scene = Scene::start().await;
    scene.pay("A").await;
    scene.settled().await;
    let job = format!("SETTLEMENT#{}", scene.shop);
    let client = scene.books.stack.client().expect("a client");
    let text = |text: &str| aws_sdk_dynamodb::types::AttributeValue::S(text.to_owned());
    for (number, attribute) in ["StartedAt", "Task"].into_iter().enumerate() {
        until_state(&scene, &job, "done").await;
        let update = client.update_item().table_name(scene.books.stack.table("LedgerJobs").expect("a table"));
        let update = update.key("PK", text(&job)).key("SK", text("METADATA"));
        let update = update.update_expression("SET #a = :a, #s = :s").expression_attribute_names("#a", attribute);
        let update = update.expression_attribute_names("#s", "State").expression_attribute_values(":a", text("x"));
        update.expression_attribute_values(":s", text("running")).send().await.expect("written");
        until_state(&scene, &job, "failed").await;
        scene.pay(&format!("K-{number}")).await;
        let balance = format!("{}.00", 10 + 5 * number);
        assert_eq!(scene.settled().await["balance"], balance, "{attribute}");
    }
    scene.stop().await;
}

/// A stream batch that is lost after all retries does not start the settlement.
#[tokio::test]
async fn the_reconciliation_starts_a_settlement_whose_start_was_lost() {
    let scene = Scene::unsettled().await;
    let job = format!("SETTLEMENT#{}", scene.shop);
    // The time of a payment follows the last leg of its payer, so each has another payer.
    let pay = async |key: &str, minutes: i64| {
        let payer = scene.books.source("USD").await;
        let then = scene.books.at(Timestamp::now() - SignedDuration::from_mins(minutes));
        let paid = then.post_once(TRANSACTIONS, key, &payment(&payer, &scene.shop, "5.00")).await;
        until_job(&scene, &job).await;
        forget(&scene, &job).await;
        id(&paid, "transactionId")
    };
    let newer = pay("A", 50).await;
    assert_eq!(scene.discrepancies().await, Vec::<Value>::new(), "a settlement may take an hour");
    let oldest = pay("B", 70).await;
    let found = scene.discrepancies().await;
    assert_eq!(found.len(), 1, "{found:?}");
    let found = [&found[0]["kind"], &found[0]["transactionId"], &found[0]["actual"]];
    assert_eq!(found, [&json!("unsettled-credit"), &json!(oldest), &json!("5.00")], "{newer} is newer");
    scene.settle().await;
    assert_eq!(scene.shop().await["balance"], "10.00");
    assert_eq!(scene.discrepancies().await, Vec::<Value>::new());
    scene.stop().await;
}

/// Deletes the settlement job.
async fn forget(scene: &Scene, job: &str) {
    let client = scene.books.stack.client().expect("a client");
    let table = scene.books.stack.table("LedgerJobs").expect("a table");
    let key = |name: &str| aws_sdk_dynamodb::types::AttributeValue::S(name.to_owned());
    let deleted = client.delete_item().table_name(table).key("PK", key(job)).key("SK", key("METADATA")).send().await;
    deleted.expect("an answer");
}

#[tokio::test]
async fn a_settlement_consumes_its_declared_cost() {
    let scene = Scene::unsettled().await;
    for (number, count) in [40, 9].into_iter().enumerate() {
        let credits = vec![("credit", scene.shop.as_str(), "0.10", "USD"); count];
        let sum = format!("{}.{}0", count / 10, count % 10);
        let body = legs([("debit", scene.payer.as_str(), sum.as_str(), "USD")].into_iter().chain(credits));
        let paid = scene.books.operator.post_once(TRANSACTIONS, &format!("J-{number}"), &body).await;
        assert_eq!(paid.status, 201, "{}", paid.body);
    }
    drained(&scene.books.operator, "react-to-transactions").await;
    let settled = scene.books.operator.invoke(SETTLE, &step(&scene.shop)).await;
    assert_eq!(scene.shop().await["balance"], "4.90");
    // Each item has at most 1 KB.
    let (account, of_user, transaction, of_status, leg, inbox) = (900, 0, 0, 0, 900, 900);
    let (hold, of_hold, legs, items, total, totals, shards, merchant) = (0, 0, 0, 0, 0, 0, 0, false);
    let case = ledger::Case {
        account,
        of_user,
        transaction,
        of_status,
        leg,
        inbox,
        hold,
        of_hold,
        legs,
        items,
        total,
        totals,
        shards,
        merchant,
    };
    assert_eq!(consumed(&settled), declared(&cost_of(&ledger::patterns(), SETTLE, &case)));
    scene.stop().await;
}

#[tokio::test]
async fn an_unreadable_inbox_item_does_not_stop_the_others() {
    let scene = Scene::unsettled().await;
    let transactions = join_all(["A", "B", "C"].map(|key| scene.pay(key))).await;
    let rows = Rows::of(&scene.books.stack);
    let item = inbox_key(&scene, &transactions[1]).await;
    rows.set(&item, json!({"Amount": {"BOOL": true}})).await;
    assert_eq!(scene.shop().await.get("pending"), None);
    scene.settle().await;
    let shop = scene.shop().await;
    assert_eq!((&shop["balance"], shop.get("pending")), (&json!("10.00"), None), "{shop}");
    let found = scene.discrepancies().await;
    let wanted = json!({"kind": "unreadable-item", "accountId": null, "expected": null, "actual": null});
    assert_eq!((found.len(), &found[0]["kind"]), (1, &wanted["kind"]), "{found:?}");
    rows.set(&item, json!({"Amount": {"N": "5"}})).await;
    scene.pay("D").await;
    scene.settle().await;
    assert_eq!(scene.shop().await["balance"], "20.00");
    scene.stored().await;
    scene.stop().await;
}

/// Returns the key of the inbox item of the transaction's second leg.
async fn inbox_key(scene: &Scene, transaction: &str) -> Value {
    let leg = Rows::of(&scene.books.stack).get(&leg_key(transaction, 2)).await;
    let text = |name: &str| leg[name]["S"].as_str().expect("a text").to_owned();
    json!({
        "PK": {"S": format!("ACCOUNT#{}#INBOX#{}", scene.shop, text("InboxShard"))},
        "SK": {"S": format!("CREATED#{}#{}", text("CreatedAt"), text("ID"))},
    })
}

fn posting_key(transaction: &str) -> Value {
    json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": format!("POSTING#{transaction}-02")}})
}

/// Checks that the reconciliation finds only this discrepancy.
async fn finds(scene: Scene, kind: &str, transaction: &str, [expected, actual]: [Option<&str>; 2]) {
    let found = scene.discrepancies().await;
    assert_eq!(found.len(), 1, "{found:?}");
    let found = &found[0];
    assert_eq!((&found["kind"], &found["transactionId"]), (&json!(kind), &json!(transaction)), "{found}");
    assert_eq!(
        (&found["accountId"], &found["expected"], &found["actual"]),
        (&json!(scene.shop), &json!(expected), &json!(actual))
    );
    scene.stop().await;
}

#[tokio::test]
async fn finds_an_inbox_item_that_was_removed_by_hand() {
    let scene = Scene::unsettled().await;
    let transactions = join_all(["A", "B", "C"].map(|key| scene.pay(key))).await;
    Rows::of(&scene.books.stack).delete(&inbox_key(&scene, &transactions[1]).await).await;
    finds(scene, "missing-posting", &transactions[1], [Some("5.00"), None]).await;
}

#[tokio::test]
async fn finds_an_inbox_item_that_was_altered() {
    let scene = Scene::unsettled().await;
    let transactions = join_all(["A", "B"].map(|key| scene.pay(key))).await;
    let item = inbox_key(&scene, &transactions[1]).await;
    Rows::of(&scene.books.stack).set(&item, json!({"Amount": {"N": "50"}})).await;
    finds(scene, "wrong-amount", &transactions[1], [Some("5.00"), Some("50.00")]).await;
}

#[tokio::test]
async fn finds_an_inbox_item_that_was_inserted() {
    let scene = Scene::unsettled().await;
    let transaction = scene.pay("A").await;
    let rows = Rows::of(&scene.books.stack);
    let mut item = rows.get(&inbox_key(&scene, &transaction).await).await;
    for (name, value) in [("ID", "X-02"), ("TransactionID", "X")] {
        item[name] = json!({"S": value});
    }
    item["SK"] = json!({"S": item["SK"]["S"].as_str().expect("a text").replace(&transaction, "X")});
    rows.put(&[item.to_string()]).await;
    finds(scene, "orphan-inbox-item", "X", [None, Some("5.00")]).await;
}

/// An item that is put back after its settlement is not settled again.
#[tokio::test]
async fn finds_an_inbox_item_that_was_settled_before() {
    let scene = Scene::unsettled().await;
    let transaction = scene.pay("A").await;
    let rows = Rows::of(&scene.books.stack);
    let item = rows.get(&inbox_key(&scene, &transaction).await).await;
    scene.settle().await;
    rows.put(&[item.to_string()]).await;
    scene.pay("B").await;
    scene.settle().await;
    assert_eq!(scene.shop().await["balance"], "10.00");
    finds(scene, "orphan-inbox-item", &transaction, [None, Some("5.00")]).await;
}

#[tokio::test]
async fn finds_a_posting_that_was_removed_or_altered() {
    for position in 0..3 {
        let scene = Scene::unsettled().await;
        let mut transactions = Vec::new();
        for key in ["A", "B", "C"] {
            transactions.push(scene.pay(key).await);
            scene.settle().await;
        }
        Rows::of(&scene.books.stack).delete(&posting_key(&transactions[position])).await;
        finds(scene, "missing-posting", &transactions[position], [Some("5.00"), None]).await;
    }
    let scene = Scene::unsettled().await;
    let transaction = scene.pay("A").await;
    scene.settle().await;
    Rows::of(&scene.books.stack).set(&posting_key(&transaction), json!({"Amount": {"N": "6"}})).await;
    finds(scene, "wrong-amount", &transaction, [Some("5.00"), Some("6.00")]).await;
}

#[tokio::test]
async fn only_operators_choose_grouped_posting() {
    let scene = Scene::start().await;
    let ann = scene.books.user("ann");
    let terms = json!({"userId": "ann", "accountType": "shop", "currency": "USD", "posting": "grouped"});
    assert_eq!(End::of(&ann.post(ACCOUNTS, &terms).await), Some(End::NoReach));
    assert_eq!(End::of(&set_posting(&ann, &scene.payer, "grouped").await), Some(End::NoReach));
    let direct = json!({"userId": "ann", "accountType": "shop", "currency": "USD", "posting": "direct"});
    let opened = ann.post(ACCOUNTS, &direct).await;
    assert_eq!((opened.status, &opened.body["posting"], opened.body.get("pending")), (201, &json!("direct"), None));
    let changed = set_posting(&scene.books.operator, &scene.payer, "grouped").await;
    assert_eq!((changed.status, &changed.body["pending"]), (200, &json!("0.00")), "{}", changed.body);
    let version = changed.body["version"].as_i64().expect("a number");
    let stale = json!({"posting": "direct", "version": version - 1});
    assert_eq!(scene.books.operator.patch(&path(&scene.payer), &stale).await.status, 412);
    let patch = |body: Value, pointers: &str| {
        let request = scene.books.operator.request("PATCH", &path(&scene.payer)).json(&body);
        Case::faults(body.to_string(), request, pointers)
    };
    let open = |body: Value| {
        Case::faults(body.to_string(), scene.books.operator.request("POST", ACCOUNTS).json(&body), "/body/posting")
    };
    let mut cases = vec![
        patch(json!({"posting": "sometimes"}), "/body/posting"),
        patch(json!({"posting": null}), "/body/posting"),
        patch(json!({"posting": "direct", "status": "frozen"}), "/body/status"),
        patch(json!({"posting": "direct", "transferTo": scene.shop}), "/body/transferTo"),
        patch(json!({"status": "closing"}), "/body/status"),
    ];
    cases.push(open(json!({"userId": "ann", "accountType": "shop", "currency": "USD", "posting": 1})));
    let tables = scene.books.stack.tables();
    all_are_refused(cases, &tables, async || scene.books.stored().await).await;
    scene.stop().await;
}
