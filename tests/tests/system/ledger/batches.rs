//! Tests of batches of transactions ([decision](../../../../docs/decisions/ledger-batch.md)). Each
//! transaction has its own key and its own outcome.

use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Asks,
    clock::time,
    faults::{Call, Fault, Process, Proxy},
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, TRANSACTIONS, batch, hold, legs, model::Stored, payment},
    patterns::function_named,
    units::consumed,
    until,
};
use tokio::{runtime::Handle, task::block_in_place};

const PROCESS: &str = "process-batch";
const MINUTE: Duration = Duration::from_mins(1);

/// A ledger with accounts in USD. Each of them has 10.00.
struct Scene {
    books: Books,
    accounts: Vec<String>,
}

impl Scene {
    async fn start(accounts: usize) -> Self {
        let books = Books::open().await;
        let mut funded = Vec::new();
        for _ in 0..accounts {
            funded.push(books.funded("ann", "10.00").await);
        }
        Self { books, accounts: funded }
    }

    fn pay(&self, from: usize, to: usize, amount: &str) -> Value {
        payment(&self.accounts[from], &self.accounts[to], amount)
    }

    async fn post(&self, transactions: &[(&str, Value)]) -> Answer {
        let answer = self.books.operator.post(BATCH, &batch(transactions.iter().cloned())).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer
    }

    async fn balances(&self) -> Vec<String> {
        let mut balances = Vec::new();
        for account in &self.accounts {
            balances.push(self.books.balance(account).await);
        }
        balances
    }
}

/// The event of a request that posts the batch.
fn event(body: &Value) -> Value {
    let (route, parameters) = ("POST /ledger/transactions/batch", Value::Null);
    Asks { route, path: BATCH, parameters, key: None, body: Some(body) }.at(jiff::Timestamp::now())
}

/// Runs the function behind the proxy. Returns the status of each result.
async fn run(scene: &Scene, proxy: &Proxy, body: &Value) -> Vec<u64> {
    let process = Process::start(&scene.books.stack, proxy, PROCESS, &function_named(PROCESS));
    let run = process.run(&event(body), MINUTE).await.expect("no crash");
    let answer = run.answer.expect("an answer");
    let answer: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
    let results = answer["results"].as_array().expect("results").iter();
    results.map(|result| result["status"].as_u64().expect("a status")).collect()
}

/// The key, the status and the problem type of each result.
fn outcomes(answer: &Answer) -> Vec<(&str, u64, &str)> {
    let results = answer.body["results"].as_array().expect("results").iter();
    results
        .map(|result| {
            let problem = result["problem"]["type"].as_str().unwrap_or_default();
            let problem = problem.trim_start_matches("/problems/");
            (result["idempotencyKey"].as_str().expect("a key"), result["status"].as_u64().expect("a status"), problem)
        })
        .collect()
}

