//! Shared code of the system tests. Each test has its own stack on free ports, and a client.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

/// The stack and its clients allocate much, and the allocator of the C library is slower
/// (docs/decisions/build-time.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub mod bank;
pub mod cart;
pub mod clock;
pub mod emulator;
pub mod events;
pub mod faults;
pub mod growth;
pub mod ledger;
pub mod metrics;
pub mod openapi;
pub mod patterns;
pub mod payer;
pub mod published;
pub mod requests;
pub mod runtime;
pub mod units;
pub mod unreadable;
pub mod wellness;
pub mod world;
pub mod yaml;

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{
        HeaderMap, HeaderValue, Request,
        header::{ACCEPT, CONTENT_LENGTH, HeaderName},
    },
};
use engine::server::Near;
use function::system_random;
use keys::Random;
use local::{Builder, Stack};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt::Debug, path::PathBuf, str::FromStr, sync::LazyLock, time::Duration};
use table::Dynamo;
use template::{Selection, Template};
use tokio::time::sleep;

/// The distance between two cases of a large table that a test runs: `step`, or 1 if the variable
/// `WHOLE` is set (`make test-whole`). A table whose inner length is a multiple of the step would
/// lose the same inner cases everywhere, so choose another prime.
pub fn stride(step: usize) -> usize {
    if std::env::var_os("WHOLE").is_some() { 1 } else { step }
}

/// The root folder of the repository.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A stack of template.yaml, in memory, on free ports.
pub fn stack() -> Builder {
    Stack::builder(root().join("template.yaml"))
}

/// The complete system: template.yaml with its nested stacks.
pub fn template() -> Template {
    template_with(&BTreeMap::new(), &[])
}

/// The complete system, or some of its stacks, with other values of some parameters.
pub(crate) fn template_with(parameters: &BTreeMap<String, String>, stacks: &[&str]) -> Template {
    let file = root().join("template.yaml");
    let text = std::fs::read_to_string(&file).expect("the template");
    let selection = if stacks.is_empty() { Selection::default() } else { Selection::of(stacks) };
    Template::read_some(&text, &file, "local", parameters, &selection).expect("a valid template")
}

/// The text of a service's template.
pub fn template_of(service: &str) -> String {
    std::fs::read_to_string(root().join("stacks").join(service).with_extension("yaml")).expect("a template")
}

/// The stack of one service, with `part` of its template replaced by `other`. `part` must occur
/// exactly `times` times.
pub fn changed(service: &str, (part, times): (&str, usize), other: &str) -> Builder {
    let template = template_of(service);
    assert_eq!(template.matches(part).count(), times, "{service}: {part}");
    Stack::of_text(template.replace(part, other))
}

/// A client of a stack. Its requests need no connection.
#[derive(Debug, Clone)]
pub struct Client {
    near: Near,
    url: String,
    token: Option<String>,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, or null if it is empty.
    pub body: Value,
}

impl Answer {
    /// Whether the body contains a text. The random characters of a cursor may spell any short
    /// text, so the cursor is left out.
    pub fn shows(&self, text: &str) -> bool {
        let mut body = self.body.clone();
        body.as_object_mut().and_then(|body| body.remove("nextCursor"));
        body.to_string().contains(text)
    }
}

impl Client {
    /// The local operator, who needs no token.
    pub fn operator(stack: &Stack) -> Self {
        Self { near: stack.near().clone(), url: stack.url().to_owned(), token: None }
    }

    /// A caller with the given scopes and accounts.
    pub fn caller(stack: &Stack, scope: &str, accounts: &[&str]) -> Self {
        Self::with_claims(stack, json!({"sub": "tester", "scope": scope, "account_ids": accounts}))
    }

    /// A user of a company, with the given scopes.
    pub fn member(stack: &Stack, scope: &str, company: &str, user: &str) -> Self {
        Self::with_claims(stack, json!({"sub": user, "scope": scope, "company_id": company}))
    }

    /// A caller with any claims.
    pub fn with_claims(stack: &Stack, claims: Value) -> Self {
        Self::operator(stack).with_token(stack, claims)
    }

    fn with_token(&self, stack: &Stack, claims: Value) -> Self {
        let claims: Map<String, Value> = serde_json::from_value(claims).expect("an object");
        let token = stack.token(claims).expect("a token");
        Self { token: Some(token), ..self.clone() }
    }

