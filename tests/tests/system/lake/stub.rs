//! Emulates Firehose and S3 in process, and injects faults. Supports only the calls of the export.

use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture},
    result::ConnectorError,
};
use aws_smithy_types::body::SdkBody;
use axum::{
    body::{Body, to_bytes},
    http::{Method, request::Parts},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Received call.
pub(crate) struct Call {
    /// Number of the call, starting at 1.
    pub(crate) number: usize,
    /// True for a call to S3, false for a call to Firehose.
    pub(crate) is_put: bool,
    /// Data of the records, or the body of the object.
    pub(crate) text: String,
}

/// Outcome of a call.
pub(crate) enum Fault {
    None,
    /// Throttled.
    Throttled,
    /// Internal error.
    Internal,
    /// Invalid request.
    Invalid,
    /// Rejects the records whose index satisfies the function, and accepts the others.
    Without(fn(usize) -> bool),
    /// The connection closes before the call has an effect.
    Lost,
    /// The call succeeds, and the connection closes without a response.
    AnswerLost,
}

pub(crate) struct Taken {
    rule: Box<dyn FnMut(&Call) -> Fault + Send>,
    calls: usize,
    /// Number of calls to Firehose, including failed ones.
    pub(crate) batches: usize,
    /// The delivery stream and the data of each record that Firehose accepted.
    records: Vec<(String, String)>,
    /// Objects by bucket and key.
    pub(crate) objects: BTreeMap<String, Value>,
}

impl Taken {
    /// Rows that Firehose accepted, each with the name of its delivery stream.
    pub(crate) fn lines(&self) -> Vec<(String, String)> {
        let records = self.records.iter();
        records.flat_map(|(stream, record)| record.lines().map(|line| (stream.clone(), line.to_owned()))).collect()
    }

    /// Rows that Firehose accepted.
    pub(crate) fn rows(&self) -> Vec<Value> {
        self.lines().iter().map(|(_, line)| serde_json::from_str(line).expect("a row")).collect()
    }

    /// The response, or nothing if the connection closes.
    fn answer(&mut self, parts: &Parts, body: &[u8]) -> Option<HttpResponse> {
        self.calls += 1;
        let is_put = parts.method == Method::PUT;
        let (stream, records) = if is_put { Default::default() } else { records(parts, body) };
        let text = if is_put { String::from_utf8(body.to_vec()).expect("text") } else { records.concat() };
        let call = Call { number: self.calls, is_put, text };
        self.batches += usize::from(!is_put);
        let fault = (self.rule)(&call);
        let response = match fault {
            Fault::Lost => return None,
            Fault::Throttled => refused(503, "ServiceUnavailableException"),
            Fault::Internal => refused(500, "InternalFailure"),
            Fault::Invalid => refused(400, "InvalidArgumentException"),
            _ if is_put => self.put(parts.uri.path(), &call.text),
            Fault::Without(left_out) => self.batch(&stream, records, body.len(), left_out),
            Fault::None | Fault::AnswerLost => self.batch(&stream, records, body.len(), |_| false),
        };
        (!matches!(fault, Fault::AnswerLost)).then_some(response)
    }

    /// Accepts the records of a call, except the records whose index satisfies `is_left_out`.
    fn batch(
        &mut self,
        stream: &str,
        records: Vec<String>,
        bytes: usize,
        is_left_out: fn(usize) -> bool,
    ) -> HttpResponse {
        assert!(records.len() <= 500 && bytes <= 4_000_000, "a call exceeds a limit of Firehose");
        let (mut failed, mut answers) = (0, Vec::new());
        for (number, record) in records.into_iter().enumerate() {
            assert!(record.ends_with('\n') && record.len() <= 1_024_000, "{} bytes", record.len());
            if is_left_out(number) {
                failed += 1;
                answers.push(json!({"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."}));
            } else {
                self.records.push((stream.to_owned(), record));
                answers.push(json!({"RecordId": number.to_string()}));
            }
        }
        response(200, &json!({"FailedPutCount": failed, "Encrypted": true, "RequestResponses": answers}))
    }

    fn put(&mut self, path: &str, body: &str) -> HttpResponse {
        // The body may be one chunk, preceded by its length and followed by a checksum.
        let json = body.find('{').zip(body.rfind('}')).map(|(from, to)| &body[from..=to]).expect("an object");
        self.objects.insert(path.trim_start_matches('/').to_owned(), serde_json::from_str(json).expect("JSON"));
        HttpResponse::new(200_u16.try_into().expect("a status"), SdkBody::empty())
    }
}

/// The clones share their state.
#[derive(Clone)]
pub(crate) struct Stub(Arc<Mutex<Taken>>);

impl Stub {
    pub(crate) fn new(rule: impl FnMut(&Call) -> Fault + Send + 'static) -> Self {
        let (records, objects) = (Vec::new(), BTreeMap::new());
        Self(Arc::new(Mutex::new(Taken { rule: Box::new(rule), calls: 0, batches: 0, records, objects })))
    }

    pub(crate) fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stub {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Stub")
    }
}

impl HttpConnector for Stub {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let stub = self.clone();
        HttpConnectorFuture::new(async move {
            let (parts, body) = request.try_into_http1x().expect("a request").into_parts();
            let body = to_bytes(Body::new(body), usize::MAX).await.expect("a body");
            let answer = stub.taken().answer(&parts, &body);
            answer.ok_or_else(|| ConnectorError::io("the connection closed".into()))
        })
    }
}

fn response(status: u16, body: &Value) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.1");
    response
}

fn refused(status: u16, kind: &str) -> HttpResponse {
    response(status, &json!({ "__type": kind }))
}

/// Returns the delivery stream and the records of a call.
fn records(parts: &Parts, body: &[u8]) -> (String, Vec<String>) {
    assert_eq!(parts.headers["x-amz-target"], "Firehose_20150804.PutRecordBatch");
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let data = |record: &Value| STANDARD.decode(record["Data"].as_str().expect("data")).expect("base64");
    let records = body["Records"].as_array().expect("records").iter();
    let stream = body["DeliveryStreamName"].as_str().expect("a delivery stream").to_owned();
    (stream, records.map(|record| String::from_utf8(data(record)).expect("text")).collect())
}
