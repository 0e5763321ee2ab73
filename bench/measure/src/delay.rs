//! DynamoDB as far away as it is from a Lambda: a way to the engine on which every answer takes some milliseconds more.

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use std::time::Duration;
use tokio::{net::TcpListener, task::JoinHandle};

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
}

impl Delayed {
    /// Calls to its URL are answered by the engine, so much later.
    pub(crate) async fn start(engine: &str, delay: Duration) -> Self {
        let way = Way { engine: engine.to_owned(), http: reqwest::Client::new(), delay };
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

async fn pass(State(way): State<Way>, headers: HeaderMap, body: Bytes) -> (StatusCode, HeaderMap, Bytes) {
    tokio::time::sleep(way.delay).await;
    let answer = way.http.post(&way.engine).headers(headers).body(body).send().await.expect("an answer");
    let (status, headers) = (answer.status(), answer.headers().clone());
    (status, headers, answer.bytes().await.expect("a body"))
}
