//! Permissions of the ledger ([requirement](../../../../docs/requirements/ledger.md#permissions),
//! [decision](../../../../docs/decisions/ledger-access.md)). Users see and debit only their own
//! accounts. Operators see and debit all accounts. Errors do not disclose other users' accounts.

use serde_json::{Value, json};
use system_tests::{
    Answer, Client, End,
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, payment},
};

/// The balance of Bob's account, which no response to Ann may contain.
const SECRET: &str = "7654.32";

/// Accounts of Ann and Bob, and their transactions.
struct Scene {
    books: Books,
    ann: Client,
    anns: String,
    bobs: String,
    /// A transaction between Ann's and Bob's accounts.
    shared: String,
    /// A transaction between Bob's and the bank's accounts.
    others: String,
}

impl Scene {
    async fn start() -> Self {
        let books = Books::open().await;
        let (anns, bobs) = (books.funded("ann", "100.00").await, books.account("bob").await);
        let others = id(&books.pay("others", &books.outside, &bobs, "7650.32").await, "transactionId");
        let shared = id(&books.pay("shared", &anns, &bobs, "4.00").await, "transactionId");
        assert_eq!(books.balance(&bobs).await, SECRET);
        Self { ann: books.user("ann"), books, anns, bobs, shared, others }
    }
}

/// Asserts that the response contains neither Bob's balance nor keys or names of the table.
fn assert_shows_nothing(answer: &Answer, what: &str) {
    let mut body = answer.body.clone();
    // Ids and cursors are random letters, digits, `-` and `_`, so they may spell a short text.
    body.as_object_mut().and_then(|problem| problem.remove("instance"));
    let shown = format!("{body} {:?}", answer.headers.get("location"));
    for secret in [SECRET, "GSI1SK", "GSI2SK", "METADATA", "FinancialTransactions", "ACCOUNT#", "TXN#", "LEG#", "USER#"]
    {
        assert!(!shown.contains(secret), "{what} shows {secret}: {shown}");
    }
}

fn without_instance(mut answer: Answer) -> (u16, Value) {
    answer.body["instance"].take();
    (answer.status, answer.body)
}

#[tokio::test]
async fn missing_and_inaccessible_items_return_the_same_error() {
    let scene = Scene::start().await;
    let (ann, operator) = (&scene.ann, &scene.books.operator);
    let reversed = id(&scene.books.pay("r", &scene.bobs, &scene.books.outside, "0.01").await, "transactionId");
    let reversal = format!("{TRANSACTIONS}/{reversed}/reversal");
    let reversal = id(&operator.post_once(&reversal, "undo", &json!({})).await, "transactionId");
    let before = scene.books.stored().await;
    for theirs in [&scene.bobs, &scene.books.outside] {
        let of = |account: &str| format!("{ACCOUNTS}/{account}");
        let (there, not_there) = (of(theirs), of("880h1733"));
        for status in ["active", "frozen", "closed"] {
            for version in [1, 99] {
                let body = json!({"status": status, "version": version});
                alike(ann.patch(&there, &body).await, ann.patch(&not_there, &body).await);
            }
        }
        alike(ann.get(&there).await, ann.get(&not_there).await);
        let statement = |of: &str| format!("{of}/statement?limit=1");
        alike(ann.get(&statement(&there)).await, ann.get(&statement(&not_there)).await);
        // An overdraft, a payment in another currency and a valid payment get the same response.
        for (amount, currency) in [("1.00", "USD"), ("9999999.00", "USD"), ("1", "JPY")] {
            let body = |debit: &str| {
                let mut body = payment(debit, &scene.anns, amount);
                body["currency"] = currency.into();
                body
            };
            let post = async |debit: &str| ann.post_once(TRANSACTIONS, "K-1", &body(debit)).await;
            alike(post(theirs).await, post("880h1733").await);
        }
    }
    for theirs in [&scene.others, &reversed, &reversal] {
        let (there, not_there) = (format!("{TRANSACTIONS}/{theirs}"), format!("{TRANSACTIONS}/880h1733"));
        alike(ann.get(&there).await, ann.get(&not_there).await);
        let reverse = async |of: &str| ann.post(&format!("{of}/reversal"), &json!({})).await;
        alike(reverse(&there).await, reverse(&not_there).await);
    }
    alike(ann.get("/ledger/users/bob/accounts").await, ann.get("/ledger/users/nobody/accounts").await);
    assert!(scene.books.stored().await == before);
    scene.books.stack.stop().await;
}