    /// Creates a request, which [`send`] sends.
    pub fn request(&self, method: &str, path: &str) -> Asking {
        let url = reqwest::Url::parse(&format!("{}{path}", self.url)).expect("a URL");
        let request = Request::builder().method(method).uri(url.as_str()).header(ACCEPT, "*/*").body(Bytes::new());
        let asking = Asking { near: self.near.clone(), request: request.expect("a request") };
        match &self.token {
            Some(token) => asking.header("authorization", format!("Bearer {token}")),
            None => asking,
        }
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Answer {
        send(self.request("GET", path)).await
    }

    /// Sends a POST request with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        send(self.request("POST", path).json(body)).await
    }

    /// Sends a POST request with a JSON body and an idempotency key.
    pub async fn post_once(&self, path: &str, key: &str, body: &Value) -> Answer {
        send(self.request("POST", path).header("idempotency-key", key).json(body)).await
    }

    /// Sends a PATCH request with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        send(self.request("PATCH", path).json(body)).await
    }

    /// Sends a PUT request with a JSON body.
    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        send(self.request("PUT", path).json(body)).await
    }

    /// Invokes a function with the event.
    pub async fn invoke(&self, function: &str, event: &Value) -> Answer {
        self.post(&format!("/_local/functions/{function}/invocations"), event).await
    }

    /// Reads all pages of a list. Returns the items and the number of pages.
    pub async fn all(&self, path: &str) -> (Vec<Value>, usize) {
        let (mut items, mut pages, mut cursor) = (Vec::new(), 0, None::<String>);
        loop {
            let mark = if path.contains('?') { '&' } else { '?' };
            let page = cursor.map_or_else(|| path.to_owned(), |cursor| format!("{path}{mark}cursor={cursor}"));
            let answer = self.get(&page).await;
            assert_eq!(answer.status, 200, "{page}: {}", answer.body);
            items.extend(answer.body["items"].as_array().expect("items").iter().cloned());
            pages += 1;
            assert!(pages < 10_000, "the list {path} does not end");
            match answer.body["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return (items, pages),
            }
        }
    }
}

/// An HTTP client for the local stack. The stack closes a connection that is idle for 30 seconds,
/// and a request that is sent at that moment fails. This client closes it after 10 seconds.
pub fn http() -> reqwest::Client {
    let client = reqwest::Client::builder().no_proxy().pool_idle_timeout(Duration::from_secs(10));
    client.build().expect("a client")
}

/// A request that is not sent yet.
#[derive(Debug, Clone)]
pub struct Asking {
    near: Near,
    request: Request<Bytes>,
}

impl Asking {
    /// Sets a header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = name.parse::<HeaderName>().expect("a name");
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a value");
        self.request.headers_mut().insert(name, value);
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        *self.request.body_mut() = body.into();
        self
    }

    /// Sets a JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// Sends the request. Returns the status, the headers and the text of the response.
    pub async fn send(self) -> (u16, HeaderMap, String) {
        let (mut parts, body) = self.request.into_parts();
        if !body.is_empty() {
            parts.headers.insert(CONTENT_LENGTH, body.len().into());
        }
        let request = Request::from_parts(parts, Body::from(body));
        let (parts, body) = self.near.send(request).await.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        (parts.status.as_u16(), parts.headers, String::from_utf8_lossy(&body).into_owned())
    }
}

/// Sends a request.
pub async fn send(request: Asking) -> Answer {
    let (status, headers, text) = request.send().await;
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap_or(Value::String(text)) };
    Answer { status, headers, body }
}

/// The outcome of a request in a permission test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The request succeeded.
    Done,
    /// 403 from the gateway: a scope is missing.
    NoScope,
    /// 403 from the function: the resource belongs to another caller.
    NoReach,
}

impl End {
    /// The outcome that a response indicates. `None` if the response is none of these.
    pub fn of(answer: &Answer) -> Option<Self> {
        match (answer.status, answer.body["type"].as_str()) {
            (200 | 201 | 204, None) => Some(Self::Done),
            (403, Some("/problems/forbidden")) => Some(Self::NoReach),
            (403, None) if answer.body["message"] == "Forbidden" => Some(Self::NoScope),
            _ => None,
        }
    }
}

