//! Records each invocation with its calls, for the console. A thread digests finished invocations,
//! so that functions do not wait for it.
use std::{
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
    time::{Duration, Instant},
};

use aws_smithy_runtime_api::client::{
    http::HttpConnectorFuture,
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use aws_smithy_types::{body::SdkBody, byte_stream::ByteStream};
use axum::body::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use table::Usage;

use super::{
    heat::Heat,
    trace::{Call, Cause, Summary, Trace},
};
use engine::{ForeignWrite, store::Store};
use hostile::{Injected, Notes, noted, noting};

/// Maximum number of traces, and of the bytes of their events and calls.
pub(crate) const MAX_TRACES: usize = 10_000;
const MAX_BYTES: usize = 128 * 1024 * 1024;
/// Maximum size of an event or of a body that is kept.
const MAX_BODY: usize = 256 * 1024;
/// Maximum number of finished invocations that wait for the thread. Further ones are not recorded.
const MAX_WAITING: usize = 4_096;
/// The function of a call of another program.
const OUTSIDE: &str = "-";

tokio::task_local! {
    static RUNNING: Arc<Running>;
}

/// A running invocation.
pub struct Running {
    function: String,
    /// `None` if the event is larger than [`MAX_BODY`].
    event: Option<Value>,
    cause: Cause,
    at: Timestamp,
    started: Instant,
    calls: Mutex<Vec<RawCall>>,
    /// The faults of the event.
    faults: Vec<Injected>,
}

/// A call as it was sent and answered.
pub(super) struct RawCall {
    pub(super) target: String,
    pub(super) path: String,
    pub(super) at: u64,
    pub(super) micros: u64,
    /// `None` if there was no response.
    pub(super) status: Option<u16>,
    pub(super) request: Bytes,
    pub(super) response: Bytes,
    /// Whether a body was too large to be kept.
    pub(super) is_cut: bool,
    pub(super) faults: Vec<Injected>,
}

/// A finished invocation.
pub(super) struct Finished {
    pub(super) function: String,
    pub(super) event: Option<Value>,
    pub(super) cause: Cause,
    /// The answer is `None` if it is larger than [`MAX_BODY`].
    pub(super) answer: Result<Option<Value>, String>,
    pub(super) at: Timestamp,
    pub(super) micros: u64,
    pub(super) retries: u64,
    pub(super) calls: Vec<RawCall>,
    pub(super) faults: Vec<Injected>,
}

/// The last traces.
#[derive(Default)]
struct Kept {
    traces: VecDeque<Arc<Trace>>,
    bytes: usize,
    next: u64,
    lost: Lost,
    heat: Heat,
}

/// Invocations that were not recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lost {
    /// Number of those that were not recorded because too many waited for the thread.
    too_many: u64,
    /// Number of those whose recording failed.
    failed: u64,
    /// The function of the last one whose recording failed.
    last_failed: Option<String>,
}

impl Lost {
    pub(super) fn total(&self) -> u64 {
        self.too_many + self.failed
    }
}

/// Recorder of one stack. The thread ends when the recorder is dropped, and only then.
pub struct Recorder {
    kept: Arc<Mutex<Kept>>,
    finished: SyncSender<Finished>,
}

impl Recorder {
    pub(crate) fn start(store: Store) -> Arc<Self> {
        Self::with(move |finished| Trace::digest(finished, &store))
    }

    fn with(digest: impl Fn(Finished) -> Trace + Send + 'static) -> Arc<Self> {
        let (finished, waiting) = mpsc::sync_channel::<Finished>(MAX_WAITING);
        let kept: Arc<Mutex<Kept>> = Arc::default();
        let digested = Arc::clone(&kept);
        thread::spawn(move || {
            for finished in waiting {
                let function = finished.function.clone();
                // An invocation that cannot be recorded must not end the record of all others.
                let recorded = catch_unwind(AssertUnwindSafe(|| {
                    let trace = digest(finished);
                    lock(&digested).keep(trace);
                }));
                if recorded.is_err() {
                    tracing::error!(function, "an invocation can't be recorded");
                    let lost = &mut lock(&digested).lost;
                    (lost.failed, lost.last_failed) = (lost.failed + 1, Some(function));
                }
            }
        });
        Arc::new(Self { kept, finished })
    }

    /// Starts an invocation.
    pub fn begin(function: &str, event: &Value) -> Arc<Running> {
        Arc::new(Running {
            function: function.to_owned(),
            event: kept(event),
            cause: Cause::of(event),
            at: Timestamp::now(),
            started: Instant::now(),
            calls: Mutex::default(),
            faults: noted(),
        })
    }