fn alike(one: Answer, other: Answer) {
    assert_shows_nothing(&one, "a rejected request");
    assert_eq!(End::of(&one), Some(End::NoReach), "{}", one.body);
    assert_eq!(without_instance(one), without_instance(other));
}

/// Each caller has separate idempotency keys. If two callers use the same key, they post two
/// transactions.
#[tokio::test]
async fn idempotency_keys_belong_to_their_caller() {
    let scene = Scene::start().await;
    let bob = scene.books.user("bob");
    let paid = bob.post_once(TRANSACTIONS, "K-1", &payment(&scene.bobs, &scene.anns, "1.00")).await;
    assert_eq!(paid.status, 201, "{}", paid.body);
    let refused = scene.ann.post_once(TRANSACTIONS, "K-1", &payment(&scene.bobs, &scene.anns, "1.00")).await;
    assert_eq!(End::of(&refused), Some(End::NoReach), "{}", refused.body);
    let own = scene.ann.post_once(TRANSACTIONS, "K-1", &payment(&scene.anns, &scene.bobs, "1.00")).await;
    assert_eq!(own.status, 201, "{}", own.body);
    assert_ne!(own.body["transactionId"], paid.body["transactionId"]);
    let terms = |user: &str| json!({"userId": user, "accountType": "checking", "currency": "USD"});
    let (anns, bobs) = (
        scene.ann.post_once(ACCOUNTS, "K-1", &terms("ann")).await,
        bob.post_once(ACCOUNTS, "K-1", &terms("bob")).await,
    );
    assert_ne!(id(&anns, "accountId"), id(&bobs, "accountId"));
    scene.books.stack.stop().await;
}

/// Only the payee may refund a payment. A second refund is rejected for every caller.
#[tokio::test]
async fn only_the_payee_can_refund_a_payment() {
    let scene = Scene::start().await;
    let (bob, reversal) = (scene.books.user("bob"), format!("{TRANSACTIONS}/{}/reversal", scene.shared));
    let refused = scene.ann.post_once(&reversal, "K-1", &json!({})).await;
    assert_eq!(End::of(&refused), Some(End::NoReach), "{}", refused.body);
    assert_eq!(bob.post_once(&reversal, "K-1", &json!({})).await.status, 201);
    for client in [&scene.ann, &scene.books.operator, &bob] {
        let again = client.post_once(&reversal, "K-2", &json!({})).await;
        assert_eq!((again.status, &again.body["type"]), (409, &json!("/problems/already-reversed")), "{}", again.body);
        assert_shows_nothing(&again, "a rejected request");
    }
    let eve = scene.books.user("eve").post_once(&reversal, "K-2", &json!({})).await;
    assert_eq!(End::of(&eve), Some(End::NoReach), "other users learn nothing: {}", eve.body);
    scene.books.stack.stop().await;
}

/// If a balance is too low, the error names the account but not the balance, even for operators.
#[tokio::test]
async fn conflicts_do_not_disclose_balances() {
    let scene = Scene::start().await;
    for (client, debit) in [(&scene.books.operator, &scene.bobs), (&scene.books.user("bob"), &scene.bobs)] {
        let refused = client.post_once(TRANSACTIONS, "K-1", &payment(debit, &scene.anns, "99999.99")).await;
        assert_eq!((refused.status, &refused.body["type"]), (409, &json!("/problems/insufficient-funds")));
        assert_shows_nothing(&refused, "a rejected request");
    }
    let most = payment(&scene.books.outside, &scene.bobs, &format!("{}.99", "9".repeat(36)));
    let refused = scene.books.operator.post_once(TRANSACTIONS, "K-2", &most).await;
    assert_eq!((refused.status, &refused.body["type"]), (409, &json!("/problems/balance-too-large")));
    assert_shows_nothing(&refused, "a rejected request");
    let full = format!("{ACCOUNTS}/{}", scene.bobs);
    let refused = scene.books.operator.patch(&full, &json!({"status": "closed"})).await;
    assert_eq!(refused.status, 409);
    assert_shows_nothing(&refused, "a rejected request");
    scene.books.stack.stop().await;
}
