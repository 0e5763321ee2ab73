//! A transaction service for tests: an HTTP server that pays each payment once, and can fail.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{net::TcpListener, task::JoinHandle};

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Pays, and answers 201 with the transaction id `T-<payment id>`.
    Pay,
    /// Pays, and closes the connection without an answer.
    PayInSilence,
    /// Answers with this status, and does not pay.
    Status(u16),
    /// Answers 201 with this transaction id.
    Id(&'static str),
}

type Rule = Box<dyn FnMut(usize) -> Reply + Send>;

struct Books {
    rule: Rule,
    /// Number of calls for each payment.
    calls: BTreeMap<String, usize>,
    /// Payments that are paid.
    paid: BTreeMap<String, String>,
}

type Shared = Arc<Mutex<Books>>;

/// The server. It stops when it is dropped.
pub struct Payer {
    url: String,
    books: Shared,
    server: JoinHandle<()>,
}

impl Payer {
    /// Starts a service that pays everything.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/payments", listener.local_addr().expect("an address"));
        let rule: Rule = Box::new(|_| Reply::Pay);
        let books: Shared = Arc::new(Mutex::new(Books { rule, calls: BTreeMap::new(), paid: BTreeMap::new() }));
        let router = Router::new().fallback(answer).with_state(Arc::clone(&books));
        let server = tokio::spawn(async { axum::serve(listener, router).await.expect("serves") });
        Self { url, books, server }
    }

    /// The URL of the service.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sets the answer to the next calls, by the number of the call since now, starting at 1.
    pub fn rule(&self, mut rule: impl FnMut(usize) -> Reply + Send + 'static) {
        let mut number = 0;
        lock(&self.books).rule = Box::new(move |_| {
            number += 1;
            rule(number)
        });
    }

    /// The number of calls for each payment id.
    pub fn calls(&self) -> BTreeMap<String, usize> {
        lock(&self.books).calls.clone()
    }

    /// The transaction ids of the paid payments, by payment id.
    pub fn paid(&self) -> BTreeMap<String, String> {
        lock(&self.books).paid.clone()
    }
}

impl Drop for Payer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock(books: &Shared) -> MutexGuard<'_, Books> {
    books.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(books): State<Shared>, headers: HeaderMap, _: Bytes) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    if header("authorization") != "Bearer local" {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let (key, mut books) = (header("idempotency-key"), lock(&books));
    *books.calls.entry(key.clone()).or_default() += 1;
    let paid = |id: &str| (StatusCode::CREATED, json!({"transactionId": id}).to_string()).into_response();
    match (books.rule)(0) {
        Reply::Status(status) => {
            let body = json!({"detail": "Not now."}).to_string();
            (StatusCode::from_u16(status).expect("a status"), body).into_response()
        }
        Reply::Id(id) => paid(id),
        reply => {
            let id = format!("T-{key}");
            books.paid.insert(key, id.clone());
            // The panic ends the server's task for this connection.
            if reply == Reply::PayInSilence {
                drop(books);
                std::panic::resume_unwind(Box::new("closed"))
            }
            paid(&id)
        }
    }
}
