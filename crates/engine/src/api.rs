//! The DynamoDB API over HTTP. Each call runs on the embedded engine.
//!
//! The engine has its own HTTP server, which cannot be used: it permits every web page to read and
//! write the tables (docs/decisions/local-security.md).
use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::{
    body::{Body, Bytes, to_bytes},
    response::Response,
};
use dynoxide::{
    Database, DynoxideError,
    auth_material::{AuthMaterial, validate},
};
use http::{HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use super::streams;
use crate::server::{Endpoint, Origins, Received, Refusal};
use template::REGION;

const JSON: &str = "application/x-amz-json-1.0";
const TARGETS: [&str; 2] = ["DynamoDB_20120810.", "DynamoDBStreams_20120810."];
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const UNKNOWN_OPERATION: &str = "com.amazon.coral.service#UnknownOperationException";
/// Actions whose validation errors DynamoDB wraps in a text.
const WRAPPED: [&str; 3] = ["PutItem", "UpdateItem", "DeleteItem"];

/// Actions that write items.
const WRITES: [&str; 8] = [
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "ExecuteStatement",
    "ExecuteTransaction",
    "BatchExecuteStatement",
];

/// A write of another program.
pub struct ForeignWrite {
    /// The action, such as `PutItem`.
    pub action: String,
    /// The time of the call.
    pub at: Instant,
    /// Body of the request.
    pub request: Bytes,
    /// Status of the response.
    pub status: StatusCode,
    /// Body of the response.
    pub response: Bytes,
}

/// Receives each write of another program.
pub type Observer = Box<dyn Fn(ForeignWrite) + Send + Sync>;

/// Endpoint of the embedded engine.
pub(super) struct Api {
    pub(super) database: Database,
    pub(super) observer: Arc<OnceLock<Observer>>,
}

impl Api {
    /// Runs the action. A call without a port comes from this process.
    async fn run(&self, action: String, body: Bytes, is_own: bool) -> Response {
        let observer = self.observer.get().filter(|_| !is_own && WRITES.contains(&action.as_str()));
        let Some(observer) = observer else { return run(self.database.clone(), action, body.into()).await };
        let at = Instant::now();
        let (parts, answer) = run(self.database.clone(), action.clone(), body.to_vec()).await.into_parts();
        let answer = to_bytes(answer, usize::MAX).await.unwrap_or_default();
        observer(ForeignWrite { action, at, request: body, status: parts.status, response: answer.clone() });
        Response::from_parts(parts, answer.into())
    }
}

impl Endpoint for Api {
    // The limit of DynamoDB.
    const MAX_BODY: usize = 16 * 1024 * 1024;
    const ORIGINS: Origins = Origins::None;

    async fn answer(&self, request: Received) -> Response {
        let Received { peer, parts, body } = request;
        match parts.method {
            Method::GET => text(StatusCode::OK, format!("healthy: dynamodb.{REGION}.amazonaws.com ")),
            Method::POST => match action(&parts) {
                Ok(action) => self.run(action, body, peer.port() == 0).await,
                Err(response) => *response,
            },
            _ => text(StatusCode::NOT_FOUND, "<UnknownOperationException/>\n".to_owned()),
        }
    }

    fn refuse(refusal: Refusal) -> Response {
        error(refusal.status(), "com.amazon.coral.service#AccessDeniedException", refusal.detail())
    }
}

/// Action of a call with complete authentication.
fn action(parts: &Parts) -> Result<String, Box<Response>> {
    let target = header_text(parts, "x-amz-target").unwrap_or_default();
    let action = TARGETS.iter().find_map(|prefix| target.strip_prefix(prefix));
    let action = action.filter(|action| ACTIONS.contains(action) || ADAPTED.contains(action));
    let action =
        action.ok_or_else(|| Box::new(error(StatusCode::BAD_REQUEST, UNKNOWN_OPERATION, "The action is unknown.")))?;
    let material = AuthMaterial {
        authorization: header_text(parts, header::AUTHORIZATION.as_str()),
        query: parts.uri.query().unwrap_or_default(),
        has_date_header: parts.headers.contains_key("x-amz-date") || parts.headers.contains_key(header::DATE),
    };
    match validate(material) {
        Some(refusal) => Err(Box::new(response(StatusCode::BAD_REQUEST, JSON, refusal))),
        None => Ok(action.to_owned()),
    }
}

fn header_text<'a>(parts: &'a Parts, name: &str) -> Option<&'a str> {
    parts.headers.get(name).and_then(|value| value.to_str().ok())
}

/// Runs the action on a blocking thread, so that it does not delay other requests.
async fn run(database: Database, action: String, body: Vec<u8>) -> Response {
    match spawn_blocking(move || execute(&database, &action, &body)).await {
        Ok((status, body)) => response(status, JSON, body),
        Err(panicked) => {
            tracing::error!(%panicked, "a call of DynamoDB failed");
            let kind = "com.amazonaws.dynamodb.v20120810#InternalServerError";
            error(StatusCode::INTERNAL_SERVER_ERROR, kind, "The engine failed.")
        }
    }
}

