//! The worlds of all services in one process, without sockets and threads.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Answer, events::folder, template_with};
use axum::{body::Bytes, http::Request};
use events::{Claims, EventRequest};
use hostile::Rates;
use jiff::Timestamp;
use keys::Random;
use local::in_process::{Connect, InProcess, clock};
use serde_json::Value;
use std::{collections::BTreeMap, convert::identity, time::Duration};
use tokio::time::sleep;

/// The time of the tests: that of the events.
pub const NOW: &str = "2026-12-01T09:30:00Z";

/// A seed that no step of a world has. Equal seeds would make equal tokens of transactions.
pub(crate) const SEED: u64 = 1_000_000;

/// Maximum number of batches of a stream.
const ROUNDS: usize = 10_000;

/// Starts services at a time, without data: those of the stacks, or all. The runtime must have one
/// thread with a paused clock.
pub fn empty(now: &str, stacks: &[&str]) -> InProcess {
    connected(now, stacks, &identity)
}

/// The same with another HTTP client of the functions.
pub fn connected(now: &str, stacks: &[&str], connect: &Connect) -> InProcess {
    clock::start(now.parse::<Timestamp>().expect("a time"));
    // By default, an erasure waits a quarter of an hour for late items.
    let parameters = BTreeMap::from([("ErasureQuietSeconds".to_owned(), "0".to_owned())]);
    let random = Random::seeded(SEED);
    let template = template_with(&parameters, stacks);
    InProcess::start(template, &random, (SEED, Rates::default()), connect, identity).expect("a stack")
}

/// Starts all services at a time, and creates their worlds.
pub async fn world(now: &str) -> InProcess {
    let stack = empty(now, &[]);
    stack.create_world(&folder()).await.expect("the worlds");
    settle(&stack).await;
    stack
}

/// Delivers events until there are no more.
pub async fn settle(stack: &InProcess) {
    for _ in 0..ROUNDS {
        if !stack.deliver().await.expect("the events") {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
    unreachable!("the events do not end");
}

/// Sends the request of an event over the gateway, with a token of the event's caller.
pub async fn send(stack: &InProcess, event: &Value) -> Answer {
    let EventRequest { method, path, headers, body, claims } = EventRequest::of(event).expect("a request");
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    send_as(stack, Some(claims), &method, &path, headers, body.unwrap_or_default()).await
}

/// Sends a request over the gateway, with a token of these claims or without a token.
pub async fn send_as<'a>(
    stack: &InProcess,
    claims: Option<Claims>,
    method: &str,
    path: &str,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
    body: impl Into<Bytes>,
) -> Answer {
    let request = Request::builder().method(method).uri(path).header("host", "api.local");
    let request = match claims {
        Some(claims) => {
            let token = stack.token(claims).expect("a token");
            request.header("authorization", format!("Bearer {token}"))
        }
        None => request,
    };
    let request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let (parts, body) = stack.send(request.body(body.into()).expect("a request")).await.into_parts();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}