#[tokio::test]
async fn each_transaction_has_its_own_outcome_in_the_order_of_the_request() {
    let scene = Scene::start(4).await;
    let transactions = [
        ("a", scene.pay(0, 1, "4.00")),
        ("b", scene.pay(2, 3, "99.00")),
        ("c", scene.pay(2, 3, "10.00")),
        ("d", payment(&scene.accounts[0], "nobody", "1.00")),
        ("e", scene.pay(1, 0, "14.00")),
    ];
    let answer = scene.post(&transactions).await;
    let wanted =
        [("a", 201, ""), ("b", 409, "insufficient-funds"), ("c", 201, ""), ("d", 404, "not-found"), ("e", 201, "")];
    assert_eq!(outcomes(&answer), wanted);
    assert_eq!(scene.balances().await, ["20.00", "0.00", "0.00", "20.00"]);
    let problem = &answer.body["results"][1]["problem"];
    assert_eq!((&problem["status"], problem["detail"].is_string()), (&json!(409), true));
    // A repeated batch gets the same outcomes, and a single request with the same key as well.
    assert_eq!(scene.post(&transactions).await.body, answer.body);
    let single = scene.books.operator.post_once(TRANSACTIONS, "a", &transactions[0].1).await;
    assert_eq!((single.status, &single.body), (201, &answer.body["results"][0]["transaction"]));
    let other = scene.post(&[("a", scene.pay(0, 1, "4.01"))]).await;
    assert_eq!(outcomes(&other), [("a", 422, "idempotency-key-reused")]);
    Stored::read(&scene.books.stack).await.check();
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn a_batch_releases_an_expired_hold() {
    let scene = Scene::start(2).await;
    let mut reserved = hold(&scene.accounts[0], &scene.accounts[1], "8.00");
    reserved["expiresAt"] = json!("2020-01-02T00:00:00Z");
    let at = scene.books.at(time("2020-01-01T00:00:00Z"));
    assert_eq!(at.post_once(HOLDS, "H", &reserved).await.status, 201);
    let answer = scene.post(&[("A", scene.pay(0, 1, "9.00"))]).await;
    assert_eq!(outcomes(&answer), [("A", 201, "")]);
    assert_eq!(scene.balances().await, ["1.00", "19.00"]);
}

#[tokio::test]
async fn credits_of_a_grouped_account_share_dynamodb_transactions() {
    let scene = Scene::start(21).await;
    let shop = format!("{ACCOUNTS}/{}", scene.accounts[20]);
    assert_eq!(scene.books.operator.patch(&shop, &json!({"posting": "grouped"})).await.status, 200);
    let keys: Vec<String> = (0..20).map(|number| format!("K-{number}")).collect();
    let list: Vec<_> = (0..20).map(|number| (keys[number].as_str(), scene.pay(number, 20, "1.00"))).collect();
    let proxy = Proxy::start(scene.books.stack.dynamo_url()).await;
    assert_eq!(run(&scene, &proxy, &batch(list)).await, [201; 20]);
    // One call reads the shop, and one the accounts.
    assert_eq!((proxy.count("TransactWriteItems"), proxy.count("BatchGetItem")), (1, 2));
    until(&scene.books.operator, &shop, |answer| answer.body["balance"] == "30.00").await;
    Stored::read(&scene.books.stack).await.check();
}

#[tokio::test]
async fn transactions_of_one_account_keep_their_order() {
    let scene = Scene::start(3).await;
    // Each payment needs the money of the previous one.
    let first = [("start", scene.pay(1, 0, "10.00")), ("next", scene.pay(0, 2, "20.00"))];
    assert!(outcomes(&scene.post(&first).await).iter().all(|(_, status, _)| *status == 201));
    let chain: Vec<(String, Value)> = (0..60)
        .map(|number| {
            let (from, to) = if number % 2 == 0 { (2, 1) } else { (1, 2) };
            (format!("C-{number}"), scene.pay(from, to, "30.00"))
        })
        .collect();
    let list: Vec<(&str, Value)> = chain.iter().map(|(key, body)| (key.as_str(), body.clone())).collect();
    let answer = scene.post(&list).await;
    assert!(outcomes(&answer).iter().all(|(_, status, _)| *status == 201), "{}", answer.body);
    assert_eq!(scene.balances().await, ["0.00", "0.00", "30.00"]);
    Stored::read(&scene.books.stack).await.check();
    scene.books.stack.stop().await;
}

/// Without the outcome of the first transaction, the order of its account would not be certain.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_holds_the_later_transactions_of_its_accounts() {
    let scene = Scene::start(4).await;
    let proxy = Proxy::start(scene.books.stack.dynamo_url()).await;
    let body = batch([("a", scene.pay(0, 1, "1.00")), ("b", scene.pay(1, 0, "1.00")), ("c", scene.pay(2, 3, "1.00"))]);
    let account = scene.accounts[0].clone();
    proxy.rule(move |call: &Call| {
        let is_of_account = call.body.to_string().contains(&format!("debit#1.00#USD#{account}"));
        if call.action == "TransactWriteItems" && is_of_account { Fault::internal() } else { Fault::None }
    });
    assert_eq!(run(&scene, &proxy, &body).await, [503, 503, 201]);
    assert_eq!(scene.balances().await, ["10.00", "10.00", "9.00", "11.00"]);
    proxy.heal();
    scene.books.stack.stop().await;
}

/// The shared write may still arrive, even if a rule now rejects a transaction.
#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_after_a_lost_shared_write_is_an_unknown_outcome() {
    let scene = Scene::start(4).await;
    let proxy = Proxy::start(scene.books.stack.dynamo_url()).await;
    let body = batch([("a", scene.pay(0, 1, "1.00")), ("b", scene.pay(2, 3, "1.00"))]);
    let both = [0, 2].map(|payer: usize| format!("debit#1.00#USD#{}", scene.accounts[payer]));
    let (operator, path) = (scene.books.operator.clone(), format!("{ACCOUNTS}/{}", scene.accounts[0]));
    proxy.rule(move |call: &Call| {
        let text = call.body.to_string();
        if !both.iter().all(|part| text.contains(part)) {
            return Fault::None;
        }
        let freeze = async { operator.patch(&path, &json!({"status": "frozen"})).await.status };
        assert_eq!(block_in_place(|| Handle::current().block_on(freeze)), 200);
        Fault::internal()
    });
    assert_eq!(run(&scene, &proxy, &body).await, [503, 201]);
    proxy.heal();
    let again = scene.post(&[("a", scene.pay(0, 1, "1.00"))]).await;
    assert_eq!(outcomes(&again), [("a", 409, "account-frozen")]);
    assert_eq!(scene.balances().await, ["10.00", "10.00", "9.00", "11.00"]);
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn a_batch_costs_as_much_as_its_transactions() {
    let scene = Scene::start(10).await;
    let transactions: Vec<(String, Value)> =
        (0..5).map(|number| (format!("K-{number}"), scene.pay(2 * number, 2 * number + 1, "1.00"))).collect();
    let list: Vec<(&str, Value)> = transactions.iter().map(|(key, body)| (key.as_str(), body.clone())).collect();
    let five = consumed(&scene.post(&list).await);
    let one = consumed(&scene.post(&[("one", scene.pay(0, 1, "1.00"))]).await);
    for (place, (read, write)) in one {
        assert_eq!(five[&place], (read.times(5), write.times(5)), "{place}");
    }
    let split = legs([
        ("debit", scene.accounts[0].as_str(), "2.00", "USD"),
        ("credit", scene.accounts[1].as_str(), "1.00", "USD"),
        ("credit", scene.accounts[2].as_str(), "1.00", "USD"),
    ]);
    let answer = scene.post(&[("legs", split)]).await;
    assert_eq!(outcomes(&answer), [("legs", 201, "")]);
    scene.books.stack.stop().await;
}
