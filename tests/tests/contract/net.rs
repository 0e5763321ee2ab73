//! The network between the functions and the AWS services: one fault at a chosen call, and drawn
//! latencies.

use crate::{calls::Recorded, peer::Peer};
use aws_sdk_dynamodb::config::{
    HttpClient, RuntimeComponents, SharedHttpClient,
    http::{HttpRequest, HttpResponse},
};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    result::ConnectorError,
};
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use std::{
    future::pending,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio::{sync::oneshot, time::sleep};

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The function is killed before the call arrives.
    KilledBefore,
    /// The function is killed after the effect of the call.
    KilledAfter,
    /// The connection breaks after the effect of the call.
    Lost,
    /// The service throttles the call.
    Throttled,
    /// Another transaction uses an item of the call.
    Conflict,
    /// The call arrives after the timeout of its attempt.
    Late,
    /// The connection breaks after the effect of the call, and repetitions meet a transaction that
    /// is still in progress.
    InProgress,
}

pub(crate) const FAULTS: [Fault; 7] = [
    Fault::KilledBefore,
    Fault::KilledAfter,
    Fault::Lost,
    Fault::Throttled,
    Fault::Conflict,
    Fault::Late,
    Fault::InProgress,
];

/// Number of repetitions that meet a transaction in progress.
const IN_PROGRESS: usize = 2;

/// The longest delay of a late call.
pub(crate) const LATE: Duration = Duration::from_millis(2_500);

#[derive(Debug, Default)]
struct State {
    /// Number of calls since the last [`Net::heal`].
    calls: usize,
    /// The number of the call that meets a fault, from 1.
    planned: Option<(usize, Fault)>,
    /// The call that met the fault.
    met: Option<String>,
    /// Whether the function was killed, so that its other calls do not arrive either.
    is_dead: bool,
    /// Number of calls that meet a transaction in progress.
    in_progress: usize,
    /// The fault of every call.
    lasting: Option<Fault>,
    is_recording: bool,
    /// State of the generator of latencies. 0 if there are none.
    latency: u64,
}

/// The state of the network.
#[derive(Debug, Default)]
pub(crate) struct Net {
    state: Mutex<State>,
    /// The recorded calls of DynamoDB.
    record: Mutex<Vec<Recorded>>,
    /// Another DynamoDB, which receives the same calls.
    pub(crate) peer: OnceLock<Peer>,
}

impl Net {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The client with this network.
    pub(crate) fn around(self: &Arc<Self>, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(Network { inner, net: Arc::clone(self) })
    }

    /// Plans a fault of the call with this number, counted from now.
    pub(crate) fn plan(&self, number: usize, fault: Fault) {
        *self.state() = State { planned: Some((number, fault)), ..State::default() };
    }

    /// Plans a fault of every call from now on.
    pub(crate) fn plan_always(&self, fault: Fault) {
        *self.state() = State { lasting: Some(fault), ..State::default() };
    }

    /// Draws a latency for each call from now on.
    pub(crate) fn slow(&self, seed: u64) {
        *self.state() = State { latency: seed, ..State::default() };
    }

    /// Ends all faults and latencies.
    pub(crate) fn heal(&self) {
        *self.state() = State::default();
    }

    /// Starts the killed function again. The planned fault does not happen twice.
    pub(crate) fn revive(&self) {
        self.state().is_dead = false;
    }

    /// The call that met the fault.
    pub(crate) fn met(&self) -> Option<String> {
        self.state().met.clone()
    }

    /// Records the calls of DynamoDB from now on.
    pub(crate) fn record(&self) {
        self.state().is_recording = true;
    }

    /// Takes the recorded calls.
    pub(crate) fn recorded(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn remember(&self, target: &str, request: &[u8], response: &[u8]) {
        if !self.state().is_recording {
            return;
        }
        let [request, response] = [request, response].map(|json| serde_json::from_slice(json).unwrap_or_default());
        let action = target.rsplit('.').next().unwrap_or_default().to_owned();
        self.record.lock().unwrap_or_else(PoisonError::into_inner).push(Recorded { action, request, response });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call. Returns its fault, and its latencies before and after its effect.
    fn begin(&self, call: &Call) -> (Option<Fault>, [Duration; 2]) {
        let mut state = self.state();
        if state.is_dead {
            return (Some(Fault::KilledBefore), [Duration::ZERO; 2]);
        }
        state.calls += 1;
        let calls = state.calls;
        if call.parts > 0 && state.in_progress > 0 {
            state.in_progress -= 1;
            return (Some(Fault::InProgress), [Duration::ZERO; 2]);
        }
        let planned = state.planned.filter(|(number, _)| *number == calls).map(|(_, fault)| fault);
        let fault = match planned.or(state.lasting) {
            // The effect of the call is that of a lost response.
            Some(Fault::InProgress) => {
                state.in_progress = if call.parts > 0 { IN_PROGRESS } else { 0 };
                Some(Fault::Lost)
            }
            fault => fault,
        };
        if let Some(fault) = fault {
            state.met = Some(call.text.clone());
            state.is_dead = matches!(fault, Fault::KilledBefore | Fault::KilledAfter);
        }
        let mut draw = || {
            // Xorshift (https://www.jstatsoft.org/article/view/v008i14).
            state.latency ^= state.latency << 13;
            state.latency ^= state.latency >> 7;
            state.latency ^= state.latency << 17;
            Duration::from_millis(state.latency % 40)
        };
        (fault, [draw(), draw()])
    }
}

/// HTTP client with the network.
#[derive(Debug)]
struct Network<T> {
    inner: T,
    net: Arc<Net>,
}

impl HttpClient for Network<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Network { inner, net: Arc::clone(&self.net) })
    }
}

