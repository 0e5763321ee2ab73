//! Tests of the dispatch (B10) and its switch (B18): what is due, retries, throttling, and
//! dispatches by hand (docs/requirements/bank.md#dispatch-due-payments).

use bank::{Execution, Payment};
use keys::bank::Status;
use local::Builder;
use serde_json::{Value, json};
use system_tests::{
    Client, assert_problem,
    bank::{Row, handed_over, payment, payments, put, scheduled_at, unexecuted as stack},
    faults::{Fault, Twins},
    on_both_projections, parsed, text, until,
};

const DISPATCH: &str = "dispatch-due-payments";
const NOW: &str = "2099-12-01T09:30:00Z";

fn at(time: &str, shard: usize) -> Payment {
    payment(&format!("A-{}", shard % 3), time, Status::Scheduled, shard % 5)
}

async fn dispatch(client: &Client, time: &str) -> Value {
    client.invoke(DISPATCH, &scheduled_at(time)).await.body
}

fn claimed(count: usize) -> Value {
    json!({"claimed": count, "retried": 0, "left": false})
}

fn status(row: &Row) -> String {
    row["GSI1SK"].split('#').next().expect("a status").to_owned()
}

async fn claims_what_is_due_and_nothing_else(projection: &str) {
    let stack = stack().parameter("IndexProjection", projection).start().await.expect("a stack");
    let client = Client::operator(&stack);
    let due = ["2098-01-01T00:00:00Z", "2099-11-30T23:59:59Z", "2099-12-01T00:00:00Z", NOW];
    let later = ["2099-12-01T09:30:01Z", "2099-12-02T00:00:00Z"];
    let all: Vec<Payment> = due.iter().chain(&later).flat_map(|time| (0..5).map(|shard| at(time, shard))).collect();
    put(&stack, &all).await;
    assert_eq!(dispatch(&client, NOW).await, claimed(20));
    for row in payments(&stack).await {
        let is_due = row["SK"].as_str() < "2099-12-01T09:30:01Z";
        assert_eq!(status(&row), if is_due { "PENDING" } else { "SCHEDULED" }, "{row:?}");
        assert_eq!(row.get("DispatchedAt").map(String::as_str), is_due.then_some(NOW), "{row:?}");
        assert!(!row.contains_key("Execution") && !row.contains_key("NextAttemptAt"), "{row:?}");
    }
    assert_eq!(dispatch(&client, NOW).await, claimed(0));
    assert_eq!(dispatch(&client, "2099-12-03T00:00:00Z").await, claimed(10));
    stack.stop().await;
}

on_both_projections! { claims_what_is_due_and_nothing_else }

#[tokio::test]
async fn throttled_dispatch_stops_and_says_so() {
    let twins = Twins::start(stack).await;
    put(&twins.healthy, &[at(NOW, 0)]).await;
    for action in ["Query", "UpdateItem"] {
        twins.proxy.rule(move |call| if call.action == action { Fault::throttled() } else { Fault::None });
        let run = dispatch(&Client::operator(&twins.faulty), NOW).await;
        assert_eq!(run, json!({"claimed": 0, "retried": 0, "left": true}), "{action}");
    }
    twins.proxy.heal();
    assert_eq!(dispatch(&Client::operator(&twins.faulty), NOW).await, claimed(1));
}

/// A stack whose bank hands payments to the executor.
fn executing() -> Builder {
    handed_over("http://127.0.0.1:9/")
}

fn pending(execution: Execution, next: Option<&str>) -> Payment {
    Payment {
        execution: Some(execution),
        next_attempt_at: next.map(parsed),
        dispatched_at: Some(parsed(NOW)),
        ..payment("A-1", "2099-12-01T09:00:00Z", Status::Pending, 3)
    }
}

