//! Tests of the close of a day (B14, B15): which day may be closed, the certificate, and payments
//! that cannot be read or archived (docs/decisions/close.md).

use bank::Payment;
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use system_tests::{
    Client, assert_problem,
    bank::{archive, inserted, payment, payments, put, rows, scheduled_at, transactions, without_jobs},
    clock::At,
    faults::{Call, Fault, Twins},
    on_both_projections, parsed, text, unreadable,
};

const DAY: &str = "2099-12-01";
const AFTER: &str = "2099-12-02T00:15:00Z";

/// Starts the close of the day as the schedule does. Returns the job id.
async fn start(client: &Client) -> String {
    let started = client.invoke("close-day", &scheduled_at(AFTER)).await.body;
    text(&started, "jobId").to_owned()
}

/// Starts another close of the day by a request. Returns the job id.
async fn start_again(stack: &Stack, client: &Client, key: &str) -> String {
    let at = At::new(stack, client, parsed("2100-01-01T00:00:00Z"));
    let answer = at.post_once(&format!("/bank/days/{DAY}/close"), key, &json!({})).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    text(&answer.body, "jobId").to_owned()
}

/// Runs the job to its end.
async fn finish(client: &Client, job: &str) {
    for _ in 0..100 {
        client.invoke("continue-bank-job", &inserted(&format!("JOB#{job}"), "JOB")).await;
        let job = client.get(&format!("/bank/jobs/{job}")).await.body;
        match text(&job, "status") {
            "running" => {}
            status => return assert_eq!(status, "done", "{job}"),
        }
    }
    unreachable!("the job does not end");
}

/// Closes the day. Returns the day.
async fn close(client: &Client) -> Value {
    let job = start(client).await;
    finish(client, &job).await;
    client.get(&format!("/bank/days/{DAY}")).await.body
}

/// A payment of the day with an amount.
fn of(status: Status, number: usize, data: &str) -> Payment {
    let time = format!("{DAY}T{:02}:{:02}:00Z", number % 24, number % 60);
    let mut payment = payment(&format!("A-{}", number % 7), &time, status, number % 5);
    payment.data = serde_json::from_value(Value::String(data.to_owned())).expect("data");
    payment
}

fn usd(amount: &str) -> String {
    format!("{{\"amount\": \"{amount}\", \"currency\": \"USD\"}}")
}

fn total(status: &str, currency: &str, amount: &str) -> Value {
    json!({"status": status, "currency": currency, "amount": amount})
}

