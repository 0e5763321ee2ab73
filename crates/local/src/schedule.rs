//! Scheduled events in the format of EventBridge.
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use uuid::Uuid;

use template::{ACCOUNT, REGION};

/// Builds the event that a rule sends now.
pub(crate) fn event(rule: &str, now: Timestamp) -> Value {
    let time = now.round(Unit::Second).unwrap_or(now);
    json!({
        "version": "0",
        "id": Uuid::new_v4().to_string(),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": ACCOUNT,
        "time": time.to_string(),
        "region": REGION,
        "resources": [format!("arn:aws:events:{REGION}:{ACCOUNT}:rule/{rule}")],
        "detail": {},
    })
}
