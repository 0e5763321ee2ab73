//! Emulation of API Gateway: routes, tokens, scopes, limits and events.
mod admin;
mod answer;
mod event;
mod guard;
mod routes;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, Request, State},
    response::Response,
};
use futures::StreamExt;
use http::{HeaderMap, StatusCode, header, request::Parts};
use jiff::Timestamp;
use tokio::time::timeout;
use uuid::Uuid;

use self::{answer::message, event::Incoming, routes::Match};
pub(crate) use self::{guard::is_local, routes::Routes};
use crate::{
    auth::{self, Auth, Claims, Tokens},
    follower::EventSourcePoller,
    lambda::{Lambda, Outcome},
    server::{Port, Server},
    store::Store,
    usage,
};

const LARGEST_BODY: usize = 10 * 1024 * 1024;
// If the gateway responded before it has read the whole body, the client would see a broken
// connection. The gateway therefore reads and discards the rest of a body that is too large.
const LARGEST_DISCARDED: usize = 64 * 1024 * 1024;
const LONGEST_CALL: Duration = Duration::from_secs(30);

/// State shared by all requests.
pub(crate) struct Gateway {
    pub(crate) routes: Routes,
    pub(crate) lambdas: BTreeMap<String, Arc<Lambda>>,
    pub(crate) pollers: Vec<Arc<EventSourcePoller>>,
    pub(crate) store: Store,
    pub(crate) tokens: Tokens,
    pub(crate) auth: Auth,
    pub(crate) scopes: Vec<String>,
    pub(crate) stack: String,
    /// Body of `GET /_local/health`. Set when all endpoints accept requests.
    pub(crate) health: OnceLock<serde_json::Value>,
}

/// Serves requests on the port until the server is stopped.
pub(crate) fn serve(port: Port, gateway: Arc<Gateway>) -> Server {
    let router = Router::new().fallback(handle).with_state(gateway);
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    Server::start(|stopped| async move {
        let served = axum::serve(port.listener, service).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        if let Err(error) = served.await {
            tracing::error!(%error, "the gateway stopped");
        }
    })
}

async fn handle(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    match gateway.answer(peer, &parts, body).await {
        Ok(response) | Err(response) => response,
    }
}

impl Gateway {
    // The error is a complete response, which `?` returns to the client.
    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn refusals(parts: &Parts) -> Result<(), Response> {
        if !guard::is_local(&parts.headers) {
            return Err(message(StatusCode::FORBIDDEN, "Forbidden"));
        }
        if guard::has_too_large_head(parts) {
            return Err(message(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "Request Header Fields Too Large"));
        }
        Ok(())
    }

    async fn answer(&self, peer: SocketAddr, parts: &Parts, body: Body) -> Result<Response, Response> {
        Self::refusals(parts)?;
        if let Some(path) = parts.uri.path().strip_prefix("/_local/") {
            return self.administer(&parts.method, path, read(body).await?).await;
        }
        let matched = self.routes.find(parts.method.as_str(), parts.uri.path());
        let matched = matched.ok_or_else(|| message(StatusCode::NOT_FOUND, "Not Found"))?;
        let claims = self.claims(&parts.headers)?;
        if !may(&matched, &claims) {
            return Err(message(StatusCode::FORBIDDEN, "Forbidden"));
        }
        let body = read(body).await?;
        let event = Incoming {
            method: &parts.method,
            path: parts.uri.path(),
            query: parts.uri.query().unwrap_or_default(),
            version: parts.version,
            headers: &parts.headers,
            body: &body,
            peer: peer.ip(),
            request_id: &Uuid::new_v4().to_string(),
            now: Timestamp::now(),
        }
        .event(&matched, &claims);
        Ok(self.call(&matched.target.function, event).await)
    }

    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn claims(&self, headers: &HeaderMap) -> Result<Claims, Response> {
        let claims = match (headers.get(header::AUTHORIZATION), self.auth) {
            (None, Auth::Open) => Some(auth::operator(&self.scopes)),
            (None, Auth::Required) => None,
            (Some(value), _) => value.to_str().ok().and_then(|value| self.tokens.check(auth::bearer(value))),
        };
        claims.ok_or_else(|| message(StatusCode::UNAUTHORIZED, "Unauthorized"))
    }

    async fn call(&self, function: &str, event: serde_json::Value) -> Response {
        let Some(lambda) = self.lambdas.get(function) else {
            return message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error");
        };
        let Ok(Outcome { answer, usage }) = timeout(LONGEST_CALL, lambda.invoke(event)).await else {
            return message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable");
        };
        let answered = answer.map_err(|failure| failure.message).and_then(|answer| answer::response(&answer));
        let mut response = answered.unwrap_or_else(|error| {
            tracing::error!(function, error, "a function failed");
            message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error")
        });
        if let Some(consumed) = usage::header(&usage) {
            response.headers_mut().insert(usage::CONSUMED, consumed);
        }
        response
    }
}

fn may(matched: &Match<'_>, claims: &Claims) -> bool {
    let required = &matched.target.scopes;
    required.is_empty() || auth::scopes(claims).iter().any(|scope| required.iter().any(|required| required == scope))
}

async fn read(body: Body) -> Result<Bytes, Response> {
    let (mut chunks, mut kept, mut seen) = (body.into_data_stream(), Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| message(StatusCode::BAD_REQUEST, "Bad Request"))?;
        seen += chunk.len();
        if seen > LARGEST_DISCARDED {
            break;
        }
        if seen <= LARGEST_BODY {
            kept.extend_from_slice(&chunk);
        }
    }
    match seen {
        0..=LARGEST_BODY => Ok(kept.into()),
        _ => Err(message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")),
    }
}

#[cfg(test)]
mod tests;
