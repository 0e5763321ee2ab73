//! Freezing and closing accounts ([permissions](../../../../docs/decisions/ledger-accounts.md),
//! [closing](../../../../docs/decisions/ledger-accounts.md)). The owner can undo only what
//! the owner did. Closing an account moves its balance, so that nobody can keep an account open
//! with a cent.

use serde_json::json;
use std::collections::BTreeSet;
use system_tests::{
    Answer, Client, End, assert_problem,
    ledger::model::Stored,
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, legs, payment},
};

fn path(account: &str) -> String {
    format!("{ACCOUNTS}/{account}")
}

async fn set(client: &Client, account: &str, status: &str) -> Answer {
    client.patch(&path(account), &json!({"status": status})).await
}

async fn close(client: &Client, account: &str, to: &str) -> Answer {
    client.patch(&path(account), &json!({"status": "closed", "transferTo": to})).await
}

#[tokio::test]
async fn only_operators_undo_what_an_operator_froze() {
    let books = Books::open().await;
    let (ann, operator) = (books.user("ann"), Client::member(&books.stack, "ledger:operate", "none", "boss"));
    // A freeze by an operator always takes precedence, in either order.
    let freezes: [(&[&Client], &str); 3] =
        [(&[&ann, &ann], "owner"), (&[&ann, &operator], "operator"), (&[&operator, &ann], "operator")];
    for (clients, frozen_by) in freezes {
        for next in ["active", "closed"] {
            let account = books.account("ann").await;
            for client in clients {
                let frozen = set(client, &account, "frozen").await;
                assert_eq!((frozen.status, &frozen.body["status"]), (200, &json!("frozen")), "{}", frozen.body);
            }
            assert_eq!(ann.get(&path(&account)).await.body["frozenBy"], frozen_by);
            let author = match frozen_by {
                "owner" => json!({"sub": "ann", "scope": "ledger:write"}),
                _ => json!({"sub": "boss", "scope": "ledger:operate"}),
            };
            assert_eq!(operator.get(&path(&account)).await.body["changedBy"], author);
            let changed = set(&ann, &account, next).await;
            let wanted = if frozen_by == "owner" { End::Done } else { End::NoReach };
            assert_eq!(End::of(&changed), Some(wanted), "{frozen_by} {next}: {}", changed.body);
            let changed = set(&operator, &account, next).await;
            assert_eq!((changed.status, &changed.body["status"]), (200, &json!(next)), "{}", changed.body);
            assert_eq!(changed.body.get("frozenBy"), None, "{}", changed.body);
        }
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn closing_moves_the_balance_in_one_transaction() {
    let books = Books::open().await;
    for is_frozen in [false, true] {
        let (ann, to) = (books.user("ann"), books.funded("ann", "10.00").await);
        let account = books.funded("ann", "0.01").await;
        if is_frozen {
            assert_eq!(set(&ann, &account, "frozen").await.status, 200);
        }
        assert_problem(&set(&ann, &account, "closed").await, 409, "balance-not-zero");
        let closed = close(&ann, &account, &to).await;
        assert_eq!((closed.status, &closed.body["status"]), (200, &json!("closed")), "{}", closed.body);
        assert_eq!((&closed.body["balance"], closed.body.get("frozenBy")), (&json!("0.00"), None));
        assert_eq!(closed.body, ann.get(&path(&account)).await.body, "the response is the stored account");
        assert_eq!(books.balance(&to).await, "10.01");
        let legs = [(&account, "debit", "0.00"), (&to, "credit", "10.01")];
        let mut transactions = BTreeSet::new();
        for (account, side, after) in legs {
            let statement = ann.get(&format!("{}/statement?limit=1", path(account))).await.body;
            let leg = &statement["items"][0];
            assert_eq!((&leg["legType"], &leg["balanceAfter"]), (&json!(side), &json!(after)), "{statement}");
            transactions.insert(leg["transactionId"].as_str().expect("an id").to_owned());
        }
        assert_eq!(transactions.len(), 1);
        let transaction = ann.get(&format!("{TRANSACTIONS}/{}", transactions.first().expect("an id"))).await.body;
        assert_eq!((&transaction["transactionType"], &transaction["amount"]), (&json!("closing"), &json!("0.01")));
        // A retry gets the same response, and moves nothing.
        assert_eq!(close(&ann, &account, &to).await.body, closed.body);
        assert_eq!(set(&ann, &account, "closed").await.body, closed.body);
        let other = books.account("ann").await;
        assert_problem(&close(&ann, &account, &other).await, 409, "account-closed");
        assert_eq!([books.balance(&to).await, books.balance(&other).await], ["10.01", "0.00"]);
        Stored::read(&books.stack).await.check();
    }
    books.stack.stop().await;
}

#[tokio::test]
async fn balance_moves_only_to_an_account_that_may_take_it() {
    let books = Books::open().await;
    let (ann, account) = (books.user("ann"), books.funded("ann", "5.00").await);
    let (frozen, closed, bobs) = (books.account("ann").await, books.account("ann").await, books.account("bob").await);
    assert_eq!(set(&ann, &frozen, "frozen").await.status, 200);
    assert_eq!(set(&ann, &closed, "closed").await.status, 200);
    let yen = json!({"userId": "ann", "accountType": "checking", "currency": "JPY"});
    let yen = id(&ann.post(ACCOUNTS, &yen).await, "accountId");
    let before = books.stored().await;
    for (to, problem) in [
        (frozen.as_str(), "account-frozen"),
        (&closed, "account-closed"),
        (&yen, "currency-mismatch"),
        (&bobs, "account-unavailable"),
        (&books.outside, "account-unavailable"),
        ("880h1733", "account-unavailable"),
    ] {
        assert_problem(&close(&ann, &account, to).await, 409, problem);
    }
    let stale = json!({"status": "closed", "transferTo": bobs, "version": 99});
    assert_problem(&ann.patch(&path(&account), &stale).await, 412, "another-version");
    assert_problem(&close(&books.operator, &account, "880h1733").await, 404, "not-found");
    assert!(books.stored().await == before);
    // Operators can move the balance to the account of any user.
    assert_eq!(close(&books.operator, &account, &bobs).await.status, 200);
    assert_eq!(books.balance(&bobs).await, "5.00");
    // A negative balance is settled from the other account.
    let debt = books.source("USD").await;
    assert_eq!(books.pay("debt", &debt, &bobs, "3.00").await.status, 201);
    let poor = books.account("bob").await;
    assert_problem(&close(&books.operator, &debt, &poor).await, 409, "insufficient-funds");
    assert_eq!(close(&books.operator, &debt, &bobs).await.body["balance"], "0.00");
    assert_eq!(books.balance(&bobs).await, "5.00");
    // An empty account closes without a transfer.
    let empty = close(&ann, &books.account("ann").await, &bobs).await;
    assert_eq!((empty.status, &empty.body["status"]), (200, &json!("closed")), "{}", empty.body);
    Stored::read(&books.stack).await.check();
    books.stack.stop().await;
}

/// Words that readers could mistake for a transaction type of the ledger: other letters of ASCII
/// and of other scripts, which look alike.
const ALIKE: &str = "CLOSING|Reversal| capture|capture |jou-rnal|\u{ff43}losing|\u{441}apture|clo\u{455}ing|\
    clo\u{17f}ing|clo5ing|revers\u{430}l|r\u{435}v\u{435}rsal|\u{458}ournal|j\u{3bf}urnal|j0urnal|journa1|reversaI|\
    closlng|joumal|captu\u{301}re";

/// Finds the transaction types that the ledger itself posts, and rejects them in requests.
#[tokio::test]
async fn rejects_the_types_of_the_ledgers_own_transactions() {
    let books = Books::open().await;
    let (one, other) = (books.funded("ann", "5.00").await, books.account("ann").await);
    let paid = id(&books.pay("paid", &one, &other, "1.00").await, "transactionId");
    let reversed = books.operator.post(&format!("{TRANSACTIONS}/{paid}/reversal"), &json!({})).await;
    assert_eq!(reversed.status, 201, "{}", reversed.body);
    assert_eq!(close(&books.operator, &one, &other).await.status, 200);
    let journal = legs([("debit", books.outside.as_str(), "1.00", "USD"), ("credit", other.as_str(), "1.00", "USD")]);
    assert_eq!(books.operator.post_once(TRANSACTIONS, "journal", &journal).await.status, 201);
    let hold = id(&books.hold("hold", &books.outside, &other, "1.00").await, "holdId");
    let captured = books.operator.post_once(&format!("/ledger/holds/{hold}/capture"), "captured", &json!({})).await;
    assert_eq!(captured.status, 201, "{}", captured.body);
    let stored = Stored::read(&books.stack).await;
    let types = stored.transactions.values().map(|transaction| transaction.transaction_type.as_str());
    let own: BTreeSet<&str> = types.filter(|kind| *kind != "payment").collect();
    assert_eq!(own, BTreeSet::from(["capture", "closing", "journal", "reversal"]));
    let count = stored.transactions.len();
    for kind in own.into_iter().chain(ALIKE.split('|')) {
        for mut body in [payment(&books.outside, &other, "1.00"), journal.clone()] {
            body["transactionType"] = kind.into();
            let answer = books.operator.post_once(TRANSACTIONS, "own", &body).await;
            assert_problem(&answer, 400, "invalid-request");
            assert_eq!(answer.body["errors"][0]["pointer"], "/body/transactionType", "{kind}: {}", answer.body);
        }
    }
    assert_eq!(Stored::read(&books.stack).await.transactions.len(), count);
    for kind in ["captured", "re-charge", "Fee_2", "journals", "p"] {
        let mut body = payment(&books.outside, &other, "1.00");
        body["transactionType"] = kind.into();
        let answer = books.operator.post_once(TRANSACTIONS, &format!("of type {kind}"), &body).await;
        assert_eq!(answer.status, 201, "{kind}: {}", answer.body);
    }
    books.stack.stop().await;
}
