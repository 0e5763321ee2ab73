//! Routes below `/_local/`: health, manual invocations, schedules, stream progress, TTL and reset.
//! These routes exist only in the local stack.
use std::sync::{Arc, Mutex};

use axum::{body::Bytes, response::Response};
use futures::future::join_all;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::{task::spawn_blocking, time::sleep};

use super::{Gateway, forbidden};
use crate::{
    follower,
    lambda::{Lambda, MAX_EVENT},
    schedule, usage,
};
use console::{Console, Outcome};
use engine::server::json_response;
use events::auth::{self, Auth};
use hostile::{Notes, noting};
use template::nearest::nearest;

/// Header that marks a failed invocation, as in the Lambda API.
const FUNCTION_ERROR: &str = "x-amz-function-error";

const ROUTES: &str = "The routes below /_local/ are GET health, GET streams, GET events, POST ttl, POST reset, \
    POST functions/{name}/invocations and POST schedules/{name}.";
/// Maximum number of events in a response.
const MAX_EVENTS: u64 = 1_000;
/// End of the scopes of operators.
const OPERATE: &str = ":operate";

impl Gateway {
    /// Handles a request to a route below `/_local/`.
    pub(super) async fn administer(&self, request: &Parts, path: &str, body: Bytes) -> Result<Response, Response> {
        let method = &request.method;
        let parts: Vec<_> = path.split('/').collect();
        if let (&Method::GET, Some(page)) = (method, self.page(path)) {
            return Ok(page);
        }
        let admitted = self.admit(&request.headers);
        if (method, parts.as_slice()) == (&Method::GET, &["health"]) {
            return Ok(self.healthy(admitted.is_ok()));
        }
        admitted?;
        match (method.as_str(), parts.as_slice()) {
            ("POST", ["functions", name, "invocations"]) => {
                let lambda = self.lambda(name)?;
                if body.len() > MAX_EVENT {
                    let detail = format!("The event has {} bytes. Lambda accepts {MAX_EVENT}.", body.len());
                    return Err(problem(StatusCode::PAYLOAD_TOO_LARGE, &detail));
                }
                let event = serde_json::from_slice(&body);
                let event = event
                    .map_err(|error| problem(StatusCode::BAD_REQUEST, &format!("The event is not JSON: {error}")))?;
                Ok(invoke(lambda, event).await)
            }
            ("POST", ["schedules", name]) => {
                let lambda = self.lambda(name)?;
                let Some(first) = lambda.spec.schedules.first() else {
                    return Err(problem(StatusCode::NOT_FOUND, &format!("The function {name} has no schedule.")));
                };
                let rule = format!("{}-{name}-{}", self.stack, first.name);
                let now = time(&body).map_err(|detail| problem(StatusCode::BAD_REQUEST, &detail))?;
                Ok(self.fire(lambda, schedule::event(&rule, now.unwrap_or_else(Timestamp::now))).await)
            }
            ("GET", ["streams"]) => self.streams().await,
            ("GET", ["events"]) => self.published(request.uri.query().unwrap_or_default()),
            ("GET", ["reports", name]) => self.report(name),
            ("GET", ["api", rest @ ..]) if self.console.is_some() => self.console_api(request, rest).await,
            ("POST", ["ttl"]) => self.expire(&body).await,
            ("POST", ["reset"]) => {
                let deleted = self.resets.ask().await;
                let deleted = deleted.map_err(|detail| problem(StatusCode::INTERNAL_SERVER_ERROR, &detail))?;
                Ok(json_response(StatusCode::OK, &json!({"deleted": deleted})))
            }
            _ => Err(problem(StatusCode::NOT_FOUND, &format!("There is no route {method} /_local/{path}. {ROUTES}"))),
        }
    }

    /// Invokes a scheduled function, as often as the hostile mode says.
    async fn fire(&self, lambda: &Lambda, event: Value) -> Response {
        let Some(hostile) = &self.hostile else { return invoke(lambda, event).await };
        let (times, injected) = hostile.schedule(&lambda.spec.name);
        let notes = Notes::new(Mutex::new(injected));
        let firings = times.iter().map(|time| async {
            sleep(*time).await;
            noting(Arc::clone(&notes), invoke(lambda, event.clone())).await
        });
        let missed = || json_response(StatusCode::OK, &json!({"missed": "The schedule did not fire."}));
        join_all(firings).await.pop().unwrap_or_else(missed)
    }

    /// Returns a file of the console. The page asks for a token itself.
    fn page(&self, path: &str) -> Option<Response> {
        self.console.as_ref().and_then(|_| Console::asset(path))
    }

    /// Returns a report page that `make report` has written.
    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn report(&self, name: &str) -> Result<Response, Response> {
        let report = self.console.as_ref().and_then(|console| console.report(name));
        report.ok_or_else(|| problem(StatusCode::NOT_FOUND, &format!("There is no report {name}.")))
    }

    async fn console_api(&self, request: &Parts, path: &[&str]) -> Result<Response, Response> {
        let console = self.console.as_ref().ok_or_else(|| problem(StatusCode::NOT_FOUND, "There is no console."))?;
        Ok(console.answer(path, request.uri.query().unwrap_or_default()).await)
    }

