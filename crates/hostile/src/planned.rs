//! Faults of single calls that a test plans: the contract at a chosen call, the simulation by its
//! draws.
//!
//! A call that was sent arrives, even if its function has stopped waiting for it.
use std::{fmt, future::pending, sync::Arc, time::Duration};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient, http::HttpRequest};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpResponse,
    result::ConnectorError,
};
use http::StatusCode;
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::sleep};

use crate::{
    answers::{self, dynamodb},
    request::{Call, Kind},
};

/// The additional delay of a late call, which is longer than the timeout of an attempt.
pub const LATE: Duration = Duration::from_millis(2_500);

/// A fault of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The connection breaks before the call arrives.
    Unsent,
    /// The connection breaks after the effect of the call.
    Lost,
    /// The service throttles the call.
    Throttled,
    /// The service answers 500 without an effect.
    Failed,
    /// The service answers 500 after the effect.
    FailedAfter,
    /// Another transaction uses an item of the call. Only writes of items have conflicts.
    Conflict,
    /// An earlier attempt of the transaction is still in progress.
    InProgress,
    /// The call arrives after the timeout of its attempt.
    Late,
    /// The function is killed before the call arrives.
    KilledBefore,
    /// The function is killed after the effect of the call.
    KilledAfter,
    /// The service processes only the first half of each table of a batch. The event bus rejects
    /// the first half of the events.
    Unprocessed,
}

/// What happens to a call.
#[derive(Debug)]
pub struct Plan {
    /// The fault.
    pub fault: Option<Fault>,
    /// The latency before the effect.
    pub before: Duration,
    /// The latency after the effect.
    pub after: Duration,
    /// Is told about the call.
    pub watch: Box<dyn Watch>,
}

/// Observes one call.
pub trait Watch: fmt::Debug + Send + Sync {
    /// The service has answered. The caller may not get this answer.
    fn answered(&self, _: &Call, _: &[u8], _: &HttpResponse) {}

    /// The answer that the caller gets, if it still waits. `None` if it is killed before.
    fn ended(&self, _: &Call, _: Option<&Result<HttpResponse, ConnectorError>>) {}

    /// The function is killed.
    fn killed(&self) {}
}

/// Plans the faults of the calls of a client.
pub trait Planner: fmt::Debug + Send + Sync + 'static {
    /// Returns what happens to the call. `None` if it is sent as it is.
    fn plan(self: &Arc<Self>, call: &Call) -> Option<Plan>;
}

/// Wraps an HTTP client, so that its calls have the faults of the planner.
pub fn planned(inner: SharedHttpClient, planner: Arc<impl Planner>) -> SharedHttpClient {
    SharedHttpClient::new(Planned { inner, planner })
}

#[derive(Debug)]
struct Planned<T, P> {
    inner: T,
    planner: Arc<P>,
}

impl<P: Planner> HttpClient for Planned<SharedHttpClient, P> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Planned { inner, planner: Arc::clone(&self.planner) })
    }
}

