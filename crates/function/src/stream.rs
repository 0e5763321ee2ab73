use crate::{App, Deadline, Error, Function, Surroundings, observe, system};
use aws_lambda_events::{
    dynamodb::EventRecord,
    streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse},
};
use jiff::Timestamp;
use keys::Random;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeSet;
use table::{Attribute, Key};

/// A batch of changes of one stream shard, in order.
pub struct Batch {
    /// The changes.
    pub records: Vec<Record>,
    /// When the batch must have been worked through.
    pub deadline: Deadline,
    /// Random bits for what the batch makes.
    pub random: Random,
}

/// A change as the stream sent it, readable or not: one that can't be read must not hold up the others.
#[derive(Clone)]
pub struct Record(Value);

impl Record {
    /// As it came.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// Its place in the shard, by which a failure is reported. Empty where it has none: then the whole batch comes again.
    #[must_use]
    pub fn sequence_number(&self) -> &str {
        self.0.pointer("/dynamodb/SequenceNumber").and_then(Value::as_str).unwrap_or_default()
    }

    /// The partition key of the item that changed, if the record has it as a string.
    #[must_use]
    pub fn partition_key(&self) -> Option<&str> {
        self.key(Key::PARTITION)
    }

    /// The sort key of the item that changed, if the record has it as a string.
    #[must_use]
    pub fn sort_key(&self) -> Option<&str> {
        self.key(Key::SORT)
    }

    fn key(&self, attribute: Attribute) -> Option<&str> {
        self.0["dynamodb"]["Keys"][attribute.as_str()]["S"].as_str()
    }

    /// When it happened, to the millisecond; AWS calls it approximate. Read here because `EventRecord` shifts fractions.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a float that is no time becomes one out of range")]
    pub fn created_at(&self) -> Option<Timestamp> {
        let seconds = self.0.pointer("/dynamodb/ApproximateCreationDateTime")?.as_f64()?;
        Timestamp::from_millisecond((seconds * 1_000.0).round() as i64).ok()
    }

    /// What it says.
    ///
    /// # Errors
    /// It is no record of a DynamoDB stream. The text may quote it: not for logs.
    pub fn read(&self) -> Result<EventRecord, serde_json::Error> {
        EventRecord::deserialize(&self.0)
    }
}

/// The function of a DynamoDB stream. The handler answers the sequence numbers of the changes that
/// failed; everything from the lowest on is delivered again, whatever became of the later ones.
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
                return Err(Error::invalid("/Records", "is no batch of a stream"));
            };
            let records: Vec<Record> = records.into_iter().map(Record).collect();
            if let Some(oldest) = records.iter().filter_map(Record::created_at).min() {
                observe::stream_age(system::now().duration_since(oldest));
            }
            let order: Vec<String> = records.iter().map(|record| record.sequence_number().to_owned()).collect();
            let Surroundings { deadline, random } = surroundings;
            let failed = handler(app, Batch { records, deadline, random }).await?;
            Ok(report(&order, &failed))
        }
    })
}

/// The lowest failure alone: Lambda takes it as the place to go on from. A failure that the batch
/// does not know makes all of it come again, and so does an empty one, to which Lambda gives that meaning.
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
        // As numbers 9 comes before 10; as texts it does not. The batch's own order decides.
        let order = ["8", "9", "10", "11"].map(str::to_owned);
        let failed = failed.iter().map(|number| (*number).to_owned()).collect();
        serde_json::to_string(&report(&order, &failed)).expect("JSON")
    }

    #[test]
    fn the_lowest_failure_is_reported() {
        assert_eq!(failures(&["10", "9"]), r#"{"batchItemFailures":[{"itemIdentifier":"9"}]}"#);
        assert_eq!(failures(&[]), r#"{"batchItemFailures":[]}"#);
        for all in [["7"], [""]] {
            assert_eq!(failures(&all), r#"{"batchItemFailures":[{"itemIdentifier":""}]}"#);
        }
    }

    #[test]
    fn a_time_is_read_with_its_fraction_or_without() {
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
    fn a_record_that_is_none_can_be_reported() {
        let record = Record(serde_json::json!({"eventID": 7}));
        assert!(record.read().is_err() && record.sequence_number().is_empty());
    }
}