impl HttpConnector for Network<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let call = Call::of(&request);
        let (fault, [before, after]) = self.net.begin(&call);
        let (inner, net) = (self.inner.clone(), Arc::clone(&self.net));
        HttpConnectorFuture::new(async move {
            if fault == Some(Fault::KilledBefore) {
                return pending().await;
            }
            let (send, receive) = oneshot::channel();
            // A call that was sent arrives, even if its function has stopped waiting.
            tokio::spawn(async move {
                sleep(if fault == Some(Fault::Late) { LATE } else { before }).await;
                let answer = carry(&inner, request, &call, fault, &net).await;
                sleep(after).await;
                if fault != Some(Fault::KilledAfter) {
                    let _ = send.send(answer);
                }
            });
            match receive.await {
                Ok(answer) => answer,
                Err(_) => pending().await,
            }
        })
    }
}

async fn carry(
    inner: &SharedHttpConnector,
    request: HttpRequest,
    call: &Call,
    fault: Option<Fault>,
    net: &Net,
) -> Result<HttpResponse, ConnectorError> {
    match fault {
        Some(Fault::Throttled) if call.is_dynamodb => Ok(refused("ProvisionedThroughputExceededException", &[])),
        Some(Fault::Throttled) => {
            Ok(HttpResponse::new(status(503), SdkBody::from("<Error><Code>SlowDown</Code></Error>")))
        }
        Some(Fault::Conflict) if call.is_write => Ok(call.conflict()),
        Some(Fault::InProgress) => Ok(refused("TransactionInProgressException", &[])),
        Some(Fault::Lost) => {
            arrive(inner, request, net).await.and_then(|_| Err(ConnectorError::io("the connection broke".into())))
        }
        _ => arrive(inner, request, net).await,
    }
}

async fn arrive(inner: &SharedHttpConnector, request: HttpRequest, net: &Net) -> Result<HttpResponse, ConnectorError> {
    let target = request.headers().get("x-amz-target").filter(|target| target.starts_with("DynamoDB"));
    let Some(target) = target.map(str::to_owned) else { return inner.call(request).await };
    let body = request.body().bytes().unwrap_or_default().to_vec();
    let answer = inner.call(request).await?;
    let bytes = answer.body().bytes().unwrap_or_default();
    if let Some(peer) = net.peer.get() {
        peer.compare(&target, &body, answer.status().as_u16(), bytes);
    }
    net.remember(&target, &body, bytes);
    Ok(answer)
}

fn status(code: u16) -> aws_smithy_runtime_api::http::StatusCode {
    code.try_into().expect("a status")
}

fn refused(kind: &str, reasons: &[Value]) -> HttpResponse {
    let mut body = json!({"__type": format!("com.amazonaws.dynamodb.v20120810#{kind}"), "message": "injected"});
    if !reasons.is_empty() {
        body["CancellationReasons"] = reasons.into();
    }
    let mut response = HttpResponse::new(status(400), SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

/// A call of a service.
#[derive(Debug)]
struct Call {
    text: String,
    is_dynamodb: bool,
    /// Whether it writes items. A batch has no conflicts.
    is_write: bool,
    parts: usize,
}

impl Call {
    fn of(request: &HttpRequest) -> Self {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body: Value = request.body().bytes().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default();
        let action = target.rsplit('.').next().unwrap_or_default();
        let path = request.uri().rsplit("//").next().unwrap_or_default();
        Self {
            text: if target.is_empty() { format!("{} {path}", request.method()) } else { action.to_owned() },
            is_dynamodb: target.starts_with("DynamoDB"),
            is_write: matches!(action, "PutItem" | "UpdateItem" | "DeleteItem" | "TransactWriteItems"),
            parts: body["TransactItems"].as_array().map_or(0, Vec::len),
        }
    }

    fn conflict(&self) -> HttpResponse {
        if self.parts == 0 {
            return refused("TransactionConflictException", &[]);
        }
        let mut reasons = vec![json!({"Code": "None"}); self.parts];
        reasons[self.parts - 1] = json!({"Code": "TransactionConflict", "Message": "conflict"});
        refused("TransactionCanceledException", &reasons)
    }
}