    /// Ends an invocation.
    pub fn end(&self, running: &Running, outcome: &Outcome) {
        let answer = match &outcome.answer {
            Ok(answer) => Ok(kept(answer)),
            Err(failure) => Err(format!("{}: {}", failure.kind, failure.message)),
        };
        self.keep(Finished {
            function: running.function.clone(),
            event: running.event.clone(),
            cause: running.cause.clone(),
            answer,
            at: running.at,
            micros: micros(running.started),
            retries: outcome.usage.retries,
            calls: std::mem::take(&mut *lock(&running.calls)),
            faults: running.faults.clone(),
        });
    }

    /// Records a write of another program to the DynamoDB port.
    pub fn observe(&self, write: ForeignWrite) {
        let ForeignWrite { action, at, request, status, response } = write;
        let took = micros(at);
        let is_cut = request.len() > MAX_BODY || response.len() > MAX_BODY;
        let within = |body: Bytes| if body.len() > MAX_BODY { Bytes::new() } else { body };
        let call = RawCall {
            target: format!("DynamoDB_20120810.{action}"),
            path: String::new(),
            at: 0,
            micros: took,
            status: Some(status.as_u16()),
            request: within(request),
            response: within(response),
            is_cut,
            faults: Vec::new(),
        };
        self.keep(Finished {
            function: OUTSIDE.to_owned(),
            event: Some(Value::Null),
            cause: Cause::of_port(&action),
            answer: Ok(Some(Value::Null)),
            at: Timestamp::now() - Duration::from_micros(took),
            micros: took,
            retries: 0,
            calls: vec![call],
            faults: Vec::new(),
        });
    }

    fn keep(&self, finished: Finished) {
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = self.finished.try_send(finished) {
            lock(&self.kept).lost.too_many += 1;
        }
    }

    /// Returns the newest traces before `before` that satisfy a condition, newest first.
    pub(super) fn last(&self, before: u64, limit: usize, is_wanted: impl Fn(&Trace) -> bool) -> Vec<Arc<Trace>> {
        let kept = lock(&self.kept);
        let before = kept.traces.iter().rev().filter(|trace| trace.number < before);
        before.filter(|trace| is_wanted(trace)).take(limit).cloned().collect()
    }

    pub(super) fn get(&self, number: u64) -> Option<Arc<Trace>> {
        let kept = lock(&self.kept);
        let first = kept.traces.front()?.number;
        let index = usize::try_from(number.checked_sub(first)?).ok()?;
        kept.traces.get(index).cloned()
    }

    /// Returns the number of the next trace, and the invocations that were not recorded.
    pub(super) fn counts(&self) -> (u64, Lost) {
        let kept = lock(&self.kept);
        (kept.next, kept.lost.clone())
    }

    pub(super) fn summaries(&self, from: u64, limit: usize) -> Vec<Summary> {
        self.last(u64::MAX, limit, |trace| trace.number >= from).iter().map(|trace| trace.summary()).collect()
    }

    pub(super) fn heat(&self) -> Value {
        lock(&self.kept).heat.report(Timestamp::now().as_second())
    }
}

impl Kept {
    fn keep(&mut self, mut trace: Trace) {
        trace.number = self.next;
        self.next += 1;
        self.bytes += trace.bytes;
        for (second, place, key, units) in trace.heat.drain(..) {
            self.heat.add(second, place, key, units);
        }
        self.traces.push_back(Arc::new(trace));
        while self.traces.len() > MAX_TRACES || (self.bytes > MAX_BYTES && self.traces.len() > 1) {
            let Some(oldest) = self.traces.pop_front() else { break };
            self.bytes -= oldest.bytes.min(self.bytes);
        }
    }
}

/// The value, unless it is too large to be kept.
fn kept(value: &Value) -> Option<Value> {
    (crate::length(value) <= MAX_BODY).then(|| value.clone())
}

/// Runs an invocation whose calls are recorded.
pub async fn recorded<F: Future>(running: Arc<Running>, work: F) -> F::Output {
    RUNNING.scope(running, work).await
}

/// Sends a call, and records it if it belongs to an invocation.
pub fn call(request: HttpRequest, send: impl FnOnce(HttpRequest) -> HttpConnectorFuture) -> HttpConnectorFuture {
    let Ok(running) = RUNNING.try_with(Arc::clone) else { return send(request) };
    let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
    let body = request.body().bytes().filter(|body| body.len() <= MAX_BODY);
    let is_cut = body.is_none();
    let call = RawCall {
        path: if target.is_empty() { format!("{} {}", request.method(), path(request.uri())) } else { String::new() },
        request: body.map(Bytes::copy_from_slice).unwrap_or_default(),
        target,
        at: micros(running.started),
        micros: 0,
        status: None,
        response: Bytes::new(),
        is_cut,
        faults: Vec::new(),
    };
    let mut recording = Recording { call: Some(call), started: Instant::now(), notes: Notes::default(), running };
    let answer = send(request);
    HttpConnectorFuture::new(async move {
        let answered = noting(Arc::clone(&recording.notes), answer).await;
        match (answered, &mut recording.call) {
            (Ok(response), Some(call)) => read(call, response).await,
            (answered, _) => answered,
        }
    })
}

