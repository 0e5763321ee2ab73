//! Requests of the largest size and with unusual values, which the ledger must accept, and legs
//! that it must refuse ([requirement](../../../../docs/requirements/ledger.md#transaction-legs)).

use serde_json::{Value, json};
use system_tests::{
    assert_problem,
    ledger::{ACCOUNTS, Books, MERCHANTS, TRANSACTIONS, id, legs, payment},
    requests::sent,
    send, until,
};

fn reversal_of(transaction: &str) -> String {
    format!("{TRANSACTIONS}/{transaction}/reversal")
}

fn account(id: &str) -> String {
    format!("{ACCOUNTS}/{id}")
}

/// Returns balanced legs on the accounts: one debit, and credits of one cent each.
fn many_legs(accounts: &[String], count: usize) -> Value {
    let credits = count - 1;
    let sum = format!("{}.{:02}", credits / 100, credits % 100);
    let credit = |number: usize| ("credit", accounts[1 + number % (accounts.len() - 1)].as_str(), "0.01", "USD");
    let debit = ("debit", accounts[0].as_str(), sum.as_str(), "USD");
    legs(std::iter::once(debit).chain((0..credits).map(credit)))
}

/// The largest transactions can be posted and reversed. A reversal then uses all 100 actions of a
/// `TransactWriteItems` call.
#[tokio::test]
async fn posts_and_reverses_the_largest_transactions() {
    let books = Books::open().await;
    let mut accounts = vec![books.outside.clone()];
    for _ in 1..49 {
        accounts.push(books.account("user-1").await);
    }
    for (key, count, of) in [("K-1", 49, 49), ("K-2", 49, 2), ("K-3", 48, 48)] {
        let posted = books.operator.post_once(TRANSACTIONS, key, &many_legs(&accounts[..of], count)).await;
        assert_eq!(posted.status, 201, "{count} legs of {of} accounts: {}", posted.body);
        let location = posted.headers["location"].to_str().expect("text");
        let read = books.operator.get(location).await;
        assert_eq!((read.status, &read.body), (200, &posted.body));
        assert_eq!(read.body["legs"].as_array().map(Vec::len), Some(count));
        let undone = books.operator.post(&format!("{location}/reversal"), &json!({})).await;
        assert_eq!(undone.status, 201, "{count} legs of {of} accounts: {}", undone.body);
    }
    // Each leg credits an account that has become grouped.
    let many = many_legs(&accounts[..2], 49).to_string().replace("credit", "x").replace("debit", "credit");
    let posted = sent(&books.operator, "POST", TRANSACTIONS, many.replace("\"x\"", "\"debit\""));
    let funded = books.pay("K-4", &accounts[0], &accounts[1], "0.48").await;
    assert_eq!(funded.status, 201, "{}", funded.body);
    let posted = send(posted.header("idempotency-key", "K-5")).await;
    assert_eq!(posted.status, 201, "{}", posted.body);
    let grouped = books.operator.patch(&account(&accounts[1]), &json!({"posting": "grouped"})).await;
    assert_eq!(grouped.status, 200, "{}", grouped.body);
    let undone = books.operator.post(&reversal_of(&id(&posted, "transactionId")), &json!({})).await;
    assert_eq!(undone.status, 201, "{}", undone.body);
    until(&books.operator, &account(&accounts[1]), |answer| answer.body["balance"] == "0.48").await;
    assert_eq!(books.pay("K-6", &accounts[1], &accounts[0], "0.48").await.status, 201);
    assert_eq!(books.balance(&accounts[1]).await, "0.00");
    books.stack.stop().await;
}

/// An account that is credited cannot pay with this money in the same transaction.
#[tokio::test]
async fn rejects_legs_that_do_not_balance_or_pass_money_through_an_account() {
    let books = Books::open().await;
    let mut accounts = vec![books.outside.clone()];
    for _ in 0..2 {
        accounts.push(books.account("user-1").await);
    }
    let [from, through, to] = [0, 1, 2].map(|number: usize| accounts[number].as_str());
    let one = |kind, account| (kind, account, "1.00", "USD");
    for body in [
        legs([one("debit", from), ("credit", to, "1.01", "USD")]),
        legs([one("debit", from), ("credit", to, "1.00", "EUR")]),
        legs([one("debit", from), one("credit", from)]),
        legs([one("debit", from), one("credit", through), one("debit", through), one("credit", to)]),
        many_legs(&accounts, 50),
    ] {
        let refused = books.operator.post_once(TRANSACTIONS, "K", &body).await;
        assert_problem(&refused, 400, "invalid-request");
        assert!(refused.body["errors"][0]["pointer"].as_str().is_some_and(|at| at.starts_with("/body/legs")), "{body}");
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn accepts_unusual_valid_values() {
    let books = Books::open().await;
    let client = &books.operator;
    let (longest, wide) = ("x".repeat(128), "\u{1f4b6}".repeat(128));
    for (number, name) in ["ä💶", "/", "%23", wide.as_str()].into_iter().enumerate() {
        let terms = json!({"userId": name, "accountType": name, "currency": "USD"});
        let opened = client.post_once(ACCOUNTS, &format!("K-{number}"), &terms).await;
        assert_eq!((opened.status, &opened.body["userId"]), (201, &json!(name)), "{}", opened.body);
        let escaped = name.bytes().fold(String::new(), |path, byte| path + &format!("%{byte:02X}"));
        let listed = client.get(&format!("/ledger/users/{escaped}/accounts")).await;
        assert_eq!(listed.body["items"], json!([opened.body]), "{name}");
        let mut paid = payment(&books.outside, opened.body["accountId"].as_str().expect("an id"), "1.00");
        (paid["transactionType"], paid["description"]) = (longest.as_str().into(), wide.as_str().into());
        let paid = client.post_once(TRANSACTIONS, &longest, &paid).await;
        assert_eq!(paid.status, if number == 0 { 201 } else { 422 }, "{}", paid.body);
    }
    for kind in ["application/json", "APPLICATION/JSON; charset=utf-8", "application/merge-patch+json"] {
        let body = json!({"name": wide, "category": longest}).to_string();
        let taken = send(client.request("POST", MERCHANTS).header("content-type", kind).body(body)).await;
        assert_eq!((taken.status, &taken.body["name"]), (201, &json!(wide)), "{kind}: {}", taken.body);
    }
    // The body of a reversal may be missing.
    let account = books.funded("user-1", "1.00").await;
    let paid = id(&books.pay("none", &account, &books.outside, "1.00").await, "transactionId");
    assert_eq!(send(client.request("POST", &reversal_of(&paid))).await.status, 201);
    books.stack.stop().await;
}
