//! Tests of the close of a day (B14, B15): the certificate, its supplements, crashes, and payments
//! that move during the close (docs/decisions/close.md).

use bank::Payment;
use keys::{Random, bank::Status};
use local::Stack;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use system_tests::{
    Client, assert_problem,
    bank::{archive, path, payment, payments, put, rows, scheduled_at, transactions, without_jobs},
    clock::At,
    faults::{Fault, MOMENTS, Process, Twins},
    on_both_projections, parsed, stride, text, unreadable,
};

const DAY: &str = "2099-12-01";
const AFTER: &str = "2099-12-02T00:15:00Z";
const MINUTE: Duration = Duration::from_mins(1);
const CONTINUE: &str = "continue-bank-job";

/// The stream event for a new job.
fn starts(job: &str) -> Value {
    let keys = json!({"PK": {"S": format!("JOB#{job}")}, "SK": {"S": "JOB"}});
    json!({"Records": [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", "Keys": keys}}]})
}

/// Starts the close of the day before the given time, as the schedule does. Returns the job id.
async fn start(client: &Client, after: &str) -> String {
    let started = client.invoke("close-day", &scheduled_at(after)).await.body;
    text(&started, "jobId").to_owned()
}

/// Starts another close of the day. Returns the job id.
async fn start_again(stack: &Stack, client: &Client, day: &str) -> String {
    let answer = At::new(stack, client, parsed("2100-01-01T00:00:00Z"))
        .post(&format!("/bank/days/{day}/close"), &json!({}))
        .await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    text(&answer.body, "jobId").to_owned()
}

/// Runs the job to its end.
async fn finish(client: &Client, job: &str) {
    for _ in 0..100 {
        client.invoke(CONTINUE, &starts(job)).await;
        let job = client.get(&format!("/bank/jobs/{job}")).await.body;
        match text(&job, "status") {
            "running" => {}
            status => return assert_eq!(status, "done", "{job}"),
        }
    }
    unreachable!("the job does not end");
}

/// Closes the day before the given time. Returns the day.
async fn close(client: &Client, after: &str) -> Value {
    let job = start(client, after).await;
    finish(client, &job).await;
    let day = &job[6..16];
    client.get(&format!("/bank/days/{day}")).await.body
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

    let day = close(&client, AFTER).await;
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
    let job = start_again(&stack, &client, DAY).await;
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
async fn day_that_is_not_over_cannot_be_closed() {
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
    stack.stop().await;
}

#[tokio::test]
async fn repeated_request_gets_the_job_of_the_first() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let now = parsed("2099-12-02T00:20:00Z");
    let post = async |key: &str| {
        let answer = At::new(&stack, &client, now).post_once(&format!("/bank/days/{DAY}/close"), key, &json!({})).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
        text(&answer.body, "jobId").to_owned()
    };
    let job = post("K-1").await;
    assert_eq!(job, format!("close-{DAY}-0001"));
    assert_eq!(post("K-2").await, job, "the close is running");
    assert_eq!(start(&client, AFTER).await, job, "the close is running");
    finish(&client, &job).await;
    assert_eq!(post("K-1").await, job, "a repeated request adds no supplement");
    assert_eq!(post("K-2").await, format!("close-{DAY}-0002"));
    stack.stop().await;
}

/// Payments of every status on a day, with their number and status.
const MIX: [Status; 7] = [
    Status::Processed,
    Status::Cancelled,
    Status::Pending,
    Status::Failed,
    Status::Scheduled,
    Status::Processed,
    Status::Failed,
];

#[tokio::test]
async fn killed_close_is_continued_without_loss() {
    let twins = Twins::start(without_jobs).await;
    let client = Client::operator(&twins.healthy);
    let process = process(&twins);
    let first: jiff::civil::Date = parsed("2098-01-01");
    let mut kills = 0;
    for moment in MOMENTS {
        for number in (1..).step_by(stride(3)) {
            let day = first + jiff::SignedDuration::from_hours(24 * (kills + 1));
            let all: Vec<Payment> = MIX
                .iter()
                .enumerate()
                .map(|(number, status)| {
                    let mut payment =
                        payment(&format!("A-{number}"), &format!("{day}T10:00:0{number}Z"), *status, number % 5);
                    payment.data = serde_json::from_value(Value::String(usd("1.25"))).expect("data");
                    payment
                })
                .collect();
            put(&twins.healthy, &all).await;
            let after = format!("{}T00:15:00Z", day + jiff::SignedDuration::from_hours(24));
            let job = start(&client, &after).await;
            twins.proxy.rule(move |call| if call.number == number { Fault::Death(moment) } else { Fault::None });
            let killed = process.run(&starts(&job), MINUTE).await.is_none();
            twins.proxy.heal();
            finish(&client, &job).await;
            let closed = client.get(&format!("/bank/days/{day}")).await.body;
            let when = format!("{moment:?} call {number}: {closed}");
            let counts = json!({"SCHEDULED": 1, "PENDING": 1, "PROCESSED": 2, "FAILED": 2, "CANCELLED": 1});
            assert_eq!(closed["counts"], counts, "{when}");
            let totals = json!([
                total("CANCELLED", "USD", "1.25"),
                total("FAILED", "USD", "2.50"),
                total("PROCESSED", "USD", "2.50")
            ]);
            assert_eq!((&closed["totals"], &closed["openCount"]), (&totals, &json!(2)), "{when}");
            assert_eq!(closed["open"].as_array().map(Vec::len), Some(2), "{when}");
            kills += 1;
            if !killed {
                break;
            }
        }
    }
    assert!(kills > 20, "only {kills} kills");
}

fn process(twins: &Twins) -> Process<'_> {
    twins.process(CONTINUE, &bank::patterns::continue_bank_job::function())
}

/// Payments of one day that change at random. Each payment has another power of two as its amount,
/// so a sum tells exactly which payments it contains.
struct Churn<'a> {
    stack: &'a Stack,
    client: &'a Client,
    random: Random,
    payments: Vec<Value>,
    job: String,
}

impl Churn<'_> {
    fn pick(&self, bound: usize) -> usize {
        usize::try_from(self.random.bits() % (bound as u128)).expect("a number")
    }

    async fn schedule(&mut self) {
        let (number, second) = (self.payments.len(), self.pick(86_400));
        let cents = 1_u128 << number;
        let amount = format!("{}.{:02}", cents / 100, cents % 100);
        let time = format!("{DAY}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60);
        let new = json!({"scheduledTime": time, "data": {"amount": amount, "currency": "USD"}});
        let answer = self.client.post(&format!("/bank/accounts/A-{}/payments", number % 5), &new).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        self.payments.push(answer.body);
    }

    /// Moves a random payment to a random status. Most moves are refused.
    async fn advance(&self, status: &str) {
        let payment = &self.payments[self.pick(self.payments.len())];
        let body = match status {
            "PROCESSED" => json!({"status": status, "transactionId": format!("T-{}", text(payment, "paymentId"))}),
            _ => json!({"status": status}),
        };
        let answer = self.client.patch(&path(payment), &body).await;
        assert!([200, 404, 409].contains(&answer.status), "{}", answer.body);
    }

    async fn operate(&mut self) {
        match self.pick(16) {
            0 if self.payments.len() < 110 => self.schedule().await,
            1 | 15 => drop(archive(self.client, DAY).await),
            // Another run of the same job, as after a repeated stream record.
            2 => drop(self.client.invoke(CONTINUE, &starts(&self.job)).await),
            3 | 4 => self.advance("CANCELLED").await,
            5..9 => self.advance("PENDING").await,
            9..12 => self.advance("FAILED").await,
            _ => self.advance("PROCESSED").await,
        }
    }

    async fn operate_some(&mut self) {
        for _ in 0..self.pick(8) {
            self.operate().await;
        }
    }

    /// Closes the day while the payments change between any two calls of the job.
    async fn close(&mut self, twins: &Twins, job: String) {
        self.job = job;
        let (process, event) = (process(twins), starts(&self.job));
        loop {
            let mut run = std::pin::pin!(process.run(&event, MINUTE));
            loop {
                let gap = 1 + self.pick(4);
                twins.proxy.rule(move |call| if call.number == gap { Fault::Held } else { Fault::None });
                tokio::select! {
                    _ = &mut run => break,
                    () = twins.proxy.held(1) => {}
                }
                self.operate_some().await;
                twins.proxy.arrive().await;
            }
            let job = self.client.get(&format!("/bank/jobs/{}", self.job)).await.body;
            if job["status"] != "running" {
                return assert_eq!(job["status"], "done", "{job}");
            }
        }
    }

    /// Settles every payment.
    async fn settle(&self) {
        for payment in &self.payments {
            for body in [json!({"status": "PENDING"}), json!({"status": "FAILED"})] {
                self.client.patch(&path(payment), &body).await;
            }
        }
    }

    async fn statuses(&self) -> Vec<String> {
        let mut statuses = Vec::new();
        for payment in &self.payments {
            statuses.push(text(&self.client.get(&path(payment)).await.body, "status").to_owned());
        }
        statuses
    }

    /// Numbers of the payments that were open at the close.
    async fn open(&self, number: usize) -> BTreeSet<usize> {
        let prefix = format!("OPEN#{number:04}#");
        let open = rows(self.stack, "BankJobs", "OpenPayment").await;
        let ids = open.iter().filter_map(|row| row["SK"].strip_prefix(&prefix));
        let ids = ids.filter_map(|sort| sort.split('#').nth(1));
        let number = |id: &str| self.payments.iter().position(|payment| payment["paymentId"] == id).expect("a payment");
        ids.map(number).collect()
    }
}

/// The numbers of the payments in the sum of each status.
fn summed(certificate: &Value) -> BTreeMap<String, BTreeSet<usize>> {
    let totals = certificate["totals"].as_array().expect("totals").iter();
    totals
        .map(|total| {
            let cents: u128 = text(total, "amount").replace('.', "").parse().expect("cents");
            (text(total, "status").to_owned(), (0..128).filter(|bit| cents >> bit & 1 == 1).collect())
        })
        .collect()
}

#[tokio::test]
async fn each_payment_is_accounted_for_once_while_payments_move() {
    for seed in 0..6 {
        let twins = Twins::start(without_jobs).await;
        let client = Client::operator(&twins.healthy);
        let random = Random::seeded(seed);
        let mut churn =
            Churn { stack: &twins.healthy, client: &client, random, payments: Vec::new(), job: String::new() };
        for _ in 0..50 {
            churn.schedule().await;
        }
        for _ in 0..150 {
            churn.advance(["PENDING", "PROCESSED", "FAILED", "CANCELLED", "PENDING"][churn.pick(5)]).await;
        }
        let mut accounted: BTreeSet<usize> = BTreeSet::new();
        let mut unaccounted = 50;
        for number in 1..=4 {
            let known: BTreeSet<usize> = (0..churn.payments.len()).collect();
            let job =
                if number == 1 { start(&client, AFTER).await } else { start_again(&twins.healthy, &client, DAY).await };
            churn.close(&twins, job).await;
            twins.proxy.heal();
            let (statuses, open) = (churn.statuses().await, churn.open(number).await);
            let day = client.get(&format!("/bank/days/{DAY}")).await.body;
            let certificate = if number == 1 { &day } else { &day["supplements"][number - 2] };
            let when = format!("seed {seed}, close {number}: {certificate}");
            for (status, payments) in summed(certificate) {
                assert_eq!(certificate["counts"][&status], payments.len(), "{when}: {status}");
                for payment in payments {
                    assert_eq!(statuses[payment], status, "{when}: payment {payment}");
                    assert!(!open.contains(&payment), "{when}: payment {payment} is open and counted");
                    assert!(accounted.insert(payment), "{when}: payment {payment} was counted before");
                }
            }
            let missing: Vec<_> = known.iter().filter(|one| !accounted.contains(one) && !open.contains(one)).collect();
            assert!(missing.is_empty(), "{when}: {missing:?} are missing");
            assert_eq!(certificate["openCount"], open.len(), "{when}");
            unaccounted = churn.payments.len() - accounted.len();
            if number == 3 {
                churn.settle().await;
                // The last close runs without changes.
                churn.random = Random::seeded(seed);
                let job = start_again(&twins.healthy, &client, DAY).await;
                finish(&client, &job).await;
                let day = client.get(&format!("/bank/days/{DAY}")).await.body;
                let last = &day["supplements"][2];
                let rest: BTreeSet<usize> = summed(last).into_values().flatten().collect();
                let all: BTreeSet<usize> = (0..churn.payments.len()).collect();
                assert_eq!((&last["openCount"], rest.len()), (&json!(0), unaccounted), "seed {seed}: {last}");
                assert_eq!(&all - &accounted, rest, "seed {seed}");
                break;
            }
        }
        assert!(unaccounted > 0, "seed {seed}: no payment was open");
    }
}

#[tokio::test]
async fn payment_that_is_settled_and_archived_before_the_count_stays_open() {
    let twins = Twins::start(without_jobs).await;
    let client = Client::operator(&twins.healthy);
    let open = of(Status::Pending, 1, &usd("1.00"));
    put(&twins.healthy, &[open.clone(), of(Status::Failed, 2, &usd("2.00"))]).await;
    let job = start(&client, AFTER).await;
    let is_count = |table: Option<&str>| table.is_some_and(|table| table.ends_with("TransactionHistory"));
    twins.proxy.rule(
        move |call| {
            if call.action == "Query" && is_count(call.table.as_deref()) { Fault::Held } else { Fault::None }
        },
    );
    let settled = async {
        twins.proxy.held(1).await;
        let path = format!("/bank/accounts/A-1/payments/{}", open.id());
        assert_eq!(client.patch(&path, &json!({"status": "FAILED"})).await.status, 200);
        assert_eq!(archive(&client, DAY).await, 1);
        twins.proxy.release();
    };
    let (process, event) = (process(&twins), starts(&job));
    let (run, ()) = futures::join!(process.run(&event, MINUTE), settled);
    assert!(run.is_some());
    finish(&client, &job).await;
    let day = client.get(&format!("/bank/days/{DAY}")).await.body;
    assert_eq!((&day["counts"]["PENDING"], &day["counts"]["FAILED"]), (&json!(1), &json!(1)), "{day}");
    assert_eq!(day["totals"], json!([total("FAILED", "USD", "2.00")]), "{day}");
    let job = start_again(&twins.healthy, &client, DAY).await;
    finish(&client, &job).await;
    let day = client.get(&format!("/bank/days/{DAY}")).await.body;
    let supplement = &day["supplements"][0];
    assert_eq!(supplement["totals"], json!([total("FAILED", "USD", "1.00")]), "{day}");
    assert_eq!((&supplement["counts"]["FAILED"], &supplement["openCount"]), (&json!(1), &json!(0)), "{day}");
}

/// Damages the only item of the table with this type for which the attribute has this value.
async fn damage_one(stack: &Stack, table: &str, (name, value): (&str, &str), attribute: &str) -> (String, String) {
    let is_it = |item: &unreadable::Item| unreadable::text(item, name) == value;
    unreadable::damage(stack, table, is_it, attribute, unreadable::Damage::Missing).await
}

#[tokio::test]
async fn unreadable_payments_are_counted_and_reported() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let statuses = [Status::Processed, Status::Processed, Status::Failed, Status::Pending, Status::Pending];
    let all: Vec<Payment> =
        statuses.iter().enumerate().map(|(number, status)| of(*status, number, &usd("1.00"))).collect();
    put(&stack, &all[..1]).await;
    assert_eq!(archive(&client, DAY).await, 1);
    put(&stack, &all[1..]).await;
    let mut keys = vec![damage_one(&stack, "TransactionHistory", ("PK", "A-0"), "ArchivedAt").await];
    for account in ["A-1", "A-3"] {
        keys.push(damage_one(&stack, "PaymentScheduler", ("PK", account), "CreatedAt").await);
    }
    let day = close(&client, AFTER).await;
    let counts = json!({"SCHEDULED": 0, "PENDING": 3, "PROCESSED": 1, "FAILED": 1, "CANCELLED": 0});
    assert_eq!(day["counts"], counts, "an unreadable payment that cannot be archived is open: {day}");
    assert_eq!(day["totals"], json!([total("FAILED", "USD", "1.00")]), "{day}");
    assert_eq!((&day["withoutAmount"], &day["openCount"], &day["discrepancyCount"]), (&json!(1), &json!(3), &json!(3)));
    let found = day["discrepancies"].as_array().expect("discrepancies").iter();
    let found: BTreeSet<(String, String)> = found
        .map(|one| {
            assert_eq!(one["kind"], "unreadable-item", "{day}");
            (text(&one["key"], "PK").to_owned(), text(&one["key"], "SK").to_owned())
        })
        .collect();
    assert_eq!(found, keys.into_iter().collect(), "{day}");
    stack.stop().await;
}

