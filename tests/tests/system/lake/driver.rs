//! Invokes the exporter with Firehose and S3 in process.

use super::stub::Stub;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_firehose::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::{
    http::{SharedHttpConnector, http_client_fn},
    stalled_stream_protection::StalledStreamProtectionConfig,
};
use function::{Clients, Context, Invocation, Service, Settings};
use serde_json::Value;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use table::Dynamo;

pub(crate) fn clients(stub: &Stub) -> Clients {
    let stub = stub.clone();
    let config = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("local", "local", None, None, "local")))
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(stub.clone())))
        .build();
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), system_tests::random());
    Clients::new(dynamo, config).at("firehose", "http://stub").at("s3", "http://stub")
}

pub(crate) fn settings<const N: usize>(more: [(&str, &str); N]) -> Settings {
    let own = [("DELIVERY_PREFIX", "local-"), ("FAILURE_BUCKET", "failures"), ("LAKE_BUCKET", "lake")];
    own.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

pub(crate) fn service(stub: &Stub) -> Service {
    (lake::patterns::export_changes::PATTERN.function)().bind(&settings([]), clients(stub)).expect("valid settings")
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
