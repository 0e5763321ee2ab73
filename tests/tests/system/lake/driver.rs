//! Invokes the function as Lambda does for a stream: with batches, redeliveries and killed
//! invocations.

use super::stub::Stub;
use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig};
use aws_sdk_firehose::config::{Credentials, SharedCredentialsProvider};
use function::{Clients, Context, Invocation, Service, Settings};
use serde_json::{Value, json};
use std::{
    pin::pin,
    task::Poll,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use table::Dynamo;

pub(crate) fn clients(stub: &Stub) -> Clients {
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("local", "local", None, None, "local")))
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(10)))
        .build();
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), system_tests::random());
    Clients::new(dynamo, config).at("firehose", &stub.url).at("s3", &stub.url)
}

pub(crate) fn settings<const N: usize>(more: [(&str, &str); N]) -> Settings {
    let own = [("DELIVERY_PREFIX", "local-"), ("FAILURE_BUCKET", "failures"), ("LAKE_BUCKET", "lake")];
    own.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn service(stub: &Stub) -> Service {
    let function = lake::patterns::export_changes::function();
    function.bind(&settings([]), clients(stub)).expect("valid settings")
}

pub(crate) async fn invoke(service: &Service, event: Value, time: Duration) -> Invocation {
    let mut context = Context::default();
    let end = (SystemTime::now() + time).duration_since(UNIX_EPOCH).expect("after 1970");
    context.deadline = u64::try_from(end.as_millis()).expect("a time within 64 bits");
    service.call(event, context).await
}

/// Returns the sequence number of the first failed record, or `None` if all records succeeded.
/// Lambda redelivers the batch from this record.
pub(crate) fn lowest_failure(invocation: Invocation) -> Option<String> {
    let answer = invocation.answer.expect("an answer");
    let failures = answer["batchItemFailures"].as_array().expect("a report").clone();
    assert!(failures.len() <= 1, "{failures:?}");
    failures.first().map(|failure| failure["itemIdentifier"].as_str().expect("a number").to_owned())
}

/// Polls the future at most `polls` times, and then drops it.
async fn killed_after<T>(polls: usize, work: impl Future<Output = T>) -> Option<T> {
    let (mut work, mut left) = (pin!(work), polls);
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        work.as_mut().poll(context).map(Some)
    })
    .await
}

/// Statistics of a processed shard.
#[derive(Debug, Default)]
pub(crate) struct Drive {
    pub(crate) invocations: usize,
    pub(crate) killed: usize,
    pub(crate) redelivered: usize,
}

/// Delivers the records of a shard to the function in the same way as Lambda: in order, and in
/// batches.
///
/// Redelivers a batch from its first failed record. Redelivers the whole batch if the invocation is
/// killed. `polls` returns the number of polls after which the next invocation is killed.
pub(crate) async fn drive(
    service: &Service,
    records: &[Value],
    mut size: impl FnMut() -> usize,
    mut polls: impl FnMut() -> Option<usize>,
) -> Drive {
    let (mut next, mut drive) = (0, Drive::default());
    while next < records.len() {
        drive.invocations += 1;
        assert!(drive.invocations < 200 + records.len(), "the shard is never completed: {drive:?} at {next}");
        let batch = &records[next..records.len().min(next + size())];
        let work = invoke(service, json!({ "Records": batch }), Duration::from_mins(1));
        match killed_after(polls().unwrap_or(usize::MAX), work).await {
            None => drive.killed += 1,
            Some(invocation) => match lowest_failure(invocation) {
                None => next += batch.len(),
                Some(number) => {
                    let is_it = |record: &Value| record["dynamodb"]["SequenceNumber"] == number.as_str();
                    next += batch.iter().position(is_it).expect("a record of the batch");
                    drive.redelivered += 1;
                }
            },
        }
    }
    drive
}
