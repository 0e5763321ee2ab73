//! Tests of reversals in parts ([decision](../../../../docs/decisions/ledger-history.md)). All
//! reversals of a transaction together never exceed its amount.

use serde_json::{Value, json};
use system_tests::{
    Answer, assert_problem,
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, legs, model::Stored},
    send,
};

/// A ledger with a payment of 5.00 from Ann to Bob.
struct Scene {
    books: Books,
    ann: String,
    bob: String,
    paid: String,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let (ann, bob) = (books.funded("ann", "20.00").await, books.account("bob").await);
        let paid = id(&books.pay("K", &ann, &bob, "5.00").await, "transactionId");
        Self { books, ann, bob, paid }
    }

    fn path(&self) -> String {
        format!("{TRANSACTIONS}/{}/reversal", self.paid)
    }

    /// Reverses an amount, or the rest.
    async fn refund(&self, key: &str, amount: Option<&str>) -> Answer {
        let body = amount.map_or_else(|| json!({}), |amount| json!({"amount": amount}));
        self.books.operator.post_once(&self.path(), key, &body).await
    }

    async fn balances(&self) -> [String; 2] {
        [self.books.balance(&self.ann).await, self.books.balance(&self.bob).await]
    }

    async fn check(&self) {
        Stored::read(&self.books.stack).await.check();
    }
}

/// The reversal that a response names, and the reversed amount.
fn reversed(body: &Value) -> (Option<&str>, Option<&str>) {
    (body["reversedBy"].as_str(), body["reversedAmount"].as_str())
}

