//! Tests of the execution (B11): outcomes, faults, and decisions of operators
//! (docs/requirements/bank.md#execute-payments).

use super::cost::{assert_cost, case};
use aws_sdk_dynamodb::types::AttributeValue;
use bank::{Execution, Payment, Switch};
use function::ChangedBy;
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::HashMap, time::Duration};
use system_tests::{
    Answer, Client, assert_problem,
    bank::{Row, archive, handed_over, path, payment, payments, payments_table, put, scheduled_at},
    drained, dynamo,
    faults::{Call, Fault, Process, Proxy},
    ledger::{Books, HOLDS, hold},
    metrics::Metrics,
    parsed,
    payer::{Payer, Reply},
    send, stack, text, until,
};
use table::Projection;

const EXECUTE: &str = "execute-payment";
const NOW: &str = "2099-12-01T09:30:00Z";
const MINUTE: Duration = Duration::from_mins(1);
/// The metric of the alarm for payments that an operator must review.
const TO_REVIEW: &str = "PaymentsToReview";

/// A payment that the dispatch has handed over.
fn due(account: &str, data: &Value) -> Payment {
    Payment {
        execution: Some(Execution::Due),
        next_attempt_at: Some(parsed("2099-12-01T10:30:00Z")),
        dispatched_at: Some(parsed(NOW)),
        data: serde_json::from_value(Value::String(data.to_string())).expect("data"),
        ..payment(account, NOW, Status::Pending, 3)
    }
}

fn transfer(to: &str, amount: &str) -> Value {
    json!({"creditAccountId": to, "amount": amount, "currency": "USD", "note": "rent"})
}

/// The stream event for these payments. The sequence number of a record is its index.
fn event<'a>(payments: impl IntoIterator<Item = &'a Payment>) -> Value {
    let record = |(index, payment): (usize, &Payment)| {
        let keys = json!({"PK": {"S": payment.key().partition()}, "SK": {"S": payment.key().sort()}});
        json!({"eventName": "MODIFY", "dynamodb": {"SequenceNumber": index.to_string(), "Keys": keys}})
    };
    json!({"Records": payments.into_iter().enumerate().map(record).collect::<Vec<_>>()})
}

/// The sequence number from which the batch must be retried.
fn retried_from(answer: &Answer) -> Option<&str> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["batchItemFailures"][0]["itemIdentifier"].as_str()
}

/// The bank and the ledger that executes its payments.
async fn with_ledger() -> Books {
    Books::of(stack().stacks(["bank", "ledger"]).start().await.expect("a stack")).await
}

async fn row(stack: &Stack, payment: &Payment) -> Row {
    let rows = payments(stack).await;
    rows.into_iter().find(|row| row["SK"].ends_with(&payment.id().to_string())).expect("the payment")
}

async fn status(stack: &Stack, payment: &Payment) -> String {
    let row = row(stack, payment).await;
    row["GSI1SK"].split('#').next().expect("a status").to_owned()
}

/// A bank whose payments are executed by a test service.
struct Bank {
    stack: Stack,
    client: Client,
    payer: Payer,
}

impl Bank {
    /// Starts a bank. The test invokes the executor.
    async fn start(attempts: u8, concurrency: u8) -> Self {
        let payer = Payer::start().await;
        let stack = handed_over(payer.url())
            .parameter("MaxAttempts", attempts.to_string())
            .parameter("ExecutionConcurrency", concurrency.to_string());
        let stack = stack.start().await.expect("a stack");
        let client = Client::operator(&stack);
        Self { stack, client, payer }
    }

    /// Puts a payment that the dispatch has handed over.
    async fn due(&self) -> Payment {
        let payment = due("A-1", &json!({"to": "IBAN"}));
        put(&self.stack, std::slice::from_ref(&payment)).await;
        payment
    }

    async fn execute(&self, payments: &[Payment]) -> Answer {
        self.client.invoke(EXECUTE, &event(payments)).await
    }

    async fn execute_one(&self, payment: &Payment) -> Answer {
        self.execute(std::slice::from_ref(payment)).await
    }

    async fn patch(&self, payment: &Payment, body: &Value) -> Answer {
        let shown = json!({"accountId": payment.account, "paymentId": payment.id()});
        self.client.patch(&path(&shown), body).await
    }
}

