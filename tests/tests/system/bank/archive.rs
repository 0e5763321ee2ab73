//! Tests of the archive (B5): what it moves, throttling, and deadlines.

use bank::Payment;
use futures::future::join;
use keys::bank::Status;
use local::Stack;
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use system_tests::{
    Client,
    bank::{Row, payment, payments, put, stack, transactions},
    faults::{Call, Fault, Process, Twins},
};
use tokio::time::{Instant, sleep_until};

const ARCHIVE: &str = "archive-settled-payments";
const DAY: &str = "2099-12-01";
const MINUTE: Duration = Duration::from_mins(1);

fn until(date: &str) -> Value {
    json!({"date": date})
}

fn process(twins: &Twins) -> Process<'_> {
    twins.process(ARCHIVE, &bank::patterns::archive_settled_payments::function())
}

/// Puts `count` processed payments, spread over 40 accounts and five shards. Returns their sorted
/// keys.
async fn processed(stack: &Stack, count: usize) -> Vec<(String, String)> {
    with_statuses(stack, count, &[Status::Processed]).await
}

/// Puts `count` settled payments of all statuses.
async fn settled(stack: &Stack, count: usize) -> Vec<(String, String)> {
    with_statuses(stack, count, &Status::SETTLED).await
}

async fn with_statuses(stack: &Stack, count: usize, statuses: &[Status]) -> Vec<(String, String)> {
    let one = |number: usize| {
        let time = format!("2099-{:02}-01T09:{:02}:00Z", 1 + number % 12, number % 60);
        payment(&format!("A-{}", number % 40), &time, statuses[number % statuses.len()], number % 5)
    };
    let all: Vec<Payment> = (0..count).map(one).collect();
    put(stack, &all).await;
    keys(&payments(stack).await)
}

fn keys(rows: &[Row]) -> Vec<(String, String)> {
    let mut keys: Vec<_> = rows.iter().map(|row| (row["PK"].clone(), row["SK"].clone())).collect();
    keys.sort();
    keys
}

/// Checks that every payment is in exactly one table. Returns the number of payments in
/// `PaymentScheduler`.
async fn assert_each_once(stack: &Stack, all: &[(String, String)], when: &str) -> usize {
    let left = payments(stack).await;
    let both = [left.clone(), transactions(stack).await].concat();
    assert_eq!(both.len(), all.len(), "{when}: a payment was lost or duplicated");
    assert_eq!(keys(&both), all, "{when}");
    left.len()
}

fn location(account: &str, sort: &str) -> String {
    let (_, id) = sort.split_once('#').expect("a sort key");
    format!("/bank/accounts/{account}/payments/{id}")
}

/// Runs the archive on a stack without faults until no settled payment remains. Returns the
/// number of moved payments.
async fn finish(stack: &Stack) -> u64 {
    let (client, mut moved) = (Client::operator(stack), 0);
    for _ in 0..100 {
        let run = client.invoke(ARCHIVE, &until(DAY)).await;
        moved += run.body["moved"].as_u64().expect("a number");
        if run.body["left"] == false {
            break;
        }
    }
    moved
}