#[tokio::test]
async fn a_transaction_is_reversed_in_parts_up_to_its_amount() {
    let scene = Scene::start().await;
    let first = scene.refund("R-1", Some("1.50")).await;
    assert_eq!(
        (first.status, &first.body["amount"], &first.body["reverses"]),
        (201, &json!("1.50"), &json!(scene.paid))
    );
    assert_eq!(scene.balances().await, ["16.50", "3.50"]);
    assert_problem(&scene.refund("R-2", Some("3.51")).await, 409, "reversal-exceeded");
    let second = scene.refund("R-2", Some("1.00")).await;
    assert_eq!(second.status, 201, "{}", second.body);
    // Retries get the same response, and another amount is another request.
    assert_eq!(scene.refund("R-1", Some("1.50")).await.body, first.body);
    assert_problem(&scene.refund("R-1", Some("1.00")).await, 422, "idempotency-key-reused");
    assert_problem(&scene.refund("R-1", None).await, 422, "idempotency-key-reused");
    let rest = scene.refund("R-3", None).await;
    assert_eq!((rest.status, &rest.body["amount"]), (201, &json!("2.50")));
    assert_eq!(scene.balances().await, ["20.00", "0.00"]);
    for amount in [None, Some("0.01")] {
        assert_problem(&scene.refund("R-4", amount).await, 409, "already-reversed");
    }
    assert_eq!(scene.refund("R-3", None).await.body, rest.body);
    let undo = format!("{TRANSACTIONS}/{}/reversal", id(&first, "transactionId"));
    assert_problem(&scene.books.operator.post(&undo, &json!({})).await, 409, "is-reversal");
    scene.check().await;
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn every_list_and_statement_shows_what_is_reversed() {
    let scene = Scene::start().await;
    let client = &scene.books.operator;
    let (whole, untouched) = (
        id(&scene.books.pay("L", &scene.ann, &scene.bob, "2.00").await, "transactionId"),
        id(&scene.books.pay("M", &scene.ann, &scene.bob, "3.00").await, "transactionId"),
    );
    scene.refund("R-1", Some("1.50")).await;
    let second = id(&scene.refund("R-2", Some("1.00")).await, "transactionId");
    let all = client.post(&format!("{TRANSACTIONS}/{whole}/reversal"), &json!({})).await;
    let all = id(&all, "transactionId");
    let wanted = |transaction: &Value| match transaction["transactionId"].as_str() {
        Some(id) if id == scene.paid => (Some(second.as_str()), Some("2.50")),
        Some(id) if id == whole => (Some(all.as_str()), Some("2.00")),
        _ => (None, None),
    };
    for transaction in [&scene.paid, &whole, &untouched, &second] {
        let read = client.get(&format!("{TRANSACTIONS}/{transaction}")).await.body;
        assert_eq!(reversed(&read), wanted(&read), "{read}");
    }
    let statement = format!("{ACCOUNTS}/{}/statement", scene.bob);
    for list in [TRANSACTIONS.to_owned(), format!("{TRANSACTIONS}?idempotencyKey=K"), statement.clone()] {
        let (items, _) = client.all(&list).await;
        assert!(items.iter().any(|item| item["transactionId"] == json!(scene.paid)), "{list}");
        for item in items {
            assert_eq!(reversed(&item), wanted(&item), "{list}: {item}");
        }
    }
    let csv = send(client.request("GET", &statement).header("accept", "text/csv")).await;
    let csv = csv.body.as_str().expect("a CSV file").to_owned();
    let cells = |transaction: &str| {
        let row = csv.lines().find(|line| line.contains(transaction)).expect("a row");
        row.split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let column =
        csv.lines().next().expect("a header").split(',').position(|name| name.trim_matches('"') == "reversedAmount");
    let shown = |transaction: &str| cells(transaction)[column.expect("a column")].clone();
    assert_eq!([shown(&scene.paid), shown(&whole), shown(&untouched)], ["2.50", "2.00", ""], "{csv}");
    // The response of the original request does not change.
    let again = scene.books.pay("K", &scene.ann, &scene.bob, "5.00").await;
    assert_eq!((again.status, reversed(&again.body)), (201, (None, None)));
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn a_transaction_with_more_legs_is_reversed_as_a_whole() {
    let scene = Scene::start().await;
    let outside = scene.books.outside.clone();
    let body = legs([
        ("debit", scene.ann.as_str(), "3.00", "USD"),
        ("credit", scene.bob.as_str(), "2.00", "USD"),
        ("credit", outside.as_str(), "1.00", "USD"),
    ]);
    let posted = id(&scene.books.operator.post_once(TRANSACTIONS, "legs", &body).await, "transactionId");
    let path = format!("{TRANSACTIONS}/{posted}/reversal");
    let part = scene.books.operator.post_once(&path, "R-1", &json!({"amount": "1.00"})).await;
    assert_problem(&part, 400, "invalid-request");
    let whole = scene.books.operator.post_once(&path, "R-2", &json!({})).await;
    assert_eq!(whole.status, 201, "{}", whole.body);
    assert_problem(&scene.books.operator.post_once(&path, "R-3", &json!({})).await, 409, "already-reversed");
    let read = scene.books.operator.get(&format!("{TRANSACTIONS}/{posted}")).await.body;
    assert_eq!(reversed(&read), (whole.body["transactionId"].as_str(), Some("3.00")));
    for account in [&scene.ann, &scene.bob, &outside] {
        let (legs, _) = scene.books.operator.all(&format!("{ACCOUNTS}/{account}/statement")).await;
        let leg = legs.iter().find(|leg| leg["transactionId"] == json!(posted)).expect("the leg");
        assert_eq!(reversed(leg), (whole.body["transactionId"].as_str(), Some("3.00")), "{account}");
    }
    scene.check().await;
    scene.books.stack.stop().await;
}

/// Only the payee may refund a payment. A second refund is rejected for every caller.
#[tokio::test]
async fn only_the_payee_can_refund_a_payment() {
    let scene = Scene::start().await;
    let refund = async |user: &str| scene.books.user(user).post_once(&scene.path(), "K-1", &json!({})).await;
    assert_problem(&refund("ann").await, 403, "forbidden");
    assert_eq!(refund("bob").await.status, 201);
    assert_problem(&refund("ann").await, 409, "already-reversed");
    assert_problem(&scene.refund("K-2", None).await, 409, "already-reversed");
    assert_problem(&refund("eve").await, 403, "forbidden");
    scene.books.stack.stop().await;
}

#[tokio::test]
async fn a_transaction_has_at_most_99_reversals() {
    let scene = Scene::start().await;
    for number in 1..=99 {
        let refund = scene.refund(&format!("R-{number}"), Some("0.01")).await;
        assert_eq!(refund.status, 201, "{number}: {}", refund.body);
    }
    for amount in [Some("0.01"), None] {
        assert_problem(&scene.refund("R-100", amount).await, 409, "reversal-exceeded");
    }
    let read = scene.books.operator.get(&format!("{TRANSACTIONS}/{}", scene.paid)).await.body;
    assert_eq!(read["reversedAmount"], "0.99");
    scene.check().await;
    scene.books.stack.stop().await;
}
