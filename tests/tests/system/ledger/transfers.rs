//! Tests of the transfers that the ledger posts for another service.

use futures::future::join_all;
use keys::{TimestampMillis, TransactionId};
use ledger::{Rejection, Transfer, TransferOutcome, Transfers};
use money::Money;
use serde_json::json;
use std::time::Duration;
use system_tests::{
    faults::{Fault, Proxy},
    ledger::audit::{Rows, account_key, header_key, leg_key},
    ledger::{Books, TRANSACTIONS, payment},
    parsed, random, text,
};
use table::Dynamo;

fn now() -> TimestampMillis {
    parsed("2099-11-30T12:00:00.123Z")
}

fn transfer(key: &str, debit: &str, credit: &str, amount: &str) -> Transfer {
    Transfer {
        key: parsed(key),
        debit: parsed(debit),
        credit: parsed(credit),
        amount: Money::new(parsed(amount), parsed("USD")).expect("an amount"),
        transaction_type: parsed("payment"),
    }
}

/// The transfers of a service that reaches DynamoDB at `endpoint`, with the permissions of
/// `process-payment`.
fn transfers(books: &Books, endpoint: &str) -> Transfers {
    let lambda = books.stack.template().lambdas.iter().find(|lambda| lambda.name == "process-payment");
    let lambda = lambda.expect("a function");
    let client = books.stack.client_of(lambda).config().to_builder().endpoint_url(endpoint).build();
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::from_conf(client), random());
    let settings: function::Settings = lambda.environment.clone().into_iter().collect();
    settings.read(|reader| Transfers::start(reader, &dynamo.into(), "bank")).expect("valid settings")
}

async fn run(transfers: &Transfers, transfer: &Transfer) -> TransferOutcome {
    transfers.transfer(transfer.clone(), now(), &random()).await
}

fn completed(outcome: &TransferOutcome) -> TransactionId {
    let TransferOutcome::Completed(id) = outcome else { unreachable!("{outcome:?}") };
    id.clone()
}

fn rejected(outcome: &TransferOutcome) -> Rejection {
    let TransferOutcome::Rejected(reason) = outcome else { unreachable!("{outcome:?}") };
    *reason
}

#[tokio::test]
async fn a_key_posts_once() {
    let books = Books::open().await;
    let (from, to) = (books.funded("ann", "100").await, books.account("bob").await);
    let transfers = transfers(&books, books.stack.dynamo_url());
    let wanted = transfer("P-1", &from, &to, "12.50");
    let outcomes = join_all((0..8).map(|_| run(&transfers, &wanted))).await;
    let id = transfers.transaction_id_of(&parsed("P-1"));
    assert!(outcomes.iter().all(|outcome| completed(outcome) == id));
    assert_eq!((books.balance(&from).await, books.balance(&to).await), ("87.50".to_owned(), "12.50".to_owned()));
    // Another transfer with the same key has no effect.
    for other in [transfer("P-1", &from, &to, "13"), transfer("P-1", &to, &from, "12.50")] {
        assert!(matches!(run(&transfers, &other).await, TransferOutcome::Unavailable(function::Error::KeyReused)));
    }
    assert_eq!(books.balance(&to).await, "12.50");
    let answer = books.operator.get(&format!("{TRANSACTIONS}/{id}")).await;
    assert_eq!((text(&answer.body, "createdBy"), text(&answer.body, "idempotencyKey")), ("service:bank", "P-1"));
    let found = transfers.posted(&[id.clone(), parsed("T-none")]).await.expect("transactions");
    assert_eq!((found.posted.keys().collect::<Vec<_>>(), found.posted[&id].is_reversed), (vec![&id], false));
    assert_eq!(found.posted[&id].amount.map(|amount| amount.to_string()).as_deref(), Some("12.50 USD"));
    let reversed = books.operator.post_once(&format!("{TRANSACTIONS}/{id}/reversal"), "R-1", &json!({})).await;
    assert_eq!(reversed.status, 201, "{}", reversed.body);
    let found = transfers.posted(std::slice::from_ref(&id)).await.expect("transactions");
    assert!(found.posted[&id].is_reversed);
    books.stack.stop().await;
}

/// Neither an incomplete transaction nor an unreadable account is a reason to refuse a transfer.
#[tokio::test]
async fn an_incomplete_or_unreadable_item_leaves_the_outcome_open() {
    let books = Books::open().await;
    let (from, to) = (books.funded("ann", "100").await, books.account("bob").await);
    let (transfers, rows) = (transfers(&books, books.stack.dynamo_url()), Rows::of(&books.stack));
    let wanted = transfer("P-1", &from, &to, "12.50");
    let id = completed(&run(&transfers, &wanted).await);
    rows.delete(&leg_key(id.as_str(), 2)).await;
    // Attempts end at once if little time is left.
    let deadline = tokio::time::Instant::now() + Duration::from_millis(1_500);
    let (outcome, _) = table::measured(deadline, run(&transfers, &wanted)).await;
    assert!(
        matches!(outcome, TransferOutcome::Unavailable(function::Error::Table(table::Error::Underway))),
        "{outcome:?}"
    );
    let surprise = json!({"Type": {"S": "Surprise"}});
    rows.set(&header_key(id.as_str()), surprise).await;
    assert!(matches!(run(&transfers, &wanted).await, TransferOutcome::Unavailable(_)));
    let found = transfers.posted(std::slice::from_ref(&id)).await.expect("transactions");
    assert!(found.posted.is_empty() && found.unreadable(&id).is_some());
    for (number, broken) in [&from, &to].into_iter().enumerate() {
        rows.set(&account_key(broken), json!({"Status": {"S": "broken"}})).await;
        let wanted = transfer(&format!("P-unreadable-{number}"), &from, &to, "1");
        assert!(matches!(run(&transfers, &wanted).await, TransferOutcome::Unavailable(_)));
        rows.set(&account_key(broken), json!({"Status": {"S": "active"}})).await;
        completed(&run(&transfers, &wanted).await);
    }
    assert_eq!(books.balance(&from).await, "85.50");
    books.stack.stop().await;
}