#[tokio::test]
async fn payment_that_cannot_be_archived_is_open_and_reported() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    put(&stack, &[of(Status::Processed, 1, &usd("1.00"))]).await;
    let key = damage_one(&stack, "PaymentScheduler", ("PK", "A-1"), "TransactionId").await;
    let day = close(&client, AFTER).await;
    assert_eq!((&day["counts"]["PENDING"], &day["openCount"]), (&json!(1), &json!(1)), "{day}");
    let found = json!([{"kind": "not-archived", "key": {"PK": key.0, "SK": key.1}}]);
    assert_eq!(day["discrepancies"], found, "{day}");
    stack.stop().await;
}

#[tokio::test]
async fn unreadable_items_of_a_close_are_skipped_or_fail_the_request() {
    let stack = without_jobs().start().await.expect("a stack");
    let client = Client::operator(&stack);
    put(&stack, &[of(Status::Pending, 1, "1"), of(Status::Pending, 2, "1")]).await;
    damage_one(&stack, "PaymentScheduler", ("PK", "A-2"), "CreatedAt").await;
    close(&client, AFTER).await;
    let path = format!("/bank/days/{DAY}");
    damage_one(&stack, "BankJobs", ("AccountID", "A-1"), "Status").await;
    let day = client.get(&path).await.body;
    assert_eq!((&day["skipped"], &day["openCount"], &day["discrepancyCount"]), (&json!(1), &json!(2), &json!(1)));
    damage_one(&stack, "BankJobs", ("Type", "Discrepancy"), "Kind").await;
    assert_eq!(client.get(&path).await.body["skipped"], 2);
    damage_one(&stack, "BankJobs", ("Type", "Certificate"), "Settled").await;
    assert_problem(&client.get(&path).await, 500, "internal");
    let job = start_again(&stack, &client, DAY).await;
    finish(&client, &job).await;
    assert_eq!(job, format!("close-{DAY}-0002"), "an unreadable certificate does not prevent a supplement");
    stack.stop().await;
}