#[tokio::test]
async fn payments_are_posted_in_the_ledger() {
    let books = with_ledger().await;
    let (ann, bob) = (books.funded("ann", "100").await, books.funded("bob", "1").await);
    // An expired hold, which the payments release.
    let mut reserved = hold(&ann, &bob, "95");
    reserved["expiresAt"] = json!("2020-01-02T00:00:00Z");
    let reserved = books.at(parsed("2020-01-01T00:00:00Z")).post_once(HOLDS, "H", &reserved).await;
    assert_eq!(reserved.status, 201, "{}", reserved.body);
    let customer = Client::caller(&books.stack, "bank:read bank:write", &[&ann]);
    let now = jiff::Timestamp::now().to_string();
    let of_bob = json!({"creditAccountId": ann, "debitAccountId": bob, "amount": "1.00", "currency": "USD"});
    let mut payments = Vec::new();
    for (client, data, reason) in [
        (&customer, transfer(&bob, " 12.50 "), None),
        (&books.operator, of_bob.clone(), None),
        (&customer, of_bob, Some("debitAccountId names another account, which requires bank:operate.")),
        (&customer, transfer(&bob, "1000"), Some("The account has insufficient funds.")),
        (&customer, transfer("nobody", "1"), Some("The account to credit is not available for this payment.")),
        (&customer, json!("12.50"), Some("data does not say what to pay: it is not an object")),
    ] {
        let new = json!({"scheduledTime": now, "data": data});
        let answer = client.post(&format!("/bank/accounts/{ann}/payments"), &new).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        payments.push((path(&answer.body), reason));
    }
    let dispatched = books.operator.invoke("dispatch-due-payments", &json!({})).await;
    assert_eq!(dispatched.body["claimed"], 6, "{}", dispatched.body);
    let mut paid = Vec::new();
    for (path, reason) in payments {
        let found = until(&customer, &path, |answer| answer.body["status"] != "PENDING").await.body;
        assert_eq!(found["status"], if reason.is_none() { "PROCESSED" } else { "FAILED" }, "{found}");
        assert_eq!((found["failureReason"].as_str(), found["settledAt"].is_string()), (reason, true), "{found}");
        assert!(found.get("nextAttemptAt").is_none(), "{found}");
        paid.extend(found["transactionId"].as_str().map(str::to_owned));
    }
    assert_eq!((books.balance(&ann).await.as_str(), books.balance(&bob).await.as_str()), ("88.50", "12.50"));
    let transaction = books.operator.get(&format!("/ledger/transactions/{}", paid[0])).await.body;
    assert_eq!((text(&transaction, "amount"), text(&transaction, "transactionType")), ("12.50", "payment"));
    books.stack.stop().await;
}

/// A ledger and an executor that can crash. The event source mapping passes over all payments,
/// because dispatching is disabled while they are put.
struct Crashing {
    books: Books,
    proxy: Proxy,
    ann: String,
    bob: String,
}

impl Crashing {
    async fn start() -> Self {
        let books = with_ledger().await;
        let (ann, bob) = (books.funded("ann", "1000").await, books.account("bob").await);
        let proxy = Proxy::start(books.stack.dynamo_url()).await;
        Self { books, proxy, ann, bob }
    }

    async fn switch(&self, enabled: bool) {
        let switch = payments_table(&self.books.stack)
            .put(&Switch::new(enabled, parsed(NOW), ChangedBy::default()))
            .expect("a switch");
        dynamo(&self.books.stack).write(switch).await.expect("written");
    }

    async fn put(&self, payments: &[Payment]) {
        self.switch(false).await;
        put(&self.books.stack, payments).await;
        drained(&self.books.operator, EXECUTE).await;
        self.switch(true).await;
    }

    fn executor(&self) -> Process<'_> {
        Process::start(&self.books.stack, &self.proxy, EXECUTE, &(bank::patterns::execute_payment::PATTERN.function)())
    }
}

