//! HTTP proxies between the clients and the engine. One proxy delays each call, as the network
//! between Lambda and DynamoDB does. The other proxy caches responses.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode},
};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{net::TcpListener, task::JoinHandle};

/// Approximate duration of a DynamoDB call from a Lambda function.
pub(crate) const AWAY: Duration = Duration::from_millis(4);

type Answer = (StatusCode, HeaderMap, Bytes);

/// A proxy that stops on drop.
pub(crate) struct Delayed {
    url: String,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct Way {
    engine: String,
    http: reqwest::Client,
    delay: Duration,
    kept: Option<Arc<Mutex<HashMap<u64, Answer>>>>,
}

impl Delayed {
    /// Starts a proxy that delays each call.
    pub(crate) async fn start(engine: &str, delay: Duration) -> Self {
        Self::serve(Way { engine: engine.to_owned(), http: reqwest::Client::new(), delay, kept: None }).await
    }

    /// Starts a proxy that caches responses, so that the times of repeated reads do not include the
    /// work of the engine. Use this proxy only for reads.
    pub(crate) async fn keeping(engine: &str) -> Self {
        let kept = Some(Arc::default());
        Self::serve(Way { engine: engine.to_owned(), http: reqwest::Client::new(), delay: Duration::ZERO, kept }).await
    }

    async fn serve(way: Way) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let router = Router::new().fallback(pass).with_state(way);
        let server = tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
        Self { url, server }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn pass(State(way): State<Way>, headers: HeaderMap, body: Bytes) -> Answer {
    if !way.delay.is_zero() {
        tokio::time::sleep(way.delay).await;
    }
    let Some(kept) = &way.kept else { return way.ask(headers, body).await };
    let asked = question(&headers, &body);
    let before = held(kept).get(&asked).cloned();
    if let Some(answer) = before {
        return answer;
    }
    let answer = way.ask(headers, body).await;
    held(kept).insert(asked, answer.clone());
    answer
}

impl Way {
    async fn ask(&self, headers: HeaderMap, body: Bytes) -> Answer {
        let answer = self.http.post(&self.engine).headers(headers).body(body).send().await.expect("an answer");
        let (status, headers) = (answer.status(), answer.headers().clone());
        (status, headers, answer.bytes().await.expect("a body"))
    }
}

/// Hashes the action and the strings in the request body. The hash is the key of the cached
/// response.
///
/// JSON fields and the keys of a batch can be in any order, so the hash ignores the order of the
/// strings. A sort key contains the payment id, so different requests have different strings.
/// Parsing the body would take longer than hashing, and would slow down the measured readers.
fn question(headers: &HeaderMap, body: &Bytes) -> u64 {
    let target = headers.get("x-amz-target").map(HeaderValue::as_bytes);
    let parts = body.split(|byte| *byte == b'"').chain(target);
    parts.fold(0, |all, part| {
        let mut hasher = DefaultHasher::new();
        hasher.write(part);
        all.wrapping_add(hasher.finish())
    })
}

fn held(kept: &Mutex<HashMap<u64, Answer>>) -> MutexGuard<'_, HashMap<u64, Answer>> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}
