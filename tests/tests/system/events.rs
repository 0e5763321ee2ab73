//! Tests that each event of `events/` gets the expected response in its world (events/README.md).

use events::Expected;
use jiff::{SignedDuration, Timestamp};
use keys::cart::ItemId;
use local::in_process::{InProcess, clock};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use system_tests::{
    events::{Event, all, event, folder},
    patterns, stride,
    world::{NOW, empty, send, settle, world},
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

/// Sends the request of `<function>.json` to the gateway. Any other event invokes the function
/// directly, because the gateway would refuse some variants before the function does. Returns the
/// fault.
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

/// Lists that are empty in the worlds: no payment is overdue.
const EMPTY: [&str; 1] = ["list-overdue-payments"];

/// The GET events, with their responses.
async fn read(stack: &InProcess, is_wanted: impl Fn(&Event) -> bool) -> Vec<(Event, Value)> {
    let mut answers = Vec::new();
    for event in all().into_iter().filter(|event| event.expected == Expected::Succeeds(true) && is_wanted(event)) {
        if event.content["requestContext"]["http"]["method"] == "GET" {
            let answer = send(stack, &event.content).await;
            assert_eq!(answer.status, 200, "{}: {}", event.name, answer.body);
            answers.push((event, answer.body));
        }
    }
    answers
}

#[tokio::test(start_paused = true)]
async fn the_worlds_are_coherent() {
    let stack = world(NOW).await;
    let answers = read(&stack, |_| true).await;
    let is_empty = |body: &Value| body["items"].as_array().is_some_and(Vec::is_empty);
    let empty: Vec<_> =
        answers.iter().filter(|(_, body)| is_empty(body)).map(|(event, _)| event.name.as_str()).collect();
    assert_eq!(empty, EMPTY, "these lists are empty");
    // The sample day of the bank is closed without findings.
    let (_, day) = answers.iter().find(|(event, _)| event.name == "get-day").expect("the event");
    let counts = json!({"SCHEDULED": 0, "PENDING": 0, "PROCESSED": 1, "CANCELLED": 0, "FAILED": 1});
    assert_eq!((&day["status"], &day["counts"]), (&json!("closed"), &counts), "{day}");
    assert_eq!((&day["openCount"], &day["discrepancyCount"]), (&json!(0), &json!(0)), "{day}");
    // No payment waits for an outcome, and each has an amount.
    let mut payments = 0;
    for table in ["local-PaymentScheduler", "local-TransactionHistory"] {
        let is_payment = |item: &&Value| item["Data"]["S"].is_string() && item["Type"]["S"] != "StandingOrder";
        for item in stack.items(table).expect("items").iter().filter(is_payment) {
            assert!(!item["GSI1SK"]["S"].as_str().expect("a status").starts_with("PENDING#"), "{item}");
            let data: Value = serde_json::from_str(item["Data"]["S"].as_str().expect("data")).expect("JSON");
            assert!(data["amount"].is_string(), "{item}");
            payments += 1;
        }
    }
    assert_eq!(payments, 9);
    // Nothing has happened in the future.
    let now = clock::now();
    for item in items(&stack) {
        let future: Vec<_> = times(&item).into_iter().filter(|(_, time)| *time > now).collect();
        assert!(future.is_empty(), "{future:?} in {item}");
    }
}

/// The times in the texts of an item, and the times of its ids, with their texts. Excludes the time
/// of a payment and the expiry of a hold, which are planned.
fn times(value: &Value) -> Vec<(&str, Timestamp)> {
    match value {
        Value::Object(members) => {
            members.iter().filter(|(name, _)| *name != "ExpiresAt").flat_map(|(_, value)| times(value)).collect()
        }
        Value::Array(items) => items.iter().flat_map(times).collect(),
        Value::String(text) => {
            let first = text.split_once('#').map_or("", |(first, _)| first);
            if ["SCHEDULED", "EXPIRES"].contains(&first) || first.parse::<Timestamp>().is_ok() {
                return Vec::new();
            }
            let written = text.split('#').filter_map(|part| part.parse().ok());
            let of_id = |part: &str| Some(part.parse::<ItemId>().ok()?.time()?.instant());
            let of_ids = text.split(['#', '-', '/']).filter_map(of_id);
            written.chain(of_ids).map(|time| (text.as_str(), time)).collect()
        }
        _ => Vec::new(),
    }
}

/// Items of all tables. A second creation must not change them.
fn items(stack: &InProcess) -> Vec<Value> {
    stack.template().tables.iter().flat_map(|table| stack.items(&table.name).expect("items")).collect()
}

/// If a creation is interrupted, the next creation completes the world. A creation of a complete
/// world changes nothing, even after the temporary items of the world have expired.
#[tokio::test(start_paused = true)]
async fn an_interrupted_creation_is_completed() {
    for steps in (1..70).step_by(stride(29)) {
        let stack = empty(NOW, &[]);
        stack.create_part(&folder(), steps).await.expect("a part of the worlds");
        settle(&stack).await;
        stack.create_world(&folder()).await.expect("the worlds");
        settle(&stack).await;
        read(&stack, |_| true).await;
        let before = items(&stack);
        stack.create_world(&folder()).await.expect("the worlds");
        settle(&stack).await;
        assert_eq!(items(&stack), before, "after {steps} steps");
        stack.expire(clock::now() + SignedDuration::from_hours(24 * 365)).expect("expired items");
        let before = items(&stack);
        stack.create_world(&folder()).await.expect("the worlds");
        assert_eq!(items(&stack), before, "a year later, after {steps} steps");
    }
}

#[tokio::test(start_paused = true)]
async fn each_service_has_its_world_without_the_others() {
    for service in ["bank", "cart", "wellness", "ledger"] {
        let stack = empty(NOW, &[service]);
        stack.create_world(&folder()).await.expect(service);
        settle(&stack).await;
        let path = format!("/{service}/");
        let is_own = |event: &Event| event.content["rawPath"].as_str().is_some_and(|own| own.starts_with(&path));
        assert!(read(&stack, is_own).await.len() > 5, "{service}");
    }
}

/// A repeated start of a dispatch wakes up the job that is still running.
#[tokio::test(start_paused = true)]
async fn a_repeated_start_of_a_dispatch_wakes_its_job() {
    let stack = world(NOW).await;
    let mut start = event("start-dispatch", "");
    start["headers"]["idempotency-key"] = "twice".into();
    let (first, again) = (send(&stack, &start).await, send(&stack, &start).await);
    assert_eq!((first.status, again.status, &first.body["jobId"]), (202, 202, &again.body["jobId"]));
    let jobs = stack.items("local-BankJobs").expect("jobs");
    let job = jobs.iter().find(|job| job["ID"]["S"] == first.body["jobId"]).expect("the job");
    assert!(job["NudgedBy"]["S"].is_string(), "{job}");
}

#[test]
fn every_function_has_an_accepted_and_a_rejected_event() {
    let events = all();
    let names: BTreeSet<&str> = events.iter().map(Event::function).collect();
    assert_eq!(names, patterns::all().iter().map(|pattern| pattern.name).collect());
    for function in names {
        let own = || events.iter().filter(|event| event.function() == function);
        assert!(own().any(Event::is_base), "{function}");
        assert!(
            own().any(|event| matches!(event.expected, Expected::Status(400..) | Expected::Succeeds(false))),
            "{function}"
        );
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
