//! Unreadable items of the ledger
//! ([decision](../../../../docs/decisions/unreadable-items.md)). The contract damages each
//! type of item of its world. These tests are about many legs, statements, and closing.

use serde_json::{Value, json};
use system_tests::{
    Client, assert_problem,
    ledger::audit::{DAY, Rows, Shelf, account_key, at, leg_key, reconciled, text_of},
    ledger::{ACCOUNTS, Books, TRANSACTIONS, id, stack},
};

/// A reconciliation reads the legs of an account in pages. It completes even if no leg of a page
/// can be read.
#[tokio::test(flavor = "multi_thread")]
async fn page_of_unreadable_legs_does_not_stop_a_reconciliation() {
    const LEGS: i64 = 505;
    let stack = stack().start().await.expect("a stack");
    let (rows, operator) = (Rows::of(&stack), Client::operator(&stack));
    let mut shelf = Shelf::default();
    for number in 0..LEGS {
        shelf.post(&format!("T{number}"), DAY + number, &[("O", -100), ("A", 100)]);
    }
    shelf.put(&rows).await;
    for number in 0..LEGS {
        rows.set(&leg_key(&format!("T{number}"), 2), json!({"CreatedAt": {"S": "nonsense"}})).await;
    }
    let body = reconciled(&operator, &at(DAY), &at(2 * DAY)).await;
    let kinds: Vec<_> = body["discrepancies"].as_array().expect("a list").iter().map(|found| &found["kind"]).collect();
    assert_eq!(kinds.len(), usize::try_from(LEGS).expect("a small number"));
    assert!(kinds.iter().all(|kind| *kind == "unreadable-item"), "{kinds:?}");
    stack.stop().await;
}

