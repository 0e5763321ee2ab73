//! Endpoint of Firehose, Secrets Manager and EventBridge: the actions of the JSON 1.1 protocol that
//! functions use.
use axum::{body::Body, response::Response};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Lake;
use template::{ACCOUNT, DeliveryStream, REGION};

const MAX_RECORDS: usize = 500;
const LARGEST_CALL: usize = 4 * 1024 * 1024;
/// Maximum size of a record in bytes, before base64 encoding.
const LARGEST_RECORD: usize = 1000 * 1024;

/// Error response: status, exception name and message.
struct Refusal(StatusCode, &'static str, String);

fn invalid(message: impl Into<String>) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, "InvalidArgumentException", message.into())
}

/// Responds to one call.
pub(super) fn answer(lake: &Lake, target: &str, body: &[u8], now: Timestamp) -> Response {
    match act(lake, target, body, now) {
        Ok(answer) => response(StatusCode::OK, &answer),
        Err(Refusal(status, kind, message)) => response(status, &json!({"__type": kind, "message": message})),
    }
}

/// The value of every secret on a local stack.
const SECRET: &str = "local";

fn act(lake: &Lake, target: &str, body: &[u8], now: Timestamp) -> Result<Value, Refusal> {
    let unreadable = |_| Refusal(StatusCode::BAD_REQUEST, "SerializationException", "The body is not JSON.".to_owned());
    let body: Value = serde_json::from_slice(body).map_err(unreadable)?;
    if target == "secretsmanager.GetSecretValue" {
        return Ok(json!({"ARN": body["SecretId"], "SecretString": SECRET}));
    }
    if target == "AWSEvents.PutEvents" {
        let refused = |(kind, message)| Refusal(StatusCode::BAD_REQUEST, kind, message);
        return lake.bus.put(&body, now).map_err(refused);
    }
    let stream = || stream(lake, &body);
    match target.strip_prefix("Firehose_20150804.") {
        Some("PutRecordBatch") => put_batch(lake, stream()?, &body, now),
        Some("PutRecord") => {
            put(lake, stream()?, &[record(&body["Record"])?], now)?;
            Ok(json!({"RecordId": record_id(), "Encrypted": false}))
        }
        Some("DescribeDeliveryStream") => Ok(describe(stream()?)),
        _ => {
            let message = format!("The local stack does not support {target}.");
            Err(Refusal(StatusCode::BAD_REQUEST, "UnknownOperationException", message))
        }
    }
}

fn stream<'a>(lake: &'a Lake, body: &Value) -> Result<&'a DeliveryStream, Refusal> {
    let name = body["DeliveryStreamName"].as_str().ok_or_else(|| invalid("DeliveryStreamName is missing."))?;
    lake.stream(name).ok_or_else(|| {
        let message = format!("Firehose {name} under account {ACCOUNT} not found.");
        Refusal(StatusCode::BAD_REQUEST, "ResourceNotFoundException", message)
    })
}

fn put_batch(lake: &Lake, stream: &DeliveryStream, body: &Value, now: Timestamp) -> Result<Value, Refusal> {
    let records = body["Records"].as_array().ok_or_else(|| invalid("Records is missing."))?;
    if records.is_empty() || records.len() > MAX_RECORDS {
        return Err(invalid(format!("A batch must have 1 to {MAX_RECORDS} records, not {}.", records.len())));
    }
    let records = records.iter().map(record).collect::<Result<Vec<_>, _>>()?;
    let size: usize = records.iter().map(Vec::len).sum();
    if size > LARGEST_CALL {
        return Err(invalid(format!("A batch must have at most {LARGEST_CALL} bytes, not {size}.")));
    }
    put(lake, stream, &records, now)?;
    let responses: Vec<_> = records.iter().map(|_| json!({"RecordId": record_id()})).collect();
    Ok(json!({"FailedPutCount": 0, "Encrypted": false, "RequestResponses": responses}))
}

fn record(record: &Value) -> Result<Vec<u8>, Refusal> {
    let data = record["Data"].as_str().ok_or_else(|| invalid("The Data of a record is missing."))?;
    let data = STANDARD.decode(data).map_err(|_| invalid("The Data of a record is not base64."))?;
    match data.len() {
        0..=LARGEST_RECORD => Ok(data),
        size => Err(invalid(format!("A record must have at most {LARGEST_RECORD} bytes, not {size}."))),
    }
}

fn put(lake: &Lake, stream: &DeliveryStream, records: &[Vec<u8>], now: Timestamp) -> Result<(), Refusal> {
    let unavailable = |error: std::io::Error| {
        Refusal(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailableException", error.to_string())
    };
    lake.deliver(stream, &records.concat(), now).map_err(unavailable)
}

fn record_id() -> String {
    Uuid::new_v4().simple().to_string()
}

fn describe(stream: &DeliveryStream) -> Value {
    let name = &stream.name;
    json!({"DeliveryStreamDescription": {
        "DeliveryStreamName": name,
        "DeliveryStreamARN": format!("arn:aws:firehose:{REGION}:{ACCOUNT}:deliverystream/{name}"),
        "DeliveryStreamStatus": "ACTIVE",
        "DeliveryStreamType": "DirectPut",
        "VersionId": "1",
        "Destinations": [{"DestinationId": "destinationId-000000000001"}],
        "HasMoreDestinations": false,
    }})
}

fn response(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/x-amz-json-1.1");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
