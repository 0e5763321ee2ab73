//! Tests of the ledger's lists: statements, accounts of a user, merchants, and transactions by time
//! and by idempotency key. Time ranges are exact to the millisecond.

use futures::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    assert_problem,
    clock::{MILLISECOND, time},
    ledger::{ACCOUNTS, Books, MERCHANTS, TRANSACTIONS, id, legs, payment},
    text,
};

const NOON: &str = "2026-01-02T12:00:00.123Z";

/// Parses an amount, and returns it in cents.
fn cents(value: &Value, member: &str) -> i64 {
    text(value, member).replace('.', "").parse().expect("an amount")
}

fn statement_of(account: &str) -> String {
    format!("{ACCOUNTS}/{account}/statement")
}

/// Returns the amount by which the leg changes the account's balance.
fn change(leg: &Value) -> i64 {
    let amount = cents(leg, "amount");
    if leg["legType"] == "credit" { amount } else { -amount }
}

/// Asserts that the legs are sorted newest first, and that each leg changes the balance by its
/// amount.
fn assert_runs(newest_first: &[Value]) {
    let mut before = ("", "", 0);
    for leg in newest_first.iter().rev() {
        let place = (text(leg, "createdAt"), text(leg, "legId"));
        assert!((before.0, before.1) < place, "{} {} {leg}", before.0, before.1);
        let same_transaction =
            place.1.rsplit_once('-').map(|(id, _)| id) == before.1.rsplit_once('-').map(|(id, _)| id);
        assert_eq!(before.0 == place.0, same_transaction, "only legs of one transaction share a time: {leg}");
        let after = before.2 + change(leg);
        assert_eq!(cents(leg, "balanceAfter"), after, "{leg}");
        before = (place.0, place.1, after);
    }
}

/// Creates two accounts and posts 60 transactions between them. Each transaction has two legs on
/// each account.
async fn busy(books: &Books) -> (String, String) {
    let (one, other) = (books.funded("ann", "1000.00").await, books.funded("ann", "1000.00").await);
    for number in 0..60 {
        let (much, little) = (format!("{number}.07"), format!("{}.00", number % 7 + 1));
        let (from, to) = if number % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let body = legs([
            ("debit", from.as_str(), much.as_str(), "USD"),
            ("credit", to.as_str(), much.as_str(), "USD"),
            ("debit", from.as_str(), little.as_str(), "USD"),
            ("credit", to.as_str(), little.as_str(), "USD"),
        ]);
        let posted = books.operator.post_once(TRANSACTIONS, &format!("K-{number}"), &body).await;
        assert_eq!(posted.status, 201, "{}", posted.body);
    }
    (one, other)
}

#[tokio::test]
async fn statement_lists_legs_newest_first_with_consistent_balances() {
    let books = Books::open().await;
    let (one, other) = busy(&books).await;
    let ann = books.user("ann");
    for account in [&one, &other] {
        let list = statement_of(account);
        let whole = ann.all(&list).await;
        assert_eq!((whole.0.len(), whole.1), (121, 2));
        assert_runs(&whole.0);
        assert_eq!(text(&whole.0[0], "balanceAfter"), books.balance(account).await);
        let first = ann.get(&list).await.body;
        assert_eq!(first["items"].as_array().map(Vec::len), Some(100), "the default limit is 100");
        for limit in [1, 7, 100] {
            let paged = ann.all(&format!("{list}?limit={limit}")).await;
            assert_eq!(paged.0, whole.0, "limit {limit}");
            assert!((121_usize.div_ceil(limit)..=121 / limit + 1).contains(&paged.1), "{} pages of {limit}", paged.1);
        }
        assert!(whole.0.iter().all(|leg| leg["accountId"] == **account));
    }
    // The transaction contains the leg that the statement lists.
    let leg = &ann.get(&statement_of(&one)).await.body["items"][0];
    let transaction = ann.get(&format!("{TRANSACTIONS}/{}", text(leg, "transactionId"))).await.body;
    let legs = transaction["legs"].as_array().expect("legs");
    let mut of_transaction = leg.clone();
    let purpose = of_transaction.as_object_mut().and_then(|leg| leg.remove("transactionType"));
    assert_eq!(purpose.as_ref(), Some(&transaction["transactionType"]));
    assert!(legs.contains(&of_transaction), "{leg} {transaction}");
    let empty = books.account("ann").await;
    assert_eq!(ann.get(&statement_of(&empty)).await.body, json!({"items": []}));
    books.stack.stop().await;
}

