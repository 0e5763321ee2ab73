//! Tests of the ledger's lists: statements, accounts of a user, merchants, and transactions by time
//! and by idempotency key. Time ranges are exact to the millisecond. The contract reads all pages.

use futures::future::join_all;
use jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeSet;
use system_tests::{
    clock::{MILLISECOND, time},
    ledger::model::Stored,
    ledger::{ACCOUNTS, Books, MERCHANTS, TRANSACTIONS, id, legs, payment},
    text, texts,
};

#[tokio::test]
async fn a_statement_lists_the_last_100_legs_newest_first() {
    let books = Books::open().await;
    let (account, other) = (books.funded("ann", "1000.00").await, books.account("ann").await);
    let debit = |amount| ("debit", account.as_str(), amount, "USD");
    let body = legs([debit("1.00"), ("credit", other.as_str(), "1.50", "USD"), debit("0.50")]);
    for number in 0..60 {
        assert_eq!(books.operator.post_once(TRANSACTIONS, &format!("K-{number}"), &body).await.status, 201);
    }
    let stored = Stored::read(&books.stack).await;
    stored.check();
    let own: Vec<String> = stored.legs_of(&account).iter().rev().map(|leg| leg.id.to_string()).collect();
    let (ann, path) = (books.user("ann"), format!("{ACCOUNTS}/{account}/statement"));
    let first = ann.get(&path).await.body;
    assert_eq!(texts(first["items"].as_array().expect("items"), "legId"), own[..100]);
    let (whole, _) = ann.all(&format!("{path}?limit=7")).await;
    assert_eq!((whole.len(), texts(&whole, "legId")), (121, own.iter().map(String::as_str).collect()));
    assert_eq!((text(&whole[0], "balanceAfter"), text(&whole[120], "balanceAfter")), ("910.00", "1000.00"));
    books.stack.stop().await;
}

#[tokio::test]
async fn user_accounts_are_listed_by_id_with_current_balances() {
    let books = Books::open().await;
    let mut own = BTreeSet::new();
    for similar in ["anna", "an", "Ann", "ann-"] {
        own.insert(books.account("ann").await);
        books.account(similar).await;
    }
    let accounts: Vec<&String> = own.iter().collect();
    books.pay("K", &books.outside, accounts[1], "1.50").await;
    books.operator.patch(&format!("{ACCOUNTS}/{}", accounts[3]), &json!({"status": "closed"})).await;
    let ann = books.user("ann");
    let (list, _) = ann.all("/ledger/users/ann/accounts").await;
    assert_eq!(texts(&list, "accountId"), accounts);
    assert_eq!(texts(&list, "balance"), ["0.00", "1.50", "0.00", "0.00"]);
    assert_eq!(texts(&list, "status"), ["active", "active", "active", "closed"]);
    assert_eq!(books.operator.get("/ledger/users/nobody/accounts").await.body, json!({"items": []}));
    books.stack.stop().await;
}

/// Posts one transaction for each of the times, between new accounts. Returns the ids of the
/// transactions in the order of `times`.
async fn posted(books: &Books, times: &[Timestamp]) -> Vec<String> {
    join_all(times.iter().enumerate().map(async |(number, now)| {
        let (from, to) = (books.source("USD").await, books.source("USD").await);
        let key = format!("at-{number}-{now}");
        let posted = books.at(*now).post_once(TRANSACTIONS, &key, &payment(&from, &to, "1.00")).await;
        assert_eq!(posted.body["createdAt"], format!("{now:.3}"), "{}", posted.body);
        id(&posted, "transactionId")
    }))
    .await
}

/// Requests a list at noon, and returns the listed ids.
async fn listed(books: &Books, query: &str) -> Vec<String> {
    let (list, _) = books.at(time("2026-01-02T12:00:00.123Z")).all(&format!("{TRANSACTIONS}?{query}")).await;
    texts(&list, "transactionId").into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn time_range_includes_both_ends_to_the_millisecond() {
    let books = Books::open().await;
    let (first, last) = (time("2026-01-01T00:00:00.000Z"), time("2026-01-01T23:59:59.999Z"));
    let beside = |end: Timestamp| [end - MILLISECOND, end, end + MILLISECOND];
    let times: Vec<_> = beside(first).into_iter().chain(beside(last)).collect();
    let made = posted(&books, &times).await;
    for (from, since) in times.iter().enumerate() {
        let open = listed(&books, &format!("status=completed&since={since}")).await;
        assert_eq!(open, made[from..], "since {since}");
        for (to, until) in times.iter().enumerate().skip(from) {
            let found = listed(&books, &format!("since={since}&until={until}&limit=1")).await;
            assert_eq!(found, made[from..=to], "from {since} until {until}");
        }
    }
    // Bounds with microseconds, which transaction times do not have, and bounds with different UTC
    // offsets.
    for (since, until, wanted) in [
        ("2026-01-01T00:00:00.0001Z", "2026-01-01T00:00:00.0019Z", &made[2..3]),
        ("2025-12-31T23:59:59.9981Z", "2025-12-31T23:59:59.9999Z", &made[..1]),
        ("2026-01-01T02:00:00%2B02:00", "2026-01-01T02:00:00%2B02:00", &made[1..2]),
    ] {
        assert_eq!(listed(&books, &format!("since={since}&until={until}")).await, wanted, "from {since} until {until}");
    }
    books.stack.stop().await;
}

/// Each caller has own keys. Only operators list the transactions with a key, of all callers.
#[tokio::test]
async fn idempotency_key_finds_transactions_of_all_callers() {
    let books = Books::open().await;
    let mut made = BTreeSet::new();
    for user in ["ann", "bob"] {
        let account = books.funded(user, "9.00").await;
        for key in ["same", "same2", "sam", "Same"] {
            let body = payment(&account, &books.outside, "1.00");
            let transaction = id(&books.user(user).post_once(TRANSACTIONS, key, &body).await, "transactionId");
            if key == "same" {
                made.insert(transaction);
            }
        }
    }
    let reversal = format!("{TRANSACTIONS}/{}/reversal", made.first().expect("a transaction"));
    made.insert(id(&books.operator.post_once(&reversal, "same", &json!({})).await, "transactionId"));
    let (found, _) = books.operator.all(&format!("{TRANSACTIONS}?idempotencyKey=same&limit=2")).await;
    assert_eq!(found.len(), 3);
    assert_eq!(texts(&found, "transactionId").into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), made);
    assert!(found.iter().all(|transaction| transaction["idempotencyKey"] == "same"));
    let none = books.operator.get(&format!("{TRANSACTIONS}?idempotencyKey=nobodys")).await;
    assert_eq!((none.status, none.body), (200, json!({"items": []})));
    books.stack.stop().await;
}

/// Every user may list all merchants.
#[tokio::test]
async fn merchants_are_listed_by_id() {
    let books = Books::open().await;
    assert_eq!(books.user("ann").get(MERCHANTS).await.body, json!({"items": []}));
    let mut made = BTreeSet::new();
    for number in 0..5 {
        let merchant = json!({"name": format!("Shop {number}"), "category": "Shop"});
        made.insert(id(&books.operator.post(MERCHANTS, &merchant).await, "merchantId"));
    }
    let (merchants, _) = books.user("ann").all(&format!("{MERCHANTS}?limit=3")).await;
    assert_eq!(texts(&merchants, "merchantId"), made.iter().collect::<Vec<_>>());
    books.stack.stop().await;
}
