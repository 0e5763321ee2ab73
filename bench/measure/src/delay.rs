//! Ways to the engine: one on which every answer takes some milliseconds more, as far away as DynamoDB is from a Lambda, and one
//! that keeps answers.

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

/// About what a call to DynamoDB takes from a Lambda.
pub(crate) const AWAY: Duration = Duration::from_millis(4);

type Answer = (StatusCode, HeaderMap, Bytes);

/// Ends with its owner.
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
    /// Calls to its URL are answered by the engine, so much later.
    pub(crate) async fn start(engine: &str, delay: Duration) -> Self {
        Self::serve(Way { engine: engine.to_owned(), http: reqwest::Client::new(), delay, kept: None }).await
    }

    /// What was once asked is answered as it was then, without the engine's work. For who only reads.
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

/// The action and its input. Members, and the keys of a batch, come in any order, so the order of the strings counts for nothing:
/// a sort key has its payment's id in it, and no two questions have the same ones in other places. To look for it takes no
/// time from those who are measured.
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