#[tokio::test]
async fn user_accounts_are_listed_with_current_balances() {
    let books = Books::open().await;
    let mut own = BTreeSet::new();
    for number in 0..7 {
        own.insert(books.account("ann").await);
        books.account(["anna", "an", "Ann", "ann-", "bob"][number % 5]).await;
    }
    for (number, account) in own.iter().enumerate().take(4) {
        books.pay(&format!("K-{number}"), &books.outside, account, &format!("{}.50", number + 1)).await;
    }
    let last = own.last().expect("an account");
    books.operator.patch(&format!("{ACCOUNTS}/{last}"), &json!({"status": "closed"})).await;
    let ann = books.user("ann");
    let path = "/ledger/users/ann/accounts";
    let whole = ann.all(path).await;
    assert_eq!(whole.0.iter().map(|account| text(account, "accountId")).collect::<Vec<_>>(), Vec::from_iter(own));
    for account in &whole.0 {
        let own = ann.get(&format!("{ACCOUNTS}/{}", text(account, "accountId"))).await;
        assert_eq!(&own.body, account, "the list must show the current account");
    }
    let balances: Vec<_> = whole.0.iter().map(|account| text(account, "balance")).collect();
    assert_eq!(balances, ["1.50", "2.50", "3.50", "4.50", "0.00", "0.00", "0.00"]);
    assert_eq!(whole.0[6]["status"], "closed");
    for limit in [1, 3, 7] {
        let paged = ann.all(&format!("{path}?limit={limit}")).await;
        assert_eq!(paged.0, whole.0);
        assert!(paged.1 >= 7_usize.div_ceil(limit));
    }
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

fn ids(list: &[Value]) -> Vec<String> {
    list.iter().map(|transaction| text(transaction, "transactionId").to_owned()).collect()
}

/// Requests a list at noon, and returns the listed ids.
async fn listed(books: &Books, query: &str) -> Vec<String> {
    ids(&books.at(time(NOON)).all(&format!("{TRANSACTIONS}?{query}")).await.0)
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
            for limit in [1, 100] {
                let found = listed(&books, &format!("since={since}&until={until}&limit={limit}")).await;
                assert_eq!(found, made[from..=to], "from {since} until {until}, in pages of {limit}");
            }
        }
    }
    // Bounds with microseconds, which transaction times do not have, and bounds with different UTC
    // offsets.
    for (since, until, wanted) in [
        ("2026-01-01T00:00:00.0001Z", "2026-01-01T00:00:00.0019Z", &made[2..3]),
        ("2025-12-31T23:59:59.9981Z", "2025-12-31T23:59:59.9999Z", &made[..1]),
        ("2026-01-01T02:00:00%2B02:00", "2026-01-01T01:59:59.999%2B02:00", &made[1..1]),
        ("2026-01-01T02:00:00%2B02:00", "2026-01-01T02:00:00%2B02:00", &made[1..2]),
    ] {
        let answer = books.at(time(NOON)).get(&format!("{TRANSACTIONS}?since={since}&until={until}")).await;
        let found = answer.body["items"].as_array().map(|items| ids(items)).unwrap_or_default();
        assert_eq!(found, wanted, "from {since} until {until}: {}", answer.body);
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn idempotency_key_finds_transactions_of_all_callers() {
    let books = Books::open().await;
    let accounts = [books.funded("ann", "9.00").await, books.funded("bob", "9.00").await];
    let mut made = BTreeSet::new();
    for (user, account) in ["ann", "bob"].into_iter().zip(&accounts) {
        for key in ["same", "same2", "sam", "Same"] {
            let body = payment(account, &books.outside, "1.00");
            let posted = books.user(user).post_once(TRANSACTIONS, key, &body).await;
            let transaction = id(&posted, "transactionId");
            if key == "same" {
                made.insert(transaction);
            }
        }
    }
    let reversal = format!("{TRANSACTIONS}/{}/reversal", made.first().expect("a transaction"));
    let reversal = books.operator.post_once(&reversal, "same", &json!({})).await;
    made.insert(id(&reversal, "transactionId"));
    let list = format!("{TRANSACTIONS}?idempotencyKey=same");
    let (whole, pages) = books.operator.all(&list).await;
    assert_eq!((BTreeSet::from_iter(ids(&whole)), whole.len(), pages), (made, 3, 1));
    assert!(whole.iter().all(|transaction| transaction["idempotencyKey"] == "same"));
    for limit in [1, 2, 3] {
        let (parts, pages) = books.operator.all(&format!("{list}&limit={limit}")).await;
        assert_eq!(parts, whole, "limit {limit}");
        assert!((3_usize.div_ceil(limit)..=3 / limit + 1).contains(&pages), "{pages} pages of {limit}");
    }
    for transaction in &whole {
        let read = books.operator.get(&format!("{TRANSACTIONS}/{}", text(transaction, "transactionId"))).await;
        let mut header = read.body;
        // Lists omit the legs.
        header.as_object_mut().expect("an object").remove("legs");
        assert_eq!(&header, transaction);
    }
    let none = books.operator.get(&format!("{TRANSACTIONS}?idempotencyKey=nobodys")).await;
    assert_eq!((none.status, none.body), (200, json!({"items": []})));
    books.stack.stop().await;
}

/// Every user may list all merchants.
#[tokio::test]
async fn merchants_are_listed_by_id_in_pages() {
    let books = Books::open().await;
    assert_eq!(books.user("ann").get(MERCHANTS).await.body, json!({"items": []}));
    let mut made = BTreeSet::new();
    for number in 0..7 {
        let merchant = json!({"name": format!("Shop {number}"), "category": "Shop"});
        made.insert(id(&books.operator.post(MERCHANTS, &merchant).await, "merchantId"));
    }
    for limit in [1, 3, 7, 50] {
        let (merchants, _) = books.user("ann").all(&format!("{MERCHANTS}?limit={limit}")).await;
        let ids: Vec<&str> = merchants.iter().map(|merchant| text(merchant, "merchantId")).collect();
        assert_eq!(ids, made.iter().map(String::as_str).collect::<Vec<_>>(), "limit {limit}");
        for merchant in merchants {
            let read = books.operator.get(&format!("{MERCHANTS}/{}", text(&merchant, "merchantId"))).await;
            assert_eq!(read.body, merchant);
        }
    }
    for query in ["limit=0", "limit=101", "cursor=x", "name=Shop"] {
        assert_problem(&books.operator.get(&format!("{MERCHANTS}?{query}")).await, 400, "invalid-request");
    }
    books.stack.stop().await;
}