#[tokio::test]
async fn transaction_has_the_attributes_of_the_payment() {
    let stack = stack().start().await.expect("a stack");
    settled(&stack, 3).await;
    let before = in_order(payments(&stack).await);
    assert_eq!(finish(&stack).await, 3);
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

type Rule = Box<dyn FnMut(&Call) -> Fault + Send>;

/// Faults that throttle a run: on the second page, or after 40 moves.
fn throttles() -> [(&'static str, Rule); 5] {
    let mut moved = false;
    let queries = move |call: &Call| {
        moved |= call.action == "TransactWriteItems";
        if moved { from(call, "Query", 1, Fault::throttled()) } else { Fault::None }
    };
    let cancelled =
        |codes: &'static [&str]| move |call: &Call| from(call, "TransactWriteItems", 41, Fault::cancelled(codes));
    [
        ("the queries", Box::new(queries)),
        ("the items", Box::new(|call| from(call, "BatchGetItem", 2, Fault::throttling()))),
        ("items that remain unprocessed", Box::new(|call| from(call, "BatchGetItem", 2, Fault::Partly(0)))),
        ("the moves", Box::new(cancelled(&["None", "ThrottlingError"]))),
        ("conflicting transactions", Box::new(cancelled(&["TransactionConflict", "None"]))),
    ]
}

/// Injects the fault into the n-th call of the action and all later calls.
fn from(call: &Call, action: &str, nth: usize, fault: Fault) -> Fault {
    if call.action == action && call.nth >= nth { fault } else { Fault::None }
}

#[tokio::test]
async fn throttled_run_reports_moved_and_remaining_payments() {
    futures::future::join_all(throttles().map(async |(what, rule)| {
        let twins = Twins::start(stack).await;
        let (all, process) = (settled(&twins.healthy, 110).await, process(&twins));
        twins.proxy.rule(rule);
        let run = process.run(&until(DAY), MINUTE).await.expect("no crash").answer;
        let left = assert_each_once(&twins.healthy, &all, what).await;
        assert!((1..110).contains(&left), "{what}: {left} left");
        assert_eq!(run, Ok(json!({"until": DAY, "moved": 110 - left, "left": true})), "{what}");
        twins.proxy.heal();
        let run = process.run(&until(DAY), MINUTE).await.expect("no crash").answer;
        assert_eq!(run, Ok(json!({"until": DAY, "moved": left, "left": false})), "{what}");
    }))
    .await;
}

#[tokio::test]
async fn run_stops_near_its_deadline_and_the_next_run_continues() {
    let twins = Twins::start(stack).await;
    let (all, process) = (processed(&twins.healthy, 101).await, process(&twins));
    let time = Duration::from_secs(6);
    let near = Instant::now() + time * 3 / 4;
    // The last move of the first page ends shortly before the deadline. The other moves are
    // rejected, so they end early.
    twins.proxy.rule(|call| match (call.action.as_str(), call.nth) {
        ("TransactWriteItems", 100) => Fault::Held,
        ("TransactWriteItems", _) => Fault::cancelled(&["ConditionalCheckFailed", "None"]),
        _ => Fault::None,
    });
    let slow = async {
        twins.proxy.held(1).await;
        sleep_until(near).await;
        twins.proxy.release();
    };
    let event = until(DAY);
    let (run, ()) = join(process.run(&event, time), slow).await;
    let stopped = json!({"until": DAY, "moved": 1, "left": true});
    assert_eq!(run.expect("no crash").answer, Ok(stopped));
    assert_eq!(assert_each_once(&twins.healthy, &all, "near the deadline").await, 100);
    let late = process.run(&event, Duration::ZERO).await.expect("no crash").answer;
    assert_eq!(late, Ok(json!({"until": DAY, "moved": 0, "left": true})), "a run without time");
    assert_eq!(finish(&twins.healthy).await, 100);
}

/// Input events, and the last day whose payments the run archives. The default is yesterday.
const DAYS: [(&str, &str); 5] = [
    (r#"{"date": "2099-12-01"}"#, "2099-12-01"),
    (r#"{"date": "2099-11-30"}"#, "2099-11-30"),
    (
        r#"{"detail-type": "Scheduled Event", "source": "aws.events", "time": "2099-12-02T00:00:10Z", "detail": {}}"#,
        "2099-12-01",
    ),
    (
        r#"{"detail-type": "Scheduled Event", "source": "aws.events", "time": "2099-12-02T23:59:59Z", "detail": {}}"#,
        "2099-12-01",
    ),
    (
        r#"{"detail-type": "Scheduled Event", "source": "aws.events", "time": "2099-12-01T23:59:59Z", "detail": {}}"#,
        "2099-11-30",
    ),
];

#[tokio::test]
async fn moves_only_settled_payments_up_to_the_end_of_the_day() {
    for (event, last) in DAYS {
        let stack = stack().start().await.expect("a stack");
        let times = [
            "2098-01-01T00:00:00Z",
            "2099-11-30T23:59:59Z",
            "2099-12-01T00:00:00Z",
            "2099-12-01T23:59:59Z",
            "2099-12-02T00:00:00Z",
            "2100-01-01T00:00:00Z",
        ];
        let pairs = times.into_iter().flat_map(|time| Status::ALL.map(|status| (time, status)));
        let all: Vec<Payment> =
            pairs.enumerate().map(|(number, (time, status))| payment("A-1", time, status, number % 5)).collect();
        put(&stack, &all).await;
        let expected: BTreeSet<_> = times.into_iter().filter(|time| time[..10] <= *last).collect();
        let count = 3 * expected.len();
        let event: Value = serde_json::from_str(event).expect("JSON");
        let run = Client::operator(&stack).invoke(ARCHIVE, &event).await;
        assert_eq!(run.body, json!({"until": last, "moved": count, "left": false}), "{event}");
        let moved = transactions(&stack).await;
        let is_open = |row: &Row| ["SCHEDULED#", "PENDING#"].iter().any(|open| row["GSI1SK"].starts_with(open));
        assert!(!moved.iter().any(is_open), "{event}");
        assert_eq!(moved.len(), count, "{event}");
        assert_eq!(moved.iter().map(|row| &row["SK"][..20]).collect::<BTreeSet<_>>(), expected, "{event}");
        assert_eq!(payments(&stack).await.len(), all.len() - count, "{event}");
    }
}

#[tokio::test]
async fn payment_that_is_archived_during_a_read_is_found() {
    for status in Status::SETTLED {
        let twins = Twins::start(stack).await;
        let all = with_statuses(&twins.healthy, 1, &[status]).await;
        let (account, sort) = &all[0];
        twins.proxy.rule(|call| if call.action == "GetItem" { Fault::Held } else { Fault::None });
        let archived = async {
            twins.proxy.held(1).await;
            assert_eq!(finish(&twins.healthy).await, 1);
            twins.proxy.release();
        };
        let reader = Client::operator(&twins.faulty);
        let (answer, ()) = join(reader.get(&location(account, sort)), archived).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!(status)), "{}", answer.body);
        assert_eq!(twins.proxy.count("GetItem"), 2);
    }
}
