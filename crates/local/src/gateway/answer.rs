//! Converts the result of a function to an HTTP response (payload format 2.0).
use axum::{body::Body, response::Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use engine::server::json_response;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde_json::{Value, json};

/// Response of the gateway itself, in API Gateway's format.
pub(crate) fn message(status: StatusCode, message: &str) -> Response {
    json_response(status, &json!({"message": message}))
}

/// Response of the gateway itself, with an explanation that only the local stack gives.
pub(crate) fn explained(status: StatusCode, message: &str, detail: &str) -> Response {
    json_response(status, &json!({"message": message, "detail": detail}))
}

/// Converts the result of a function to an HTTP response.
///
/// # Errors
///
/// A message that names the invalid part of the result.
pub(crate) fn response(answer: &Value) -> Result<Response, String> {
    if answer.get("statusCode").is_none() {
        return Ok(json_response(StatusCode::OK, answer));
    }
    let mut response = Response::new(());
    *response.status_mut() = status(&answer["statusCode"])?;
    let headers = response.headers_mut();
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        let name: HeaderName = name.parse().map_err(|_| format!("the header name {name:?} is not valid"))?;
        headers.insert(name, header_value(value)?);
    }
    for cookie in answer["cookies"].as_array().into_iter().flatten() {
        headers.append(header::SET_COOKIE, header_value(cookie)?);
    }
    let kind = headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
    let body = body(answer, kind.to_str().is_ok_and(is_json))?;
    Ok(response.map(|()| body))
}

/// Whether a body of this content type is JSON.
fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || kind.ends_with("+json")
}

fn status(value: &Value) -> Result<StatusCode, String> {
    let code = value.as_u64().and_then(|code| u16::try_from(code).ok());
    let status = code.and_then(|code| StatusCode::from_u16(code).ok());
    status.ok_or_else(|| format!("the statusCode {value} is not valid"))
}

fn header_value(value: &Value) -> Result<HeaderValue, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => return Err(format!("the header value {value} is not a string")),
    };
    HeaderValue::from_str(&text).map_err(|_| format!("the header value {value} is not valid"))
}

fn body(answer: &Value, is_json: bool) -> Result<Body, String> {
    let text = match &answer["body"] {
        Value::Null => return Ok(Body::empty()),
        Value::String(text) => text.clone(),
        other => return Err(format!("the body {other} is not a string")),
    };
    if answer["isBase64Encoded"] != json!(true) {
        // As after a `json_response`, the prompt of a terminal starts a line.
        let end = if is_json && !text.is_empty() { "\n" } else { "" };
        return Ok(Body::from(text + end));
    }
    STANDARD.decode(text).map(Body::from).map_err(|error| format!("the body is not base64: {error}"))
}
