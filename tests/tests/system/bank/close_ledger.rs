//! Tests of the comparison of a day with the ledger, which is part of its close (B14,
//! docs/decisions/close.md).

use bank::{Bank, Execution, Payment};
use function::Batch;
use jiff::{SignedDuration, Timestamp};
use keys::bank::{DueSort, Status};
use local::{Builder, Stack};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Client,
    bank::{payment, payments, payments_table, put, rows, stack},
    clock::At,
    drained, dynamo,
    faults::{Fault, Proxy},
    ledger::Books,
    text,
    units::consumed,
    unreadable,
};
use table::Units;

const CONTINUE: &str = "continue-bank-job";
const EXECUTE: &str = "execute-payment";

/// A stack whose job function does nothing. The test runs the jobs itself.
fn resting() -> Builder {
    let rest = function::stream(async |_: Bank, _: Batch| Ok(BTreeSet::new()), async |_| ());
    let others = local::functions().filter(|(name, _)| *name != CONTINUE);
    stack().functions(others.chain([(CONTINUE, rest)]))
}

/// A bank whose payments are executed by the ledger.
struct World {
    books: Books,
    proxy: Proxy,
    /// A stack on the same DynamoDB. Its functions include the jobs.
    worker: Stack,
    ann: String,
    bob: String,
}

impl World {
    async fn start() -> Self {
        let books = Books::of(resting().start().await.expect("a stack")).await;
        let (ann, bob) = (books.funded("ann", "100000").await, books.account("bob").await);
        let proxy = Proxy::start(books.stack.dynamo_url()).await;
        let worker = stack().dynamo_endpoint(proxy.url()).start().await.expect("a stack");
        Self { books, proxy, worker, ann, bob }
    }

    fn planned(&self, day: Timestamp, amount: &str) -> Payment {
        let data = json!({"creditAccountId": self.bob, "amount": amount, "currency": "USD"});
        let mut payment = payment(&self.ann, &day.to_string(), Status::Pending, 0);
        payment.data = serde_json::from_value(Value::String(data.to_string())).expect("data");
        payment
    }

    /// Lets the ledger execute the payments, and returns their transaction ids.
    async fn execute(&self, payments_to_execute: &[Payment]) -> BTreeMap<String, String> {
        let due = payments_to_execute.iter().map(|payment| Payment {
            execution: Some(Execution::Due),
            next_attempt_at: Some(payment.created_at.plus_seconds(3_600)),
            dispatched_at: Some(payment.created_at),
            ..payment.clone()
        });
        put(&self.books.stack, &due.collect::<Vec<_>>()).await;
        drained(&self.books.operator, EXECUTE).await;
        let rows = payments(&self.books.stack).await;
        rows.into_iter().filter_map(|row| Some((row["SK"].clone(), row.get("TransactionId")?.clone()))).collect()
    }

    /// Changes the status of an executed payment in the table.
    async fn set_status(&self, payment: &Payment, status: Status) {
        let due = DueSort { status, payment: payment.id() };
        let update = payments_table(&self.books.stack).update(payment.key()).set(Payment::DUE, &due);
        let update = match status {
            Status::Processed => update,
            _ => update.remove(Payment::TRANSACTION_ID),
        };
        dynamo(&self.books.stack).write(update).await.expect("written");
    }

    /// Starts a close at the given time. Returns the event that continues its job.
    async fn start_close(&self, day: &str, now: Timestamp) -> Value {
        let at = At::new(&self.books.stack, &self.books.operator, now);
        let answer = at.post(&format!("/bank/days/{day}/close"), &json!({})).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        let keys = json!({"PK": {"S": format!("JOB#{}", text(&answer.body, "jobId"))}, "SK": {"S": "JOB"}});
        json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]})
    }

    /// Runs the job of a close to its end. Returns the day.
    async fn finish(&self, day: &str, event: &Value) -> Value {
        let job = text(&event["Records"][0]["dynamodb"]["Keys"]["PK"], "S").replace("JOB#", "");
        let worker = Client::operator(&self.worker);
        for _ in 0..100 {
            worker.invoke(CONTINUE, event).await;
            let job = self.books.operator.get(&format!("/bank/jobs/{job}")).await.body;
            match text(&job, "status") {
                "running" => {}
                status => {
                    assert_eq!(status, "done", "{job}");
                    return self.books.operator.get(&format!("/bank/days/{day}")).await.body;
                }
            }
        }
        unreachable!("the job does not end");
    }

    async fn close(&self, day: &str, now: Timestamp) -> Value {
        let event = self.start_close(day, now).await;
        self.finish(day, &event).await
    }
}

/// A past day, as text and as a time on that day.
fn day_before(days: i64) -> (String, Timestamp) {
    let time = Timestamp::now() - SignedDuration::from_hours(24 * days);
    let day = time.to_string()[..10].to_owned();
    let noon = format!("{day}T12:00:00Z").parse().expect("a time");
    (day, noon)
}

