//! Rules that hold for an input of every route: whole numbers, time bounds, and path segments. The
//! routes and the fields come from docs/openapi.yaml, so a new route is covered.

use serde_json::{Value, json};
use std::fmt::Write;
use system_tests::{
    Client,
    events::{Event, all},
    openapi::{Document, Operation},
    send, stack,
};

/// A whole number of a request: its pointer, and the schema of its limits.
type Integer = (String, Value);

/// The parameters of an operation in the path or the query.
fn parameters<'a>(document: &'a Document, operation: Operation<'a>, place: &str) -> Vec<&'a Value> {
    let lists = [&document.0["paths"][operation.path]["parameters"], &operation.value["parameters"]];
    let all = lists.into_iter().filter_map(Value::as_array).flatten().map(|one| document.follow(one));
    all.filter(|parameter| parameter["in"] == place).collect()
}

/// Collects the whole numbers of a schema.
fn integers(document: &Document, schema: &Value, at: &str, found: &mut Vec<Integer>) {
    let schema = document.follow(schema);
    let is_integer = |kind: &Value| kind == "integer";
    if is_integer(&schema["type"]) || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(is_integer)) {
        found.push((at.to_owned(), schema.clone()));
    }
    for alternative in ["allOf", "anyOf", "oneOf"].iter().filter_map(|name| schema[name].as_array()).flatten() {
        integers(document, alternative, at, found);
    }
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        integers(document, member, &format!("{at}/{name}"), found);
    }
    if schema["items"].is_object() {
        integers(document, &schema["items"], &format!("{at}/0"), found);
    }
}

/// A JSON body in which only the field at the pointer exists.
fn body_with(pointer: &str, value: &str) -> String {
    pointer.rsplit('/').filter(|part| !part.is_empty() && *part != "body").fold(value.to_owned(), |inner, part| {
        if part == "0" { format!("[{inner}]") } else { format!("{{\"{part}\": {inner}}}") }
    })
}

/// The path of the operation, with the same value for each parameter.
fn path(operation: Operation<'_>, value: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { value.to_owned() } else { part.to_owned() };
    operation.path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Sends a request and returns the description of the fault at the pointer.
async fn fault(client: &Client, method: &str, path: &str, body: Option<String>, pointer: &str) -> Option<String> {
    let request = client.request(method, path);
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body),
        None => request,
    };
    let answer = send(request).await;
    assert!(answer.status < 500, "{method} {path}: {}", answer.body);
    let faults = answer.body["errors"].as_array().into_iter().flatten();
    let mut faults = faults.filter(|fault| fault["pointer"].as_str().is_some_and(|at| at.starts_with(pointer)));
    faults.next().map(|fault| format!("{} {}", fault["pointer"], fault["detail"]).replace('"', ""))
}