/// A request: its route in the template, its path and query, its path parameters, its idempotency
/// key and its body.
#[derive(Debug)]
pub struct Asks<'a> {
    /// The route, such as `GET /bank/payments/due`.
    pub route: &'a str,
    /// The path, with the query after `?`.
    pub path: &'a str,
    /// The path parameters.
    pub parameters: Value,
    /// The idempotency key.
    pub key: Option<&'a str>,
    /// The body.
    pub body: Option<&'a Value>,
}

impl Asks<'_> {
    /// The event that API Gateway would send for this request of an operator at the given time.
    pub fn at(&self, now: jiff::Timestamp) -> Value {
        let (path, query) = self.path.split_once('?').unwrap_or((self.path, ""));
        let method = self.route.split(' ').next().expect("a method");
        let claims = json!({"sub": "tester", "scope": patterns::operator_scopes()});
        let mut event = json!({
            "version": "2.0",
            "routeKey": self.route,
            "rawPath": path,
            "rawQueryString": query,
            "headers": {"content-type": "application/json"},
            "pathParameters": self.parameters,
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "api",
                "authorizer": {"jwt": {"claims": claims, "scopes": null}},
                "domainName": "localhost",
                "domainPrefix": "localhost",
                "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "test"},
                "requestId": "request",
                "routeKey": self.route,
                "stage": "$default",
                "time": "30/Nov/2099:12:00:00 +0000",
                "timeEpoch": now.as_millisecond(),
            },
            "isBase64Encoded": false,
        });
        if let Some(key) = self.key {
            event["headers"]["idempotency-key"] = key.into();
        }
        if let Some(body) = self.body {
            event["body"] = body.to_string().into();
        }
        event
    }
}

/// The string value of a field.
pub fn text<'a>(item: &'a Value, member: &str) -> &'a str {
    item[member].as_str().expect("a text")
}

/// Parses a value from its text.
pub fn parsed<T: FromStr<Err: Debug>>(text: &str) -> T {
    text.parse().expect(text)
}

/// The string value of a field of each item.
pub fn texts<'a>(items: &'a [Value], member: &str) -> Vec<&'a str> {
    items.iter().map(|item| text(item, member)).collect()
}

/// Asserts that the response is a problem with the status and type.
pub fn assert_problem(answer: &Answer, status: u16, kind: &str) {
    assert_eq!((answer.status, &answer.body["type"]), (status, &json!(format!("/problems/{kind}"))), "{}", answer.body);
    assert_eq!(answer.headers["content-type"], "application/problem+json");
    assert_eq!(answer.headers.contains_key("retry-after"), matches!(status, 429 | 503), "{:?}", answer.headers);
}

/// The random source of the tests. All tests of a process share it, so their ids differ.
pub fn random() -> Random {
    static RANDOM: LazyLock<Random> = LazyLock::new(|| system_random().expect("random bits"));
    RANDOM.clone()
}

/// A client of the stack's DynamoDB that does not go through the functions.
pub fn dynamo(stack: &Stack) -> Dynamo {
    Dynamo::new(&stack.client().expect("a client"), random())
}

const MAX_LOOKS: usize = 6_000;
const PAUSE: Duration = Duration::from_millis(10);

/// Repeats the GET request until the response satisfies the condition, for at most a minute.
pub async fn until(client: &Client, path: &str, is_so: impl Fn(&Answer) -> bool) -> Answer {
    for _ in 0..MAX_LOOKS {
        let answer = client.get(path).await;
        if is_so(&answer) {
            return answer;
        }
        sleep(PAUSE).await;
    }
    unreachable!("{path} never satisfied the condition: {:?}", client.get(path).await)
}

/// Waits until the function has received all records of its streams.
pub async fn drained(operator: &Client, function: &str) {
    let is_drained = |answer: &Answer| {
        let mappings = answer.body["mappings"].as_array().expect("mappings");
        let mut own = mappings.iter().filter(|mapping| mapping["function"] == function).peekable();
        own.peek().is_some() && own.all(|mapping| mapping["pending"] == 0)
    };
    until(operator, "/_local/streams", is_drained).await;
}

/// Compares a generated file with its wanted text. With `UPDATE_DOCS`, writes it.
pub fn is_current(path: &str, wanted: &str) {
    let path = root().join(path);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is created");
        std::fs::write(&path, wanted).expect("the page is written");
    }
    let found = std::fs::read_to_string(&path).expect("the page is readable");
    assert!(found == wanted, "{} is stale: run `make docs`", path.display());
}
