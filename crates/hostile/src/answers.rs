//! Responses of faults, in the form of AWS.
use aws_smithy_runtime_api::client::{
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use aws_smithy_types::{body::SdkBody, byte_stream::ByteStream};
use axum::body::Bytes;
use fastrand::Rng;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::request::{Call, Kind, list_of};

const DYNAMODB: &str = "com.amazonaws.dynamodb.v20120810#";

/// The error of a broken connection.
pub(super) fn lost() -> ConnectorError {
    ConnectorError::io("the hostile mode closed the connection".into())
}

pub(super) fn response(status: StatusCode, body: impl Into<SdkBody>) -> HttpResponse {
    HttpResponse::new(status.into(), body.into())
}

pub(super) fn dynamodb(status: StatusCode, kind: &str, message: &str) -> HttpResponse {
    response(status, json!({"__type": format!("{DYNAMODB}{kind}"), "message": message}).to_string())
}

/// A server error of the service.
pub(super) fn error(call: &Call, rng: &mut Rng) -> HttpResponse {
    let is_unavailable = rng.bool();
    let status = if is_unavailable { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::INTERNAL_SERVER_ERROR };
    if call.is_dynamodb() {
        let kind = if is_unavailable { "ServiceUnavailable" } else { "InternalServerError" };
        return dynamodb(status, kind, "The service failed. Please retry the request.");
    }
    if call.body.is_null() {
        let code = if is_unavailable { "SlowDown" } else { "InternalError" };
        let body = format!("<Error><Code>{code}</Code><Message>Please try again.</Message></Error>");
        return response(status, body);
    }
    let body = json!({"__type": "ServiceUnavailableException", "message": "Service is unavailable."});
    response(StatusCode::SERVICE_UNAVAILABLE, body.to_string())
}

/// A throttled call. `hit` marks the throttled items of a transaction.
pub(super) fn throttled(call: &Call, hit: &[bool], rng: &mut Rng) -> HttpResponse {
    let is_partition = rng.bool();
    if matches!(call.kind, Kind::TransactWrite | Kind::TransactGet) {
        return cancelled(hit, if is_partition { "ProvisionedThroughputExceeded" } else { "ThrottlingError" });
    }
    if !call.is_dynamodb() {
        return error(call, rng);
    }
    let kind = if is_partition { "ProvisionedThroughputExceededException" } else { "ThrottlingException" };
    dynamodb(StatusCode::BAD_REQUEST, kind, "Throughput exceeds the current capacity of the partition.")
}

/// A call that conflicts with a transaction. `hit` marks the items in conflict.
pub(super) fn conflict(call: &Call, hit: &[bool]) -> HttpResponse {
    match call.kind {
        Kind::TransactWrite | Kind::TransactGet => cancelled(hit, "TransactionConflict"),
        _ => {
            let message = "Transaction is ongoing for the item";
            dynamodb(StatusCode::BAD_REQUEST, "TransactionConflictException", message)
        }
    }
}

/// A repetition of a transaction that is still in progress.
pub(super) fn in_progress() -> HttpResponse {
    let message = "The transaction with the given request token is already in progress.";
    dynamodb(StatusCode::BAD_REQUEST, "TransactionInProgressException", message)
}

fn cancelled(hit: &[bool], code: &str) -> HttpResponse {
    let codes: Vec<&str> = hit.iter().map(|hit| if *hit { code } else { "None" }).collect();
    let reasons: Vec<Value> = codes.iter().map(|code| json!({"Code": code})).collect();
    let message =
        format!("Transaction cancelled, please refer cancellation reasons for specific reasons [{}]", codes.join(", "));
    let body = json!({
        "__type": format!("{DYNAMODB}TransactionCanceledException"), "message": message, "CancellationReasons": reasons,
    });
    response(StatusCode::BAD_REQUEST, body.to_string())
}

/// Replaces the body of a request.
pub(super) fn set_body(request: &mut HttpRequest, body: &Value) {
    let body = body.to_string();
    request.headers_mut().insert("content-length", body.len().to_string());
    *request.body_mut() = SdkBody::from(body);
}

/// Reads the body of a response, and returns it with the response.
pub(super) async fn read(mut response: HttpResponse) -> Result<(HttpResponse, Bytes), ConnectorError> {
    let body = ByteStream::new(response.take_body()).collect().await;
    let body = body.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
    *response.body_mut() = SdkBody::from(body.clone());
    Ok((response, body))
}

/// Replaces the body of a successful response.
pub(super) fn with_body(response: &mut HttpResponse, body: &Value) {
    let body = body.to_string();
    response.headers_mut().insert("content-length", body.len().to_string());
    *response.body_mut() = SdkBody::from(body);
}

/// Splits a batch into the requests whose number satisfies the condition and the others, both by
/// table.
pub(super) fn split(tables: &Value, is_sent: impl Fn(usize) -> bool) -> (Map<String, Value>, Map<String, Value>) {
    let (mut sent, mut left, mut number) = (Map::new(), Map::new(), 0);
    for (table, requests) in tables.as_object().into_iter().flatten() {
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for request in list_of(requests) {
            if is_sent(number) { &mut first } else { &mut others }.push(request.clone());
            number += 1;
        }
        for (part, list) in [(&mut sent, first), (&mut left, others)] {
            if !list.is_empty() {
                part.insert(table.clone(), with(requests, list));
            }
        }
    }
    (sent, left)
}

/// The same reads or writes of one table with another list.
fn with(requests: &Value, list: Vec<Value>) -> Value {
    match requests {
        Value::Object(reads) => {
            let mut reads = reads.clone();
            reads.insert("Keys".to_owned(), list.into());
            reads.into()
        }
        _ => list.into(),
    }
}

/// Adds unprocessed requests to those of the response to a batch.
pub(super) fn add_unprocessed(answer: &mut Value, member: &str, left: Map<String, Value>) {
    if !answer[member].is_object() {
        answer[member] = json!({});
    }
    for (table, requests) in left {
        let known = &answer[member][&table];
        let list: Vec<Value> = list_of(known).iter().chain(list_of(&requests)).cloned().collect();
        answer[member][&table] = with(&requests, list);
    }
}