#[tokio::test]
async fn payments_are_handed_to_the_executor_again_when_their_next_attempt_is_due() {
    let stack = executing().start().await.expect("a stack");
    let client = Client::operator(&stack);
    let due = [pending(Execution::Waiting, Some(NOW)), pending(Execution::Due, Some("2099-12-01T09:29:59Z"))];
    let others = [
        pending(Execution::Waiting, Some("2099-12-01T09:30:01Z")),
        pending(Execution::Due, Some("2099-12-01T10:30:00Z")),
        pending(Execution::Exhausted, None),
        payment("A-2", "2099-12-01T09:00:00Z", Status::Pending, 1),
    ];
    put(&stack, &[&due[..], &others].concat()).await;
    let before = payments(&stack).await;
    assert_eq!(dispatch(&client, NOW).await, json!({"claimed": 0, "retried": 2, "left": false}));
    let handed: Vec<String> = due.iter().map(|payment| payment.id().to_string()).collect();
    for row in payments(&stack).await {
        if handed.iter().any(|id| row["SK"].ends_with(id)) {
            assert_eq!((row["Execution"].as_str(), row["NextAttemptAt"].as_str()), ("due", "2099-12-01T10:30:00Z"));
        } else {
            assert!(before.contains(&row), "{row:?} must not change");
        }
    }
    put(&stack, &[at(NOW, 0)]).await;
    assert_eq!(dispatch(&client, NOW).await, claimed(1));
    stack.stop().await;
}

#[tokio::test]
async fn disabled_dispatching_claims_nothing_and_resumes_where_it_stopped() {
    let stack = executing().start().await.expect("a stack");
    let client = Client::operator(&stack);
    assert_eq!(client.get("/bank/dispatching").await.body, json!({"enabled": true}));
    // The executor passed over this payment while dispatching was disabled.
    put(&stack, &[at(NOW, 0), pending(Execution::Due, Some("2026-01-01T01:00:00Z"))]).await;
    for name in ["ann", "bob"] {
        let operator = Client::member(&stack, "bank:operate bank:write", "none", name);
        let off = operator.put("/bank/dispatching", &json!({"enabled": false})).await;
        assert_eq!((off.status, &off.body["enabled"]), (200, &json!(false)));
        // The second request changes nothing.
        assert_eq!(off.body["changedBy"], json!({"sub": "ann", "scope": "bank:operate"}));
        assert_eq!(client.get("/bank/dispatching").await.body, off.body);
    }
    let before = payments(&stack).await;
    let run = dispatch(&client, NOW).await;
    assert_eq!(run, json!({"claimed": 0, "retried": 0, "left": false, "disabled": true}));
    assert_problem(&client.post("/bank/dispatches", &json!({})).await, 409, "dispatching-disabled");
    assert_eq!(payments(&stack).await, before);
    assert_eq!(client.put("/bank/dispatching", &json!({"enabled": true})).await.status, 200);
    // The second payment was handed over before the switch was changed.
    assert_eq!(dispatch(&client, NOW).await, json!({"claimed": 1, "retried": 1, "left": false}));
    stack.stop().await;
}

#[tokio::test]
async fn dispatch_by_hand_is_a_job_with_progress() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    put(&stack, &(0..250).map(|number| at("2020-01-01T00:00:00Z", number)).collect::<Vec<_>>()).await;
    let started = client.post_once("/bank/dispatches", "D-1", &json!({})).await;
    assert_eq!((started.status, text(&started.body, "status")), (202, "running"), "{}", started.body);
    let path = started.headers["location"].to_str().expect("text");
    let done = until(&client, path, |answer| answer.body["status"] == "done").await;
    assert_eq!((&done.body["kind"], &done.body["done"]), (&json!("dispatch"), &json!(250)), "{}", done.body);
    let again = client.post_once("/bank/dispatches", "D-1", &json!({})).await;
    assert_eq!((again.status, &again.body), (202, &done.body));
    assert_problem(&client.post(&format!("{path}/retry"), &json!({})).await, 409, "job-not-failed");
    let rows = payments(&stack).await;
    assert!(rows.len() == 250 && rows.iter().all(|row| status(row) == "PENDING"));
    stack.stop().await;
}