/// What the ledger has posted for a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Posted {
    Nothing,
    AsAgreed,
    AnotherAmount,
    AnotherId,
    Reversed,
    Unreadable,
}

const POSTED: [Posted; 6] =
    [Posted::Nothing, Posted::AsAgreed, Posted::AnotherAmount, Posted::AnotherId, Posted::Reversed, Posted::Unreadable];

/// The discrepancy that a payment must cause: kind, expected and actual.
fn finding(status: Status, posted: Posted, amount: &str, id: &str) -> Option<(&'static str, Value, Value)> {
    let as_posted = match posted {
        Posted::Nothing => "no transaction".to_owned(),
        Posted::Reversed => format!("reversed transaction {id} of {amount} USD"),
        Posted::AsAgreed | Posted::AnotherAmount | Posted::AnotherId | Posted::Unreadable => {
            format!("completed transaction {id} of {amount} USD")
        }
    };
    let differs = |expected: String| Some(("ledger-transaction", json!(expected), json!(as_posted)));
    match (status, posted) {
        (_, Posted::Unreadable) => Some(("unreadable-item", Value::Null, Value::Null)),
        (Status::Processed, Posted::AsAgreed) => None,
        (Status::Processed, Posted::AnotherAmount) => differs(format!("completed transaction {id} of 7777.00 USD")),
        (Status::Processed, Posted::AnotherId) => differs(format!("completed transaction other-{id} of {amount} USD")),
        (Status::Processed, _) => differs(format!("completed transaction {id} of {amount} USD")),
        (_, Posted::Nothing) => None,
        _ => differs("no transaction".to_owned()),
    }
}

