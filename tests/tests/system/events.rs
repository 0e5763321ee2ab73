//! Tests that each event of `events/` gets the expected response in its world (events/README.md).

use local::{
    events::Expected,
    in_process::{InProcess, clock},
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    events::{Event, all},
    patterns,
    world::{NOW, send, settle, world},
};

/// Functions whose response says whether work is left.
const SCHEDULED: [&str; 4] =
    ["archive-settled-payments", "dispatch-due-payments", "release-expired-holds", "start-group-progress"];

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

/// Plays an event: an accepted request over the gateway, any other event by an invocation, because
/// the gateway would refuse some before the function does. Returns the fault.
async fn play(stack: &InProcess, event: &Event) -> Option<String> {
    let answer = if event.is_request() && event.is_base() {
        let answer = send(stack, &event.content).await;
        Ok(json!({"statusCode": answer.status, "body": answer.body.to_string()}))
    } else {
        let mut content = event.content.clone();
        if event.is_request() {
            content["requestContext"]["timeEpoch"] = clock::now().as_millisecond().into();
        }
        stack.invoke(event.function(), content).await.answer.map_err(|(kind, message)| format!("{kind}: {message}"))
    };
    let is_left = SCHEDULED.contains(&event.function()) && answer.as_ref().is_ok_and(|answer| answer["left"] != false);
    let fault = event.fault(&answer);
    fault.or_else(|| is_left.then(|| format!("{}: {answer:?}", event.name)))
}

/// Each date, and the order in which the events are played.
const DAYS: [(&str, Order); 3] =
    [(NOW, Order::ByName), ("2026-12-31T23:59:30Z", Order::Reversed), ("2031-11-26T12:00:00Z", Order::ReadsFirst)];

#[derive(Clone, Copy, PartialEq)]
enum Order {
    ByName,
    /// In the reverse order, with decimal points in all whole numbers.
    Reversed,
    /// The GET events first, on a world that no other event has changed.
    ReadsFirst,
}

#[tokio::test(start_paused = true)]
async fn each_event_gets_the_expected_response_on_any_day_in_any_order() {
    let mut faults = Vec::new();
    for (day, order) in DAYS {
        let stack = world(day).await;
        let mut events = all();
        match order {
            Order::ByName => {}
            Order::Reversed => {
                events.reverse();
                for event in &mut events {
                    let body = event.content["body"].as_str().and_then(|body| serde_json::from_str::<Value>(body).ok());
                    if let Some(body) = body {
                        event.content["body"] = with_decimal_points(&body).into();
                    }
                }
            }
            Order::ReadsFirst => events.sort_by_key(|event| event.content["requestContext"]["http"]["method"] != "GET"),
        }
        for event in &events {
            faults.extend(play(&stack, event).await.map(|fault| format!("{day} {fault}")));
            settle(&stack).await;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The sample day of the bank is closed without findings, and no payment waits for an outcome.
#[tokio::test(start_paused = true)]
async fn the_worlds_are_coherent() {
    let stack = world(NOW).await;
    let day = all().into_iter().find(|event| event.name == "get-day").expect("the event");
    let day = send(&stack, &day.content).await.body;
    assert_eq!((&day["status"], &day["counts"]["PROCESSED"]), (&json!("closed"), &json!(1)), "{day}");
    for finding in ["open", "discrepancies"] {
        assert!(day[finding].as_array().is_none_or(Vec::is_empty), "{day}");
    }
    for table in ["local-PaymentScheduler", "local-TransactionHistory"] {
        for item in stack.items(table).expect("items") {
            let state = item["GSI1SK"]["S"].as_str().unwrap_or_default();
            assert!(!state.starts_with("PENDING#"), "{item}");
            let data = item["Data"]["S"].as_str().map_or(Value::Null, |data| serde_json::from_str(data).expect("JSON"));
            assert!(data.is_null() || data["amount"].is_string(), "{item}");
        }
    }
    // A second creation changes nothing.
    let items = |stack: &InProcess| {
        let tables = stack.template().tables.iter();
        tables.map(|table| stack.items(&table.name).expect("items")).collect::<Vec<_>>()
    };
    let before = items(&stack);
    stack.create_world(&system_tests::events::folder()).await.expect("the worlds");
    settle(&stack).await;
    assert_eq!(items(&stack), before);
}

#[test]
fn every_function_has_an_accepted_and_a_rejected_event() {
    let events = all();
    let names: BTreeSet<&str> = events.iter().map(Event::function).collect();
    assert_eq!(names, patterns::all().iter().map(|pattern| pattern.name).collect());
    for function in names {
        let own = || events.iter().filter(|event| event.function() == function);
        assert!(own().any(Event::is_base), "{function}");
        assert!(own().any(|event| event.name.contains('-') && !event.is_base()), "{function}");
    }
}

#[test]
fn every_route_has_an_accepted_event() {
    let is_accepted = |event: &Event| event.expected == Expected::Succeeds(true);
    let events: Vec<_> = all().into_iter().filter(is_accepted).collect();
    let routes = patterns::all().into_iter().flat_map(|pattern| pattern.routes());
    let routes = routes.map(|route| format!("{} {}", route.method, route.path));
    let missing: Vec<_> =
        routes.filter(|key| !events.iter().any(|event| event.content["routeKey"] == key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn events_contain_the_claims_of_the_authorizer() {
    for event in all().into_iter().filter(Event::is_request) {
        assert!(event.content["requestContext"]["authorizer"]["jwt"]["claims"]["sub"].is_string(), "{}", event.name);
    }
}
