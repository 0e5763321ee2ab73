//! Status changes of payments: allowed changes, races, and faults between the function and the
//! table (docs/requirements/bank.md#payment-statuses).

use bank::Payment;
use futures::future::join_all;
use keys::bank::Status;
use local::{Builder, Stack};
use serde_json::{Value, json};
use system_tests::{
    Client, assert_problem,
    bank::{Row, payment, payments, put, rows, stack, transactions},
    changed,
    faults::{Call, Fault, Moment, Twins},
};

const TIME: &str = "2099-12-01T09:30:00Z";
const MOVES: [(Status, Status); 4] = [
    (Status::Scheduled, Status::Pending),
    (Status::Scheduled, Status::Cancelled),
    (Status::Pending, Status::Processed),
    (Status::Pending, Status::Failed),
];

/// Puts a payment with the status and returns its path.
async fn standing(stack: &Stack, account: &str, status: Status) -> String {
    let payment = payment(account, TIME, status, 0);
    put(stack, std::slice::from_ref(&payment)).await;
    path(&payment)
}

fn path(payment: &Payment) -> String {
    format!("/bank/accounts/{}/payments/{}", payment.account, payment.id())
}

fn to(status: Status) -> Value {
    match status {
        Status::Processed => processed("T-1"),
        other => json!({"status": other.as_str()}),
    }
}

fn processed(transaction: &str) -> Value {
    json!({"status": "PROCESSED", "transactionId": transaction})
}

/// All items that status changes can write.
async fn all(stack: &Stack) -> Vec<Row> {
    let guards = rows(stack, "PaymentScheduler", "TransactionGuard").await;
    [payments(stack).await, guards, transactions(stack).await].concat()
}

#[tokio::test]
async fn allows_exactly_four_status_changes() {
    for from in Status::ALL {
        let stack = stack().start().await.expect("a stack");
        let client = Client::operator(&stack);
        for target in Status::ALL {
            let path = standing(&stack, "A-1", from).await;
            let before = all(&stack).await;
            let answer = client.patch(&path, &to(target)).await;
            if MOVES.contains(&(from, target)) {
                assert_eq!((answer.status, &answer.body["status"]), (200, &json!(target.as_str())), "{}", answer.body);
                assert_eq!(client.get(&path).await.body, answer.body);
            } else {
                assert_problem(&answer, 409, "status-conflict");
                assert_eq!(all(&stack).await, before, "{from} to {target} was rejected but changed an item");
            }
        }
    }
}

#[tokio::test]
async fn one_of_twenty_concurrent_changes_succeeds() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for (from, target) in MOVES {
        let path = standing(&stack, "A-1", from).await;
        let body = to(target);
        let (won, lost): (Vec<_>, Vec<_>) =
            join_all((0..20).map(|_| client.patch(&path, &body))).await.into_iter().partition(|one| one.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 19), "{from} to {target}");
        for answer in &lost {
            assert_problem(answer, 409, "status-conflict");
        }
        assert_eq!(client.get(&path).await.body, won[0].body);
    }
}

#[tokio::test]
async fn transaction_id_cannot_be_reused_even_after_archiving() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let first = standing(&stack, "A-1", Status::Pending).await;
    let others = [standing(&stack, "A-1", Status::Pending).await, standing(&stack, "A-2", Status::Pending).await];
    assert_eq!(client.patch(&first, &processed("T-1")).await.status, 200);
    for archived in [false, true] {
        if archived {
            let run = client.invoke("archive-settled-payments", &json!({"date": "2099-12-01"})).await;
            assert_eq!(run.body["moved"], 1, "{}", run.body);
        }
        let before = all(&stack).await;
        for other in &others {
            assert_problem(&client.patch(other, &processed("T-1")).await, 409, "transaction-id-used");
        }
        assert_eq!(all(&stack).await, before, "archived: {archived}");
    }
    for (other, id) in others.iter().zip(["T-2", "t-1"]) {
        assert_eq!(client.patch(other, &processed(id)).await.body["transactionId"], id);
    }
}

#[tokio::test]
async fn concurrent_payments_cannot_share_a_transaction_id() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let pending: Vec<Payment> =
        (0..20).map(|number| payment(&format!("A-{}", number % 4), TIME, Status::Pending, number % 5)).collect();
    put(&stack, &pending).await;
    let body = processed("T-1");
    let moves = pending.iter().map(|payment| async { client.patch(&path(payment), &body).await });
    let (won, lost): (Vec<_>, Vec<_>) = join_all(moves).await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!(won.len(), 1);
    for answer in &lost {
        assert_problem(answer, 409, "transaction-id-used");
    }
    let named: Vec<Row> = payments(&stack)
        .await
        .into_iter()
        .filter(|row| row.get("TransactionId").is_some_and(|id| id == "T-1"))
        .collect();
    assert_eq!(named.len(), 1);
    assert!(named[0]["GSI1SK"].starts_with("PROCESSED#"), "{named:?}");
}

type Rule = fn(&Call) -> Fault;

