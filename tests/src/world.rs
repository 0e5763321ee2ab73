//! The worlds of all services in one process, without sockets and threads.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Answer, events::folder, template_with};
use axum::http::Request;
use jiff::Timestamp;
use keys::Random;
use local::{
    Rates,
    in_process::{InProcess, clock},
};
use serde_json::Value;
use std::{collections::BTreeMap, convert::identity, time::Duration};
use tokio::time::sleep;

/// The time of the tests: that of the events.
pub const NOW: &str = "2026-12-01T09:30:00Z";

/// A seed that no step of a world has. Equal seeds would make equal tokens of transactions.
pub const SEED: u64 = 1_000_000;

/// Starts all services at a time, and creates their worlds. The runtime must have one thread with
/// a paused clock.
pub async fn world(now: &str) -> InProcess {
    clock::start(now.parse::<Timestamp>().expect("a time"));
    // By default, an erasure waits a quarter of an hour for late items.
    let parameters = BTreeMap::from([("ErasureQuietSeconds".to_owned(), "0".to_owned())]);
    let stack = InProcess::start(
        template_with(&parameters),
        &Random::seeded(SEED),
        (SEED, Rates::default()),
        &identity,
        identity,
    );
    let stack = stack.expect("a stack");
    stack.create_world(&folder()).await.expect("the worlds");
    settle(&stack).await;
    stack
}

/// Delivers events until there are no more.
pub async fn settle(stack: &InProcess) {
    while stack.deliver().await.expect("the events") {
        sleep(Duration::from_millis(20)).await;
    }
}

/// Sends the request of an event over the gateway, with a token of the event's caller.
pub async fn send(stack: &InProcess, event: &Value) -> Answer {
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let query = text("/rawQueryString");
    let mark = if query.is_empty() { "" } else { "?" };
    let claims = event["requestContext"]["authorizer"]["jwt"]["claims"].as_object().expect("claims");
    let is_of_caller = |name: &String| !["iss", "aud", "exp", "iat"].contains(&name.as_str());
    let claims =
        claims.iter().filter(|(name, _)| is_of_caller(name)).map(|(name, value)| (name.clone(), value.clone()));
    let token = stack.token(claims.collect()).expect("a token");
    let request = Request::builder().method(text("/requestContext/http/method"));
    let mut request = request.uri(format!("{}{mark}{query}", text("/rawPath")));
    let headers = event["headers"].as_object().expect("headers");
    for (name, value) in headers.iter().filter(|(name, _)| *name != "authorization" && *name != "content-length") {
        request = request.header(name, value.as_str().expect("a text"));
    }
    let request = request.header("authorization", format!("Bearer {token}"));
    let response = stack.send(request.body(text("/body").to_owned().into()).expect("a request")).await;
    let (parts, body) = response.into_parts();
    Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    }
}
