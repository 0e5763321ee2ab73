//! Tests of the archive (B5): what it moves, throttling, and a reader at the same time
//! (docs/decisions/archive.md).

use bank::Payment;
use futures::future::join;
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use system_tests::{
    Client,
    bank::{Row, payment, payments, put, scheduled_at, stack, transactions},
    faults::{Call, Fault, Twins},
};

const ARCHIVE: &str = "archive-settled-payments";
const DAY: &str = "2099-12-01";

/// Puts `count` payments with these statuses, spread over 40 accounts and five shards.
async fn with_statuses(stack: &Stack, count: usize, statuses: &[Status]) -> Vec<Payment> {
    let one = |number: usize| {
        let time = format!("2099-{:02}-01T09:{:02}:00Z", 1 + number % 12, number % 60);
        payment(&format!("A-{}", number % 40), &time, statuses[number % statuses.len()], number % 5)
    };
    let all: Vec<Payment> = (0..count).map(one).collect();
    put(stack, &all).await;
    all
}

/// Checks that every payment is in exactly one table. Returns the number of payments in
/// `PaymentScheduler`.
async fn assert_each_once(stack: &Stack, count: usize, when: &str) -> usize {
    let left = payments(stack).await;
    let both = [left.clone(), transactions(stack).await].concat();
    let keys: BTreeSet<_> = both.iter().map(|row| (&row["PK"], &row["SK"])).collect();
    assert_eq!((both.len(), keys.len()), (count, count), "{when}: a payment was lost or duplicated");
    left.len()
}

async fn archive(stack: &Stack) -> Value {
    Client::operator(stack).invoke(ARCHIVE, &json!({"date": DAY})).await.body
}

fn archived(moved: usize, left: bool) -> Value {
    json!({"until": DAY, "moved": moved, "left": left})
}

#[tokio::test]
async fn transaction_has_the_attributes_of_the_payment() {
    let stack = stack().start().await.expect("a stack");
    with_statuses(&stack, 3, &Status::SETTLED).await;
    let before = in_order(payments(&stack).await);
    assert_eq!(archive(&stack).await, archived(3, false));
    let mut after = in_order(transactions(&stack).await);
    for row in &mut after {
        assert!(row.remove("ArchivedAt").is_some());
    }
    let renamed = |(name, value): (String, String)| match name.as_str() {
        "TransactionId" => ("GSI2PK".to_owned(), value),
        "Type" => (name, "Transaction".to_owned()),
        _ => (name, value),
    };
    let kept = |row: Row| row.into_iter().filter(|(name, _)| name != "Version").map(renamed).collect();
    let wanted: Vec<Row> = before.into_iter().map(kept).collect();
    assert_eq!(after, wanted);
}

fn in_order(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|one, other| one["SK"].cmp(&other["SK"]));
    rows
}

/// Injects the fault into the n-th call of the action and all later calls.
fn from(call: &Call, action: &str, nth: usize, fault: Fault) -> Fault {
    if call.action == action && call.nth >= nth { fault } else { Fault::None }
}

#[tokio::test]
async fn a_run_that_is_throttled_or_late_stops_and_the_next_run_continues() {
    type Rule = fn(&Call) -> Fault;
    let rules: [(&str, Rule); 2] = [
        ("the second page", |call| from(call, "BatchGetItem", 2, Fault::Partly(0))),
        ("the 41st move", |call| from(call, "TransactWriteItems", 41, Fault::cancelled(&["None", "ThrottlingError"]))),
    ];
    for (what, rule) in rules {
        let twins = Twins::start(stack).await;
        with_statuses(&twins.healthy, 110, &[Status::Processed]).await;
        twins.proxy.rule(rule);
        let run = archive(&twins.faulty).await;
        let left = assert_each_once(&twins.healthy, 110, what).await;
        assert!((1..110).contains(&left), "{what}: {left} left");
        assert_eq!(run, archived(110 - left, true), "{what}");
        twins.proxy.heal();
        let process = twins.process(ARCHIVE, &(bank::patterns::archive_settled_payments::PATTERN.function)());
        let late = process.run(&json!({"date": DAY}), Duration::ZERO).await.expect("no crash").answer;
        assert_eq!(late, Ok(archived(0, true)), "a run without time");
        assert_eq!(archive(&twins.faulty).await, archived(left, false), "{what}");
    }
}

/// Times of schedules, and the last day whose payments the run archives: the day before.
const DAYS: [(&str, &str); 3] = [
    ("2099-12-02T00:00:10Z", "2099-12-01"),
    ("2099-12-02T23:59:59Z", "2099-12-01"),
    ("2099-12-01T23:59:59Z", "2099-11-30"),
];

#[tokio::test]
async fn moves_only_settled_payments_up_to_the_end_of_the_day() {
    for (now, last) in DAYS {
        let stack = stack().start().await.expect("a stack");
        let times = [
            "2098-01-01T00:00:00Z",
            "2099-11-30T23:59:59Z",
            "2099-12-01T00:00:00Z",
            "2099-12-01T23:59:59Z",
            "2099-12-02T00:00:00Z",
        ];
        let pairs = times.into_iter().flat_map(|time| Status::ALL.map(|status| (time, status)));
        let all: Vec<Payment> =
            pairs.enumerate().map(|(number, (time, status))| payment("A-1", time, status, number % 5)).collect();
        put(&stack, &all).await;
        let expected: BTreeSet<_> = times.into_iter().filter(|time| time[..10] <= *last).collect();
        let count = 3 * expected.len();
        let run = Client::operator(&stack).invoke(ARCHIVE, &scheduled_at(now)).await;
        assert_eq!(run.body, json!({"until": last, "moved": count, "left": false}), "{now}");
        let moved = transactions(&stack).await;
        let is_open = |row: &Row| ["SCHEDULED#", "PENDING#"].iter().any(|open| row["GSI1SK"].starts_with(open));
        assert!(moved.len() == count && !moved.iter().any(is_open), "{now}");
        assert_eq!(moved.iter().map(|row| &row["SK"][..20]).collect::<BTreeSet<_>>(), expected, "{now}");
        assert_eq!(payments(&stack).await.len(), all.len() - count, "{now}");
    }
}

#[tokio::test]
async fn payment_that_is_archived_during_a_read_is_found() {
    let twins = Twins::start(stack).await;
    let all = with_statuses(&twins.healthy, 1, &[Status::Processed]).await;
    twins.proxy.rule(|call| if call.action == "GetItem" { Fault::Held } else { Fault::None });
    let moved = async {
        twins.proxy.held(1).await;
        assert_eq!(archive(&twins.healthy).await, archived(1, false));
        twins.proxy.release();
    };
    let (reader, path) =
        (Client::operator(&twins.faulty), format!("/bank/accounts/{}/payments/{}", all[0].account, all[0].id()));
    let (answer, ()) = join(reader.get(&path), moved).await;
    assert_eq!((answer.status, &answer.body["status"]), (200, &json!("PROCESSED")), "{}", answer.body);
    assert_eq!(twins.proxy.count("GetItem"), 2);
}
