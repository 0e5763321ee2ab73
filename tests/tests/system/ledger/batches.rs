//! Tests of batches of transactions ([decision](../../../../docs/decisions/ledger-throughput.md)).
//! Each transaction has its own key and its own outcome.

use futures::future::join_all;
use serde_json::{Value, json};
use std::time::Duration;
use system_tests::{
    Answer, Asks,
    clock::time,
    faults::{Call, Fault, Process, Proxy},
    ledger::{ACCOUNTS, BATCH, Books, HOLDS, TRANSACTIONS, batch, hold, model::Stored, payment},
    patterns::function_named,
    text, until,
};

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
        join_all(self.accounts.iter().map(|account| self.books.balance(account))).await
    }
}

/// Runs the function behind the proxy. Returns the status of each result.
async fn run(scene: &Scene, proxy: &Proxy, body: &Value) -> Vec<u64> {
    let process = Process::start(&scene.books.stack, proxy, PROCESS, &function_named(PROCESS));
    let (route, parameters) = ("POST /ledger/transactions/batch", Value::Null);
    let event = Asks { route, path: BATCH, parameters, key: None, body: Some(body) }.at(jiff::Timestamp::now());
    let run = process.run(&event, MINUTE).await.expect("no crash");
    let answer = run.answer.expect("an answer");
    let answer: Value = serde_json::from_str(answer["body"].as_str().expect("a body")).expect("JSON");
    let results = answer["results"].as_array().expect("results").iter();
    results.map(|result| result["status"].as_u64().expect("a status")).collect()
}

/// The key, the status and the problem type of each result.
fn outcomes(answer: &Answer) -> Vec<(&str, u64, &str)> {
    let results = answer.body["results"].as_array().expect("results").iter();
    let outcomes = results.map(|result| {
        let problem = result["problem"]["type"].as_str().unwrap_or_default().trim_start_matches("/problems/");
        (text(result, "idempotencyKey"), result["status"].as_u64().expect("a status"), problem)
    });
    outcomes.collect()
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

/// Transactions that share an account are written one after the other. A payment takes five of the
/// 100 changes of a DynamoDB transaction.
#[tokio::test]
async fn transactions_of_different_accounts_share_dynamodb_transactions() {
    let scene = Scene::start(42).await;
    let proxy = Proxy::start(scene.books.stack.dynamo_url()).await;
    let pairs: Vec<(usize, usize)> = (0..21).map(|number| (2 * number, 2 * number + 1)).collect();
    let shared = [(0, 1), (2, 3), (1, 2), (4, 5), (0, 4), (6, 1)];
    for (name, pairs, writes) in [("pairs", &pairs[..], 2), ("shared", &shared, 3)] {
        let keys: Vec<String> = (0..pairs.len()).map(|number| format!("{name}-{number}")).collect();
        let list = keys.iter().zip(pairs).map(|(key, (from, to))| (key.as_str(), scene.pay(*from, *to, "1.00")));
        assert_eq!(run(&scene, &proxy, &batch(list)).await, vec![201; pairs.len()], "{name}");
        assert_eq!(proxy.count("TransactWriteItems"), writes, "{name}");
        proxy.heal();
    }
    Stored::read(&scene.books.stack).await.check();
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn transactions_of_one_account_keep_their_order() {
    let scene = Scene::start(3).await;
    // Each payment needs the money of the previous one.
    let first =
        [(1, 0, "10.00"), (0, 2, "20.00")].map(|(from, to, sum)| (format!("start-{from}"), scene.pay(from, to, sum)));
    let chain = (0..60).map(|number| {
        let (from, to) = if number % 2 == 0 { (2, 1) } else { (1, 2) };
        (format!("C-{number}"), scene.pay(from, to, "30.00"))
    });
    let chain: Vec<(String, Value)> = first.into_iter().chain(chain).collect();
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
