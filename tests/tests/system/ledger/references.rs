//! References and metadata of transactions
//! ([requirement](../../../../docs/requirements/ledger.md#references-and-metadata)).

use futures::future::join_all;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Answer, assert_problem,
    clock::time,
    ledger::audit::{DAY, Rows, at, header_key, leg_key, reconciled},
    ledger::model::Stored,
    ledger::{ACCOUNTS, BATCH, Books, TRANSACTIONS, batch, id, payment},
    text, texts, until,
};

/// A ledger with an account of the user `ann`, which has 100.00.
struct Scene {
    books: Books,
    account: String,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        Self { account: books.funded("ann", "100.00").await, books }
    }

    /// The request body of a payment with the reference.
    fn payment(&self, reference: &str, amount: &str) -> Value {
        let mut body = payment(&self.account, &self.books.outside, amount);
        body["reference"] = reference.into();
        body
    }

    async fn post(&self, user: &str, key: &str, body: &Value) -> Answer {
        self.books.user(user).post_once(TRANSACTIONS, key, body).await
    }

    /// The transactions with the reference, as an operator lists them one by one.
    async fn found(&self, reference: &str) -> Vec<Value> {
        self.books.operator.all(&format!("{TRANSACTIONS}?reference={reference}&limit=1")).await.0
    }

    async fn stop(self) {
        Stored::read(&self.books.stack).await.check();
        self.books.stack.stop().await;
    }
}

#[tokio::test]
async fn a_reference_is_used_once_per_caller_and_type() {
    let scene = Scene::start().await;
    let body = scene.payment("order-1", "1.00");
    let first = scene.post("ann", "K-1", &body).await;
    let mut made = BTreeSet::from([id(&first, "transactionId")]);
    assert_eq!(scene.post("ann", "K-1", &body).await.body, first.body, "a retry gets the same response");
    assert_problem(&scene.post("ann", "K-2", &body).await, 409, "reference-used");
    let other = scene.payment("order-1", "2.00");
    assert_problem(&scene.post("ann", "K-3", &other).await, 409, "reference-used");
    // Another type, another caller and another reference are free.
    let mut typed = body.clone();
    typed["transactionType"] = "deposit".into();
    made.insert(id(&scene.post("ann", "K-4", &typed).await, "transactionId"));
    made.insert(id(&scene.books.operator.post_once(TRANSACTIONS, "K-5", &body).await, "transactionId"));
    for (key, reference) in [("K-6", "order-10"), ("K-7", "Order-1"), ("K-8", "order")] {
        assert_eq!(scene.post("ann", key, &scene.payment(reference, "1.00")).await.status, 201, "{reference}");
    }
    let found = scene.found("order-1").await;
    assert_eq!(texts(&found, "transactionId").into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), made);
    assert_eq!(scene.found("order-2").await, Vec::<Value>::new());
    // The rejected requests have not used their keys.
    assert_eq!(scene.post("ann", "K-2", &scene.payment("order-2", "1.00")).await.status, 201);
    assert_eq!(scene.books.balance(&scene.account).await, "93.00");
    scene.stop().await;
}

