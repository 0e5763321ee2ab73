//! HTTP client for the API of a running stack.
use std::{collections::BTreeMap, time::Duration};

use http::{HeaderMap, Method, StatusCode};
use serde::Deserialize;
use serde_json::Value;

use crate::usage::CONSUMED;
use events::EventRequest;

const PATIENCE: Duration = Duration::from_mins(15);

/// The error of a call without a response.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path}: {reason}")]
pub(crate) struct ClientError {
    method: Method,
    path: String,
    reason: String,
}

/// Client of one stack.
pub(crate) struct Client {
    pub(crate) url: String,
    token: Option<String>,
    http: reqwest::Client,
}

/// Response of a stack.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
    pub(crate) consumed: Vec<Consumed>,
}

/// Consumed units of a function's DynamoDB calls, for one action and one table or index.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Consumed {
    pub(crate) action: String,
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    pub(crate) condition: Option<String>,
    pub(crate) read: f64,
    pub(crate) write: f64,
}

/// Request to send.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
    pub(crate) idempotency_key: Option<String>,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), body: None, idempotency_key: None }
    }

    pub(crate) fn post(path: impl Into<String>, body: Value) -> Self {
        Self { method: Method::POST, body: Some(body), ..Self::get(path) }
    }

    pub(crate) fn of(request: EventRequest) -> Self {
        let key = request.headers.into_iter().find(|(name, _)| *name == "idempotency-key");
        Self {
            method: request.method.parse().unwrap_or_default(),
            path: request.path,
            body: request.body.and_then(|body| serde_json::from_str(&body).ok()),
            idempotency_key: key.map(|(_, key)| key),
        }
    }

    fn error(&self, reason: &impl ToString) -> ClientError {
        ClientError { method: self.method.clone(), path: self.path.clone(), reason: reason.to_string() }
    }
}

impl Client {
    pub(crate) fn new(url: impl Into<String>) -> Result<Self, ClientError> {
        let url = url.into();
        // Requests to this machine must not use a proxy from the environment.
        let http = reqwest::Client::builder().no_proxy().timeout(PATIENCE).build();
        let http = http.map_err(|error| Call::get(&url).error(&error))?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), token: None, http })
    }

    /// Returns the same client with a token.
    pub(crate) fn with_token(self, token: String) -> Self {
        Self { token: Some(token), ..self }
    }

    /// Whether a stack is running at the URL.
    pub(crate) async fn is_healthy(&self) -> bool {
        let reply = self.send(&Call::get("/_local/health")).await;
        reply.is_ok_and(|reply| reply.status == StatusCode::OK && reply.body["status"] == "ok")
    }

    pub(crate) async fn send(&self, call: &Call) -> Result<Reply, ClientError> {
        let mut request = self.http.request(call.method.clone(), format!("{}{}", self.url, call.path));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = &call.body {
            request = request.json(body);
        }
        if let Some(key) = &call.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        let response = request.send().await.map_err(|error| call.error(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let text = response.text().await.map_err(|error| call.error(&error))?;
        let consumed = headers.get(CONSUMED).and_then(|value| serde_json::from_slice(value.as_bytes()).ok());
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Reply { status, headers, body, consumed: consumed.unwrap_or_default() })
    }
}

/// Returns one line per table or index with its consumed units, such as `local-PaymentScheduler
/// GSI1: 2.5 read`.
pub(crate) fn summary(consumed: &[Consumed]) -> Vec<String> {
    let mut sums: BTreeMap<(&str, Option<&str>), (f64, f64)> = BTreeMap::new();
    for row in consumed {
        let sum = sums.entry((&row.table, row.index.as_deref())).or_default();
        *sum = (sum.0 + row.read, sum.1 + row.write);
    }
    sums.into_iter().map(|((table, index), units)| line(table, index, units)).collect()
}

fn line(table: &str, index: Option<&str>, (read, write): (f64, f64)) -> String {
    let units = match (read > 0.0, write > 0.0) {
        (true, true) => format!("{read} read, {write} write"),
        (false, true) => format!("{write} write"),
        _ => format!("{read} read"),
    };
    match index {
        Some(index) => format!("{table} {index}: {units}"),
        None => format!("{table}: {units}"),
    }
}
