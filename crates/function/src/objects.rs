use crate::{App, Deadline, Error, Function, Surroundings, system};
use keys::{Random, TimestampSeconds};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use serde_json::Value;

/// The creation of one object in an S3 bucket, as described by an event notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectCreated {
    /// The name of the bucket.
    pub bucket: String,
    /// The decoded key.
    pub key: String,
    /// The entity tag, without quotes.
    pub tag: String,
    /// The size in bytes.
    pub size: u64,
    /// The sequencer: a hexadecimal number that grows with each write of the same key.
    pub sequencer: String,
}

/// An S3 event notification about created objects.
#[derive(Debug)]
pub struct Objects {
    /// The created objects, in the order of the records.
    pub created: Vec<ObjectCreated>,
    /// The time of the invocation.
    pub now: TimestampSeconds,
    /// The time by which the function must return.
    pub deadline: Deadline,
    /// The random source for new ids.
    pub random: Random,
}

impl Objects {
    fn read(event: &Value, surroundings: Surroundings) -> Result<Self, Error> {
        let Surroundings { deadline, random } = surroundings;
        let now = TimestampSeconds::containing(system::now()).map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Self { created: created(event)?, now, deadline, random })
    }
}

/// Reads the records of an event. S3 sends an event without records when notifications are set up.
fn created(event: &Value) -> Result<Vec<ObjectCreated>, Error> {
    if event.get("Event").and_then(Value::as_str) == Some("s3:TestEvent") {
        return Ok(Vec::new());
    }
    let Some(records) = event.get("Records").and_then(Value::as_array) else {
        return Err(Error::invalid("/Records", "is not a list of created objects"));
    };
    let read = |(index, record): (usize, &Value)| {
        ObjectCreated::read(record)
            .map_err(|(member, detail)| Error::invalid(&format!("/Records/{index}{member}"), detail))
    };
    records.iter().enumerate().map(read).collect()
}

type Fault = (&'static str, &'static str);

impl ObjectCreated {
    /// Reads a record of an event. `None` if it is not the creation of an object.
    pub fn of_record(record: &Value) -> Option<Self> {
        Self::read(record).ok()
    }

    fn read(record: &Value) -> Result<Self, Fault> {
        let text = |pointer: &'static str| {
            let text = record.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
            text.ok_or((pointer, "must be a text"))
        };
        let is_created =
            text("/eventName")?.strip_prefix("s3:").unwrap_or(text("/eventName")?).starts_with("ObjectCreated:");
        if !is_created || text("/eventSource")? != "aws:s3" {
            return Err(("/eventName", "is not the creation of an object"));
        }
        // S3 encodes a space as `+` and other characters as `%xx`.
        let key = text("/s3/object/key")?.replace('+', " ");
        let key = percent_decode_str(&key).decode_utf8().map_err(|_| ("/s3/object/key", "is not valid UTF-8"))?;
        let size = record.pointer("/s3/object/size").and_then(Value::as_u64);
        Ok(Self {
            bucket: text("/s3/bucket/name")?.to_owned(),
            key: key.into_owned(),
            tag: text("/s3/object/eTag")?.trim_matches('"').to_owned(),
            size: size.ok_or(("/s3/object/size", "must be a number of bytes"))?,
            sequencer: text("/s3/object/sequencer")?.to_owned(),
        })
    }
}

/// Creates a function for the creation of objects in an S3 bucket. `warm_up` makes a DynamoDB call
/// that the handler also has permission for.
///
/// S3 delivers an event at least once, and Lambda repeats a failed invocation. The handler must
/// therefore be idempotent.
pub fn objects<A, R, F, W>(
    handler: impl Fn(A, Objects) -> F + Clone + Send + Sync + 'static,
    warm_up: impl Fn(A) -> W + Send + Sync + 'static,
) -> Function
where
    A: App,
    R: Serialize + 'static,
    F: Future<Output = Result<R, Error>> + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    Function::of_events(warm_up, move |app: A, event, surroundings| {
        let handler = handler.clone();
        async move { handler(app, Objects::read(&event, surroundings)?).await }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn record() -> Value {
        json!({
            "eventVersion": "2.1", "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
            "s3": {
                "bucket": {"name": "inbox-1", "arn": "arn:aws:s3:::inbox-1"},
                "object": {"key": "inbox/a+b%2Bc-%C3%A4.csv", "size": 3, "eTag": "d41d8", "sequencer": "0055AED6"},
            },
        })
    }

    #[test]
    fn decodes_the_key_and_the_tag() {
        let read = created(&json!({"Records": [record()]})).expect("an event");
        let expected = ObjectCreated {
            bucket: "inbox-1".to_owned(),
            key: "inbox/a b+c-ä.csv".to_owned(),
            tag: "d41d8".to_owned(),
            size: 3,
            sequencer: "0055AED6".to_owned(),
        };
        assert_eq!(read, [expected]);
        let test = json!({"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "inbox-1"});
        assert_eq!(created(&test).expect("an event"), []);
    }

    #[test]
    fn names_the_member_that_is_invalid() {
        for (pointer, value) in [
            ("/eventName", json!("ObjectRemoved:Delete")),
            ("/s3/object/key", json!("%ff")),
            ("/s3/object/key", json!("")),
            ("/s3/object/size", json!(-1)),
            ("/s3/object/eTag", json!(null)),
            ("/s3/bucket/name", json!({})),
        ] {
            let mut record = record();
            *record.pointer_mut(pointer).expect("a member") = value.clone();
            let error = created(&json!({"Records": [record]})).expect_err("invalid").to_string();
            assert!(error.contains(&format!("/Records/0{pointer}")), "{pointer} {value}: {error}");
        }
        for event in [json!(null), json!({}), json!({"Records": {}}), json!({"Records": [1]})] {
            assert!(matches!(created(&event), Err(Error::Invalid(_))), "{event}");
        }
    }

    proptest! {
        #[test]
        fn no_text_in_an_event_panics(text in any::<String>(), at in 0_usize..5) {
            const PLACES: [&str; 5] =
                ["/eventName", "/s3/object/key", "/s3/object/eTag", "/s3/object/sequencer", "/s3/bucket/name"];
            let mut record = record();
            *record.pointer_mut(PLACES[at]).expect("a member") = text.into();
            let _ = created(&json!({"Records": [record]}));
        }
    }
}
