//! An operator's requests at times that the test chooses.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Answer, Asks, Client};
use jiff::{SignedDuration, Timestamp};
use local::Stack;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

/// One day.
pub const DAY: SignedDuration = SignedDuration::from_hours(24);
/// The smallest difference between times in keys.
pub const MILLISECOND: SignedDuration = SignedDuration::from_millis(1);

/// Parses a time.
pub fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

/// An operator whose requests have a fixed time. Each request is the event that API Gateway would
/// send at that time. Paths must not need escaping.
#[derive(Debug, Clone, Copy)]
pub struct At<'a> {
    stack: &'a Stack,
    operator: &'a Client,
    now: Timestamp,
}

impl<'a> At<'a> {
    /// Creates an operator of the stack whose requests have the time `now`.
    pub fn new(stack: &'a Stack, operator: &'a Client, now: Timestamp) -> Self {
        Self { stack, operator, now }
    }

    async fn call(self, method: &str, path: &str, key: Option<&str>, body: Option<&Value>) -> Answer {
        let (function, route, parameters) = self.route(method, path.split('?').next().expect("a path"));
        let event = Asks { route: &route, path, parameters, key, body }.at(self.now);
        answer(&self.operator.invoke(function, &event).await.body)
    }

    /// Sends a GET request.
    pub async fn get(self, path: &str) -> Answer {
        self.call("GET", path, None, None).await
    }

    /// Sends a POST request with a JSON body.
    pub async fn post(self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, None, Some(body)).await
    }

    /// Sends a POST request with a JSON body and an idempotency key.
    pub async fn post_once(self, path: &str, key: &str, body: &Value) -> Answer {
        self.call("POST", path, Some(key), Some(body)).await
    }

    /// Sends a PATCH request with a JSON body.
    pub async fn patch(self, path: &str, body: &Value) -> Answer {
        self.call("PATCH", path, None, Some(body)).await
    }

    /// Sends a DELETE request.
    pub async fn delete(self, path: &str) -> Answer {
        self.call("DELETE", path, None, None).await
    }

    /// Reads all pages of a list. Returns the items and the number of pages.
    pub async fn all(self, path: &str) -> (Vec<Value>, usize) {
        let mark = if path.contains('?') { '&' } else { '?' };
        let (mut lines, mut page) = (Vec::new(), path.to_owned());
        for pages in 1..10_000 {
            let answer = self.get(&page).await;
            assert_eq!(answer.status, 200, "{page}: {}", answer.body);
            lines.extend(answer.body["items"].as_array().expect("items").iter().cloned());
            match answer.body["nextCursor"].as_str() {
                Some(next) => page = format!("{path}{mark}cursor={next}"),
                None => return (lines, pages),
            }
        }
        unreachable!("the list {path} does not end")
    }

    /// Returns the function, the route and the values of the path parameters for a path.
    fn route(self, method: &str, path: &str) -> (&'a str, String, Value) {
        let lambdas = self.stack.template().lambdas.iter();
        let mut routes = lambdas.flat_map(|lambda| lambda.routes.iter().map(|route| (lambda.name.as_str(), route)));
        let matched = routes.find_map(|(function, route)| {
            let parameters = parameters(&route.path, path).filter(|_| route.method == method)?;
            Some((function, format!("{method} {}", route.path), parameters.into()))
        });
        matched.expect("a route")
    }
}

fn parameters(route: &str, path: &str) -> Option<Map<String, Value>> {
    let (names, values) = (route.split('/'), path.split('/'));
    if names.clone().count() != values.clone().count() {
        return None;
    }
    let mut parameters = Map::new();
    for (name, value) in names.zip(values) {
        match name.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => drop(parameters.insert(name.to_owned(), value.into())),
            None if name == value => {}
            None => return None,
        }
    }
    Some(parameters)
}

/// Converts a function's response as API Gateway does.
fn answer(answered: &Value) -> Answer {
    let status = answered["statusCode"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
    let mut headers = HeaderMap::new();
    for (name, value) in answered["headers"].as_object().into_iter().flatten() {
        let value = value.as_str().expect("a text").parse().expect("a value");
        headers.insert(name.parse::<HeaderName>().expect("a name"), value);
    }
    let body = answered["body"].as_str().filter(|body| !body.is_empty());
    let body = body.map_or(Value::Null, |body| serde_json::from_str(body).expect("JSON"));
    Answer { status, headers, body }
}
