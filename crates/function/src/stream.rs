use crate::{App, Deadline, Error, Function, Surroundings, observe, system};
use aws_lambda_events::{
    dynamodb::EventRecord,
    streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse},
};
use jiff::Timestamp;
use keys::{Random, TimestampMillis};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, time::Duration};
use table::{Attribute, Item, Key};
use tokio::time::sleep;

/// A batch of stream records from one shard, in order.
pub struct Batch {
    /// The stream records.
    pub records: Vec<Record>,
    /// The clock. The outcome of a slow call has the time at which it is known.
    pub clock: Clock,
    /// The time by which the function must return.
    pub deadline: Deadline,
    /// The random source for new ids.
    pub random: Random,
}

/// The clock of an invocation.
#[derive(Debug, Clone, Copy)]
pub struct Clock(());

impl Clock {
    /// The current time.
    ///
    /// # Errors
    /// The system's time is before the year 0.
    pub fn now(self) -> Result<TimestampMillis, Error> {
        Self::time(system::now())
    }

    /// The time after a pause that starts now.
    ///
    /// # Errors
    /// The time is after the year 9999.
    pub fn after(self, pause: Duration) -> Result<TimestampMillis, Error> {
        let time = system::now().checked_add(pause).map_err(|error| Error::Internal(error.to_string()))?;
        Self::time(time)
    }

    /// Waits until this time. Returns `false` if `stop` passes first.
    ///
    /// # Errors
    /// As for [`Self::now`].
    pub async fn wait_until(self, until: TimestampMillis, stop: Deadline) -> Result<bool, Error> {
        let left = until.instant().duration_since(self.now()?.instant());
        Ok(!left.is_positive() || stop.bound(sleep(left.unsigned_abs())).await.is_some())
    }

    fn time(time: Timestamp) -> Result<TimestampMillis, Error> {
        TimestampMillis::containing(time).map_err(|error| Error::Internal(error.to_string()))
    }
}

/// A stream record. Parsing happens in [`Record::read`], so that an invalid record does not block
/// the batch.
#[derive(Clone)]
pub struct Record(Value);

impl Record {
    /// The unparsed record.
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The sequence number. It identifies the record in a batch item failure.
    ///
    /// Empty if the record has no sequence number. If such a record fails, Lambda retries the whole
    /// batch.
    pub fn sequence_number(&self) -> &str {
        self.0.pointer("/dynamodb/SequenceNumber").and_then(Value::as_str).unwrap_or_default()
    }

    /// The id of the record. A repeated delivery has the same id.
    pub fn id(&self) -> Option<&str> {
        self.0["eventID"].as_str()
    }

    /// The partition key of the changed item, if it is a string.
    pub fn partition_key(&self) -> Option<&str> {
        self.key(Key::PARTITION)
    }

    /// The sort key of the changed item, if it is a string.
    pub fn sort_key(&self) -> Option<&str> {
        self.key(Key::SORT)
    }

    fn key(&self, attribute: Attribute) -> Option<&str> {
        self.0["dynamodb"]["Keys"][attribute.as_str()]["S"].as_str()
    }

    /// The type of the new image: the attribute [`Attribute::TYPE`].
    pub fn new_type(&self) -> Option<&str> {
        self.new_text(Attribute::TYPE)
    }

    /// A string or a number of the new image.
    pub fn new_text(&self, attribute: Attribute) -> Option<&str> {
        let value = &self.0["dynamodb"]["NewImage"][attribute.as_str()];
        value["S"].as_str().or_else(|| value["N"].as_str())
    }

    /// The type of the changed item: the attribute [`Attribute::TYPE`] of the new image, or of the
    /// old image if there is no new image.
    pub fn item_type(&self) -> Option<&str> {
        let of = |image: &str| self.0["dynamodb"][image][Attribute::TYPE.as_str()]["S"].as_str();
        of("NewImage").or_else(|| of("OldImage"))
    }

    /// The name of the table whose stream contains the record.
    pub fn source_table(&self) -> Option<&str> {
        let (_, rest) = self.0["eventSourceARN"].as_str()?.split_once(":table/")?;
        rest.split('/').next()
    }

    /// Whether the record is the creation of an item.
    pub fn is_insertion(&self) -> bool {
        self.0["eventName"] == "INSERT"
    }

    /// Whether the record is a change of an existing item.
    pub fn is_modification(&self) -> bool {
        self.0["eventName"] == "MODIFY"
    }

    /// The approximate time of the change, with a precision of milliseconds.
    ///
    /// This method reads the unparsed record, because `EventRecord` parses fractions of a second
    /// incorrectly.
    #[expect(clippy::cast_possible_truncation, reason = "an invalid number becomes a time out of range")]
    pub fn created_at(&self) -> Option<Timestamp> {
        let seconds = self.0.pointer("/dynamodb/ApproximateCreationDateTime")?.as_f64()?;
        Timestamp::from_millisecond((seconds * 1_000.0).round() as i64).ok()
    }

