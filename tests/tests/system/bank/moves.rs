//! Status changes of payments: allowed changes, who may make them, and transaction ids
//! (docs/requirements/bank.md#payment-statuses).

use bank::Payment;
use events::Auth;
use futures::future::join_all;
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use system_tests::{
    Client, assert_problem,
    bank::{archive, payment, payments, put, rows, stack, transactions},
};

const TIME: &str = "2099-12-01T09:30:00Z";
const LIST: &str = "/bank/accounts/A-1/payments";
const MOVES: [(Status, Status); 4] = [
    (Status::Scheduled, Status::Pending),
    (Status::Scheduled, Status::Cancelled),
    (Status::Pending, Status::Processed),
    (Status::Pending, Status::Failed),
];

fn path(payment: &Payment) -> String {
    format!("/bank/accounts/{}/payments/{}", payment.account, payment.id())
}

fn processed(transaction: &str) -> Value {
    json!({"status": "PROCESSED", "transactionId": transaction})
}

/// Number of payments, guards of transaction ids and transactions with the id.
async fn named(stack: &Stack, id: &str) -> [usize; 3] {
    let guards = rows(stack, "PaymentScheduler", "TransactionGuard").await;
    let guard = format!("TRANSACTION#{id}");
    [
        payments(stack).await.iter().filter(|row| row.get("TransactionId").is_some_and(|of| of == id)).count(),
        guards.iter().filter(|row| row["PK"] == guard).count(),
        transactions(stack).await.iter().filter(|row| row.get("GSI2PK").is_some_and(|of| of == id)).count(),
    ]
}

#[tokio::test]
async fn four_status_changes_are_allowed_and_a_customer_may_only_cancel() {
    let stack = stack().auth(Auth::Required).start().await.expect("a stack");
    let operator = Client::caller(&stack, "bank:operate", &[]);
    let customer = Client::caller(&stack, "bank:read bank:write", &["A-1"]);
    for (from, to) in Status::ALL.into_iter().flat_map(|from| Status::ALL.map(|to| (from, to))) {
        let one = payment("A-1", TIME, from, 0);
        put(&stack, std::slice::from_ref(&one)).await;
        let (path, id) = (path(&one), format!("T-{from}-{to}"));
        let body = if to == Status::Processed { processed(&id) } else { json!({"status": to.as_str()}) };
        let (before, is_allowed) = (operator.get(&path).await.body, MOVES.contains(&(from, to)));
        let mut answer = customer.patch(&path, &body).await;
        if to != Status::Cancelled {
            assert_problem(&answer, 403, "forbidden");
            assert_eq!((operator.get(&path).await.body, named(&stack, &id).await), (before.clone(), [0; 3]));
            answer = operator.patch(&path, &body).await;
        }
        if is_allowed {
            assert_eq!((answer.status, &answer.body["status"]), (200, &json!(to.as_str())), "{}", answer.body);
            let mut stored = operator.get(&path).await.body;
            let scope = if to == Status::Cancelled { "bank:write" } else { "bank:operate" };
            assert_eq!(stored["changedBy"], json!({"sub": "tester", "scope": scope}));
            if to == Status::Cancelled {
                stored.as_object_mut().expect("a payment").remove("changedBy");
            }
            assert_eq!(stored, answer.body);
        } else {
            assert_problem(&answer, 409, "status-conflict");
            assert_eq!((operator.get(&path).await.body, named(&stack, &id).await), (before, [0; 3]), "{from} to {to}");
        }
    }
    stack.stop().await;
}

#[tokio::test]
async fn operators_see_who_changed_a_payment_last() {
    let stack = stack().start().await.expect("a stack");
    let customer = Client::caller(&stack, "bank:read bank:write", &["A-1"]);
    let [ann, bob] = ["ann", "bob"].map(|user| Client::member(&stack, "bank:operate", "none", user));
    let by = |user: &str| json!({"sub": user, "scope": "bank:operate"});
    let created = customer.post(LIST, &json!({"scheduledTime": TIME, "data": {}})).await.body;
    let path = format!("{LIST}/{}", created["paymentId"].as_str().expect("an id"));
    let seen = async |client: &Client, path: &str| client.get(path).await.body.get("changedBy").cloned();
    assert_eq!((created.get("changedBy"), seen(&customer, &path).await), (None, None));
    assert_eq!(seen(&ann, &path).await, Some(json!({"sub": "tester", "scope": "bank:write"})));
    for (client, status, author) in [(&ann, "PENDING", "ann"), (&bob, "FAILED", "bob")] {
        assert_eq!(client.patch(&path, &json!({"status": status})).await.body["changedBy"], by(author));
        assert_eq!(seen(&ann, &path).await, Some(by(author)));
        let due = ann.get(&format!("/bank/payments/due?date=2099-12-01&status={status}")).await.body;
        assert_eq!(due["items"][0]["changedBy"], by(author));
    }
    assert_eq!(archive(&Client::operator(&stack), "2099-12-01").await, 1);
    let archived = "/bank/accounts/A-1/transactions";
    assert_eq!((seen(&ann, &path).await, seen(&customer, &path).await), (Some(by("bob")), None));
    assert_eq!(ann.get(archived).await.body["items"][0]["changedBy"], by("bob"));
    assert_eq!(customer.get(archived).await.body["items"][0].get("changedBy"), None);
    let new = json!({"scheduledTime": TIME, "data": 1});
    let scheduled = ann.post_once(LIST, "K-1", &new).await.body;
    assert_eq!(scheduled["changedBy"], by("ann"));
    assert_eq!(bob.post_once(LIST, "K-1", &new).await.body, scheduled, "a repeated request keeps the author");
    let retried = ann.post(&format!("{path}/retry"), &json!({})).await.body;
    assert_eq!(retried["changedBy"], by("ann"));
    assert_eq!(
        bob.post(&format!("{path}/retry"), &json!({})).await.body,
        retried,
        "a repeated request keeps the author"
    );
    stack.stop().await;
}

#[tokio::test]
async fn a_transaction_id_belongs_to_one_payment_even_after_archiving() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let pending: Vec<Payment> =
        (0..20).map(|number| payment(&format!("A-{}", number % 4), TIME, Status::Pending, number % 5)).collect();
    put(&stack, &pending).await;
    let moved_to = async |payment: &Payment, id: &str| client.patch(&path(payment), &processed(id)).await;
    let answers = join_all(pending.iter().map(|payment| moved_to(payment, "T-1"))).await;
    let (won, lost): (Vec<_>, Vec<_>) = pending.iter().zip(&answers).partition(|(_, answer)| answer.status == 200);
    assert_eq!((won.len(), named(&stack, "T-1").await), (1, [1, 1, 0]));
    assert_eq!(archive(&client, "2099-12-01").await, 1);
    for (payment, refused) in &lost {
        assert_problem(refused, 409, "transaction-id-used");
        assert_problem(&moved_to(payment, "T-1").await, 409, "transaction-id-used");
    }
    assert_eq!(named(&stack, "T-1").await, [0, 1, 1]);
    for ((payment, _), id) in lost.iter().zip(["T-2", "t-1"]) {
        assert_eq!(moved_to(payment, id).await.body["transactionId"], id);
    }
    stack.stop().await;
}
