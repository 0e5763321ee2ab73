//! Tests of the comparison of a day with the ledger, which is part of its close (B14,
//! docs/decisions/close.md).

use bank::{Bank, Execution, Payment};
use function::Batch;
use jiff::{SignedDuration, Timestamp};
use keys::bank::{DueSort, Status};
use local::Stack;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use system_tests::{
    Answer, Client,
    bank::{inserted, payment, payments, payments_table, put, stack},
    clock::At,
    drained, dynamo,
    ledger::Books,
    text,
    units::consumed,
    unreadable,
};
use table::Units;

const CONTINUE: &str = "continue-bank-job";

/// A bank whose payments are executed by the ledger.
struct World {
    /// Its job function does nothing. The test runs the jobs itself.
    books: Books,
    /// A stack on the same DynamoDB. Its functions include the jobs.
    worker: Stack,
    ann: String,
    bob: String,
}

impl World {
    async fn start() -> Self {
        let rest = function::stream(async |_: Bank, _: Batch| Ok(BTreeSet::new()), async |_| ());
        let others = events::functions().filter(|(name, _)| *name != CONTINUE);
        let resting = stack().functions(others.chain([(CONTINUE, rest)]));
        let books = Books::of(resting.start().await.expect("a stack")).await;
        let (ann, bob) = (books.funded("ann", "100000").await, books.account("bob").await);
        let worker = stack().dynamo_endpoint(books.stack.dynamo_url()).start().await.expect("a stack");
        Self { books, worker, ann, bob }
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
        drained(&self.books.operator, "execute-payment").await;
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

    /// Closes the day at the given time. Returns the day, and the first response of the job
    /// function.
    async fn close(&self, day: &str, now: Timestamp) -> (Value, Answer) {
        let at = At::new(&self.books.stack, &self.books.operator, now);
        let job = at.post(&format!("/bank/days/{day}/close"), &json!({})).await.body;
        let event = inserted(&format!("JOB#{}", text(&job, "jobId")), "JOB");
        let (worker, mut answers) = (Client::operator(&self.worker), Vec::new());
        for _ in 0..100 {
            answers.push(worker.invoke(CONTINUE, &event).await);
            let job = self.books.operator.get(&format!("/bank/jobs/{}", text(&job, "jobId"))).await.body;
            if job["status"] != "running" {
                assert_eq!(job["status"], "done", "{job}");
                return (self.books.operator.get(&format!("/bank/days/{day}")).await.body, answers.swap_remove(0));
            }
        }
        unreachable!("the job does not end");
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
#[derive(Clone, Copy, PartialEq, Eq)]
enum Posted {
    Nothing,
    AsAgreed,
    AnotherAmount,
    AnotherId,
    Reversed,
    Unreadable,
}

use Posted::{AnotherAmount, AnotherId, AsAgreed, Nothing, Reversed, Unreadable};

const NONE: &str = "no transaction";
const PAID: &str = "completed transaction ID of AMOUNT USD";
const REVERSED: &str = "reversed transaction ID of AMOUNT USD";

type Finding = Option<(&'static str, &'static str)>;

/// The discrepancy of a payment: what its status requires, and what the ledger has. A payment that
/// is not `PROCESSED` must have no transaction.
const FINDINGS: [(Posted, Finding, Finding); 6] = [
    (Nothing, Some((PAID, NONE)), None),
    (AsAgreed, None, Some((NONE, PAID))),
    (AnotherAmount, Some(("completed transaction ID of 7777.00 USD", PAID)), Some((NONE, PAID))),
    (AnotherId, Some(("completed transaction other-ID of AMOUNT USD", PAID)), Some((NONE, PAID))),
    (Reversed, Some((PAID, REVERSED)), Some((NONE, REVERSED))),
    (Unreadable, None, None),
];

#[tokio::test]
async fn every_difference_from_the_ledger_is_a_discrepancy() {
    let world = World::start().await;
    let stack = &world.books.stack;
    let (day, noon) = day_before(2);
    let mut cases = Vec::new();
    for status in Status::ALL {
        for finding in FINDINGS {
            let amount = format!("{}.{:02}", cases.len() + 1, cases.len() + 10);
            cases.push((status, finding, world.planned(noon, &amount), amount));
        }
    }
    let executed: Vec<Payment> =
        cases.iter().filter(|(_, (posted, ..), ..)| *posted != Nothing).map(|case| case.2.clone()).collect();
    let ids = world.execute(&executed).await;
    let mut expected = BTreeMap::new();
    for (status, (posted, processed, other), payment, amount) in &cases {
        let sort = payment.key().sort().to_owned();
        let id = ids.get(&sort).cloned().unwrap_or_else(|| format!("T-{}", payment.id()));
        let mut key = (payment.key().partition().to_owned(), sort);
        let update = payments_table(stack).update(payment.key());
        match posted {
            Nothing => {
                let mut alone = payment.clone();
                alone.due.status = *status;
                alone.transaction_id = (*status == Status::Processed).then(|| id.parse().expect("an id"));
                put(stack, &[alone]).await;
            }
            AsAgreed => {}
            AnotherAmount => {
                let update = update.set(Payment::DATA, &r#"{"amount": "7777", "currency": "USD"}"#);
                dynamo(stack).write(update).await.expect("written");
            }
            AnotherId => {
                let update = update.set(Payment::TRANSACTION_ID, &format!("other-{id}"));
                dynamo(stack).write(update).await.expect("written");
            }
            Reversed => {
                let path = format!("/ledger/transactions/{id}/reversal");
                let reversed = world.books.operator.post_once(&path, &id, &json!({})).await;
                assert_eq!(reversed.status, 201, "{}", reversed.body);
            }
            Unreadable => {
                let of = format!("TXN#{id}");
                let is_it = |item: &unreadable::Item| {
                    unreadable::text(item, "PK") == of && unreadable::text(item, "SK") == "METADATA"
                };
                let damage = unreadable::Damage::Missing;
                key = unreadable::damage(stack, "FinancialTransactions", is_it, "Legs", damage).await;
            }
        }
        if *posted != Nothing {
            world.set_status(payment, *status).await;
        }
        let filled = |text: &str| json!(text.replace("ID", &id).replace("AMOUNT", amount));
        let wanted = if *status == Status::Processed { *processed } else { *other };
        let found = match posted {
            Unreadable => Some(("unreadable-item", Value::Null, Value::Null)),
            _ => wanted.map(|(wanted, actual)| ("ledger-transaction", filled(wanted), filled(actual))),
        };
        expected.extend(found.map(|found| (key, found)));
    }
    // A transaction of the same second would be left to the next close.
    let (closed, _) = world.close(&day, Timestamp::now() + SignedDuration::from_secs(2)).await;
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
    let (closed, answer) = world.close(&day, Timestamp::now()).await;
    let counts = json!({"SCHEDULED": 0, "PENDING": 0, "PROCESSED": 2, "FAILED": 1, "CANCELLED": 0});
    let paid = json!({"status": "PROCESSED", "currency": "USD", "amount": "12.10"});
    let failed = json!({"status": "FAILED", "currency": "USD", "amount": "999999.00"});
    assert_eq!((&closed["counts"], &closed["discrepancies"]), (&counts, &json!([])), "{closed}");
    assert_eq!(closed["totals"], json!([failed, paid]), "{closed}");
    assert_eq!(closed["ledger"], json!({"transactions": 2, "totals": [paid]}), "{closed}");
    assert_eq!(world.books.balance(&world.bob).await, "12.10");
    // 1 RRU for each of three payments, and half an RRU for each of two transactions.
    assert_eq!(consumed(&answer)["FinancialTransactions"], (Units::whole(4), Units::ZERO));

    // A supplement has the transactions since the certificate.
    world.execute(&[world.planned(noon, "5")]).await;
    let (closed, _) = world.close(&day, Timestamp::now()).await;
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
    let (closed, _) = world.close(&day, Timestamp::now() - SignedDuration::from_hours(1)).await;
    assert_eq!((&closed["openCount"], &closed["discrepancyCount"]), (&json!(1), &json!(0)), "{closed}");
    let (closed, _) = world.close(&day, Timestamp::now() + SignedDuration::from_secs(2)).await;
    let supplement = &closed["supplements"][0];
    assert_eq!((&supplement["openCount"], &supplement["discrepancyCount"]), (&json!(1), &json!(1)), "{closed}");
}