/// Another writer changes the credited account first, each time.
#[tokio::test]
async fn a_payment_that_conflicts_is_retried_and_uses_no_attempt() {
    let world = Crashing::start().await;
    let carl = world.books.funded("carl", "1").await;
    let (hot, other) = (due(&world.ann, &transfer(&world.bob, "1")), due(&carl, &transfer(&world.books.outside, "1")));
    let both = [hot.clone(), other.clone()];
    world.put(&both).await;
    let before = row(&world.books.stack, &hot).await;
    let bob = world.bob.clone();
    let conflict = move |call: &Call| call.action == "TransactWriteItems" && call.body.to_string().contains(&bob);
    world.proxy.rule(move |call| if conflict(call) { Fault::cancelled(&["TransactionConflict"]) } else { Fault::None });
    let run = world.executor().run(&event(&both), Duration::from_secs(3)).await.expect("no crash");
    assert_eq!(run.answer.expect("an answer")["batchItemFailures"], json!([{"itemIdentifier": "0"}]));
    assert_eq!(row(&world.books.stack, &hot).await, before);
    assert_eq!(status(&world.books.stack, &other).await, "PROCESSED");
    world.proxy.heal();
    let again = world.executor().run(&event(&both), MINUTE).await.expect("no crash").answer.expect("an answer");
    assert_eq!(again["batchItemFailures"], json!([]));
    assert_eq!(status(&world.books.stack, &hot).await, "PROCESSED");
}

/// An incomplete transaction looks like contention, but repeating the record never ends it.
#[tokio::test]
async fn an_incomplete_transaction_of_the_ledger_is_an_unknown_outcome() {
    let world = Crashing::start().await;
    let (books, stack) = (&world.books, &world.books.stack);
    let client = stack.client().expect("a client");
    for lost in ["Transaction", "TransactionLeg"] {
        // The next attempt is the last one.
        let payment = Payment { attempts: 9, ..due(&world.ann, &transfer(&world.bob, "1")) };
        let batch = event([&payment]);
        world.put(std::slice::from_ref(&payment)).await;
        world.executor().run(&batch, MINUTE).await.expect("no crash");
        let partition = format!("TXN#{}", row(stack, &payment).await["TransactionId"]);
        let items = books.partition(None, &partition).await;
        let is_lost = |item: &&HashMap<String, AttributeValue>| item["Type"] == AttributeValue::S(lost.to_owned());
        let item = items.iter().find(is_lost).expect("an item");
        let delete = client.delete_item().table_name(books.table()).key("PK", item["PK"].clone());
        delete.key("SK", item["SK"].clone()).send().await.expect("deleted");

        world.put(std::slice::from_ref(&payment)).await;
        let run = world.executor().run(&batch, Duration::from_secs(3)).await.expect("no crash");
        assert_eq!(run.answer.expect("an answer")["batchItemFailures"], json!([]), "{lost}");
        let stored = row(stack, &payment).await;
        assert!(stored["GSI1SK"].starts_with("PENDING#"), "{lost}: {stored:?}");
        assert_eq!((stored["Execution"].as_str(), stored["Attempts"].as_str()), ("exhausted", "10"), "{lost}");
        // It was dispatched too recently for the other reason to be overdue.
        let (overdue, _) = books.operator.all("/bank/payments/overdue").await;
        let id = payment.id().to_string();
        assert!(overdue.iter().any(|listed| text(listed, "paymentId") == id), "{lost}: {overdue:?}");
    }
}