async fn certificate_counts_and_sums_the_payments_of_the_day(projection: &str) {
    let stack = without_jobs().parameter("IndexProjection", projection).start().await.expect("a stack");
    let client = Client::operator(&stack);
    let mut all = vec![
        of(Status::Processed, 1, &usd("0.10")),
        of(Status::Processed, 2, &usd("0.20")),
        of(Status::Processed, 3, r#"{"amount": 0.30, "currency": "USD"}"#),
        of(Status::Processed, 4, r#"{"amount": "7", "currency": "JPY"}"#),
        of(Status::Processed, 5, r#"{"amount": "1.005", "currency": "USD"}"#),
        of(Status::Processed, 6, r#""rent""#),
        of(Status::Failed, 7, &usd("5.00")),
        of(Status::Cancelled, 8, &usd("6.00")),
        of(Status::Pending, 9, &usd("70.00")),
        of(Status::Scheduled, 10, &usd("80.00")),
    ];
    let day_before = payment("A-1", "2099-11-30T23:59:59Z", Status::Processed, 0);
    let day_after = payment("A-1", "2099-12-02T00:00:00Z", Status::Processed, 0);
    // An array is no instruction to pay, even if its values are in the right order.
    let array = of(Status::Processed, 11, r#"["3.00", "USD"]"#);
    all.extend([day_before, day_after, array]);
    put(&stack, &all).await;
    let counts = json!({"SCHEDULED": 1, "PENDING": 1, "PROCESSED": 7, "FAILED": 1, "CANCELLED": 1});
    let open = json!({"date": DAY, "status": "open", "counts": counts});
    assert_eq!(client.get(&format!("/bank/days/{DAY}")).await.body, open);

    let day = close(&client).await;
    let listed = |payment: &Payment| {
        let (id, time) = (payment.id().to_string(), payment.id().time().to_string());
        json!({"accountId": payment.account.to_string(), "paymentId": id, "scheduledTime": time, "status": payment.due.status.as_str()})
    };
    let certificate = json!({
        "date": DAY, "status": "closed", "counts": counts,
        "totals": [
            total("CANCELLED", "USD", "6.00"),
            total("FAILED", "USD", "5.00"),
            total("PROCESSED", "JPY", "7"),
            total("PROCESSED", "USD", "0.60"),
        ],
        "withoutAmount": 3, "openCount": 2, "open": [listed(&all[8]), listed(&all[9])],
        "discrepancyCount": 0, "discrepancies": [], "closedAt": AFTER,
    });
    assert_eq!(day, certificate);
    assert_eq!(transactions(&stack).await.len(), 9, "settled payments of the day are archived");
    assert_eq!(payments(&stack).await.len(), 4, "other payments stay");

    let again = client.invoke("close-day", &scheduled_at(AFTER)).await.body;
    assert_eq!(again, json!({"date": DAY}), "the schedule closes a day once");
    for (payment, body) in [(&all[8], json!({"status": "FAILED"})), (&all[9], json!({"status": "CANCELLED"}))] {
        let path = format!("/bank/accounts/{}/payments/{}", payment.account, payment.id());
        assert_eq!(client.patch(&path, &body).await.status, 200);
    }
    let job = start_again(&stack, &client, "K-1").await;
    finish(&client, &job).await;
    let mut day = client.get(&format!("/bank/days/{DAY}")).await.body;
    let supplements = day.as_object_mut().expect("an object").remove("supplements").expect("supplements");
    assert_eq!(day, certificate, "the certificate never changes");
    let counts = json!({"SCHEDULED": 0, "PENDING": 0, "PROCESSED": 0, "FAILED": 1, "CANCELLED": 1});
    let supplement = json!([{
        "number": 2, "counts": counts,
        "totals": [total("CANCELLED", "USD", "80.00"), total("FAILED", "USD", "70.00")],
        "openCount": 0, "open": [], "discrepancyCount": 0, "discrepancies": [], "closedAt": "2100-01-01T00:00:00Z",
    }]);
    assert_eq!(supplements, supplement);
    stack.stop().await;
}

on_both_projections! { certificate_counts_and_sums_the_payments_of_the_day }

#[tokio::test]
async fn a_day_is_closed_by_one_job_after_its_end() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for day in [DAY, "2099-12-02"] {
        let at = At::new(&stack, &client, parsed("2099-12-01T23:59:59.999Z"));
        let refused = at.post(&format!("/bank/days/{day}/close"), &json!({})).await;
        assert_problem(&refused, 400, "invalid-request");
        let refused = client.invoke("close-day", &json!({"date": day})).await.body;
        assert!(refused["errorMessage"].is_string(), "{refused}");
    }
    assert_eq!(rows(&stack, "BankJobs", "Job").await.len(), 0);
    let job = start_again(&stack, &client, "K-1").await;
    assert_eq!(job, format!("close-{DAY}-0001"));
    assert_eq!(start_again(&stack, &client, "K-2").await, job, "the close is running");
    assert_eq!(start(&client).await, job, "the close is running");
    finish(&client, &job).await;
    assert_eq!(start_again(&stack, &client, "K-1").await, job, "a repeated request adds no supplement");
    assert_eq!(start_again(&stack, &client, "K-2").await, format!("close-{DAY}-0002"));
    stack.stop().await;
}

/// Damages the only item of the table with this partition key.
async fn damage_one(stack: &Stack, table: &str, partition: &str, attribute: &str) -> (String, String) {
    let is_it = |item: &unreadable::Item| unreadable::text(item, "PK") == partition;
    unreadable::damage(stack, table, is_it, attribute, unreadable::Damage::Missing).await
}

#[tokio::test]
async fn payments_that_cannot_be_read_or_archived_are_counted_and_reported() {
    use Status::{Failed, Pending, Processed};
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let statuses = [Processed, Processed, Failed, Pending, Pending, Processed];
    let all: Vec<Payment> = (0..).zip(statuses).map(|(number, status)| of(status, number, &usd("1.00"))).collect();
    put(&stack, &all[..1]).await;
    assert_eq!(archive(&client, DAY).await, 1);
    put(&stack, &all[1..]).await;
    let mut wanted = BTreeSet::new();
    for (table, account, attribute, kind) in [
        ("TransactionHistory", "A-0", "ArchivedAt", "unreadable-item"),
        ("PaymentScheduler", "A-1", "CreatedAt", "unreadable-item"),
        ("PaymentScheduler", "A-3", "CreatedAt", "unreadable-item"),
        ("PaymentScheduler", "A-5", "TransactionId", "not-archived"),
    ] {
        let (partition, sort) = damage_one(&stack, table, account, attribute).await;
        wanted.insert((kind.to_owned(), partition, sort));
    }
    let day = close(&client).await;
    let counts = json!({"SCHEDULED": 0, "PENDING": 4, "PROCESSED": 1, "FAILED": 1, "CANCELLED": 0});
    assert_eq!(day["counts"], counts, "a payment that cannot be archived is open: {day}");
    assert_eq!(day["totals"], json!([total("FAILED", "USD", "1.00")]), "{day}");
    assert_eq!((&day["withoutAmount"], &day["openCount"], &day["discrepancyCount"]), (&json!(1), &json!(4), &json!(4)));
    let found = day["discrepancies"].as_array().expect("discrepancies").iter();
    let owned = |one: &Value, member: &str| text(one, member).to_owned();
    let found: BTreeSet<_> =
        found.map(|one| (owned(one, "kind"), owned(&one["key"], "PK"), owned(&one["key"], "SK"))).collect();
    assert_eq!(found, wanted, "{day}");
    stack.stop().await;
}

/// A payment fails after the list of SCHEDULED payments, or after all lists. It is listed as open,
/// and the next close counts it.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_moves_during_the_close_is_listed_and_counted_once() {
    let lists_pending = |call: &Call| call.action == "Query" && call.body.to_string().contains("PENDING#");
    let counts = |call: &Call| {
        call.action == "Query" && call.table.as_deref().is_some_and(|of| of.ends_with("TransactionHistory"))
    };
    for what in ["listing", "counting"] {
        let twins = Twins::start(without_jobs).await;
        let client = Client::operator(&twins.healthy);
        let pending = of(Status::Pending, 1, &usd("2.00"));
        put(&twins.healthy, &[pending.clone(), of(Status::Processed, 2, &usd("1.00"))]).await;
        let job = start(&client).await;
        let is_moment = move |call: &Call| if what == "listing" { lists_pending(call) } else { counts(call) };
        twins.proxy.rule(move |call| if is_moment(call) { Fault::Held } else { Fault::None });
        let process = twins.process("continue-bank-job", &(bank::patterns::continue_bank_job::PATTERN.function)());
        let step = inserted(&format!("JOB#{job}"), "JOB");
        let moves = async {
            twins.proxy.held(1).await;
            let path = format!("/bank/accounts/{}/payments/{}", pending.account, pending.id());
            assert_eq!(client.patch(&path, &json!({"status": "FAILED"})).await.status, 200);
            if what == "counting" {
                assert_eq!(archive(&client, DAY).await, 1);
            }
            twins.proxy.release();
        };
        tokio::join!(process.run(&step, Duration::from_secs(30)), moves);
        finish(&client, &job).await;
        let job = start_again(&twins.healthy, &client, "K-1").await;
        finish(&client, &job).await;
        let day = client.get(&format!("/bank/days/{DAY}")).await.body;
        let [first, second] = [&day, &day["supplements"][0]].map(|of| (of["counts"].clone(), of["totals"].clone()));
        let counts = json!({"SCHEDULED": 0, "PENDING": 1, "PROCESSED": 1, "FAILED": 0, "CANCELLED": 0});
        assert_eq!(first, (counts, json!([total("PROCESSED", "USD", "1.00")])), "{what}: {day}");
        let counts = json!({"SCHEDULED": 0, "PENDING": 0, "PROCESSED": 0, "FAILED": 1, "CANCELLED": 0});
        assert_eq!(second, (counts, json!([total("FAILED", "USD", "2.00")])), "{what}: {day}");
    }
}

/// Closes a day of `count` payments, which fill several pages of each shard.
async fn each_payment_is_counted_once(count: usize) {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let all: Vec<Payment> = (0..count).map(|number| of(Status::ALL[number / 5 % 5], number, &usd("0.01"))).collect();
    put(&stack, &all).await;
    let (day, each) = (close(&client).await, count / 5);
    let counts = json!({"SCHEDULED": each, "PENDING": each, "PROCESSED": each, "FAILED": each, "CANCELLED": each});
    assert_eq!((&day["counts"], &day["openCount"]), (&counts, &json!(2 * each)));
    let sum = format!("{}.{:02}", each / 100, each % 100);
    let totals = ["CANCELLED", "FAILED", "PROCESSED"].map(|status| total(status, "USD", &sum));
    assert_eq!((&day["totals"], &day["discrepancyCount"]), (&json!(totals), &json!(0)));
    assert_eq!((payments(&stack).await.len(), transactions(&stack).await.len()), (2 * each, 3 * each));
    stack.stop().await;
}

#[tokio::test]
async fn each_of_2_550_payments_is_counted_once() {
    each_payment_is_counted_once(2_550).await;
}

#[tokio::test]
#[ignore = "make test-slow: takes minutes"]
async fn each_of_20_000_payments_is_counted_once() {
    each_payment_is_counted_once(20_000).await;
}
