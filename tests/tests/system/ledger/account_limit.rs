//! A user can open a limited number of accounts
//! ([decision](../../../../docs/decisions/ledger-accounts.md)).

use futures::future::join_all;
use serde_json::json;
use system_tests::{
    Answer, Client, assert_problem,
    ledger::model::until_told,
    ledger::{ACCOUNTS, Books, id, stack},
};

async fn open(client: &Client, user: &str, key: &str) -> Answer {
    let terms = json!({"userId": user, "accountType": "checking", "currency": "USD"});
    until_told(async || client.post_once(ACCOUNTS, key, &terms).await).await
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_open_exactly_the_maximum_number_of_accounts() {
    let books = Books::of(stack().parameter("AccountsPerUser", "5").start().await.expect("a stack")).await;
    let ann = books.user("ann");
    let keys: Vec<String> = (0..20).map(|number| format!("K-{number}")).collect();
    let answers = join_all(keys.iter().map(|key| open(&ann, "ann", key))).await;
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        assert_problem(answer, 409, "account-limit");
    }
    let opened = answers.iter().filter(|answer| answer.status == 201).count();
    let listed = ann.get("/ledger/users/ann/accounts").await.body["items"].as_array().map(Vec::len);
    assert_eq!((opened, listed), (5, Some(5)));
    // A retry gets its first response, and a rejected request has not consumed its key. The keys of
    // another user are other keys.
    for (key, answer) in keys.iter().zip(&answers) {
        let again = open(&ann, "ann", key).await;
        assert_eq!(again.status, answer.status, "{}", again.body);
        assert!(answer.status != 201 || again.body == answer.body, "{}", again.body);
    }
    let of_bob = id(&open(&books.user("bob"), "bob", "K-0").await, "accountId");
    assert!(answers.iter().all(|answer| answer.body["accountId"] != of_bob));
    books.stack.stop().await;
}
