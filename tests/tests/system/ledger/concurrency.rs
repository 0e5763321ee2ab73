//! Concurrent requests to the ledger, the order of their times, and several legs on one account
//! ([requirement](../../../../docs/requirements/ledger.md#payment-processing)). The simulation
//! plays random concurrent requests.

use futures::future::{join, join_all};
use jiff::SignedDuration;
use serde_json::json;
use system_tests::{
    assert_problem,
    clock::time,
    ledger::model::{Stored, until_told},
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, legs, payment},
    text, texts,
};

#[tokio::test(flavor = "multi_thread")]
async fn only_one_of_two_different_requests_with_one_key_is_posted() {
    let books = Books::open().await;
    let (from, to) = (books.funded("ann", "50.00").await, books.account("bob").await);
    for number in 0..5 {
        let key = format!("K-{number}");
        let pay = async |amount: &str| until_told(async || books.pay(&key, &from, &to, amount).await).await;
        let (one, other) = join(pay("1.00"), pay("2.00")).await;
        let (done, refused) = if one.status == 201 { (&one, &other) } else { (&other, &one) };
        assert_eq!(done.status, 201, "{}", done.body);
        assert_problem(refused, 422, "idempotency-key-reused");
        assert_eq!(pay(text(&done.body, "amount")).await.body, done.body);
    }
    let stored = Stored::read(&books.stack).await;
    stored.check();
    assert_eq!(stored.legs_of(&to).len(), 5);
    books.stack.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_payment_succeeds_after_a_freeze() {
    let books = Books::open().await;
    for frozen in [0, 1] {
        let accounts = [books.funded("ann", "100.00").await, books.account("bob").await];
        let keys: Vec<String> = (0..9).map(|number| format!("K-{frozen}-{number}")).collect();
        let path = format!("{ACCOUNTS}/{}", accounts[frozen]);
        let pay = async |key: &str| until_told(async || books.pay(key, &accounts[0], &accounts[1], "1.00").await).await;
        let set = async |status: &str| {
            let body = json!({"status": status});
            until_told(async || books.operator.patch(&path, &body).await).await.status
        };
        let freeze = async { (set("frozen").await, pay(&keys[8]).await) };
        let (paid, (status, later)) = join(join_all(keys[..8].iter().map(|key| pay(key))), freeze).await;
        assert_eq!(status, 200);
        let refused: Vec<_> = paid.iter().filter(|answer| answer.status != 201).collect();
        for answer in refused.iter().copied().chain([&later]) {
            assert_problem(answer, 409, "account-frozen");
        }
        let stored = Stored::read(&books.stack).await;
        stored.check();
        assert_eq!(stored.legs_of(&accounts[1]).len(), paid.len() - refused.len());
        assert_eq!((set("active").await, pay(&keys[8]).await.status), (200, 201), "the key was not consumed");
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn transaction_times_of_an_account_increase_even_if_clocks_go_back() {
    let books = Books::open().await;
    let account = books.account("ann").await;
    let mut posted = Vec::new();
    for (number, offset) in [0, 0, -3_600_000, 1, -1, 60_000, 59_999, 60_001].into_iter().enumerate() {
        let at = books.at(time("2099-11-30T12:00:00.123Z") + SignedDuration::from_millis(offset));
        let body = payment(&books.outside, &account, "10.00");
        posted.push(id(&at.post_once(TRANSACTIONS, &format!("K-{number}"), &body).await, "transactionId"));
    }
    let (mut statement, _) = books.operator.all(&format!("{ACCOUNTS}/{account}/statement?limit=7")).await;
    statement.reverse();
    assert_eq!(texts(&statement, "transactionId"), posted, "the order of application");
    let times =
        ["00:00.123", "00:00.124", "00:00.125", "00:00.126", "00:00.127", "01:00.123", "01:00.124", "01:00.125"];
    assert_eq!(texts(&statement, "createdAt"), times.map(|time| format!("2099-11-30T12:{time}Z")));
    books.stack.stop().await;
}

/// A transaction with several legs on one account stores the balance after each leg.
#[tokio::test]
async fn several_legs_on_one_account_update_it_once() {
    let books = Books::open().await;
    let (a, b) = (books.funded("ann", "10.00").await, books.account("bob").await);
    let before = Stored::read(&books.stack).await;
    let plan = [
        ("credit", &b, "3.00", "3.00"),
        ("debit", &a, "4.00", "6.00"),
        ("debit", &a, "1.50", "4.50"),
        ("credit", &b, "0.50", "3.50"),
        ("debit", &a, "4.50", "0.00"),
        ("credit", &b, "6.50", "10.00"),
    ];
    let body = legs(plan.iter().map(|(kind, account, amount, _)| (*kind, account.as_str(), *amount, "USD")));
    let posted = books.operator.post_once(TRANSACTIONS, "K", &body).await;
    let transaction = id(&posted, "transactionId");
    let legs = posted.body["legs"].as_array().expect("legs");
    assert_eq!(texts(legs, "balanceAfter"), plan.map(|(.., after)| after));
    assert_eq!(texts(legs, "accountId"), plan.map(|(_, account, ..)| account.as_str()));
    let after = Stored::read(&books.stack).await;
    after.check();
    for account in [&a, &b] {
        assert_eq!(after.account(account).version, before.account(account).version + 1);
        let own = legs.iter().rev().filter(|leg| leg["accountId"] == **account);
        let statement = books.operator.get(&format!("{ACCOUNTS}/{account}/statement?limit=3")).await.body;
        let listed = texts(statement["items"].as_array().expect("items"), "legId");
        assert_eq!(listed, own.map(|leg| text(leg, "legId")).collect::<Vec<_>>(), "the legs in order");
    }
    let reversal = books.operator.post(&format!("{TRANSACTIONS}/{transaction}/reversal"), &json!({})).await;
    assert_eq!(reversal.status, 201, "{}", reversal.body);
    assert_eq!([books.balance(&a).await, books.balance(&b).await], ["10.00", "0.00"]);
    Stored::read(&books.stack).await.check();
    books.stack.stop().await;
}
