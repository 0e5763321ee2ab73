//! Posts the events of the bus to a program, as an EventBridge rule with an API destination does
//! (docs/events/README.md).
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::future::join_all;
use serde_json::Value;
use tokio::{task::JoinHandle, time::sleep};

use crate::client::{Call, Client, ClientError};
use hostile::{Hostile, Notes, noting};
use objects::Lake;

/// Pause before the first repeat of a request. EventBridge repeats it for a day.
const PAUSE: Duration = Duration::from_millis(200);
const ATTEMPTS: u32 = 8;
/// Number of events that are read from the bus at once.
const PAGE: usize = 100;

/// The task that posts the events. Dropping this value stops it.
pub(crate) struct Forwarder(JoinHandle<()>);

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Forwarder {
    pub(crate) fn start(url: &str, lake: Arc<Lake>, hostile: Option<Arc<Hostile>>) -> Result<Self, ClientError> {
        let client = Client::new(url)?;
        Ok(Self(tokio::spawn(async move {
            let mut last = 0;
            loop {
                let arrived = lake.bus.arrived.notified();
                let events = lake.bus.after(last, PAGE);
                if events.is_empty() {
                    arrived.await;
                }
                for event in events {
                    last = event["sequence"].as_u64().unwrap_or(last);
                    deliver(&client, &event, hostile.as_deref()).await;
                }
            }
        })))
    }
}

/// Posts an event as often as the hostile mode says.
async fn deliver(client: &Client, event: &Value, hostile: Option<&Hostile>) {
    let (times, injected) =
        hostile.map_or_else(|| (vec![Duration::ZERO], Vec::new()), |hostile| hostile.object("events"));
    let notes = Notes::new(Mutex::new(injected));
    let posts = times.iter().map(|time| async {
        sleep(*time).await;
        noting(Arc::clone(&notes), post(client, event)).await;
    });
    join_all(posts).await;
}

async fn post(client: &Client, event: &Value) {
    let mut event = event.clone();
    // The local sequence number is not part of an event.
    let sequence = event.as_object_mut().and_then(|event| event.remove("sequence"));
    let mut pause = PAUSE;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(pause).await;
            pause *= 2;
        }
        match client.send(&Call::post("", event.clone())).await {
            Ok(reply) if reply.status.is_success() => return,
            Ok(reply) => tracing::warn!(?sequence, status = reply.status.as_u16(), "an event was not accepted"),
            Err(error) => tracing::warn!(?sequence, %error, "an event cannot be delivered"),
        }
    }
    tracing::error!(?sequence, "an event was discarded");
}
