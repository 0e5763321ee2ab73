//! Failure destination. For each discarded batch, Lambda writes a document with the complete
//! invocation record to S3.
use jiff::{Timestamp, Unit, tz::TimeZone};
use serde_json::{Value, json};
use uuid::Uuid;

use super::batch::Batch;

/// Reason for a discarded batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Condition {
    RetryAttemptsExhausted,
    RecordAgeExceeded,
}

impl Condition {
    fn name(self) -> &'static str {
        match self {
            Self::RetryAttemptsExhausted => "RetryAttemptsExhausted",
            Self::RecordAgeExceeded => "RecordAgeExceeded",
        }
    }
}

/// Discarded batch, with its function and stream.
pub(crate) struct GivenUp<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) condition: Condition,
    /// Whether the invocation failed. `false` if the function returned batch item failures instead.
    pub(crate) function_error: bool,
    pub(crate) function_arn: &'a str,
    pub(crate) stream_arn: &'a str,
    pub(crate) shard: &'a str,
}

impl GivenUp<'_> {
    pub(crate) fn document(&self, now: Timestamp) -> Value {
        let records = &self.batch.records;
        let number = |record: Option<&super::batch::Record>| record.map(|record| record.number().to_owned());
        let time = |record: Option<&super::batch::Record>| record.map(|record| record.time().to_string());
        let mut response = json!({"statusCode": 200, "executedVersion": "$LATEST"});
        if self.function_error {
            response["functionError"] = json!("Unhandled");
        }
        json!({
            "requestContext": {
                "requestId": Uuid::new_v4().to_string(),
                "functionArn": self.function_arn,
                "condition": self.condition.name(),
                "approximateInvokeCount": self.batch.retries + 1,
            },
            "responseContext": response,
            "version": "1.0",
            "timestamp": now.round(Unit::Millisecond).unwrap_or(now).to_string(),
            "DDBStreamBatchInfo": {
                "shardId": self.shard,
                "startSequenceNumber": number(records.first()),
                "endSequenceNumber": number(records.last()),
                "approximateArrivalOfFirstRecord": time(records.first()),
                "approximateArrivalOfLastRecord": time(records.last()),
                "batchSize": records.len(),
                "streamArn": self.stream_arn,
            },
            "payload": self.batch.event().to_string(),
        })
    }
}

/// Returns the object key of a document. The key contains the mapping, the shard and the time, as
/// in AWS.
pub(crate) fn key(mapping: Uuid, shard: &str, now: Timestamp) -> String {
    let time = now.to_zoned(TimeZone::UTC);
    let (day, second) = (time.strftime("%Y/%m/%d"), time.strftime("%Y-%m-%dT%H.%M.%S"));
    format!("aws/lambda/{mapping}/{shard}/{day}/{second}-{}", Uuid::new_v4())
}