#[tokio::test]
async fn every_whole_number_is_an_integer_of_json_schema_with_the_limits_of_its_field() {
    let stack = stack().start().await.expect("a stack");
    let (client, document, mut wrong, mut count) = (Client::operator(&stack), Document::read(), String::new(), 0);
    for operation in document.operations() {
        let mut of_body = Vec::new();
        let schema = &operation.value["requestBody"]["content"]["application/json"]["schema"];
        integers(&document, schema, "/body", &mut of_body);
        for (pointer, schema) in of_body {
            let (least, most) = (&schema["minimum"], &schema["maximum"]);
            assert!(least.is_i64() && most.is_i64(), "{} {pointer} has no limits", operation.path);
            // A named alternative of a union has a reason that continues with the other ones.
            let end = if schema["title"].is_string() { "" } else { " without quotes" };
            let reason = format!("{pointer} must be a whole number from {least} to {most},{end}");
            let beyond = (most.as_i64().unwrap_or_default() + 1).to_string();
            let forms = ["2.0", "2e0", "20e-1"].map(|form| (form, true));
            let others = ["2.5", "\"2\"", "1e300", "true", &beyond].map(|form| (form, false));
            for (form, is_accepted) in forms.into_iter().chain(others) {
                let body = body_with(&pointer, form);
                let found = fault(&client, operation.method, &path(operation, "1"), Some(body), &pointer).await;
                if is_accepted != found.is_none() || found.as_ref().is_some_and(|fault| !fault.starts_with(&reason)) {
                    let _ = writeln!(wrong, "{} {} {pointer} {form}: {found:?}", operation.method, operation.path);
                }
            }
            count += 1;
        }
        for parameter in parameters(&document, operation, "query") {
            let (name, schema) = (parameter["name"].as_str().expect("a name"), document.follow(&parameter["schema"]));
            if schema["type"] != "integer" {
                continue;
            }
            let (least, most) = (&schema["minimum"], &schema["maximum"]);
            let reason = format!("/query/{name} must be a whole number from {least} to {most}");
            let valid = least.as_i64().unwrap_or_default() + 10;
            let forms = [format!("{valid}.0"), format!("{valid}e0"), format!("{valid}0e-1")].map(|form| (form, true));
            let others = ["2.5", "1e400", "x", "", "%222%22", "+20"].map(|form| (form.to_owned(), false));
            for (form, is_accepted) in forms.into_iter().chain(others) {
                let request = format!("{}?{name}={form}", path(operation, "1"));
                let found = fault(&client, operation.method, &request, None, &format!("/query/{name}")).await;
                if found != (!is_accepted).then(|| reason.clone()) {
                    let _ = writeln!(wrong, "{} {request}: {found:?}", operation.method);
                }
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty() && count > 50, "{count}\n{wrong}");
    stack.stop().await;
}

/// Bounds that every list accepts: all forms of RFC 3339, dates, and times that cannot be stored.
const BOUNDS: [&str; 9] = [
    "2020-11-26",
    "2020-11-26t10:00:00z",
    "2020-11-26T10:00:00.12345678901234567890Z",
    "2020-11-26T10:00:00-00:00",
    "2016-12-31T23:59:60Z",
    "9999-12-31",
    "9999-12-31T23:59:59Z",
    "9999-12-31T23:59:59-23:59",
    "0000-01-01T00:00:00%2B23:59",
];

#[tokio::test]
async fn every_list_accepts_the_same_time_bounds() {
    let stack = stack().start().await.expect("a stack");
    let (client, document, mut lists) = (Client::operator(&stack), Document::read(), 0);
    for operation in document.operations().into_iter().filter(|operation| operation.method == "GET") {
        let names = operation.parameters("query");
        let range = [["from", "to"], ["since", "until"]].into_iter().find(|range| names.contains(range[0]));
        let Some([from, to]) = range else { continue };
        let schema = parameters(&document, operation, "query").into_iter().find(|one| one["name"] == from);
        let is_of_days =
            schema.is_some_and(|one| one["schema"]["$ref"].as_str().is_some_and(|of| of.ends_with("/Day")));
        let company = if operation.path.contains("/users/") && operation.path.starts_with("/wellness") {
            "&companyId=1"
        } else {
            ""
        };
        let path = path(operation, "1").replace("/references/1/", "/references/venues/");
        for bound in BOUNDS.into_iter().filter(|bound| !is_of_days || bound.len() == 10) {
            let answer = client.get(&format!("{path}?{from}={bound}&{to}={bound}{company}")).await;
            assert!(matches!(answer.status, 200 | 404), "{path} {bound}: {}", answer.body);
            let items = answer.body["items"].as_array().map(Vec::len);
            assert_eq!(items, (answer.status == 200).then_some(0), "{path} {bound}: {}", answer.body);
        }
        let reversed = client.get(&format!("{path}?{from}=2020-11-27&{to}=2020-11-26{company}")).await;
        assert_eq!(reversed.body["errors"][0]["pointer"], format!("/query/{to}"), "{path}: {}", reversed.body);
        lists += 1;
    }
    assert!(lists >= 10, "{lists} lists");
    stack.stop().await;
}

#[tokio::test]
async fn no_route_takes_an_id_that_a_client_removes_from_a_path_or_that_stands_for_broken_bytes() {
    let stack = stack().start().await.expect("a stack");
    let (client, document) = (Client::operator(&stack), Document::read());
    for operation in document.operations() {
        // The id of an import is the name of an object of S3, which can contain any character.
        let names: Vec<_> = operation.parameters("path").into_iter().filter(|name| *name != "importId").collect();
        if names.is_empty() {
            continue;
        }
        // The client would remove a dot segment, so its dots and its percent signs are encoded.
        for id in ["%252e", "%252E%252e", "%252e%252E", "a%EF%BF%BD", "%EF%BF%BD"] {
            let request =
                client.request(operation.method, &path(operation, id)).header("content-type", "application/json");
            let request = if operation.value["requestBody"].is_null() { request } else { request.body("{}") };
            let answer = send(request).await;
            let faults = answer.body["errors"].as_array().cloned().unwrap_or_default();
            for name in &names {
                let pointer = json!(format!("/path/{name}"));
                let is_found = faults.iter().any(|fault| fault["pointer"] == pointer);
                assert!(
                    answer.status == 400 && is_found,
                    "{} {} {name} {id}: {}",
                    operation.method,
                    operation.path,
                    answer.body
                );
            }
        }
        let broken = send(client.request(operation.method, &path(operation, "%FF"))).await;
        assert_eq!((broken.status, &broken.body["message"]), (400, &json!("Bad Request")), "{}", operation.path);
    }
    stack.stop().await;
}

/// Changes of a scheduled event that make it invalid, with the member that the reason names.
fn wrong_members() -> Vec<(&'static str, Value)> {
    let mut wrong: Vec<(&str, Value)> = Vec::new();
    for value in
        [json!(5), json!(null), json!(""), json!("soon"), json!(["2026-12-01T00:00:00Z"]), json!({}), json!(true)]
    {
        wrong.push(("time", value));
    }
    for value in [json!("2026-12-01"), json!("9999-12-31T23:59:59Z"), json!("2026-12-01T09:30:60Z")] {
        wrong.push(("time", value));
    }
    for value in [json!(5), json!(null), json!("scheduled event"), json!("Object Created")] {
        wrong.push(("detail-type", value));
    }
    for value in [json!({"date": "2026-12-01"}), json!({"time": 5}), json!(null), json!([]), json!("x")] {
        wrong.push(("detail", value));
    }
    for member in ["id", "version", "source", "account", "region"] {
        wrong.push((member, json!(5)));
    }
    wrong.extend([("resources", json!("x")), ("tiem", json!("2026-12-01T00:00:00Z")), ("date", json!("2026-12-01"))]);
    wrong
}

#[tokio::test]
async fn every_scheduled_function_refuses_an_event_with_a_wrong_member_by_its_name() {
    let stack = stack().start().await.expect("a stack");
    let (client, mut count) = (Client::operator(&stack), 0);
    let is_scheduled = |event: &Event| event.is_base() && event.content["detail-type"] == "Scheduled Event";
    for event in all().into_iter().filter(is_scheduled) {
        let (function, good) = (event.function(), &event.content);
        let mut cases: Vec<(&str, Value)> = Vec::new();
        for (member, value) in wrong_members() {
            let mut event = good.clone();
            event[member] = value;
            cases.push((member, event));
        }
        for member in ["time", "detail-type"] {
            let mut event = good.clone();
            event.as_object_mut().expect("an object").remove(member);
            cases.push((member, event));
        }
        cases.extend([
            ("time", json!({"time": 5})),
            ("detail-type", json!({"time": "2026-12-01T09:30:00Z"})),
            ("tme", json!({"tme": "2026-12-01T09:30:00Z"})),
            ("body", json!([])),
            ("body", json!(null)),
        ]);
        for (member, event) in cases {
            let answer = client.invoke(function, &event).await;
            let message = answer.body["errorMessage"].as_str().unwrap_or_default();
            let is_named = message.contains(&format!("/{member}"));
            let failed = answer.headers.contains_key("x-amz-function-error");
            assert!(failed && is_named, "{function} {member} {event}: {}", answer.body);
        }
        count += 1;
    }
    assert!(count >= 7, "{count} functions");
    stack.stop().await;
}
