//! Events and bodies that a hostile caller could send, for every function: no panic, no internal
//! error, no item that others cannot read, and no large error response.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use function::{Context, Invocation, Service};
use local::Stack;
use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use system_tests::{
    events::{Event, all, folder},
    patterns, stack,
    wellness::{activity, json_text, put},
};

/// Random changes of each event.
const CHANGES: usize = 8;
/// Lists that return one page only.
const UNPAGED: [&str; 4] = ["list-activities", "list-activity-options", "list-plans", "list-registrations"];

/// All functions on one stack. They are called without HTTP, so that events can have any form.
struct Functions {
    stack: Stack,
    services: BTreeMap<String, Service>,
}

impl Functions {
    async fn start() -> Self {
        let stack = stack().start().await.expect("a stack");
        stack.create_world(&folder()).await.expect("the worlds");
        let mut services = BTreeMap::new();
        for (name, function) in events::functions() {
            let lambda = stack.template().lambdas.iter().find(|lambda| lambda.name == name).expect("a function");
            let settings = lambda.environment.clone().into_iter().collect();
            let service = function.bind(&settings, stack.clients_of(lambda)).expect("valid settings");
            services.insert(name.to_owned(), service);
        }
        Self { stack, services }
    }

    /// Calls the function. A panic becomes an error.
    async fn call(&self, name: &str, event: Value) -> Result<Invocation, String> {
        let mut context = Context::default();
        let deadline = (SystemTime::now() + Duration::from_mins(1)).duration_since(UNIX_EPOCH).expect("a time");
        context.deadline = u64::try_from(deadline.as_millis()).expect("milliseconds");
        "R-1".clone_into(&mut context.request_id);
        let service = self.services[name].clone();
        tokio::spawn(async move { service.call(event, context).await }).await.map_err(|panic| panic.to_string())
    }

    /// Calls a function of a route. Returns the status and the body.
    async fn answer(&self, name: &str, event: Value) -> (u64, Value) {
        let answer = self.call(name, event).await.expect("no panic").answer.expect("a response");
        let body = answer["body"].as_str().and_then(|body| serde_json::from_str(body).ok());
        (answer["statusCode"].as_u64().expect("a status"), body.unwrap_or_default())
    }

    async fn stop(self) {
        drop(self.services);
        self.stack.stop().await;
    }
}

/// The accepted event of each function with a route.
fn accepted() -> Vec<(String, Value)> {
    let accepted = all().into_iter().filter(|event| event.is_base() && event.is_request());
    accepted.map(|event| (event.name, event.content)).collect()
}

/// The pointers to all values in a value, including itself.
fn pointers(value: &Value) -> Vec<String> {
    let below = |name: &str, value: &Value| -> Vec<String> {
        let name = name.replace('~', "~0").replace('/', "~1");
        pointers(value).into_iter().map(|rest| format!("/{name}{rest}")).collect()
    };
    let mut found = vec![String::new()];
    match value {
        Value::Object(members) => found.extend(members.iter().flat_map(|(name, value)| below(name, value))),
        Value::Array(items) => {
            found.extend(items.iter().enumerate().flat_map(|(index, item)| below(&index.to_string(), item)));
        }
        _ => {}
    }
    found
}

fn odd_value() -> impl Strategy<Value = Value> {
    let texts = [
        "",
        " ",
        "a, b",
        "a b",
        "%",
        "%ff",
        "[",
        "a#b",
        "\u{202e}",
        "\u{0}",
        "\u{10ffff}",
        "{}",
        "[]",
        "null",
        "é",
        "9999-12-31T23:59:59Z",
        "0000-01-01",
        "-1",
        "99999999999999999999999999",
        "a=b&a=c&&=",
        "?#/..//",
    ];
    let text = prop_oneof![
        prop::sample::select(texts.map(str::to_owned).to_vec()),
        any::<String>(),
        Just("x".repeat(10_000)),
        Just("[".repeat(3_600) + &"]".repeat(3_600)),
    ];
    prop_oneof![
        4 => text.prop_map(Value::from),
        1 => prop::sample::select(vec![
            Value::Null, json!(true), json!(0), json!(-1), json!(1e300), json!(u64::MAX), json!(0.5), json!([]),
            json!({}), json!([null]), json!({"a": {"S": 1}}), json!({"S": "a"}),
        ]),
    ]
}

/// Replaces, removes or adds one to three values of the event.
fn changed(event: &Value, runner: &mut TestRunner) -> Value {
    let mut event = event.clone();
    let mut draw = |most: usize| (0..most).new_tree(runner).expect("a number").current();
    let changes: Vec<(usize, usize)> = (0..=draw(3)).map(|_| (draw(10_000), draw(4))).collect();
    for (at, kind) in changes {
        let places = pointers(&event);
        let place = &places[at % places.len()];
        let value = odd_value().new_tree(runner).expect("a value").current();
        match event.pointer_mut(place) {
            Some(Value::Object(members)) if kind == 0 => {
                let name = members.keys().nth(at % members.len().max(1)).cloned();
                name.and_then(|name| members.remove(&name));
            }
            Some(Value::Object(members)) if kind == 1 => {
                members.insert(value.as_str().unwrap_or("more").to_owned(), value.clone());
            }
            Some(old) => *old = value,
            None => {}
        }
    }
    event
}