    /// Deserializes the new image of the item.
    ///
    /// # Errors
    /// The record has no new image that can be deserialized as `T`. The image is counted as an
    /// unreadable item.
    pub fn new_image<T: Item>(&self) -> Result<T, Error> {
        Ok(table::read_image(&self.0["dynamodb"]["NewImage"])?)
    }

    /// Deserializes the old image of the item.
    ///
    /// # Errors
    /// As for [`Self::new_image`].
    pub fn old_image<T: Item>(&self) -> Result<T, Error> {
        Ok(table::read_image(&self.0["dynamodb"]["OldImage"])?)
    }

    /// Whether TTL has deleted the item.
    pub fn is_expiry(&self) -> bool {
        self.0["eventName"] == "REMOVE" && self.0["userIdentity"]["principalId"] == "dynamodb.amazonaws.com"
    }

    /// Parses the record.
    ///
    /// # Errors
    /// Returns an error if this is not a valid DynamoDB stream record. Do not log the error text,
    /// because it may contain data from the record.
    pub fn read(&self) -> Result<EventRecord, serde_json::Error> {
        EventRecord::deserialize(&self.0)
    }
}

/// Creates a function for a DynamoDB stream. `warm_up` makes a DynamoDB call that the handler also
/// has permission for.
///
/// The handler returns the sequence numbers of the failed records. Lambda retries the first failed
/// record and all later records, including those that succeeded.
pub fn stream<A, F, W>(
    handler: impl Fn(A, Batch) -> F + Clone + Send + Sync + 'static,
    warm_up: impl Fn(A) -> W + Send + Sync + 'static,
) -> Function
where
    A: App,
    F: Future<Output = Result<BTreeSet<String>, Error>> + Send + 'static,
    W: Future<Output = ()> + Send + 'static,
{
    Function::of_events(warm_up, move |app: A, mut event, surroundings| {
        let handler = handler.clone();
        async move {
            let Some(Value::Array(records)) = event.get_mut("Records").map(Value::take) else {
                return Err(Error::invalid("/Records", "is not a batch of stream records"));
            };
            let records: Vec<Record> = records.into_iter().map(Record).collect();
            if let Some(oldest) = records.iter().filter_map(Record::created_at).min() {
                observe::stream_age(system::now().duration_since(oldest));
            }
            let order: Vec<String> = records.iter().map(|record| record.sequence_number().to_owned()).collect();
            let Surroundings { deadline, random } = surroundings;
            let failed = handler(app, Batch { records, clock: Clock(()), deadline, random }).await?;
            Ok(report(&order, &failed))
        }
    })
}

/// Reports the first failed record as the batch item failure.
///
/// Lambda retries the batch from that record. If a failed sequence number is empty or not in the
/// batch, the report contains an empty identifier. Lambda then retries the whole batch.
fn report(order: &[String], failed: &BTreeSet<String>) -> DynamoDbEventResponse {
    let mut response = DynamoDbEventResponse::default();
    let stranger = failed.iter().any(|number| number.is_empty() || !order.contains(number));
    let lowest = order.iter().find(|number| failed.contains(*number)).cloned();
    let lowest = if stranger { Some(String::new()) } else { lowest };
    response.batch_item_failures.extend(lowest.map(|number| {
        let mut failure = DynamoDbBatchItemFailure::default();
        failure.item_identifier = Some(number);
        failure
    }));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(failed: &[&str]) -> String {
        // The batch defines the order of sequence numbers. In lexicographic order, 10 precedes 9.
        let order = ["8", "9", "10", "11"].map(str::to_owned);
        let failed = failed.iter().map(|number| (*number).to_owned()).collect();
        serde_json::to_string(&report(&order, &failed)).expect("JSON")
    }

    #[test]
    fn reports_the_first_failed_record() {
        assert_eq!(failures(&["10", "9"]), r#"{"batchItemFailures":[{"itemIdentifier":"9"}]}"#);
        assert_eq!(failures(&[]), r#"{"batchItemFailures":[]}"#);
        for all in [["7"], [""]] {
            assert_eq!(failures(&all), r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#);
        }
    }

    #[test]
    fn reads_times_with_and_without_fraction() {
        let time = |json: Value| {
            let record = Record(serde_json::json!({"dynamodb": {"ApproximateCreationDateTime": json}}));
            record.created_at().map(|at| at.to_string())
        };
        assert_eq!(time(1_428_537_600.into()).as_deref(), Some("2015-04-09T00:00:00Z"));
        assert_eq!(time(1_767_349_800.123.into()).as_deref(), Some("2026-01-02T10:30:00.123Z"));
        for none in [Value::Null, "2026".into(), 1e300.into()] {
            assert_eq!(time(none), None);
        }
    }

    #[test]
    fn invalid_record_has_an_empty_sequence_number() {
        let record = Record(serde_json::json!({"eventID": 7}));
        assert!(record.read().is_err() && record.sequence_number().is_empty());
    }
}
