//! Tests that each event of `events/` gets the expected response.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    Client,
    events::{NO_CLAIMS, all, event, folder, name},
    patterns, stack,
};

/// Cases of events that the function cannot read.
const NONSENSE: [&str; 8] =
    ["no-such-day", "no-such-time", "no-batch", "not-over", "no-name", "removed", "no-such-file", "no-such-table"];

/// Functions whose response says whether work is left.
const SCHEDULED: [&str; 4] =
    ["archive-settled-payments", "dispatch-due-payments", "release-expired-holds", "start-group-progress"];

/// Functions whose response must contain an item that an earlier event created. Each entry also has
/// a field of the item and the value of that field.
const LISTS: [(&str, &str, &str); 10] = [
    ("list-products", "sku", "72f49"),
    ("list-cart-items", "sku", "72f49"),
    ("list-sku-items", "sku", "72f49"),
    ("checkout-cart", "sku", "72f49"),
    ("list-templates", "name", "Walk"),
    ("list-activities", "name", "Walk 5000"),
    ("list-activity-options", "name", "Walk 5000"),
    ("list-user-accounts", "balance", "1510.25"),
    ("list-transactions", "transactionType", "deposit"),
    ("get-statement", "balanceAfter", "1510.25"),
];

/// The body with another form of each whole number: `2.0` for 2.
fn with_decimal_points(json: &Value) -> String {
    match json {
        Value::Number(number) if number.is_i64() => format!("{number}.0"),
        Value::Array(items) => format!("[{}]", items.iter().map(with_decimal_points).collect::<Vec<_>>().join(",")),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| format!("{}:{}", json!(name), with_decimal_points(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[tokio::test]
async fn each_event_gets_the_expected_response() {
    each_gets_the_expected_response(|_| {}).await;
}

#[tokio::test]
async fn each_event_with_decimal_points_gets_the_expected_response() {
    each_gets_the_expected_response(|event| {
        let body = event["body"].as_str().and_then(|body| serde_json::from_str::<Value>(body).ok());
        if let Some(body) = body {
            event["body"] = with_decimal_points(&body).into();
        }
    })
    .await;
}

async fn each_gets_the_expected_response(change: impl Fn(&mut Value)) {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for (function, why, status) in all() {
        let mut event = event(function, why);
        change(&mut event);
        let answer = client.invoke(function, &event).await;
        let (name, failed) = (name(function, why), answer.headers.contains_key("x-amz-function-error"));
        match status {
            Some(status) => assert_eq!(answer.body["statusCode"], json!(status), "{name}: {}", answer.body),
            None if NONSENSE.contains(&why) => assert!(failed, "{name}: {}", answer.body),
            None if function == "start-daily-reconciliation" => {
                let id = answer.body["reconciliationId"].as_str().unwrap_or_default();
                assert!(!failed && id.starts_with("daily-2026-11-"), "{name}: {}", answer.body);
            }
            None if function == "import-payments" => {
                assert!(!failed && answer.body["started"].is_array(), "{name}: {}", answer.body);
            }
            None if function == "convert-export" => {
                assert_eq!((failed, &answer.body["rows"]), (false, &json!(0)), "{name}: {}", answer.body);
            }
            None if function == "plan-refresh" => {
                assert!(!failed && answer.body["verify"].is_string(), "{name}: {}", answer.body);
            }
            None if function == "receive-file" => {
                assert!(!failed && answer.body["received"].is_array(), "{name}: {}", answer.body);
            }
            None if function == "close-day" => {
                let id = answer.body["jobId"].as_str().unwrap_or_default();
                assert!(!failed && id.starts_with("close-20"), "{name}: {}", answer.body);
            }
            None if function == "load-templates" => {
                assert_eq!((failed, &answer.body["loaded"]), (false, &json!(10)), "{name}: {}", answer.body);
            }
            None if SCHEDULED.contains(&function) => {
                assert_eq!((failed, &answer.body["left"]), (false, &json!(false)), "{name}: {}", answer.body);
            }
            None => {
                let reported = answer.body["batchItemFailures"].as_array().map(Vec::len);
                assert_eq!((failed, reported), (false, Some(0)), "{name}: {}", answer.body);
            }
        }
        if let Some((_, member, value)) = LISTS.iter().find(|(list, ..)| *list == function && why.is_empty()) {
            let body = answer.body["body"].as_str().and_then(|body| serde_json::from_str::<Value>(body).ok());
            assert_eq!(body.map(|body| body["items"][0][member].clone()), Some(json!(value)), "{name}");
        }
    }
    let due = client.get("/bank/payments/due?date=2099-12-01").await;
    assert_eq!(due.body["items"].as_array().map(Vec::len), Some(1), "the payment of the event is due");
    let bought = client.get("/cart/skus/72f49/items?status=PURCHASED&date=2026-12-01").await;
    assert_eq!(bought.body["items"].as_array().map(Vec::len), Some(1), "the product of the event was purchased");
    stack.stop().await;
}

/// `make run` loads the sample, and what the GET events read.
#[tokio::test]
async fn every_get_event_succeeds_on_a_fresh_stack() {
    let stack = stack().start().await.expect("a stack");
    stack.load_sample().await.expect("the sample");
    // A second start on the same data creates nothing.
    for _ in 0..2 {
        stack.load_events().await.expect("the objects of the events");
    }
    let client = Client::operator(&stack);
    let folder = folder();
    let names = folder.names().expect("the events");
    let mut failures = Vec::new();
    let mut count = 0;
    for name in names.iter().filter(|name| !name.contains('.')) {
        let event = folder.event(name).expect("an event");
        if event["requestContext"]["http"]["method"] != "GET" {
            continue;
        }
        count += 1;
        let answer = client.invoke(name, &event).await.body;
        if answer["statusCode"] != 200 {
            failures.push(format!("{name}: {answer}"));
        }
    }
    stack.stop().await;
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count > 40, "only {count} events were found");
}

#[test]
fn every_function_has_an_accepted_and_a_rejected_event() {
    let all = all();
    for pattern in patterns::all() {
        let function = pattern.name;
        assert!(all.iter().any(|(name, why, _)| *name == function && why.is_empty()), "{function}");
        assert!(all.iter().any(|(name, why, _)| *name == function && why.contains('-')), "{function}");
    }
    let listed = all.iter().filter(|(_, why, _)| *why != NO_CLAIMS);
    let listed: BTreeSet<String> = listed.map(|(function, why, _)| name(function, why)).collect();
    assert_eq!(folder().names().expect("the events"), listed);
}

#[test]
fn events_contain_the_claims_of_the_authorizer() {
    for (function, why, status) in all().into_iter().filter(|(_, _, status)| status.is_some()) {
        let event = event(function, why);
        assert!(event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"].is_string(), "{function} {status:?}");
    }
}
