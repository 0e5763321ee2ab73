use crate::{App, Error, Function};
use aws_lambda_events::{
    dynamodb::{Event, EventRecord},
    streams::{DynamoDbBatchItemFailure, DynamoDbEventResponse},
};
use std::collections::BTreeSet;
use tokio::time::Instant;

/// A batch of changes of one stream shard, in order.
#[derive(Debug)]
pub struct Batch {
    /// The changes.
    pub records: Vec<EventRecord>,
    /// When the batch must have been worked through.
    pub deadline: Instant,
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
    Function::of_events(warm_up, move |app: A, event, context| {
        let handler = handler.clone();
        async move {
            let Event { records, .. } =
                serde_json::from_value(event).map_err(|_| Error::invalid("/Records", "is no batch of a stream"))?;
            let order: Vec<String> =
                records.iter().filter_map(|record| record.change.sequence_number.clone()).collect();
            let failed = handler(app, Batch { records, deadline: crate::deadline(&context) }).await?;
            Ok(report(&order, &failed))
        }
    })
}

/// The lowest failure alone: Lambda takes it as the place to go on from. A failure that the batch
/// does not know makes all of it come again.
fn report(order: &[String], failed: &BTreeSet<String>) -> DynamoDbEventResponse {
    let mut response = DynamoDbEventResponse::default();
    let stranger = failed.iter().any(|number| !order.contains(number));
    let lowest = if stranger { order.first() } else { order.iter().find(|number| failed.contains(*number)) };
    response.batch_item_failures.extend(lowest.map(|number| {
        let mut failure = DynamoDbBatchItemFailure::default();
        failure.item_identifier = Some(number.clone());
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
        assert_eq!(failures(&["7"]), r#"{"batchItemFailures":[{"itemIdentifier":"8"}]}"#);
    }
}
