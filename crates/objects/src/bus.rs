//! The EventBridge bus of the local stack: it keeps the last events in memory.
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use serde_json::{Value, json};
use template::{ACCOUNT, EVENT_BUS, REGION};
use tokio::sync::Notify;
use uuid::Uuid;

/// Maximum number of events that the bus keeps.
const KEPT: usize = 100_000;
/// Maximum number of entries of a `PutEvents` call (quota of EventBridge).
const MAX_ENTRIES: usize = 10;
/// Maximum size of a `PutEvents` call in bytes (quota of EventBridge).
const MAX_CALL: usize = 256 * 1_024;

/// Events that the bus has accepted.
#[derive(Default)]
pub struct Bus {
    accepted: Mutex<Accepted>,
    /// Told of new events.
    pub arrived: Notify,
}

#[derive(Default)]
struct Accepted {
    events: VecDeque<Value>,
    /// Sequence number of the last event. The first event has the number 1.
    last: u64,
}

impl Bus {
    /// Returns at most `limit` events after this sequence number, in the order of their arrival.
    pub fn after(&self, sequence: u64, limit: usize) -> Vec<Value> {
        let accepted = self.accepted();
        let first = accepted.last - u64::try_from(accepted.events.len()).unwrap_or_default();
        let skipped = usize::try_from(sequence.saturating_sub(first)).unwrap_or(usize::MAX);
        accepted.events.iter().skip(skipped).take(limit).cloned().collect()
    }

    /// Accepts or rejects the entries of a call. The error has the code and the message of
    /// EventBridge.
    pub(crate) fn put(&self, body: &Value, now: Timestamp) -> Result<Value, (&'static str, String)> {
        let entries = body["Entries"].as_array().map(Vec::as_slice).unwrap_or_default();
        if entries.is_empty() || entries.len() > MAX_ENTRIES {
            let count = entries.len();
            return Err(("ValidationException", format!("A call must have 1 to {MAX_ENTRIES} entries, not {count}.")));
        }
        let size: usize = entries.iter().map(size).sum();
        if size > MAX_CALL {
            let message = format!("A call must have at most {MAX_CALL} bytes, not {size}.");
            return Err(("ValidationException", message));
        }
        let results: Vec<Value> = entries.iter().map(|entry| self.accept(entry, now)).collect();
        self.arrived.notify_waiters();
        let failed = results.iter().filter(|result| result.get("ErrorCode").is_some()).count();
        Ok(json!({"FailedEntryCount": failed, "Entries": results}))
    }

    fn accept(&self, entry: &Value, now: Timestamp) -> Value {
        let failed = |code: &str, message: &str| json!({"ErrorCode": code, "ErrorMessage": message});
        let text = |name: &str| entry[name].as_str().filter(|text| !text.is_empty());
        let (Some(source), Some(kind), Some(detail)) = (text("Source"), text("DetailType"), text("Detail")) else {
            return failed("InvalidArgument", "Source, DetailType and Detail are required.");
        };
        if text("EventBusName") != Some(EVENT_BUS) {
            return failed("ResourceNotFoundException", "The local stack has only the event bus of its parameters.");
        }
        let Ok(detail @ Value::Object(_)) = serde_json::from_str(detail) else {
            return failed("MalformedDetail", "Detail is malformed.");
        };
        #[expect(clippy::cast_possible_truncation, reason = "a time with a fraction of a second")]
        let time = entry["Time"].as_f64().and_then(|time| Timestamp::from_second(time as i64).ok());
        let id = Uuid::new_v4().to_string();
        let mut accepted = self.accepted();
        accepted.last += 1;
        let event = json!({
            "sequence": accepted.last,
            "version": "0",
            "id": id,
            "detail-type": kind,
            "source": source,
            "account": ACCOUNT,
            "time": time.unwrap_or(now).to_string(),
            "region": REGION,
            "resources": [],
            "detail": detail,
        });
        accepted.events.push_back(event);
        if accepted.events.len() > KEPT {
            accepted.events.pop_front();
        }
        json!({"EventId": id})
    }

    fn accepted(&self) -> MutexGuard<'_, Accepted> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Size of an entry as EventBridge computes it: the bytes of its texts, and 14 for the time.
fn size(entry: &Value) -> usize {
    let texts = ["Source", "DetailType", "Detail"].iter().filter_map(|name| entry[*name].as_str());
    texts.map(str::len).sum::<usize>() + if entry.get("Time").is_some() { 14 } else { 0 }
}
