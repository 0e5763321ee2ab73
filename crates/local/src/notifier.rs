//! Events of created objects. Invokes the functions as Lambda's asynchronous invocation does: a
//! failed invocation is repeated, and then written to the failure destination
//! (docs/decisions/streams-locally.md).
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::join_all;
use jiff::{Timestamp, Unit, tz::TimeZone};
use serde_json::{Value, json};
use tokio::{
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};
use uuid::Uuid;

use crate::lambda::Lambda;
use console::Failure;
use hostile::{Hostile, Notes, noting};
use objects::{Lake, Pending, pending};
use template::{ACCOUNT, REGION};

/// Pause before the first retry. Lambda waits a minute and then two, which would be too slow for
/// local work.
const PAUSE: Duration = Duration::from_millis(200);
// Maximum time that the stop waits for running invocations.
const PATIENCE: Duration = Duration::from_secs(1);

/// Running deliveries of a stack. Dropping this value stops them without waiting.
pub(crate) struct Notifier {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Notifier {
    pub(crate) fn start(
        lake: &Arc<Lake>,
        lambdas: &BTreeMap<String, Arc<Lambda>>,
        hostile: Option<&Arc<Hostile>>,
    ) -> Self {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(deliver_all(Arc::clone(lake), lambdas.clone(), hostile.cloned(), stopped));
        Self { stop, task }
    }

    /// Stops the deliveries. The next start delivers the events that remain.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let _ = timeout(PATIENCE, &mut self.task).await;
    }
}

async fn deliver_all(
    lake: Arc<Lake>,
    lambdas: BTreeMap<String, Arc<Lambda>>,
    hostile: Option<Arc<Hostile>>,
    mut stopped: watch::Receiver<bool>,
) {
    if lake.events.is_empty() {
        return;
    }
    let (mut running, mut seen) = (JoinSet::new(), BTreeSet::new());
    loop {
        for event in pending(lake.folder()) {
            let Some(lambda) = lambdas.get(&event.function) else { continue };
            if seen.insert(event.file.clone()) {
                running.spawn(deliver_often(Arc::clone(&lake), Arc::clone(lambda), event, hostile.clone()));
            }
        }
        tokio::select! {
            () = lake.events.arrived.notified() => {}
            Some(done) = running.join_next() => if let Ok(file) = done {
                let _ = fs::remove_file(&file);
                seen.remove(&file);
            },
            _ = stopped.changed() => break,
        }
    }
    while let Some(done) = running.join_next().await {
        let _ = done.map(fs::remove_file);
    }
}

/// Delivers an event as often as the hostile mode says.
async fn deliver_often(lake: Arc<Lake>, lambda: Arc<Lambda>, event: Pending, hostile: Option<Arc<Hostile>>) -> PathBuf {
    let file = event.file.clone();
    let (times, injected) =
        hostile.map_or_else(|| (vec![Duration::ZERO], Vec::new()), |hostile| hostile.object(&event.function));
    let notes = Notes::new(Mutex::new(injected));
    let deliveries = times.iter().map(|time| async {
        sleep(*time).await;
        noting(Arc::clone(&notes), deliver(Arc::clone(&lake), Arc::clone(&lambda), &event)).await;
    });
    join_all(deliveries).await;
    file
}

/// Invokes the function until it succeeds or the retries are exhausted.
async fn deliver(lake: Arc<Lake>, lambda: Arc<Lambda>, Pending { function, event, .. }: &Pending) {
    let mut pause = PAUSE;
    for attempt in 1.. {
        let Err(failure) = lambda.invoke(event.clone()).await.answer else { break };
        tracing::warn!(
            function,
            attempt,
            kind = failure.kind,
            message = failure.message,
            "a function failed for an event"
        );
        if attempt > lambda.spec.retries {
            give_up(&lake, &lambda, event, &failure, attempt);
            break;
        }
        sleep(pause).await;
        pause *= 2;
    }
}

fn give_up(lake: &Lake, lambda: &Lambda, event: &Value, failure: &Failure, attempts: u32) {
    tracing::error!(function = lambda.spec.name, "an event was discarded");
    let Some(bucket) = &lambda.spec.failure_bucket else { return };
    let now = Timestamp::now();
    let name = &lambda.spec.name;
    let document = json!({
        "version": "1.0",
        "timestamp": now.round(Unit::Millisecond).unwrap_or(now).to_string(),
        "requestContext": {
            "requestId": Uuid::new_v4().to_string(),
            "functionArn": format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}:$LATEST"),
            "condition": "RetriesExhausted",
            "approximateInvokeCount": attempts,
        },
        "requestPayload": event,
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": {"errorMessage": failure.message, "errorType": failure.kind},
    });
    let time = now.to_zoned(TimeZone::UTC);
    let (day, second) = (time.strftime("%Y/%m/%d"), time.strftime("%Y-%m-%dT%H.%M.%S"));
    let key = format!("aws/lambda/async/{name}/{day}/{second}-{}", Uuid::new_v4());
    if let Err(error) = lake.put(bucket, &key, document.to_string().as_bytes()) {
        tracing::error!(function = name, ?error, "a discarded event can't be written to the failure destination");
    }
}

#[cfg(test)]
mod tests;
