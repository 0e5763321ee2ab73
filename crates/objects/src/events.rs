//! Events of created objects. An event is a file until its function has handled it, so that the
//! next start of the stack delivers an event that was not handled.
use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::{Timestamp, Unit};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::objects::OWN;
use template::{ObjectTrigger, REGION, Template};

/// Characters that S3 does not encode in the key of an event.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'*');

/// Creation of an object.
pub(super) struct Event<'a> {
    /// Name after `ObjectCreated:`.
    pub(super) name: &'static str,
    pub(super) bucket: &'a str,
    pub(super) key: &'a str,
    pub(super) size: u64,
    pub(super) tag: &'a str,
}

impl Event<'_> {
    fn document(&self, now: Timestamp) -> Value {
        let key = utf8_percent_encode(self.key, PLAIN).to_string().replace("%20", "+");
        json!({"Records": [{
            "eventVersion": "2.1",
            "eventSource": "aws:s3",
            "awsRegion": REGION,
            "eventTime": now.round(Unit::Millisecond).unwrap_or(now).to_string(),
            "eventName": format!("ObjectCreated:{}", self.name),
            "userIdentity": {"principalId": "local"},
            "requestParameters": {"sourceIPAddress": "127.0.0.1"},
            "responseElements": {"x-amz-request-id": Uuid::new_v4().simple().to_string(), "x-amz-id-2": "local"},
            "s3": {
                "s3SchemaVersion": "1.0",
                "configurationId": "local",
                "bucket": {
                    "name": self.bucket,
                    "ownerIdentity": {"principalId": "local"},
                    "arn": format!("arn:aws:s3:::{}", self.bucket),
                },
                "object": {
                    "key": key,
                    "size": self.size,
                    "eTag": self.tag,
                    "sequencer": format!("{:016X}", now.as_nanosecond()),
                },
            },
        }]})
    }
}

/// Queue of the events that functions have not handled.
#[derive(Default)]
pub struct Events {
    /// Functions and the objects that invoke them.
    triggers: Vec<(String, ObjectTrigger)>,
    /// Told of each new event.
    pub arrived: Notify,
}

/// Event that its function has not handled.
pub struct Pending {
    /// The file that keeps the event.
    pub file: PathBuf,
    /// The function.
    pub function: String,
    /// The event.
    pub event: Value,
}

impl Events {
    pub(super) fn of(template: &Template) -> Self {
        let triggers = template.lambdas.iter();
        let triggers =
            triggers.flat_map(|lambda| lambda.objects.iter().map(|trigger| (lambda.name.clone(), trigger.clone())));
        Self { triggers: triggers.collect(), arrived: Notify::new() }
    }

    /// Stores an event for each function that the object invokes.
    pub(super) fn created(&self, lake: &Path, event: &Event<'_>) -> io::Result<()> {
        for (function, trigger) in &self.triggers {
            if !trigger.wants(event.bucket, event.key, event.name) {
                continue;
            }
            let now = function::now();
            let folder = folder(lake);
            fs::create_dir_all(&folder)?;
            let stored = json!({"function": function, "event": event.document(now)});
            let name = format!("{:020}-{}.json", now.as_nanosecond(), Uuid::new_v4());
            // A reader must not see a part of the file.
            let part = lake.join(format!(".part-{}", Uuid::new_v4()));
            fs::write(&part, stored.to_string())?;
            fs::rename(part, folder.join(name))?;
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Whether no function receives events of objects.
    pub fn is_empty(&self) -> bool {
        self.triggers.is_empty()
    }
}

fn folder(lake: &Path) -> PathBuf {
    lake.join(OWN).join("events")
}

/// Returns the events that no function has handled, in the order of their creation.
pub fn pending(lake: &Path) -> Vec<Pending> {
    let entries = fs::read_dir(folder(lake)).into_iter().flatten();
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files.into_iter().filter_map(read).collect()
}

fn read(file: PathBuf) -> Option<Pending> {
    let mut stored: Value = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
    let function = stored["function"].as_str()?.to_owned();
    Some(Pending { file, function, event: stored["event"].take() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_the_key_as_s3_does() {
        let event = Event { name: "Put", bucket: "b", key: "inbox/a b+c-ä.csv", size: 3, tag: "t" };
        let document = event.document("2026-12-01T00:00:00.1234Z".parse().unwrap());
        let record = &document["Records"][0];
        assert_eq!(record["s3"]["object"]["key"], "inbox/a+b%2Bc-%C3%A4.csv");
        assert_eq!(
            (&record["eventName"], &record["eventTime"]),
            (&json!("ObjectCreated:Put"), &json!("2026-12-01T00:00:00.123Z"))
        );
    }
}
