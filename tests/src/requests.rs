//! Requests that must be rejected with the expected problem and without a write.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Answer, Asking, Client, send};
use axum::body::Bytes;
use serde_json::Value;
use std::collections::BTreeSet;

/// Data of another owner. No response may contain it.
pub const SECRET: &str = "of-somebody-else";

/// A request with its expected status and problem. For status 400, `right` contains the pointers of
/// the errors. For other statuses, `right` contains the problem type. It is `None` for a response
/// of the gateway.
#[derive(Debug)]
pub struct Case {
    name: String,
    request: Asking,
    status: u16,
    right: Option<String>,
}

impl Case {
    /// A list request that is rejected because of the query parameters `names`, separated by
    /// spaces.
    #[must_use]
    pub fn query(client: &Client, list: &str, query: &str, names: &str) -> Self {
        let pointers: Vec<_> = names.split(' ').map(|name| format!("/query/{name}")).collect();
        let request = client.request("GET", &format!("{list}?{query}"));
        Self::faults(format!("GET {list}?{query}"), request, &pointers.join(" "))
    }

    /// A request that is rejected with this status and problem type.
    pub fn new(name: impl Into<String>, request: Asking, status: u16, right: &str) -> Self {
        Self { name: name.into(), request, status, right: Some(right.to_owned()) }
    }

    /// A request that is rejected with 400 and errors at these pointers, separated by spaces.
    pub fn faults(name: impl Into<String>, request: Asking, pointers: &str) -> Self {
        Self::new(name, request, 400, pointers)
    }

    /// A request that the gateway rejects.
    pub fn gateway(name: impl Into<String>, request: Asking, status: u16) -> Self {
        Self { name: name.into(), request, status, right: None }
    }

    /// The properties of the response that differ from the expected ones.
    fn wrong(&self, answer: &Answer, tables: &[&str]) -> Vec<&'static str> {
        let body = &answer.body;
        let shown = body.to_string();
        let of_problem = |right: &str| {
            let (kind, pointers) = if self.status == 400 { ("invalid-request", right) } else { (right, "") };
            let sentences = ["title", "detail", "instance"];
            vec![
                (answer.headers["content-type"] == "application/problem+json", "the content type"),
                (body["type"] == format!("/problems/{kind}") && body["status"] == self.status, "the type"),
                (
                    sentences.iter().all(|name| body[name].as_str().is_some_and(|text| !text.is_empty())),
                    "the title, detail or instance",
                ),
                (are_within(&faults_of(body), pointers), "the errors"),
            ]
        };
        // The local gateway adds a detail to API Gateway's message.
        let of_gateway = || {
            let mut members = body.as_object().into_iter().flat_map(|body| body.keys());
            let only = members.all(|name| name == "message" || name == "detail");
            vec![(body["message"].is_string() && only, "the message")]
        };
        let mut checks = self.right.as_deref().map_or_else(of_gateway, of_problem);
        checks.push((answer.status == self.status, "the status"));
        checks.push((!tables.iter().any(|table| shown.contains(table)) && !shown.contains("GSI"), "a table name"));
        checks.push((!shown.contains(SECRET), "data of another owner"));
        checks.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what).collect()
    }
}

