//! Emulates Firehose and S3 on a free port, and injects faults. Supports only the calls of the
//! export.

use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::task::JoinHandle;

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

type Rule = Box<dyn FnMut(&Call) -> Fault + Send>;

pub(crate) struct Taken {
    rule: Rule,
    calls: usize,
    /// Number of calls to Firehose, including failed ones.
    pub(crate) batches: usize,
    /// Records that Firehose accepted.
    pub(crate) records: Vec<String>,
    /// The delivery stream of each record.
    streams: Vec<String>,
    /// Objects by bucket and key.
    pub(crate) objects: BTreeMap<String, Value>,
    /// Number of calls that exceed a Firehose limit.
    pub(crate) too_much: usize,
}

impl Taken {
    /// Rows that Firehose accepted.
    pub(crate) fn rows(&self) -> Vec<Value> {
        let lines = self.records.iter().flat_map(|record| record.lines());
        lines.map(|line| serde_json::from_str(line).expect("a row")).collect()
    }

    /// Rows as they were accepted, each with the name of its delivery stream.
    pub(crate) fn lines(&self) -> Vec<(String, String)> {
        let records = self.streams.iter().zip(&self.records);
        records.flat_map(|(stream, record)| record.lines().map(|line| (stream.clone(), line.to_owned()))).collect()
    }

    /// Number of bytes that Firehose bills.
    pub(crate) fn billed(&self) -> usize {
        self.records.iter().map(|record| record.len().next_multiple_of(5 * 1_024)).sum()
    }
}

pub(crate) struct Stub {
    pub(crate) url: String,
    taken: Arc<Mutex<Taken>>,
    server: JoinHandle<()>,
}

impl Stub {
    pub(crate) async fn start(rule: impl FnMut(&Call) -> Fault + Send + 'static) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let taken = Arc::new(Mutex::new(Taken {
            rule: Box::new(rule),
            calls: 0,
            batches: 0,
            records: Vec::new(),
            streams: Vec::new(),
            objects: BTreeMap::new(),
            too_much: 0,
        }));
        let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(Arc::clone(&taken));
        let server = tokio::spawn(async { axum::serve(listener, router).await.expect("serves") });
        Self { url, taken, server }
    }

    pub(crate) fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Shared = State<Arc<Mutex<Taken>>>;

async fn answer(State(taken): Shared, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
    taken.calls += 1;
    let (stream, records) = if method == Method::PUT { Default::default() } else { records(&headers, &body) };
    let text = if method == Method::PUT { text(&body) } else { records.concat() };
    let call = Call { number: taken.calls, is_put: method == Method::PUT, text };
    let fault = (taken.rule)(&call);
    let (closes, all) = (matches!(fault, Fault::AnswerLost), (|_| false) as fn(usize) -> bool);
    let answer = match fault {
        Fault::None | Fault::AnswerLost if call.is_put => put(&mut taken, uri.path(), &call.text),
        Fault::None | Fault::AnswerLost => batch(&mut taken, &stream, records, body.len(), all),
        Fault::Without(which) => batch(&mut taken, &stream, records, body.len(), which),
        Fault::Throttled => refused(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailableException"),
        Fault::Internal => refused(StatusCode::INTERNAL_SERVER_ERROR, "InternalFailure"),
        Fault::Invalid => refused(StatusCode::BAD_REQUEST, "InvalidArgumentException"),
        Fault::Lost => close(),
    };
    drop(taken);
    if closes { close() } else { answer }
}

/// Closes the connection without a response. The panic ends the server task of the connection.
fn close() -> ! {
    std::panic::resume_unwind(Box::new("closed"))
}

fn text(body: &Bytes) -> String {
    String::from_utf8(body.to_vec()).expect("text")
}

fn refused(status: StatusCode, kind: &str) -> Response {
    (status, [("content-type", "application/x-amz-json-1.1")], json!({ "__type": kind }).to_string()).into_response()
}

/// Returns the delivery stream and the records of a call.
fn records(headers: &HeaderMap, body: &Bytes) -> (String, Vec<String>) {
    assert_eq!(headers.get("x-amz-target").expect("a target"), "Firehose_20150804.PutRecordBatch");
    let body: Value = serde_json::from_slice(body).expect("JSON");
    let data = |record: &Value| STANDARD.decode(record["Data"].as_str().expect("data")).expect("base64");
    let records = body["Records"].as_array().expect("records").iter();
    let stream = body["DeliveryStreamName"].as_str().expect("a delivery stream").to_owned();
    (stream, records.map(|record| String::from_utf8(data(record)).expect("text")).collect())
}

/// Accepts the records of a call, except the records whose index satisfies `is_left_out`.
fn batch(
    taken: &mut Taken,
    stream: &str,
    records: Vec<String>,
    body: usize,
    is_left_out: fn(usize) -> bool,
) -> Response {
    taken.batches += 1;
    if records.len() > 500 || body > 4_000_000 || records.iter().any(|record| record.len() > 1_024_000) {
        taken.too_much += 1;
        return refused(StatusCode::BAD_REQUEST, "InvalidArgumentException");
    }
    let mut failed = 0;
    let mut answers = Vec::new();
    for (number, record) in records.into_iter().enumerate() {
        if is_left_out(number) {
            failed += 1;
            answers.push(json!({"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."}));
        } else {
            assert!(record.ends_with('\n'), "a record must end with a line break");
            taken.records.push(record);
            taken.streams.push(stream.to_owned());
            answers.push(json!({"RecordId": number.to_string()}));
        }
    }
    let answer = json!({"FailedPutCount": failed, "Encrypted": true, "RequestResponses": answers});
    ([("content-type", "application/x-amz-json-1.1")], answer.to_string()).into_response()
}

fn put(taken: &mut Taken, path: &str, body: &str) -> Response {
    // The body may be one chunk, preceded by its length and followed by a checksum.
    let json = body.find('{').zip(body.rfind('}')).map(|(from, to)| &body[from..=to]).expect("an object");
    taken.objects.insert(path.trim_start_matches('/').to_owned(), serde_json::from_str(json).expect("JSON"));
    ([("etag", "\"1\"")], "").into_response()
}