#[tokio::test]
async fn an_attempt_without_an_outcome_is_repeated_until_an_operator_decides() {
    let bank = Bank::start(3, 10).await;
    let metrics = Metrics::default();
    let _guard = metrics.record();
    let payment = bank.due().await;
    for (attempts, reply) in [("1", Reply::Status(500)), ("2", Reply::PayInSilence), ("3", Reply::Status(409))] {
        bank.payer.rule(move |_| reply.clone());
        let in_execution = bank.patch(&payment, &json!({"status": "FAILED"})).await;
        assert_problem(&in_execution, 409, "execution-under-way");
        assert_eq!(retried_from(&bank.execute_one(&payment).await), None);
        let stored = row(&bank.stack, &payment).await;
        assert_eq!((stored["Attempts"].as_str(), stored["GSI1SK"].starts_with("PENDING#")), (attempts, true));
        let exhausted = attempts == "3";
        assert_eq!(stored["Execution"], if exhausted { "exhausted" } else { "waiting" });
        assert_eq!(stored.contains_key("NextAttemptAt"), !exhausted, "{stored:?}");
        // A record that arrives again changes nothing, and repeats the alarm.
        assert_eq!(metrics.take(TO_REVIEW), u64::from(exhausted));
        assert_eq!(retried_from(&bank.execute_one(&payment).await), None);
        assert_eq!(metrics.take(TO_REVIEW), u64::from(exhausted));
        assert_eq!(row(&bank.stack, &payment).await, stored);
        if !exhausted {
            let waiting = bank.patch(&payment, &json!({"status": "PROCESSED", "transactionId": "T-1"})).await;
            assert_problem(&waiting, 409, "execution-under-way");
        }
        let again = bank.client.invoke("dispatch-due-payments", &scheduled_at("2099-12-02T09:30:00Z")).await;
        assert_eq!(again.body["retried"], u8::from(!exhausted), "{}", again.body);
    }
    let decided = bank.patch(&payment, &json!({"status": "PROCESSED", "transactionId": "T-1"})).await;
    assert_eq!((decided.status, text(&decided.body, "status")), (200, "PROCESSED"), "{}", decided.body);
    let stored = row(&bank.stack, &payment).await;
    for gone in ["Execution", "NextAttemptAt", "FailureReason"] {
        assert!(!stored.contains_key(gone), "{stored:?}");
    }
    let shown = send(bank.client.request("GET", &path(&decided.body))).await;
    assert_eq!(shown.body, decided.body);
}

#[tokio::test]
async fn a_transaction_id_of_another_payment_is_left_to_an_operator() {
    let bank = Bank::start(5, 1).await;
    let both = [due("A-1", &json!(1)), due("A-2", &json!(2))];
    put(&bank.stack, &both).await;
    bank.payer.rule(|_| Reply::Id("T-1"));
    assert_eq!(retried_from(&bank.execute(&both).await), None);
    let stored = [row(&bank.stack, &both[0]).await, row(&bank.stack, &both[1]).await];
    let processed = stored.iter().filter(|row| row["GSI1SK"].starts_with("PROCESSED#")).count();
    let exhausted: Vec<_> =
        stored.iter().filter(|row| row.get("Execution").is_some_and(|to| to == "exhausted")).collect();
    assert_eq!((processed, exhausted.len()), (1, 1), "{stored:?}");
    assert!(exhausted[0]["FailureReason"].contains("transaction id of another payment"), "{exhausted:?}");
}

#[tokio::test]
async fn an_unavailable_service_keeps_the_rest_of_a_batch_untouched() {
    let bank = Bank::start(5, 2).await;
    let many: Vec<Payment> = (0..20).map(|_| due("A-1", &json!(1))).collect();
    put(&bank.stack, &many).await;
    bank.payer.rule(|_| Reply::Status(503));
    let answer = bank.execute(&many).await;
    assert!(retried_from(&answer).is_some(), "{}", answer.body);
    let attempted = payments(&bank.stack).await.iter().filter(|row| row["Execution"] == "waiting").count();
    assert!((5..=6).contains(&attempted), "{attempted}");
    assert_eq!(bank.payer.calls().len(), attempted);
    // The service is back, and the batch is retried.
    bank.payer.rule(|_| Reply::Pay);
    assert_eq!(retried_from(&bank.execute(&many).await), None);
    assert_eq!(bank.payer.paid().len(), 20 - attempted);
}

#[tokio::test]
async fn only_due_payments_are_executed_and_none_while_dispatching_is_disabled() {
    let bank = Bank::start(5, 2).await;
    let others = [
        payment("A-1", NOW, Status::Scheduled, 0),
        payment("A-1", NOW, Status::Pending, 0),
        payment("A-1", NOW, Status::Processed, 0),
        payment("A-1", NOW, Status::Cancelled, 0),
        Payment { execution: Some(Execution::Waiting), ..due("A-1", &json!(1)) },
        Payment { execution: Some(Execution::Exhausted), ..due("A-1", &json!(1)) },
    ];
    put(&bank.stack, &others).await;
    let (due, missing) = (bank.due().await, due("A-1", &json!(1)));
    let before = payments(&bank.stack).await;
    assert_eq!(retried_from(&bank.execute(&[&others[..], &[missing]].concat()).await), None);
    assert_eq!(bank.client.put("/bank/dispatching", &json!({"enabled": false})).await.status, 200);
    assert_eq!(retried_from(&bank.execute_one(&due).await), None);
    assert!(bank.payer.calls().is_empty());
    assert_eq!(payments(&bank.stack).await, before);
}