/// Temporary faults that retries must hide from the caller, each with a description.
const HEALED: [(&str, Rule); 9] = [
    ("an update whose response is lost", |call| once(call, "UpdateItem", 1, Fault::Lost(Moment::After))),
    ("an update that is lost", |call| once(call, "UpdateItem", 1, Fault::Lost(Moment::Before))),
    ("an update that conflicts with a transaction", |call| once(call, "UpdateItem", 2, Fault::conflict())),
    ("an update that is throttled", |call| once(call, "UpdateItem", 1, Fault::throttled())),
    ("an update with an internal error", |call| once(call, "UpdateItem", 1, Fault::internal())),
    ("a transaction whose response is lost", |call| once(call, "TransactWriteItems", 1, Fault::Lost(Moment::After))),
    ("a transaction that is lost", |call| once(call, "TransactWriteItems", 1, Fault::Lost(Moment::Before))),
    ("a transaction that conflicts with another", |call| {
        once(call, "TransactWriteItems", 3, Fault::cancelled(&["TransactionConflict", "None"]))
    }),
    ("a transaction that is retried while in progress", |call| match (call.action.as_str(), call.nth) {
        ("TransactWriteItems", 1) => Fault::Lost(Moment::After),
        // The SDK's retries fail. The function then sends a new transaction, whose condition fails
        // because the first transaction was completed.
        ("TransactWriteItems", 2 | 3) => Fault::in_progress(),
        _ => Fault::None,
    }),
];

/// Injects the fault into the first calls of the action.
fn once(call: &Call, action: &str, times: usize, fault: Fault) -> Fault {
    if call.action == action && call.nth <= times { fault } else { Fault::None }
}

#[tokio::test]
async fn temporary_faults_are_invisible_to_the_caller() {
    join_all(HEALED.map(async |(what, rule)| {
        let twins = Twins::start(stack).await;
        let path = standing(&twins.healthy, "A-1", Status::Scheduled).await;
        let (faulty, healthy) = (Client::operator(&twins.faulty), Client::operator(&twins.healthy));
        twins.proxy.rule(rule);
        for (target, body) in [(Status::Pending, to(Status::Pending)), (Status::Processed, processed("T-1"))] {
            let moved = faulty.patch(&path, &body).await;
            assert_eq!((moved.status, &moved.body["status"]), (200, &json!(target.as_str())), "{what}: {}", moved.body);
            assert_eq!(healthy.get(&path).await.body, moved.body, "{what}");
        }
        let writes = twins.proxy.count("UpdateItem") + twins.proxy.count("TransactWriteItems");
        assert!(writes > 2, "{what}: the fault was not injected");
    }))
    .await;
}

/// Stack whose functions have a timeout of one second instead of ten.
fn impatient() -> Builder {
    changed("bank", ("\n    Timeout: 10\n", 1), "\n    Timeout: 1\n")
}

#[tokio::test]
async fn failed_reads_return_a_problem() {
    for (fault, status, kind) in [(Fault::Silence, 503, "unavailable"), (Fault::throttled(), 429, "throttled")] {
        let twins = Twins::start(if matches!(fault, Fault::Silence) { impatient } else { stack }).await;
        let path = standing(&twins.healthy, "A-1", Status::Pending).await;
        let client = Client::operator(&twins.faulty);
        twins.proxy.rule(move |_| fault.clone());
        let body = processed("T-1");
        let lists = [
            "/bank/accounts/A-1/payments",
            "/bank/payments/due?date=2099-12-01",
            "/bank/transactions/T-1",
            path.as_str(),
        ];
        let reads = join_all(lists.map(|path| client.get(path)));
        let (mut answers, moved) = futures::join!(reads, client.patch(&path, &body));
        answers.push(moved);
        for answer in &answers {
            assert_problem(answer, status, kind);
        }
    }
}

/// Cancellation reasons of a transaction, and the expected status and problem type.
const CANCELLED: [(&[&str], u16, &str); 5] = [
    (&["TransactionConflict", "None"], 503, "unavailable"),
    (&["None", "ThrottlingError"], 429, "throttled"),
    (&["TransactionConflict", "ProvisionedThroughputExceeded"], 503, "unavailable"),
    (&["TransactionConflict", "ConditionalCheckFailed"], 409, "transaction-id-used"),
    (&["ValidationError", "TransactionConflict"], 500, "internal"),
];

#[tokio::test]
async fn cancelled_transaction_returns_the_problem_for_its_reasons() {
    join_all(CANCELLED.map(async |(codes, status, kind)| {
        let twins = Twins::start(stack).await;
        let path = standing(&twins.healthy, "A-1", Status::Pending).await;
        let before = all(&twins.healthy).await;
        twins.proxy.rule(|call| once(call, "TransactWriteItems", usize::MAX, Fault::cancelled(codes)));
        let answer = Client::operator(&twins.faulty).patch(&path, &processed("T-1")).await;
        assert_problem(&answer, status, kind);
        assert_eq!(all(&twins.healthy).await, before);
        let again = matches!(status, 429 | 503);
        assert_eq!(twins.proxy.count("TransactWriteItems") > 1, again, "{codes:?}: wrong number of attempts");
    }))
    .await;
}
