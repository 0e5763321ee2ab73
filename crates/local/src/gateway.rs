//! Emulation of API Gateway: routes, tokens, scopes, limits and events.
mod admin;
mod answer;
mod event;
mod guard;
mod reset;
mod routes;

use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::{body::Bytes, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::timeout;
use uuid::Uuid;

use self::{
    answer::{explained, message},
    event::Incoming,
    routes::Match,
};
pub(crate) use self::{
    reset::{Reset, Resets},
    routes::Routes,
};
use crate::{
    follower::EventSourcePoller,
    lambda::{Lambda, MAX_EVENT},
    usage,
};
use console::{Console, Outcome, length};
use engine::{
    server::{CorsLayer, Endpoint, Origins, Received, Refusal},
    store::Store,
};
use events::auth::{self, Auth, Claims, Tokens};
use hostile::Hostile;
use objects::Lake;

const LONGEST_CALL: Duration = Duration::from_secs(30);
/// API Gateway's own words for the status 413.
const TOO_LARGE: &str = "Request Entity Too Large";

/// State shared by all requests.
pub(crate) struct Gateway {
    pub(crate) routes: Routes,
    pub(crate) lambdas: BTreeMap<String, Arc<Lambda>>,
    pub(crate) pollers: Vec<Arc<EventSourcePoller>>,
    pub(crate) store: Store,
    pub(crate) tokens: Tokens,
    pub(crate) auth: Auth,
    pub(crate) scopes: Vec<String>,
    pub(crate) pages: Option<CorsLayer>,
    pub(crate) stack: String,
    /// Fixed time of the requests. `None` is the current time.
    pub(crate) clock: Option<Timestamp>,
    /// Body of `GET /_local/health`. Set when the stack is ready.
    pub(crate) health: OnceLock<Value>,
    pub(crate) console: Option<Arc<Console>>,
    pub(crate) hostile: Option<Arc<Hostile>>,
    /// The lake, with the event bus.
    pub(crate) lake: Arc<Lake>,
    pub(crate) resets: Resets,
}

impl Endpoint for Gateway {
    const MAX_BODY: usize = 10 * 1024 * 1024;
    const ORIGINS: Origins = Origins::Loopback;

    fn pages(&self, parts: &Parts) -> Option<&CorsLayer> {
        self.pages.as_ref().filter(|_| !parts.uri.path().starts_with("/_local/"))
    }

    async fn answer(&self, request: Received) -> Response {
        match self.respond(request).await {
            Ok(response) | Err(response) => response,
        }
    }

    fn refuse(refusal: Refusal) -> Response {
        let name = match refusal {
            Refusal::TooLarge => TOO_LARGE,
            _ => refusal.status().canonical_reason().unwrap_or_default(),
        };
        explained(refusal.status(), name, refusal.detail())
    }
}

impl Gateway {
    async fn respond(&self, request: Received) -> Result<Response, Response> {
        let Received { peer, parts, body } = request;
        if let Some(part) = guard::broken_text(&parts) {
            let detail = format!("The {part} is not UTF-8. Encode its text as UTF-8.");
            return Err(explained(StatusCode::BAD_REQUEST, "Bad Request", &detail));
        }
        if let Some(path) = parts.uri.path().strip_prefix("/_local/") {
            return self.administer(&parts, path, body).await;
        }
        if let Some(redirect) = self.redirect(&parts) {
            return Ok(redirect);
        }
        let matched = self.find(&parts)?;
        let claims = self.claims(&parts.headers)?;
        let arrival =
            Arrival { peer: peer.ip(), id: &Uuid::new_v4().to_string(), now: self.clock.unwrap_or_else(function::now) };
        let event = event(&matched, &claims, &parts, &body, &arrival)?;
        Ok(self.call(&matched.target.function, event).await)
    }

    /// Redirects `/` and `/_local` to the console. A browser must not remember it, because the next
    /// stack may run without the console.
    fn redirect(&self, parts: &Parts) -> Option<Response> {
        let (method, path) = (&parts.method, parts.uri.path());
        let is_short = method == Method::GET && matches!(path, "/" | "/_local");
        if !is_short || self.console.is_none() || self.routes.find(method.as_str(), path).is_some() {
            return None;
        }
        let mut response = Response::default();
        *response.status_mut() = StatusCode::FOUND;
        response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/_local/"));
        Some(response)
    }

    /// The function and the event of a request, with the claims of its caller.
    #[expect(clippy::result_large_err, reason = "at most one per request")]
    pub(crate) fn event(
        &self,
        parts: &Parts,
        body: &Bytes,
        claims: &Claims,
        arrival: &Arrival<'_>,
    ) -> Result<(String, Value), Response> {
        let matched = self.find(parts)?;
        Ok((matched.target.function.clone(), event(&matched, claims, parts, body, arrival)?))
    }

    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn find(&self, parts: &Parts) -> Result<Match<'_>, Response> {
        let matched = self.routes.find(parts.method.as_str(), parts.uri.path());
        matched.ok_or_else(|| self.no_route(parts.method.as_str(), parts.uri.path()))
    }

    // The error is a complete response, which `?` returns to the client.
    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn claims(&self, headers: &HeaderMap) -> Result<Claims, Response> {
        let claims = match (headers.get(header::AUTHORIZATION), self.auth) {
            (None, Auth::Open) => Ok(auth::operator(&self.scopes)),
            (None, Auth::Required) => {
                Err("The request has no header Authorization. `make token` creates a token.".to_owned())
            }
            (Some(value), _) => self.tokens.check(auth::bearer(value.to_str().unwrap_or_default())),
        };
        claims.map_err(|detail| {
            let mut response = explained(StatusCode::UNAUTHORIZED, "Unauthorized", &detail);
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        })
    }

    /// Response to a request without a route. API Gateway answers 404 to a wrong method as well.
    fn no_route(&self, method: &str, path: &str) -> Response {
        let methods = self.routes.methods(path);
        if !methods.is_empty() {
            let allowed = methods.join(", ");
            let detail = format!("This path has no method {method}. Its methods are {allowed}.");
            let mut response = explained(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed", &detail);
            if let Ok(allowed) = HeaderValue::from_str(&allowed) {
                response.headers_mut().insert(header::ALLOW, allowed);
            }
            return response;
        }
        let without_slash = path.trim_end_matches('/');
        let detail = if without_slash.len() < path.len() && !self.routes.methods(without_slash).is_empty() {
            "The path ends with a slash. Remove it.".to_owned()
        } else {
            let nearest = self.routes.nearest(method, path);
            nearest.map_or_else(
                || "There is no such path. docs/openapi.yaml lists the routes.".to_owned(),
                |route| format!("There is no such path. The nearest route is {route}."),
            )
        };
        explained(StatusCode::NOT_FOUND, "Not Found", &detail)
    }

    async fn call(&self, function: &str, event: Value) -> Response {
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

/// When a request arrived, from which address, and its id.
pub(crate) struct Arrival<'a> {
    pub(crate) peer: IpAddr,
    pub(crate) id: &'a str,
    pub(crate) now: Timestamp,
}

#[expect(clippy::result_large_err, reason = "at most one per request")]
fn event(
    matched: &Match<'_>,
    claims: &Claims,
    parts: &Parts,
    body: &Bytes,
    arrival: &Arrival<'_>,
) -> Result<Value, Response> {
    check_scopes(matched, claims)?;
    let event = Incoming {
        method: &parts.method,
        path: parts.uri.path(),
        query: parts.uri.query().unwrap_or_default(),
        version: parts.version,
        headers: &parts.headers,
        body,
        peer: arrival.peer,
        request_id: arrival.id,
        now: arrival.now,
    }
    .event(matched, claims);
    let size = length(&event);
    if size > MAX_EVENT { Err(too_large(size)) } else { Ok(event) }
}

#[expect(clippy::result_large_err, reason = "at most one per request")]
fn check_scopes(matched: &Match<'_>, claims: &Claims) -> Result<(), Response> {
    let (required, held) = (&matched.target.scopes, auth::scopes(claims));
    if required.is_empty() || held.iter().any(|scope| required.iter().any(|required| required == scope)) {
        return Ok(());
    }
    let needs = match required.as_slice() {
        [scope] => format!("The token needs the scope {scope}"),
        scopes => format!("The token needs one of the scopes {}", scopes.join(", ")),
    };
    Err(forbidden(&needs, &held))
}

/// Response to a request whose event Lambda would reject. API Gateway returns the status of Lambda.
fn too_large(size: usize) -> Response {
    let detail = format!(
        "The request is an event of {size} bytes. Lambda accepts {MAX_EVENT}. Quotation marks, line ends and \
         control characters in the body have two or more bytes in an event."
    );
    explained(StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE, &detail)
}

/// Response to a token without the scopes. The detail also names the scopes of the token.
fn forbidden(needs: &str, held: &[&str]) -> Response {
    let held = if held.is_empty() { "none".to_owned() } else { held.join(", ") };
    explained(StatusCode::FORBIDDEN, "Forbidden", &format!("{needs}. It has {held}."))
}

#[cfg(test)]
mod tests;