/// The subject of the user's token is the name of the service.
#[tokio::test]
async fn no_user_can_take_the_id_of_a_transfer() {
    let books = Books::open().await;
    let (from, to) = (books.funded("service:bank", "100").await, books.account("bob").await);
    let transfers = transfers(&books, books.stack.dynamo_url());
    let user = books.user("service:bank");
    let answer = user.post_once(TRANSACTIONS, "P-1", &payment(&from, &to, "1")).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let id = completed(&run(&transfers, &transfer("P-1", &from, &to, "1")).await);
    assert_ne!(text(&answer.body, "transactionId"), id.as_str());
    assert_eq!(books.balance(&from).await, "98.00");
    books.stack.stop().await;
}

#[tokio::test]
async fn a_rejection_is_final_and_discloses_only_the_debited_account() {
    let books = Books::open().await;
    let (from, to) = (books.funded("ann", "10").await, books.account("bob").await);
    let frozen = books.funded("ann", "10").await;
    let path = format!("/ledger/accounts/{frozen}");
    assert_eq!(books.operator.patch(&path, &json!({"status": "frozen"})).await.status, 200);
    let euros = json!({"userId": "bob", "accountType": "checking", "currency": "EUR"});
    let euros = books.operator.post("/ledger/accounts", &euros).await;
    let euros = text(&euros.body, "accountId");
    let transfers = transfers(&books, books.stack.dynamo_url());
    let cases = [
        ("P-funds", transfer("P-funds", &from, &to, "10.01"), Rejection::InsufficientFunds),
        ("P-frozen", transfer("P-frozen", &frozen, &to, "1"), Rejection::AccountFrozen),
        ("P-missing", transfer("P-missing", "none", &to, "1"), Rejection::UnknownAccount),
        ("P-euros", transfer("P-euros", euros, &to, "1"), Rejection::CurrencyMismatch),
        ("P-to-missing", transfer("P-to-missing", &from, "none", "1"), Rejection::CreditUnavailable),
        ("P-to-frozen", transfer("P-to-frozen", &to, &frozen, "0.01"), Rejection::InsufficientFunds),
        ("P-to-euros", transfer("P-to-euros", &from, euros, "1"), Rejection::CreditUnavailable),
        ("P-same", transfer("P-same", &from, &from, "1"), Rejection::SameAccount),
        ("P-nothing", transfer("P-nothing", &from, &to, "0"), Rejection::NotPositive),
        ("P-negative", transfer("P-negative", &from, &to, "-1"), Rejection::NotPositive),
    ];
    for (key, wanted, reason) in &cases {
        assert_eq!(rejected(&run(&transfers, wanted).await), *reason, "{key}");
    }
    // The causes have ended, but the rejections are final.
    books.pay("more", &books.outside, &from, "100").await;
    books.pay("more-to", &books.outside, &to, "100").await;
    assert_eq!(books.operator.patch(&path, &json!({"status": "active"})).await.status, 200);
    for (key, wanted, reason) in &cases {
        assert_eq!(rejected(&run(&transfers, wanted).await), *reason, "{key}");
    }
    assert_eq!(books.balance(&from).await, "110.00");
    let ids: Vec<_> = cases.iter().map(|(key, ..)| transfers.transaction_id_of(&parsed(key))).collect();
    assert!(transfers.posted(&ids).await.expect("transactions").posted.is_empty());
    for id in &ids {
        assert_eq!(books.operator.get(&format!("{TRANSACTIONS}/{id}")).await.status, 404);
    }
    books.stack.stop().await;
}

/// An attempt is held between its read and its write. Meanwhile, another attempt with the same key
/// is rejected, and the reason goes away.
#[tokio::test]
async fn a_delayed_attempt_cannot_post_after_a_rejection() {
    let books = Books::open().await;
    let (from, to, other) = (books.funded("ann", "10").await, books.account("bob").await, books.account("eve").await);
    let proxy = Proxy::start(books.stack.dynamo_url()).await;
    let (slow, fast) = (transfers(&books, proxy.url()), transfers(&books, books.stack.dynamo_url()));
    let wanted = transfer("P-1", &from, &to, "10");
    proxy.rule(|call| if call.action == "TransactWriteItems" { Fault::Held } else { Fault::None });
    let delayed = {
        let (slow, wanted) = (slow.clone(), wanted.clone());
        tokio::spawn(async move { run(&slow, &wanted).await })
    };
    proxy.held(1).await;
    assert_eq!(books.pay("elsewhere", &from, &other, "5").await.status, 201);
    assert_eq!(rejected(&run(&fast, &wanted).await), Rejection::InsufficientFunds);
    assert_eq!(books.pay("back", &other, &from, "5").await.status, 201);
    proxy.release();
    assert_eq!(rejected(&delayed.await.expect("no panic")), Rejection::InsufficientFunds);
    assert_eq!((books.balance(&from).await, books.balance(&to).await), ("10.00".to_owned(), "0.00".to_owned()));
    books.stack.stop().await;
}
