//! What only the local stack has: health, invocations by hand, schedules now.
use axum::{body::Bytes, response::Response};
use http::{HeaderValue, Method, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Gateway, answer::json_response};
use crate::{
    lambda::{Lambda, Outcome},
    schedule, usage,
};

/// The header by which the Lambda service says that a function failed.
const FUNCTION_ERROR: &str = "x-amz-function-error";

impl Gateway {
    /// Answers `/_local/…`.
    pub(super) async fn administer(&self, method: &Method, path: &str, body: Bytes) -> Result<Response, Response> {
        let parts: Vec<_> = path.split('/').collect();
        match (method.as_str(), parts.as_slice()) {
            ("GET", ["health"]) => Ok(self.healthy()),
            ("POST", ["functions", name, "invocations"]) => {
                let lambda = self.lambda(name)?;
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
                Ok(invoke(lambda, schedule::event(&rule, Timestamp::now())).await)
            }
            _ => Err(problem(StatusCode::NOT_FOUND, &format!("There is no {method} /_local/{path}."))),
        }
    }

    fn healthy(&self) -> Response {
        match self.health.get() {
            Some(health) => json_response(StatusCode::OK, health),
            None => json_response(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "starting"})),
        }
    }

    #[expect(clippy::result_large_err, reason = "each is made once a request")]
    fn lambda(&self, name: &str) -> Result<&Lambda, Response> {
        let unknown = || {
            let known: Vec<_> = self.lambdas.keys().map(String::as_str).collect();
            problem(StatusCode::NOT_FOUND, &format!("There is no function {name}. There are {}.", known.join(", ")))
        };
        self.lambdas.get(name).ok_or_else(unknown)
    }
}

/// Answers as Lambda's own Invoke does: the bare answer, or the error under 200 with a header.
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