impl<P: Planner> HttpConnector for Planned<SharedHttpConnector, P> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let call = Call::of(&request);
        let Some(Plan { fault, before, after, watch }) = self.planner.plan(&call) else {
            return self.inner.call(request);
        };
        let inner = self.inner.clone();
        HttpConnectorFuture::new(async move {
            if fault == Some(Fault::KilledBefore) {
                watch.ended(&call, None);
                watch.killed();
                return pending().await;
            }
            let (send, receive) = oneshot::channel();
            tokio::spawn(async move {
                sleep(before).await;
                if fault == Some(Fault::Late) {
                    sleep(LATE).await;
                }
                let answer = carry(&inner, request, &call, fault, &*watch).await;
                watch.ended(&call, Some(&answer));
                if fault == Some(Fault::KilledAfter) {
                    return watch.killed();
                }
                sleep(after).await;
                // The function may have stopped waiting.
                let _ = send.send(answer);
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
    mut request: HttpRequest,
    call: &Call,
    fault: Option<Fault>,
    watch: &dyn Watch,
) -> Result<HttpResponse, ConnectorError> {
    let failed = || dynamodb(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", "failed");
    match fault {
        Some(Fault::Unsent) => return Err(answers::lost()),
        Some(Fault::Throttled) if call.is_dynamodb() => {
            return Ok(dynamodb(StatusCode::BAD_REQUEST, "ProvisionedThroughputExceededException", "throttled"));
        }
        Some(Fault::Throttled) => {
            let slow = "<Error><Code>SlowDown</Code></Error>";
            return Ok(answers::response(StatusCode::SERVICE_UNAVAILABLE, slow));
        }
        Some(Fault::Failed) => return Ok(failed()),
        Some(Fault::InProgress) => return Ok(answers::in_progress()),
        Some(Fault::Conflict) if matches!(call.kind, Kind::Write | Kind::TransactWrite) => {
            let parts = call.body["TransactItems"].as_array().map_or(0, Vec::len);
            let hit: Vec<bool> = (0..parts).map(|part| part == 0).collect();
            return Ok(answers::conflict(call, &hit));
        }
        _ => {}
    }
    if fault == Some(Fault::Unprocessed) && call.action == "PutEvents" {
        return reject_half(inner, request, call, watch).await;
    }
    let left = (fault == Some(Fault::Unprocessed)).then(|| halve(&mut request, call));
    let body = request.body().bytes().unwrap_or_default().to_vec();
    let mut answer = inner.call(request).await?;
    watch.answered(call, &body, &answer);
    match (fault, left) {
        (Some(Fault::Lost), _) => Err(answers::lost()),
        (Some(Fault::FailedAfter), _) => Ok(failed()),
        (_, Some(left)) if answer.status().is_success() => {
            let member = if call.kind == Kind::BatchGet { "UnprocessedKeys" } else { "UnprocessedItems" };
            let mut body: Value = serde_json::from_slice(answer.body().bytes().unwrap_or_default()).unwrap_or_default();
            body[member] = left;
            answers::with_body(&mut answer, &body);
            Ok(answer)
        }
        _ => Ok(answer),
    }
}

/// Rejects the first half of the events, and sends the second half.
async fn reject_half(
    inner: &SharedHttpConnector,
    mut request: HttpRequest,
    call: &Call,
    watch: &dyn Watch,
) -> Result<HttpResponse, ConnectorError> {
    let entries = call.body["Entries"].as_array().cloned().unwrap_or_default();
    let (rejected, sent) = entries.split_at(entries.len().div_ceil(2));
    let mut results = vec![json!({"ErrorCode": "InternalFailure"}); rejected.len()];
    if !sent.is_empty() {
        answers::set_body(&mut request, &json!({"Entries": sent}));
        let body = request.body().bytes().unwrap_or_default().to_vec();
        let answer = inner.call(request).await?;
        watch.answered(call, &body, &answer);
        let accepted: Value = serde_json::from_slice(answer.body().bytes().unwrap_or_default()).unwrap_or_default();
        results.extend(accepted["Entries"].as_array().cloned().unwrap_or_default());
    }
    let answer = json!({"FailedEntryCount": rejected.len(), "Entries": results});
    Ok(answers::response(StatusCode::OK, answer.to_string()))
}

/// Removes the second half of each table of a batch from the request, and returns it. The order
/// does not depend on that of the request.
fn halve(request: &mut HttpRequest, call: &Call) -> Value {
    let mut body = call.body.clone();
    for (_, batch) in body["RequestItems"].as_object_mut().into_iter().flatten() {
        let list = if batch.is_array() { batch.as_array_mut() } else { batch["Keys"].as_array_mut() };
        if let Some(list) = list {
            list.sort_by_cached_key(Value::to_string);
        }
    }
    let mut left = Value::Object(serde_json::Map::new());
    for (table, batch) in body["RequestItems"].as_object_mut().into_iter().flatten() {
        let mut others = batch.clone();
        let (list, rest) = match (&mut *batch, &mut others) {
            (Value::Array(list), Value::Array(rest)) => (Some(list), Some(rest)),
            (batch, others) => (batch["Keys"].as_array_mut(), others["Keys"].as_array_mut()),
        };
        let (Some(list), Some(rest)) = (list, rest) else { continue };
        if list.len() > 1 {
            *rest = list.split_off(list.len().div_ceil(2));
            left[table] = others;
        }
    }
    answers::set_body(request, &body);
    left
}