#[tokio::test]
async fn every_difference_from_the_ledger_is_a_discrepancy() {
    let world = World::start().await;
    let stack = &world.books.stack;
    let (day, noon) = day_before(2);
    let mut cases = Vec::new();
    for status in Status::ALL {
        for posted in POSTED {
            let amount = format!("{}.{:02}", cases.len() + 1, cases.len() + 10);
            cases.push((status, posted, world.planned(noon, &amount), amount));
        }
    }
    let executed: Vec<Payment> =
        cases.iter().filter(|case| case.1 != Posted::Nothing).map(|case| case.2.clone()).collect();
    let ids = world.execute(&executed).await;
    let mut expected = BTreeMap::new();
    for (status, posted, payment, amount) in &cases {
        let sort = payment.key().sort().to_owned();
        let id = ids.get(&sort).cloned().unwrap_or_else(|| format!("T-{}", payment.id()));
        let mut key = (payment.key().partition().to_owned(), sort);
        match posted {
            Posted::Nothing => {
                let mut alone = payment.clone();
                alone.due.status = *status;
                alone.transaction_id = (*status == Status::Processed).then(|| id.parse().expect("an id"));
                put(stack, &[alone]).await;
            }
            Posted::AsAgreed => {}
            Posted::AnotherAmount | Posted::AnotherId => {
                let update = payments_table(stack).update(payment.key());
                let update = if *posted == Posted::AnotherId {
                    update.set(Payment::TRANSACTION_ID, &format!("other-{id}"))
                } else {
                    update.set(Payment::DATA, &r#"{"amount": "7777", "currency": "USD"}"#)
                };
                dynamo(stack).write(update).await.expect("written");
            }
            Posted::Reversed => {
                let path = format!("/ledger/transactions/{id}/reversal");
                let reversed = world.books.operator.post_once(&path, &id, &json!({})).await;
                assert_eq!(reversed.status, 201, "{}", reversed.body);
            }
            Posted::Unreadable => {
                let of = format!("TXN#{id}");
                let is_it = |item: &unreadable::Item| {
                    unreadable::text(item, "PK") == of && unreadable::text(item, "SK") == "METADATA"
                };
                let damage = unreadable::Damage::Missing;
                key = unreadable::damage(stack, "FinancialTransactions", is_it, "Legs", damage).await;
            }
        }
        if *posted != Posted::Nothing {
            world.set_status(payment, *status).await;
        }
        if let Some(found) = finding(*status, *posted, amount, &id) {
            expected.insert(key, found);
        }
    }
    // A transaction of the same second would be left to the next close.
    let closed = world.close(&day, Timestamp::now() + SignedDuration::from_secs(2)).await;
    let (mut found, mut totals) = (BTreeMap::new(), Vec::new());
    for one in closed["discrepancies"].as_array().expect("discrepancies") {
        let (kind, expected, actual) = (text(one, "kind"), one["expected"].clone(), one["actual"].clone());
        if kind == "ledger-totals" {
            totals.push((expected, actual));
            continue;
        }
        let key = (text(&one["key"], "PK").to_owned(), text(&one["key"], "SK").to_owned());
        found.insert(key, (kind, expected, actual));
    }
    assert_eq!(found, expected, "{closed}");
    assert_eq!(totals.len(), 1, "{closed}");
    assert!(totals[0].0.as_str().is_some_and(|text| text.starts_with("6 PROCESSED: ")), "{totals:?}");
    assert!(totals[0].1.as_str().is_some_and(|text| text.contains("4 PROCESSED: ")), "{totals:?}");
    assert_eq!(closed["discrepancyCount"], expected.len() + 1, "{closed}");
    assert_eq!(closed["ledger"]["transactions"], 12, "{closed}");
}

#[tokio::test]
async fn a_day_that_agrees_with_the_ledger_has_no_discrepancies() {
    let world = World::start().await;
    let (day, noon) = day_before(2);
    let all: Vec<Payment> = ["0.10", "12", "999999"].iter().map(|amount| world.planned(noon, amount)).collect();
    world.execute(&all).await;
    let closed = world.close(&day, Timestamp::now()).await;
    let counts = json!({"SCHEDULED": 0, "PENDING": 0, "PROCESSED": 2, "FAILED": 1, "CANCELLED": 0});
    let paid = json!({"status": "PROCESSED", "currency": "USD", "amount": "12.10"});
    let failed = json!({"status": "FAILED", "currency": "USD", "amount": "999999.00"});
    assert_eq!((&closed["counts"], &closed["discrepancies"]), (&counts, &json!([])), "{closed}");
    assert_eq!(closed["totals"], json!([failed, paid]), "{closed}");
    assert_eq!(closed["ledger"], json!({"transactions": 2, "totals": [paid]}), "{closed}");
    assert_eq!(world.books.balance(&world.bob).await, "12.10");

    // A supplement has the transactions since the certificate.
    let late = world.planned(noon, "5");
    world.execute(std::slice::from_ref(&late)).await;
    let closed = world.close(&day, Timestamp::now()).await;
    let paid = json!({"status": "PROCESSED", "currency": "USD", "amount": "5.00"});
    let supplement = &closed["supplements"][0];
    assert_eq!(supplement["ledger"], json!({"transactions": 1, "totals": [paid]}), "{closed}");
    assert_eq!(supplement["discrepancyCount"], 0, "{closed}");
}

/// A payment may be in execution while its day is closed. The next close compares it.
#[tokio::test]
async fn a_transaction_after_the_start_of_a_close_is_left_to_the_next_close() {
    let world = World::start().await;
    let (day, noon) = day_before(3);
    let pending = world.planned(noon, "1");
    world.execute(std::slice::from_ref(&pending)).await;
    world.set_status(&pending, Status::Pending).await;
    let before = Timestamp::now() - SignedDuration::from_hours(1);
    let closed = world.close(&day, before).await;
    assert_eq!((&closed["openCount"], &closed["discrepancyCount"]), (&json!(1), &json!(0)), "{closed}");
    let closed = world.close(&day, Timestamp::now() + SignedDuration::from_secs(2)).await;
    let supplement = &closed["supplements"][0];
    assert_eq!((&supplement["openCount"], &supplement["discrepancyCount"]), (&json!(1), &json!(1)), "{closed}");
}

#[tokio::test]
async fn an_unavailable_ledger_does_not_change_the_certificate() {
    let world = World::start().await;
    let (day, noon) = day_before(2);
    world.execute(&[world.planned(noon, "1")]).await;
    let event = world.start_close(&day, Timestamp::now()).await;
    let is_ledger = |table: Option<&str>| table.is_some_and(|table| table.ends_with("FinancialTransactions"));
    world.proxy.rule(move |call| if is_ledger(call.table.as_deref()) { Fault::throttled() } else { Fault::None });
    Client::operator(&world.worker).invoke(CONTINUE, &event).await;
    assert_eq!(rows(&world.books.stack, "BankJobs", "Certificate").await.len(), 0);
    world.proxy.heal();
    let closed = world.finish(&day, &event).await;
    assert_eq!((&closed["ledger"]["transactions"], &closed["discrepancyCount"]), (&json!(1), &json!(0)), "{closed}");
}

#[tokio::test]
async fn the_comparison_consumes_its_declared_cost() {
    let world = World::start().await;
    let (day, noon) = day_before(2);
    let all: Vec<Payment> = ["1", "2", "999999"].iter().map(|amount| world.planned(noon, amount)).collect();
    world.execute(&all).await;
    let event = world.start_close(&day, Timestamp::now()).await;
    world.proxy.heal();
    let answer = Client::operator(&world.worker).invoke(CONTINUE, &event).await;
    let units = consumed(&answer);
    // 1 RRU for each of three payments, and half an RRU for each of two transactions.
    assert_eq!(units["FinancialTransactions"], (Units::whole(4), Units::ZERO), "{units:?}");
}