/// A call in progress. It is recorded when it ends, also if its sender gives up.
struct Recording {
    call: Option<RawCall>,
    started: Instant,
    notes: Notes,
    running: Arc<Running>,
}

impl Drop for Recording {
    fn drop(&mut self) {
        let Some(mut call) = self.call.take() else { return };
        call.micros = micros(self.started);
        call.faults = std::mem::take(&mut *lock(&self.notes));
        lock(&self.running.calls).push(call);
    }
}

/// Reads the body of a response of DynamoDB. Other bodies can be large.
async fn read(call: &mut RawCall, mut response: HttpResponse) -> Result<HttpResponse, ConnectorError> {
    call.status = Some(response.status().as_u16());
    if !call.target.starts_with("DynamoDB") {
        return Ok(response);
    }
    let body = ByteStream::new(response.take_body()).collect().await;
    let body = body.map_err(|error| ConnectorError::io(error.into()))?.into_bytes();
    if body.len() <= MAX_BODY {
        call.response = body.clone();
    } else {
        call.is_cut = true;
    }
    *response.body_mut() = SdkBody::from(body);
    Ok(response)
}

fn path(uri: &str) -> String {
    uri.parse::<http::Uri>().map(|uri| uri.path().to_owned()).unwrap_or_default()
}

fn micros(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RawCall {
    pub(super) fn digest(self) -> Call {
        Call::of(self)
    }
}

/// Result of an invocation and its DynamoDB usage.
pub struct Outcome {
    /// The answer of the function.
    pub answer: Result<Value, Failure>,
    /// The usage of DynamoDB.
    pub usage: Usage,
}

/// Error type and message of a failed invocation, as Lambda reports them.
pub struct Failure {
    /// The error type.
    pub kind: String,
    /// The message.
    pub message: String,
}

/// Length of the value as JSON, without building the text.
pub fn length(value: &Value) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, part: &[u8]) -> io::Result<usize> {
            self.0 += part.len();
            Ok(part.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Neither a `Value` nor the counter fails.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recorder whose thread panics for the function `odd`.
    fn recorder() -> Arc<Recorder> {
        let store = Store::open(None, &[]).unwrap();
        Recorder::with(move |finished| {
            assert_ne!(finished.function, "odd", "expected by the test");
            Trace::digest(finished, &store)
        })
    }

    fn invoke(recorder: &Recorder, function: &str, event: &Value) {
        let outcome = Outcome { answer: Ok(Value::Null), usage: table::Usage::default() };
        recorder.end(&Recorder::begin(function, event), &outcome);
    }

    /// Waits until the recorder has seen a number of invocations.
    fn seen(recorder: &Recorder, count: u64) -> (u64, Lost) {
        loop {
            let (next, lost) = recorder.counts();
            if next + lost.total() >= count {
                return (next, lost);
            }
            thread::yield_now();
        }
    }

    #[test]
    fn an_invocation_that_cannot_be_recorded_is_counted_and_loses_no_other() {
        let recorder = recorder();
        for function in ["first", "odd", "second", "odd"] {
            invoke(&recorder, function, &Value::Null);
        }
        let lost = Lost { failed: 2, last_failed: Some("odd".to_owned()), ..Lost::default() };
        assert_eq!(seen(&recorder, 4), (2, lost));
        assert_eq!(recorder.summaries(0, 10).len(), 2);
    }

    #[test]
    fn a_trace_says_what_was_too_large() {
        let recorder = recorder();
        let large = "x".repeat(MAX_BODY);
        let event = serde_json::json!({"rawPath": format!("/{large}"), "requestContext": {"http": {"method": "GET"}}});
        invoke(&recorder, "f", &event);
        seen(&recorder, 1);
        let detail = recorder.get(0).unwrap().detail(|_| None);
        assert_eq!(
            (&detail["omitted"], &detail["trigger"]),
            (&serde_json::json!(["event"]), &serde_json::json!("http"))
        );
        let title = detail["title"].as_str().unwrap();
        assert!(title.starts_with("GET /xxx") && title.len() < 300, "{title}");
    }
}