#[tokio::test]
async fn an_unreadable_guard_or_switch_leaves_the_payment_due() {
    let bank = Bank::start(5, 2).await;
    let payment = bank.due().await;
    let before = row(&bank.stack, &payment).await;
    let client = bank.stack.client().expect("a client");
    let guard = format!("TRANSACTION#T-{}", payment.id());
    for (keys, retried) in [
        ([("PK", guard.as_str()), ("SK", "TRANSACTION"), ("Type", "TransactionGuard")], None),
        ([("PK", "SETTING#DISPATCHING"), ("SK", "DISPATCHING"), ("Type", "DispatchSwitch")], Some("0")),
    ] {
        let put = client.put_item().table_name(bank.stack.table("PaymentScheduler").expect("a table"));
        let put = keys.into_iter().fold(put, |put, (name, value)| put.item(name, AttributeValue::S(value.to_owned())));
        put.send().await.expect("put");
        assert_eq!(retried_from(&bank.execute_one(&payment).await), retried);
        assert_eq!(row(&bank.stack, &payment).await, before);
    }
    assert_eq!(bank.payer.calls().into_values().sum::<usize>(), 1);
}

/// An operator decides on an exhausted payment while an attempt is under way. The archive may have
/// moved the payment before the attempt ends.
#[tokio::test]
async fn a_late_outcome_is_reported_and_does_not_replace_the_decision_of_an_operator() {
    for is_archived in [false, true] {
        late_outcome(is_archived).await;
    }
}

async fn late_outcome(is_archived: bool) {
    let bank = Bank::start(5, 2).await;
    // An executor on the same tables.
    let proxy = Proxy::start(bank.stack.dynamo_url()).await;
    let executor = handed_over(bank.payer.url()).dynamo_endpoint(proxy.url()).start().await.expect("a stack");
    let client = Client::operator(&executor);
    let metrics = Metrics::default();
    let _guard = metrics.record();
    let payment = bank.due().await;
    proxy.rule(|call| if call.action == "UpdateItem" { Fault::Held } else { Fault::None });
    let batch = event([&payment]);
    let late = tokio::spawn(async move { client.invoke(EXECUTE, &batch).await });
    proxy.held(1).await;
    let table = payments_table(&bank.stack);
    let exhausted = table.update(payment.key()).set(Payment::EXECUTION, &"exhausted").remove(Payment::NEXT_ATTEMPT_AT);
    dynamo(&bank.stack).write(exhausted).await.expect("written");
    let decided = bank.patch(&payment, &json!({"status": "FAILED"})).await;
    assert_eq!(decided.status, 200, "{}", decided.body);
    if is_archived {
        assert_eq!(archive(&bank.client, "2099-12-01").await, 1);
    }
    proxy.release();
    assert_eq!(retried_from(&late.await.expect("no panic")), None);
    assert_eq!(metrics.take(TO_REVIEW), 1, "archived: {is_archived}");
    let shown = json!({"accountId": payment.account, "paymentId": payment.id()});
    assert_eq!(bank.client.get(&path(&shown)).await.body["status"], "FAILED");
}

#[tokio::test]
async fn execution_consumes_its_declared_cost() {
    for (name, projection) in [("KEYS_ONLY", Projection::KeysOnly), ("ALL", Projection::All)] {
        let payer = Payer::start().await;
        let stack = handed_over(payer.url()).parameter("IndexProjection", name).start().await.expect("a stack");
        let client = Client::operator(&stack);
        for (label, reply) in [
            (EXECUTE, Reply::Pay),
            ("execute-payment, rejected", Reply::Status(422)),
            ("execute-payment, no outcome", Reply::Status(500)),
        ] {
            let several: Vec<_> = (0..3).map(|_| due("A-1", &json!("x".repeat(6_500)))).collect();
            put(&stack, &several).await;
            let case = case(projection, &row(&stack, &several[0]).await, 3);
            payer.rule(move |_| reply.clone());
            let answer = client.invoke(EXECUTE, &event(&several)).await;
            assert_eq!(retried_from(&answer), None);
            assert_cost(label, &case, &answer);
        }
        stack.stop().await;
    }
}