/// Runs the action, and returns the status and the body of the response.
pub fn execute(database: &Database, action: &str, body: &[u8]) -> (StatusCode, String) {
    match call(database, action, body) {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => {
            let status = StatusCode::from_u16(error.status_code()).unwrap_or_default();
            (status, wrap(action, error).to_json())
        }
    }
}

macro_rules! actions {
    ($($action:ident => $method:ident,)*) => {
        const ACTIONS: &[&str] = &[$(stringify!($action)),*];

        fn act(database: &Database, action: &str, body: &[u8]) -> Result<String, DynoxideError> {
            match action {
                $(stringify!($action) => write(&database.$method(read(body)?)?),)*
                _ => Err(DynoxideError::SerializationException(String::new())),
            }
        }
    };
}

actions! {
    ListTables => list_tables,
    PutItem => put_item,
    GetItem => get_item,
    DeleteItem => delete_item,
    UpdateItem => update_item,
    Query => query,
    Scan => scan,
    BatchGetItem => batch_get_item,
    BatchWriteItem => batch_write_item,
    TransactWriteItems => transact_write_items,
    TransactGetItems => transact_get_items,
    UpdateTimeToLive => update_time_to_live,
    DescribeTimeToLive => describe_time_to_live,
    ExecuteStatement => execute_statement,
    ExecuteTransaction => execute_transaction,
    BatchExecuteStatement => batch_execute_statement,
    TagResource => tag_resource,
    UntagResource => untag_resource,
    ListTagsOfResource => list_tags_of_resource,
}

/// Actions whose answers contain ARNs or shard ids, which have another form in the engine.
const ADAPTED: [&str; 8] = [
    "CreateTable",
    "DeleteTable",
    "DescribeTable",
    "UpdateTable",
    "ListStreams",
    "DescribeStream",
    "GetShardIterator",
    "GetRecords",
];

fn call(database: &Database, action: &str, body: &[u8]) -> Result<String, DynoxideError> {
    match action {
        "CreateTable" => describe(&database.create_table(read(body)?)?),
        "DeleteTable" => describe(&database.delete_table(read(body)?)?),
        "DescribeTable" => describe(&database.describe_table(read(body)?)?),
        "UpdateTable" => describe(&database.update_table(read(body)?)?),
        "ListStreams" => write(&streams::list(database, read(body)?)?),
        "DescribeStream" => write(&streams::describe(database, read(body)?)?),
        "GetShardIterator" => write(&streams::iterator(database, read(body)?)?),
        "GetRecords" => write(&streams::records(database, read(body)?)?),
        _ => act(database, action, body),
    }
}

fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, DynoxideError> {
    serde_json::from_slice(body).map_err(|error| unreadable(&error.to_string()))
}

fn describe(answer: &impl Serialize) -> Result<String, DynoxideError> {
    let mut description = serde_json::to_value(answer).map_err(|error| unwritable(&error))?;
    streams::localise(&mut description);
    write(&description)
}

fn write(answer: &impl Serialize) -> Result<String, DynoxideError> {
    serde_json::to_string(answer).map_err(|error| unwritable(&error))
}

fn unwritable(error: &serde_json::Error) -> DynoxideError {
    DynoxideError::InternalServerError(error.to_string())
}

/// Error of a body that is no request. The engine marks its own errors with a prefix.
fn unreadable(message: &str) -> DynoxideError {
    let text = message.rfind(" at line ").map_or(message, |end| &message[..end]);
    let marked = |prefix: &str| text.strip_prefix(prefix).map(str::to_owned);
    if let Some(text) = marked("VALIDATION_REQUEST:") {
        return DynoxideError::EnvelopedValidation(text);
    }
    if let Some(text) = marked("VALIDATION:").or_else(|| marked("VALIDATION_AS_READ:")) {
        return DynoxideError::ValidationException(text);
    }
    if let Some(text) = marked("SERIALIZATION:").or_else(|| marked("SERIALIZATION_AS_READ:")) {
        return DynoxideError::SerializationException(text);
    }
    let is_invalid = ["missing field", "unknown variant", "invalid type: null", "AttributeValue"];
    if is_invalid.iter().any(|part| text.contains(part)) {
        DynoxideError::ValidationException(text.to_owned())
    } else {
        DynoxideError::SerializationException(text.to_owned())
    }
}

/// The error in the words that DynamoDB uses for the action.
fn wrap(action: &str, error: DynoxideError) -> DynoxideError {
    match error {
        DynoxideError::EnvelopedValidation(text) if WRAPPED.contains(&action) => {
            DynoxideError::ValidationException(format!("1 validation error detected: {text}"))
        }
        DynoxideError::EnvelopedValidation(text) => DynoxideError::ValidationException(text),
        DynoxideError::ConditionalCheckFailedException(text, Some(item)) if action == "ExecuteStatement" => {
            DynoxideError::StatementConditionalCheckFailed(text, item)
        }
        other => other,
    }
}

fn error(status: StatusCode, kind: &str, message: &str) -> Response {
    response(status, JSON, json!({"__type": kind, "message": message}).to_string())
}

fn text(status: StatusCode, body: String) -> Response {
    response(status, "text/plain", body)
}

fn response(status: StatusCode, kind: &'static str, body: String) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Ok(id) = HeaderValue::from_str(&Uuid::new_v4().simple().to_string().to_uppercase()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}