#[tokio::test]
async fn no_event_makes_a_function_panic_or_fail() {
    let functions = Functions::start().await;
    let mut runner = TestRunner::deterministic();
    let mut failures = Vec::new();
    for Event { name, content: event, .. } in all() {
        let function = name.split('.').next().unwrap_or_default().to_owned();
        for change in 0..=CHANGES {
            let event = if change == 0 { event.clone() } else { changed(&event, &mut runner) };
            match functions.call(&function, event.clone()).await.map(|invocation| invocation.answer) {
                Err(panic) => failures.push(format!("{function}: {panic}: {event}")),
                Ok(Ok(answer)) if answer["statusCode"].as_u64().is_some_and(|status| status >= 500) => {
                    failures.push(format!("{function}: {answer}: {event}"));
                }
                Ok(Err(error)) if error.error_type == "internal" => {
                    failures.push(format!("{function}: {}: {event}", error.error_message));
                }
                Ok(_) => {}
            }
        }
    }
    let shown: Vec<String> = failures.iter().map(|failure| failure.chars().take(3_000).collect()).collect();
    assert!(failures.is_empty(), "{}\n{}", failures.len(), shown[..shown.len().min(5)].join("\n\n"));
    functions.stop().await;
}

/// A list request and everything that its cursors are bound to, except the filter.
struct List {
    function: String,
    event: Value,
    path: String,
    reach: &'static str,
    ends: [String; 2],
    backward: bool,
}

impl List {
    /// Sends the request without a cursor, and reads the range from the logged key condition.
    async fn of(functions: &Functions, function: &str, event: Value) -> Self {
        let route = event["routeKey"].as_str().expect("a route").to_owned();
        let parameter = |name: &str| event["pathParameters"][name].as_str().map(str::to_owned);
        let path = function::path(&route, parameter);
        let scopes = event["requestContext"]["authorizer"]["jwt"]["claims"]["scope"].as_str().unwrap_or_default();
        let reach = if scopes.contains(":operate") { "all" } else { "own" };
        let usage = functions.call(function, event.clone()).await.expect("no panic").usage;
        let condition = usage.calls.iter().find_map(|call| call.condition.clone()).expect("a query");
        let range = condition.split_once(" BETWEEN \"").expect("a range").1;
        let (from, rest) = range.split_once("\" AND \"").expect("two ends");
        let (to, order) = rest.rsplit_once('"').expect("an end");
        // This list consists of two ranges. The first key condition contains only the first one.
        let (from, to) = match function {
            "list-overdue-payments" => (from, "SCHEDULED#2026-11-30U"),
            // This list consists of ten partitions, whose numbers are part of the position.
            "list-employees" => ("0#UserId-", "9#UserId."),
            _ => (from, to),
        };
        let function = function.to_owned();
        Self { function, event, path, reach, ends: [from.to_owned(), to.to_owned()], backward: !order.is_empty() }
    }

    fn prefix(&self) -> String {
        let [from, to] = &self.ends;
        from.chars().zip(to.chars()).take_while(|(from, to)| from == to).map(|(from, _)| from).collect()
    }

    /// A cursor with a valid checksum, as any caller can calculate it.
    fn forged(&self, filter: &str, rest: &str) -> String {
        let milliseconds = self.event["requestContext"]["timeEpoch"].as_i64().expect("a time");
        let started = &(milliseconds / 1_000).to_be_bytes()[3..];
        let mut digest = Sha256::new();
        let [from, to] = &self.ends;
        for part in [&self.path, self.reach, filter, from, to, rest] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        digest.update(started);
        URL_SAFE_NO_PAD.encode([&digest.finalize()[..8], started, rest.as_bytes()].concat())
    }

    async fn page(&self, functions: &Functions, query: &str) -> (u64, Value) {
        let mut event = self.event.clone();
        let own = event["rawQueryString"].as_str().unwrap_or_default();
        let own = own
            .split('&')
            .filter(|part| !part.is_empty() && !part.starts_with("limit=") && !part.starts_with("cursor="));
        event["rawQueryString"] = own.chain([query]).collect::<Vec<_>>().join("&").into();
        functions.answer(&self.function, event).await
    }
}