/// A rejected transaction does not use its reference, and a reversal does not release it.
#[tokio::test]
async fn only_a_posted_transaction_uses_its_reference() {
    let scene = Scene::start().await;
    let refused = scene.post("ann", "K-1", &scene.payment("R", "100.01")).await;
    assert_problem(&refused, 409, "insufficient-funds");
    let posted = scene.post("ann", "K-2", &scene.payment("R", "100.00")).await;
    let reversal = format!("{TRANSACTIONS}/{}/reversal", id(&posted, "transactionId"));
    let reversed = scene.books.operator.post(&reversal, &json!({})).await;
    assert_eq!((reversed.status, &reversed.body["reference"]), (201, &Value::Null), "{}", reversed.body);
    assert_problem(&scene.post("ann", "K-3", &scene.payment("R", "1.00")).await, 409, "reference-used");
    let found = scene.found("R").await;
    assert_eq!(texts(&found, "transactionId"), [text(&posted.body, "transactionId")]);
    assert_eq!(found[0]["reversedBy"], reversed.body["transactionId"]);
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_use_a_reference_once() {
    let scene = Scene::start().await;
    let mut bodies = Vec::new();
    for _ in 0..8 {
        let account = scene.books.funded("ann", "5.00").await;
        let mut body = payment(&account, &scene.books.outside, "1.00");
        body["reference"] = "R".into();
        bodies.push(body);
    }
    let posted = async |(number, body)| scene.post("ann", &format!("K-{number}"), body).await;
    let answers = join_all(bodies.iter().enumerate().map(posted)).await;
    let (made, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 201);
    assert_eq!(made.len(), 1, "{:?}", answers.iter().map(|answer| &answer.body).collect::<Vec<_>>());
    for answer in refused {
        // The retries of a request can end while the accounts still change.
        assert!(matches!(answer.status, 409 | 503), "{}", answer.body);
    }
    assert_eq!(texts(&scene.found("R").await, "transactionId"), [text(&made[0].body, "transactionId")]);
    scene.stop().await;
}

#[tokio::test]
async fn each_transaction_of_a_batch_has_its_own_reference() {
    let scene = Scene::start().await;
    let mut bodies = Vec::new();
    for reference in ["R-1", "R-2", "R-1", "used"] {
        // Without common accounts, only the references keep the transactions apart.
        let account = scene.books.funded("ann", "5.00").await;
        let mut body = payment(&account, &scene.books.source("USD").await, "1.00");
        body["reference"] = reference.into();
        bodies.push(body);
    }
    assert_eq!(scene.post("ann", "used", &scene.payment("used", "1.00")).await.status, 201);
    let keyed = ["a", "b", "c", "d"].into_iter().zip(bodies);
    let batch = batch(keyed);
    for _ in 0..2 {
        let answer = scene.books.user("ann").post(BATCH, &batch).await;
        let results = answer.body["results"].as_array().expect("results");
        let statuses: Vec<_> = results.iter().map(|result| result["status"].as_u64()).collect();
        assert_eq!(statuses, [201, 201, 409, 409].map(Some), "{}", answer.body);
        for result in &results[2..] {
            assert_eq!(result["problem"]["type"], "/problems/reference-used");
        }
    }
    scene.stop().await;
}

/// The payee sees the reference, and not the metadata.
#[tokio::test]
async fn reads_show_the_reference_and_the_callers_metadata() {
    let scene = Scene::start().await;
    let shop = scene.books.account("shop").await;
    let mut body = payment(&scene.account, &shop, "1.00");
    let metadata = json!({"till": "3", "note": "\u{1f4b6} two words", "A-b_9": "x"});
    (body["reference"], body["metadata"]) = ("Invoice 7/2026".into(), metadata.clone());
    let posted = scene.post("ann", "K", &body).await;
    assert_eq!((&posted.body["reference"], &posted.body["metadata"]), (&body["reference"], &metadata));
    let path = format!("{TRANSACTIONS}/{}", id(&posted, "transactionId"));
    let created = text(&posted.body, "createdAt");
    let by_time = scene.books.operator.get(&format!("{TRANSACTIONS}?since={created}&until={created}")).await.body;
    let by_key = scene.books.operator.get(&format!("{TRANSACTIONS}?idempotencyKey=K")).await.body;
    let by_reference = scene.found("Invoice%207%2F2026").await;
    for shown in
        [&scene.books.user("ann").get(&path).await.body, &by_time["items"][0], &by_key["items"][0], &by_reference[0]]
    {
        assert_eq!((&shown["reference"], &shown["metadata"]), (&body["reference"], &metadata), "{shown}");
    }
    let of_payee = scene.books.user("shop").get(&path).await.body;
    assert_eq!((&of_payee["reference"], &of_payee["metadata"]), (&body["reference"], &Value::Null));
    for (user, account) in [("ann", &scene.account), ("shop", &shop)] {
        let statement = scene.books.user(user).get(&format!("{ACCOUNTS}/{account}/statement")).await.body;
        let leg = &statement["items"][0];
        assert_eq!((&leg["reference"], &leg["metadata"]), (&body["reference"], &Value::Null), "{leg}");
    }
    // Another reference or other metadata is another request.
    for (name, value) in
        [("reference", json!("Invoice 8")), ("metadata", json!({})), ("metadata", json!({"till": "4"}))]
    {
        let mut other = body.clone();
        other[name] = value;
        assert_problem(&scene.post("ann", "K", &other).await, 422, "idempotency-key-reused");
    }
    // Empty metadata is no metadata.
    let mut plain = payment(&scene.account, &shop, "1.00");
    let first = scene.post("ann", "plain", &plain).await;
    plain["metadata"] = json!({});
    assert_eq!(scene.post("ann", "plain", &plain).await.body, first.body);
    assert_eq!(first.body["metadata"], Value::Null);
    scene.stop().await;
}

#[tokio::test]
async fn rejects_invalid_references_and_metadata() {
    let scene = Scene::start().await;
    let texts = |count: usize| Value::Object((0..count).map(|number| (format!("n{number}"), json!("x"))).collect());
    let cases = [
        ("reference", json!(""), "/body/reference"),
        ("reference", json!("x".repeat(65)), "/body/reference"),
        ("reference", json!("two  spaces"), "/body/reference"),
        ("reference", json!("a#b"), "/body/reference"),
        ("reference", json!(5), "/body/reference"),
        ("metadata", texts(11), "/body/metadata"),
        ("metadata", json!([]), "/body/metadata"),
        ("metadata", json!({"a b": "x"}), "/body/metadata/a b"),
        ("metadata", json!({"": "x"}), "/body/metadata/"),
        ("metadata", json!({"n": ""}), "/body/metadata/n"),
        ("metadata", json!({"n": "x".repeat(101)}), "/body/metadata/n"),
        ("metadata", json!({"n": 5}), "/body/metadata/n"),
        ("metadata", json!({"n": {"m": "x"}}), "/body/metadata/n"),
    ];
    for (name, value, pointer) in cases {
        let mut body = payment(&scene.account, &scene.books.outside, "1.00");
        body[name] = value;
        let refused = scene.post("ann", "K", &body).await;
        assert_problem(&refused, 400, "invalid-request");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.body);
    }
    let mut most = scene.payment(&"\u{1f4b6}".repeat(64), "1.00");
    most["metadata"] = texts(10);
    most["metadata"]["n9"] = "\u{1f4b6}".repeat(100).into();
    assert_eq!(scene.post("ann", "K", &most).await.status, 201);
    for query in ["reference=R&status=completed", "reference=R&idempotencyKey=K", "reference=R&since=2026-01-01"] {
        let refused = scene.books.operator.get(&format!("{TRANSACTIONS}?{query}")).await;
        assert_problem(&refused, 400, "invalid-request");
    }
    assert_eq!(scene.books.user("ann").get(&format!("{TRANSACTIONS}?reference=R")).await.status, 403);
    scene.stop().await;
}

