//! Scheduled events in the format of EventBridge.
use jiff::{Timestamp, Unit};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::template::{ACCOUNT, REGION};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_an_eventbridge_event() {
        let mut event = event("local-Archive", "2026-12-01T23:59:00.25Z".parse().unwrap());
        let id = event["id"].take();
        assert_eq!(id.as_str().map(str::len), Some(36));
        let expected = json!({
            "version": "0",
            "id": null,
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": "000000000000",
            "time": "2026-12-01T23:59:00Z",
            "region": "us-east-1",
            "resources": ["arn:aws:events:us-east-1:000000000000:rule/local-Archive"],
            "detail": {}
        });
        assert_eq!(event, expected);
    }
}