    async fn streams(&self) -> Result<Response, Response> {
        let pollers = self.pollers.clone();
        blocking(move || follower::report(&pollers)).await.map(|report| json_response(StatusCode::OK, &report))
    }

    /// Returns the events on the bus: at most `limit` after the event `after`. `next` is the
    /// sequence number to continue from.
    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn published(&self, query: &str) -> Result<Response, Response> {
        let (mut after, mut limit) = (0, MAX_EVENTS);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let number = value.parse::<u64>().ok();
            match (&*name, number) {
                ("after", Some(number)) => after = number,
                ("limit", Some(number @ 1..=MAX_EVENTS)) => limit = number,
                ("after", None) => return Err(problem(StatusCode::BAD_REQUEST, "after must be a sequence number.")),
                ("limit", _) => {
                    let detail = format!("limit must be a number from 1 to {MAX_EVENTS}.");
                    return Err(problem(StatusCode::BAD_REQUEST, &detail));
                }
                _ => return Err(problem(StatusCode::BAD_REQUEST, "The parameters are after and limit.")),
            }
        }
        let items = self.lake.bus.after(after, usize::try_from(limit).unwrap_or(usize::MAX));
        let next = items.last().map_or(json!(after), |event| event["sequence"].clone());
        Ok(json_response(StatusCode::OK, &json!({"items": items, "next": next})))
    }

    async fn expire(&self, body: &[u8]) -> Result<Response, Response> {
        let then = time(body).map_err(|detail| problem(StatusCode::BAD_REQUEST, &detail))?;
        let store = self.store.clone();
        let deleted = blocking(move || store.sweep(then)).await?;
        Ok(json_response(StatusCode::OK, &json!({"deleted": deleted})))
    }

    /// Checks that the caller may use these routes: any caller of an open stack, and otherwise the
    /// operator of all services.
    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn admit(&self, headers: &HeaderMap) -> Result<(), Response> {
        if self.auth == Auth::Open {
            return Ok(());
        }
        let claims = self.claims(headers)?;
        let held = auth::scopes(&claims);
        let required: Vec<_> =
            self.scopes.iter().map(String::as_str).filter(|scope| scope.ends_with(OPERATE)).collect();
        if required.iter().all(|scope| held.contains(scope)) {
            return Ok(());
        }
        Err(forbidden(&format!("Paths below /_local/ need a token with the scopes {}", required.join(", ")), &held))
    }

    /// A caller who may not use the other routes gets only the status.
    fn healthy(&self, is_admitted: bool) -> Response {
        match self.health.get() {
            Some(health) if is_admitted => json_response(StatusCode::OK, health),
            Some(_) => json_response(StatusCode::OK, &json!({"status": "ok"})),
            None => json_response(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "starting"})),
        }
    }

    #[expect(clippy::result_large_err, reason = "at most one per request")]
    fn lambda(&self, name: &str) -> Result<&Lambda, Response> {
        let unknown = || {
            let known: Vec<_> = self.lambdas.keys().map(String::as_str).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("Did you mean {nearest}?"),
                None => format!("The functions are {}.", known.join(", ")),
            };
            let detail = format!("There is no function {name}. {hint}");
            problem(StatusCode::NOT_FOUND, &detail)
        };
        self.lambdas.get(name).map(Arc::as_ref).ok_or_else(unknown)
    }
}

/// Runs database work on a blocking thread, so that it does not delay other requests.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, Response> {
    let done = spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()));
    done.map_err(|error| problem(StatusCode::INTERNAL_SERVER_ERROR, &error))
}

/// Reads the time from a body such as `{"now": 1764633600}`. Returns `None` if the body is empty or
/// has no `now`.
fn time(body: &[u8]) -> Result<Option<Timestamp>, String> {
    if body.is_empty() {
        return Ok(None);
    }
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("The body is not JSON: {error}"))?;
    match &body["now"] {
        Value::Null => Ok(None),
        now => {
            let time = now.as_i64().and_then(|seconds| Timestamp::from_second(seconds).ok());
            time.map(Some).ok_or_else(|| "`now` must be a time in whole seconds since 1970.".to_owned())
        }
    }
}

/// Responds as Lambda's Invoke API does. The status is always 200. A failed invocation is marked by
/// a header, and the body contains the error.
async fn invoke(lambda: &Lambda, event: Value) -> Response {
    let Outcome { answer, usage } = lambda.invoke(event).await;
    let mut response = match answer {
        Ok(answer) => json_response(StatusCode::OK, &answer),
        Err(failure) => {
            let body = json!({"errorMessage": failure.message, "errorType": failure.kind});
            let mut response = json_response(StatusCode::OK, &body);
            response.headers_mut().insert(FUNCTION_ERROR, HeaderValue::from_static("Unhandled"));
            response
        }
    };
    if let Some(consumed) = usage::header(&usage) {
        response.headers_mut().insert(usage::CONSUMED, consumed);
    }
    response
}

fn problem(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or_default();
    let body = json!({"type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail});
    let mut response = json_response(status, &body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}
