//! Tests of accounts with grouped posting
//! ([decision](../../../../docs/decisions/ledger-throughput.md)). A payment does not touch the
//! account that receives it. The settlement posts each credit exactly once.

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::{join, join_all};
use jiff::{SignedDuration, Timestamp};
use local::Builder;
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use system_tests::{
    Answer, Client, End, assert_problem, changed, drained,
    faults::{Fault, Process, Proxy},
    ledger::audit::{RECONCILIATIONS, Rows, leg_key, text_of},
    ledger::model::Stored,
    ledger::{ACCOUNTS, Books, NOTHING, TRANSACTIONS, id, legs, payment},
    patterns::cost_of,
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
        self.until_state("running").await;
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
    // A payment that was planned earlier can still arrive.
    let early = scene.books.at(closes_at).patch(&path(&scene.shop), &close).await;
    assert_eq!((early.status, &early.body["status"], &early.body["pending"]), (200, &json!("closing"), &json!("0.00")));
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
    scene.until_state("running").await;
    let proxy = Proxy::start(scene.books.stack.dynamo_url()).await;
    let function = (ledger::patterns::settle_account::PATTERN.function)();
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

impl Scene {
    /// The table and the key of the settlement job.
    fn job(&self) -> (aws_sdk_dynamodb::Client, &str, HashMap<String, AttributeValue>) {
        let client = self.books.stack.client().expect("a client");
        let key = [("PK", format!("SETTLEMENT#{}", self.shop)), ("SK", "METADATA".to_owned())];
        let key = key.map(|(name, value)| (name.to_owned(), AttributeValue::S(value))).into();
        (client, self.books.stack.table("LedgerJobs").expect("a table"), key)
    }

    /// Waits until the settlement job has the state.
    async fn until_state(&self, state: &str) {
        let (client, table, key) = self.job();
        for _ in 0..6_000 {
            let found = client.get_item().table_name(table).set_key(Some(key.clone())).send().await;
            let found = found.expect("an answer").item;
            if found.is_some_and(|item| item["State"] == AttributeValue::S(state.to_owned())) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        unreachable!("the settlement is not {state}");
    }
}

/// The stream also passes the unreadable job to the settlement, which marks it as failed.
#[tokio::test]
async fn an_unreadable_settlement_job_is_replaced() {
    let scene = Scene::start().await;
    scene.pay("A").await;
    scene.settled().await;
    let (client, table, key) = scene.job();
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for (number, attribute) in ["StartedAt", "Task"].into_iter().enumerate() {
        scene.until_state("done").await;
        let update = client.update_item().table_name(table).set_key(Some(key.clone()));
        let update = update.update_expression("SET #a = :a, #s = :s").expression_attribute_names("#a", attribute);
        let update = update.expression_attribute_names("#s", "State").expression_attribute_values(":a", text("x"));
        update.expression_attribute_values(":s", text("running")).send().await.expect("written");
        scene.until_state("failed").await;
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
    // The time of a payment follows the last leg of its payer, so each has another payer.
    let pay = async |key: &str, minutes: i64| {
        let payer = scene.books.source("USD").await;
        let then = scene.books.at(Timestamp::now() - SignedDuration::from_mins(minutes));
        let paid = then.post_once(TRANSACTIONS, key, &payment(&payer, &scene.shop, "5.00")).await;
        scene.until_state("running").await;
        let (client, table, key) = scene.job();
        client.delete_item().table_name(table).set_key(Some(key)).send().await.expect("deleted");
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
    let case = ledger::Case { account: 900, leg: 900, inbox: 900, ..NOTHING };
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
    let [shard, time, id] = ["InboxShard", "CreatedAt", "ID"].map(|name| text_of(&leg, name));
    json!({
        "PK": {"S": format!("ACCOUNT#{}#INBOX#{shard}", scene.shop)}, "SK": {"S": format!("CREATED#{time}#{id}")},
    })
}

fn posting_key(transaction: &str) -> Value {
    json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": format!("POSTING#{transaction}-02")}})
}

/// Returns a key of DynamoDB.
fn stored_key(item: &Value) -> Value {
    json!({"PK": item["PK"], "SK": item["SK"]})
}

/// Each change by hand of three settled credits and of three credits in the inbox. A settled credit
/// that is put back into the inbox is not settled again.
#[tokio::test]
async fn a_reconciliation_finds_each_changed_inbox_item_and_posting() {
    let scene = Scene::unsettled().await;
    let (rows, mut paid, mut items) = (Rows::of(&scene.books.stack), Vec::new(), Vec::new());
    let mut settled = Value::Null;
    for number in 0..6 {
        paid.push(scene.pay(&format!("K-{number}")).await);
        let item = rows.get(&inbox_key(&scene, &paid[number]).await).await;
        if number < 3 {
            scene.settle().await;
            items.push(rows.get(&posting_key(&paid[number])).await);
            settled = item;
        } else {
            items.push(item);
        }
    }
    let sort = text_of(&items[3], "SK").replace(&paid[3], "X");
    let unknown = json!({"ID": {"S": "X-02"}, "TransactionID": {"S": "X"}, "SK": {"S": sort}});
    let amount = json!({"Amount": {"N": "50"}});
    let hash = json!({"Hash": {"S": "0123456789abcdef".repeat(4)}});
    let copy = json!({"Description": {"S": "other"}});
    let (whole, wrong) = (Some("5.00"), Some("50.00"));
    for (number, change, kind, transaction, amounts) in [
        (0, None, "missing-posting", paid[0].as_str(), [whole, None]),
        (1, None, "missing-posting", &paid[1], [whole, None]),
        (2, None, "missing-posting", &paid[2], [whole, None]),
        (1, Some(&amount), "wrong-amount", &paid[1], [whole, wrong]),
        (1, Some(&hash), "broken-chain", &paid[1], [None, None]),
        (4, None, "missing-posting", &paid[4], [whole, None]),
        (4, Some(&amount), "wrong-amount", &paid[4], [whole, wrong]),
        (4, Some(&copy), "wrong-copy", &paid[4], [whole, whole]),
        (3, Some(&unknown), "orphan-inbox-item", "X", [None, whole]),
    ] {
        let mut changed = items[number].clone();
        match change {
            None => rows.delete(&stored_key(&changed)).await,
            Some(change) => {
                changed.as_object_mut().expect("an item").extend(change.as_object().expect("attributes").clone());
                rows.put(&[changed.to_string()]).await;
            }
        }
        let found = scene.discrepancies().await;
        assert_eq!(found.len(), 1, "{kind} {number}: {found:?}");
        let told = [&found[0]["kind"], &found[0]["transactionId"], &found[0]["accountId"]];
        assert_eq!(told, [&json!(kind), &json!(transaction), &json!(scene.shop)], "{number}");
        assert_eq!([&found[0]["expected"], &found[0]["actual"]], amounts.map(|sum| json!(sum)).each_ref(), "{number}");
        if stored_key(&changed) != stored_key(&items[number]) {
            rows.delete(&stored_key(&changed)).await;
        }
        rows.put(&[items[number].to_string()]).await;
    }
    rows.put(&[settled.to_string()]).await;
    scene.settle().await;
    assert_eq!(scene.shop().await["balance"], "30.00");
    let found = scene.discrepancies().await;
    let told = [&found[0]["kind"], &found[0]["transactionId"], &found[0]["actual"]];
    assert_eq!((found.len(), told), (1, [&json!("orphan-inbox-item"), &json!(paid[2]), &json!("5.00")]), "{found:?}");
    scene.stop().await;
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
    for (body, pointer) in [
        (json!({"posting": "direct", "status": "frozen"}), "/body/status"),
        (json!({"posting": "direct", "transferTo": scene.shop}), "/body/transferTo"),
        (json!({"status": "closing"}), "/body/status"),
    ] {
        let refused = scene.books.operator.patch(&path(&scene.payer), &body).await;
        assert_problem(&refused, 400, "invalid-request");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.body);
    }
    scene.stop().await;
}