/// The owner of the account sees which transaction has the unreadable leg, but no stored key. An
/// item with the key of another account can have a forged index key.
#[tokio::test]
async fn a_statement_reports_each_unreadable_item_once_without_keys_of_others() {
    let books = Books::open().await;
    let (ann, account) = (books.user("ann"), books.funded("ann", "5.00").await);
    let bobs = books.funded("bob", "7.00").await;
    let rows = Rows::of(&books.stack);
    let mut transactions = Vec::new();
    for number in 0..4 {
        let paid = books.pay(&format!("P-{number}"), &account, &bobs, "1.00").await;
        transactions.push(id(&paid, "transactionId"));
    }
    let path = format!("{ACCOUNTS}/{account}/statement");
    assert_eq!(ann.get(&path).await.body.get("findings"), None);
    for transaction in &transactions[..2] {
        rows.set(&leg_key(transaction, 1), json!({"Amount": {"S": "nonsense"}})).await;
    }
    let forged = json!({"GSI1PK": {"S": format!("ACCOUNT#{account}")}, "GSI1SK": {"S": "LEG#zzz"}});
    rows.set(&account_key(&bobs), forged).await;
    for limit in [1, 2, 100] {
        for (client, is_operator) in [(&ann, false), (&books.operator, true)] {
            let mut findings = Vec::new();
            let (mut cursor, mut skipped) = (String::new(), 0);
            loop {
                let page = client.get(&format!("{path}?limit={limit}{cursor}")).await;
                assert_eq!(page.status, 200, "{}", page.body);
                let found = page.body["findings"].as_array().cloned().unwrap_or_default();
                assert_eq!(page.body["skipped"].as_u64().unwrap_or_default(), found.len() as u64, "{}", page.body);
                skipped += found.len();
                findings.extend(found);
                let Some(next) = page.body["nextCursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(skipped, 3, "{findings:?}");
            for (finding, transaction) in findings.iter().zip([None, Some(&transactions[1]), Some(&transactions[0])]) {
                assert_eq!((&finding["kind"], &finding["accountId"]), (&json!("unreadable-item"), &json!(account)));
                assert_eq!(finding.get("transactionId"), transaction.map(|id| json!(id)).as_ref());
                assert_eq!(finding.get("key").is_some(), is_operator, "{finding}");
                assert!(is_operator || !finding.to_string().contains(&bobs), "{finding}");
            }
        }
    }
    books.stack.stop().await;
}

/// Without its marker, a list cannot show that a transaction is reversed.
#[tokio::test]
async fn a_list_counts_unreadable_reversals() {
    let books = Books::open().await;
    let [from, to] = [books.funded("ann", "5.00").await, books.account("bob").await];
    let transaction = id(&books.pay("P", &from, &to, "1.00").await, "transactionId");
    let path = format!("{TRANSACTIONS}/{transaction}/reversal");
    assert_eq!(books.operator.post(&path, &json!({})).await.status, 201);
    let before = books.operator.get(TRANSACTIONS).await;
    assert_eq!(before.body.get("skipped"), None, "{}", before.body);
    let marker = json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": "REVERSAL#01"}});
    Rows::of(&books.stack).set(&marker, json!({"ReversedAmount": {"S": "nonsense"}})).await;
    let after = books.operator.get(TRANSACTIONS).await;
    assert_eq!((after.status, &after.body["skipped"]), (200, &json!(1)), "{}", after.body);
    assert_eq!(after.body["items"].as_array().map(Vec::len), before.body["items"].as_array().map(Vec::len));
    books.stack.stop().await;
}

/// Neither the owner nor an operator can close an account whose last leg is unreadable, missing or
/// differs from the balance. Otherwise the closing would hide or move money.
#[tokio::test]
async fn an_account_is_closed_only_if_its_last_leg_confirms_the_balance() {
    let books = Books::open().await;
    let rows = Rows::of(&books.stack);
    let (ann, to) = (books.user("ann"), books.account("ann").await);
    for balance in ["5.00", "0.00"] {
        let account = books.funded("ann", "5.00").await;
        if balance == "0.00" {
            assert_eq!(books.pay("empty", &account, &to, "5.00").await.status, 201);
        }
        let stored = rows.get(&account_key(&account)).await;
        let [transaction, leg] = ["LastTransactionID", "LastLegID"].map(|name| text_of(&stored, name));
        let key = json!({"PK": {"S": format!("TXN#{transaction}")}, "SK": {"S": format!("LEG#{leg}")}});
        let healthy = rows.get(&key).await;
        let with = |name: &str, value: Value| {
            let mut item = healthy.clone();
            item[name] = value;
            (name.to_owned(), Some(item))
        };
        let names = healthy.as_object().expect("an item").keys();
        // TransactionID repeats the partition key, and no function reads it.
        let names = names.filter(|name| !["PK", "SK", "Type", "TransactionID"].contains(&name.as_str()));
        // DynamoDB rejects index keys that are not strings.
        let nonsense = |name: &str| if name.starts_with("GSI") { json!({"S": "x"}) } else { json!({"BOOL": true}) };
        let mut spoiled: Vec<(String, Option<Value>)> = names.map(|name| with(name, nonsense(name))).collect();
        assert!(spoiled.len() > 10, "{spoiled:?}");
        let others = [("BalanceAfter", json!({"N": "4.99"})), ("Currency", json!({"S": "EUR"}))];
        spoiled.extend(others.into_iter().map(|(name, value)| with(name, value)));
        spoiled.push(("the whole leg".to_owned(), None));
        for (name, item) in spoiled {
            match item {
                Some(item) => rows.put(&[item.to_string()]).await,
                None => rows.delete(&key).await,
            }
            let before = books.stored().await;
            for client in [&ann, &books.operator] {
                for body in [json!({"status": "closed"}), json!({"status": "closed", "transferTo": to})] {
                    let answer = client.patch(&format!("{ACCOUNTS}/{account}"), &body).await;
                    assert_problem(&answer, 409, "balance-unverified");
                    assert!(!answer.body["detail"].to_string().contains("TXN#"), "{}", answer.body);
                }
            }
            assert!(books.stored().await == before, "{name}: nothing is written");
            rows.put(&[healthy.to_string()]).await;
        }
        let closed = json!({"status": "closed", "transferTo": to});
        let closed = ann.patch(&format!("{ACCOUNTS}/{account}"), &closed).await;
        assert_eq!((closed.status, &closed.body["status"]), (200, &json!("closed")), "{}", closed.body);
    }
    books.stack.stop().await;
}