/// A posting of a grouped credit copies the reference as the leg does.
#[tokio::test]
async fn the_hash_of_a_leg_covers_the_reference() {
    let scene = Scene::start().await;
    let terms = json!({"userId": "shop", "accountType": "market", "currency": "USD", "posting": "grouped"});
    let market = id(&scene.books.operator.post(ACCOUNTS, &terms).await, "accountId");
    // An account without legs, so that the transaction has the time of its request.
    let mut body = payment(&scene.books.source("USD").await, &market, "1.00");
    body["reference"] = "R".into();
    let posted = scene.books.at(time(&at(0))).post_once(TRANSACTIONS, "K", &body).await;
    let transaction = id(&posted, "transactionId");
    let path = format!("{ACCOUNTS}/{market}");
    until(&scene.books.operator, &path, |answer| answer.body["balance"] == "1.00").await;
    let (of_shop, rows) = (format!("{path}/statement"), Rows::of(&scene.books.stack));
    assert_eq!(scene.books.user("shop").get(&of_shop).await.body["items"][0]["reference"], "R");
    let found = async || reconciled(&scene.books.operator, &at(0), &at(DAY)).await["discrepancies"].clone();
    assert_eq!(found().await, json!([]));
    let other = json!({"Reference": {"S": "S"}});
    rows.set(&header_key(&transaction), other.clone()).await;
    let kinds = |found: &Value| texts(found.as_array().expect("a list"), "kind").join(" ");
    assert_eq!(kinds(&found().await), "wrong-copy");
    rows.set(&leg_key(&transaction, 1), other).await;
    let found = found().await;
    assert!(kinds(&found).contains("broken-chain"), "{found}");
    scene.books.stack.stop().await;
}