#[tokio::test]
async fn no_forged_cursor_gets_more_than_a_page_of_its_list() {
    let functions = Functions::start().await;
    let is_list = |name: &str| (name.starts_with("list-") || name == "get-statement") && !UNPAGED.contains(&name);
    let lists: Vec<_> = accepted().into_iter().filter(|(name, _)| is_list(name)).collect();
    let declared: BTreeSet<_> =
        patterns::all().into_iter().map(|pattern| pattern.name).filter(|name| is_list(name)).collect();
    assert_eq!(lists.iter().map(|(name, _)| name.as_str()).collect::<BTreeSet<_>>(), declared);
    for (function, event) in lists {
        let list = List::of(&functions, &function, event).await;
        let (status, whole) = list.page(&functions, "limit=100").await;
        assert_eq!(status, 200, "{function}: {whole}");
        let whole = whole["items"].as_array().expect("items").clone();
        // No payment of the world is overdue.
        assert!(!whole.is_empty() || function == "list-overdue-payments", "{function} is empty");
        let prefix = list.prefix();
        let ends = list.ends.each_ref().map(|end| end.strip_prefix(&prefix).unwrap_or_default().to_owned());
        let mut rests: BTreeSet<String> =
            ["", "0", "9", "a", "~", "\u{0}", "\u{1}", "\u{e000}", "\u{10ffff}"].map(str::to_owned).into();
        rests.extend(["z".repeat(1_100), "é".repeat(600), "\u{10ffff}".repeat(300)]);
        for end in &ends {
            let longer = ["0", "\u{0}", "\u{1}", "\u{10ffff}", "#", "~"].map(|more| format!("{end}{more}"));
            rests.extend(longer.into_iter().chain([end.clone(), format!("{end}{}", "0".repeat(1_020))]));
            let mut shorter = end.clone();
            shorter.pop();
            rests.extend([shorter.clone(), format!("{shorter}0"), format!("{shorter}~")]);
        }
        // The position of a transaction in a list by time, with shards that exist and that do not.
        let times = ["CREATED#2026-12-01T09:30:00.000Z", &list.ends[0]];
        let place = |(time, shard)| format!("{time}#{shard}#e4ceeb59-552e-8690-9301-f64e44907c84");
        let places = times.iter().flat_map(|time| [0, 1, 99].map(|shard| place((time, shard))));
        rests.extend(places.filter_map(|place| place.strip_prefix(&prefix).map(str::to_owned)));
        let mut pages = 0;
        for (rest, filter) in
            rests.iter().flat_map(|rest| ["", "completed", "SCHEDULED#", "PLACED"].map(|filter| (rest, filter)))
        {
            let cursor = list.forged(filter, rest);
            let (status, body) = list.page(&functions, &format!("limit=100&cursor={cursor}")).await;
            let name = format!("{function} {:?} {rest:?}: {status} {body}", list.ends);
            assert!(status == 200 || status == 400, "{}", name.chars().take(2_000).collect::<String>());
            if status == 400 {
                continue;
            }
            pages += 1;
            let items = body["items"].as_array().expect("items");
            assert!(items.iter().all(|item| whole.contains(item)), "{name}");
            let final_end = if list.backward { &ends[0] } else { &ends[1] };
            assert!(rest != final_end || items.is_empty(), "nothing follows the last position: {name}");
        }
        assert!(pages > 0, "{function}: no forged cursor has a valid checksum: {:?}", list.ends);
    }
    functions.stop().await;
}

#[tokio::test]
async fn a_response_that_lambda_would_reject_becomes_a_problem() {
    let functions = Functions::start().await;
    let accepted = accepted();
    let (_, mut event) = accepted.iter().find(|(name, _)| name == "list-activities").expect("an event").clone();
    event["rawQueryString"] = "year=2020&status=completed".into();
    let company = event["pathParameters"]["companyId"].as_str().expect("a company");
    // DynamoDB stores 7 KB for each activity. The escape sequences of the response event double it.
    let data = json_text(&json!({"quotes": "\"".repeat(3_500)}));
    let with_data = |number: usize| wellness::Activity {
        data: Some(data.clone()),
        ..activity(company, &format!("A-{number}"), "Walk", "2020-12-31T00:00:00")
    };
    for (count, status) in [(400, 200), (500, 413)] {
        put(&functions.stack, &(0..count).map(with_data).collect::<Vec<_>>()).await;
        let answer =
            functions.call("list-activities", event.clone()).await.expect("no panic").answer.expect("a response");
        assert_eq!(answer["statusCode"], status, "{count} activities");
        assert!(answer.to_string().len() <= 6 * 1024 * 1024, "{} bytes", answer.to_string().len());
        if status == 413 {
            assert!(answer["body"].as_str().is_some_and(|body| body.contains("/problems/too-large")), "{answer}");
        }
    }
    functions.stop().await;
}

#[tokio::test]
async fn every_route_rejects_events_without_a_valid_host_or_query() {
    let functions = Functions::start().await;
    for (function, event) in accepted() {
        for host in ["a.example, b.example", "a b", "[", "a\\b", ""] {
            let mut event = event.clone();
            event["headers"]["host"] = host.into();
            let (status, problem) = functions.answer(&function, event).await;
            assert_eq!(
                (status, &problem["errors"][0]["pointer"]),
                (400, &json!("/header/host")),
                "{function} {host:?}"
            );
        }
        for query in ["a b", "\u{7f}", "a=\u{1}"] {
            let mut event = event.clone();
            event["rawQueryString"] = query.into();
            let (status, problem) = functions.answer(&function, event).await;
            assert_eq!((status, &problem["errors"][0]["pointer"]), (400, &json!("/query")), "{function} {query:?}");
        }
    }
    functions.stop().await;
}