/// Sends each request and asserts that it is rejected and that the stored items do not change.
pub async fn all_are_refused<S: PartialEq>(cases: Vec<Case>, tables: &[&str], stored: impl AsyncFn() -> S) {
    let mut before = stored().await;
    let mut failures = Vec::new();
    for case in cases {
        let answer = send(case.request.clone()).await;
        let mut wrong = case.wrong(&answer, tables);
        let after = stored().await;
        if after != before {
            wrong.push("something was written");
            before = after;
        }
        if !wrong.is_empty() {
            let (name, status, right) = (case.name, case.status, case.right);
            failures
                .push(format!("{name}: {wrong:?}, expected {status} {right:?}, got {} {}", answer.status, answer.body));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The pointers of the errors in a problem.
#[must_use]
pub fn faults_of(problem: &Value) -> BTreeSet<&str> {
    let faults = problem["errors"].as_array().map_or(&[][..], Vec::as_slice);
    assert!(faults.iter().all(|fault| fault["detail"].as_str().is_some_and(|detail| !detail.is_empty())), "{faults:?}");
    faults.iter().map(|fault| fault["pointer"].as_str().expect("a text")).collect()
}

/// Returns whether each of the pointers in `fields`, which are separated by spaces, has a fault at
/// or below it, and whether there are no other faults.
#[must_use]
pub fn are_within(faults: &BTreeSet<&str>, fields: &str) -> bool {
    let is_at = |fault: &str, field: &str| {
        fault.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    faults.iter().all(|fault| fields.iter().any(|field| is_at(fault, field)))
        && fields.iter().all(|field| faults.iter().any(|fault| is_at(fault, field)))
}

/// The first 80 characters of a text, for the name of a case.
#[must_use]
pub fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// A request with the content type JSON. The body may be invalid.
pub fn sent(client: &Client, method: &str, path: &str, body: impl Into<Bytes>) -> Asking {
    client.request(method, path).header("content-type", "application/json").body(body)
}

/// Requests with bodies that no route can parse. `good` is a body that the route accepts.
#[must_use]
pub fn unreadable(client: &Client, method: &str, path: &str, good: &str) -> Vec<Case> {
    let unclosed = good.strip_suffix('}').expect("an object");
    let forms = [
        String::new(),
        " ".to_owned(),
        "{".to_owned(),
        format!("{good}}}"),
        format!("{unclosed},}}"),
        good.replace('"', "'"),
        format!("\u{feff}{good}"),
        format!("{unclosed}, \"more\": 01}}"),
        format!("{unclosed}, \"more\": NaN}}"),
        format!("{unclosed}, \"\\ud800\": 1}}"),
        "[]".to_owned(),
        format!("[{good}]"),
        "null".to_owned(),
        "\"text\"".to_owned(),
        "true".to_owned(),
        "sku=tea&quantity=1".to_owned(),
    ];
    let case = |body: String| {
        Case::faults(format!("{method} {path} {}", shortened(&body)), sent(client, method, path, body), "/body")
    };
    let mut cases: Vec<Case> = forms.into_iter().map(case).collect();
    let with = |name: &str, body: Vec<u8>, status, right| {
        Case::new(format!("{method} {path} {name}"), sent(client, method, path, body), status, right)
    };
    let spaces = format!("{good}{}", " ".repeat(64 * 1024 + 1 - good.len()));
    cases.extend([
        with("not UTF-8", [b"{\"a\": \"\xff\xfe\", ", &good.as_bytes()[1..]].concat(), 400, "/body"),
        with("binary", vec![0; 100], 400, "/body"),
        with("a byte over 64 KB", spaces.into_bytes(), 413, "too-large"),
        with("1 MB", "x".repeat(1024 * 1024).into_bytes(), 413, "too-large"),
    ]);
    let large = sent(client, method, path, " ".repeat(10 * 1024 * 1024 + 1));
    cases.push(Case::gateway(format!("{method} {path} over 10 MB"), large, 413));
    let no_body = client.request(method, path).header("content-type", "application/json");
    cases.push(Case::faults(format!("{method} {path} without a body"), no_body, "/body"));
    let nothing = client.request(method, path);
    cases.push(Case::faults(format!("{method} {path} without a body and a type"), nothing, "/body"));
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "application/xml", "text/json", "application/jsonp", ""]
    {
        let request = client.request(method, path).header("content-type", kind).body(good.to_owned());
        cases.push(Case::new(format!("{method} {path} of {kind:?}"), request, 415, "unsupported-media-type"));
    }
    let untyped = client.request(method, path).body(good.to_owned());
    cases.push(Case::new(format!("{method} {path} without a type"), untyped, 415, "unsupported-media-type"));
    cases
}

/// The cursor after a first page of two items. The path of the list must have a query string.
pub async fn cursor(client: &Client, list: &str) -> String {
    let page = client.get(&format!("{list}&limit=2")).await;
    page.body["nextCursor"].as_str().expect("a cursor").to_owned()
}

/// Edited cursors: with a character removed or replaced at each position, truncated at each
/// position, and some other variants.
#[must_use]
pub fn changes_of(cursor: &str) -> BTreeSet<String> {
    let forms = ["{}A", "{}AAAA", "A{}", "{}=", "{}%20", "%20{}", "{}%00", "{}{}"];
    let mut changed: BTreeSet<String> = forms.map(|form| form.replace("{}", cursor)).into();
    changed.extend([cursor.to_lowercase(), cursor.to_uppercase()]);
    for at in 0..cursor.len() {
        changed.insert(cursor[..at].to_owned());
        changed.extend(["", "A", "9", "_"].map(|by| format!("{}{by}{}", &cursor[..at], &cursor[at + 1..])));
    }
    changed.remove(cursor);
    changed
}
