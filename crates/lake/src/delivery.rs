use crate::model::{
    counts::Counts,
    pack::{self, Record},
    schema::Schema,
};
use aws_config::SdkConfig;
use aws_sdk_firehose::{
    Client,
    config::{Builder, retry::RetryConfig, timeout::TimeoutConfig},
    error::{DisplayErrorContext, ProvideErrorMetadata, SdkError},
    operation::put_record_batch::PutRecordBatchError,
    primitives::Blob,
    types,
};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use function::Deadline;
use std::{collections::VecDeque, time::Duration};
use tokio::time::sleep;

/// Timeout of one call. Other clients have a timeout of two seconds, but a call to Firehose uploads
/// up to 4 MB.
const LONGEST_CALL: Duration = Duration::from_secs(5);

/// Maximum number of rejected rows. If Firehose rejects this many rows and accepts none, the
/// delivery stream is assumed to be at fault.
const MAX_REFUSED: usize = 10;

/// Firehose delivery streams of the tables.
#[derive(Clone)]
pub(crate) struct Delivery {
    client: Client,
    /// Prefix of the names of the delivery streams.
    prefix: String,
}

/// Rows that Firehose did not accept.
#[derive(Debug, Default)]
pub(crate) struct Delivered {
    /// Rows that Firehose rejects permanently, each with its index in the batch and the reason.
    pub(crate) refused: Vec<(usize, String)>,
    /// Rows that were not sent, or whose outcome is unknown, as indexes in the batch.
    pub(crate) unsent: Vec<usize>,
}

/// Reason why Firehose did not accept all records of a call.
enum Stopped {
    /// Firehose rejects the remaining records permanently.
    Refused(Vec<Record>, String),
    /// No retry or no time is left for the remaining records.
    GaveUp(Vec<Record>),
}

impl Delivery {
    pub(crate) fn new(config: &SdkConfig, prefix: String) -> Self {
        let timeouts = config.timeout_config().map(TimeoutConfig::to_builder).unwrap_or_default();
        // The SDK does not retry. `deliver` retries both failed calls and failed records until the
        // deadline (docs/decisions/export.md).
        let config = Builder::from(config)
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts.operation_attempt_timeout(LONGEST_CALL).build());
        Self { client: Client::from_conf(config.build()), prefix }
    }

    /// Groups the records of a table into calls and sends the calls in order. Stops if all retries
    /// of a call fail. Lambda then redelivers the records of that call and all later records.
    pub(crate) async fn send(
        &self,
        schema: &Schema,
        records: Vec<Record>,
        until: Deadline,
        counts: &mut Counts,
    ) -> Delivered {
        let stream = format!("{}{}", self.prefix, schema.delivery());
        let (mut delivered, before) = (Delivered::default(), counts.exported);
        let mut calls: VecDeque<Vec<Record>> = pack::calls(records).into();
        while let Some(call) = calls.pop_front() {
            match self.deliver(&stream, call, until, counts).await {
                Ok(()) => {}
                Err(Stopped::GaveUp(left)) => {
                    calls.push_front(left);
                    break;
                }
                Err(Stopped::Refused(left, reason)) => match pack::halves(left) {
                    Ok(halves) => halves.into_iter().rev().for_each(|half| calls.push_front(half)),
                    Err(row) => delivered.refused.extend(row.map(|row| (row.place, reason))),
                },
            }
            if delivered.refused.len() >= MAX_REFUSED && counts.exported == before {
                delivered.unsent.extend(delivered.refused.drain(..).map(|(place, _)| place));
                break;
            }
        }
        delivered.unsent.extend(calls.iter().flatten().flat_map(Record::rows).map(|row| row.place));
        delivered
    }

    /// Sends one call, and retries the records that Firehose does not accept. The pauses between
    /// the retries increase, and start again from the shortest pause when Firehose accepts a
    /// record.
    async fn deliver(
        &self,
        stream: &str,
        call: Vec<Record>,
        until: Deadline,
        counts: &mut Counts,
    ) -> Result<(), Stopped> {
        let (mut left, mut pauses) = (call, pauses());
        loop {
            counts.calls += 1;
            let (taken, rest) = match until.bound(self.put(stream, &left)).await {
                Some(Ok(taken)) => taken.into_iter().zip(left).partition::<Vec<_>, _>(|(taken, _)| *taken),
                Some(Err(error)) if is_final(&error) => return Err(Stopped::Refused(left, reason(&error))),
                Some(Err(error)) => {
                    tracing::warn!(error = %DisplayErrorContext(&error), "a call to Firehose failed");
                    (Vec::new(), left.into_iter().map(|record| (false, record)).collect())
                }
                None => return Err(Stopped::GaveUp(left)),
            };
            left = rest.into_iter().map(|(_, record)| record).collect();
            for (_, record) in &taken {
                count(record, counts);
            }
            if left.is_empty() {
                return Ok(());
            }
            if !taken.is_empty() {
                pauses = self::pauses();
            }
            match pauses.next().filter(|pause| until.allows(*pause)) {
                Some(pause) => sleep(pause).await,
                None => return Err(Stopped::GaveUp(left)),
            }
            counts.retries += 1;
        }
    }

    /// Makes one call. Returns whether Firehose accepted the record, for each record in order.
    async fn put(&self, stream: &str, records: &[Record]) -> Result<Vec<bool>, SdkError<PutRecordBatchError>> {
        let records = records.iter().map(|record| types::Record::builder().data(Blob::new(record.data())).build());
        let records: Vec<_> = records.collect::<Result<_, _>>().map_err(SdkError::construction_failure)?;
        let count = records.len();
        let call = self.client.put_record_batch().delivery_stream_name(stream).set_records(Some(records));
        let answers = call.send().await?.request_responses;
        // A record without a result counts as failed.
        let taken = |place: usize| answers.get(place).is_some_and(|answer| answer.error_code.is_none());
        Ok((0..count).map(taken).collect())
    }
}

fn count(record: &Record, counts: &mut Counts) {
    let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    counts.exported += number(record.rows().len());
    counts.bytes += number(record.bytes());
    counts.billed += number(record.billed());
}

/// Returns whether a retry of the call would also fail, because the call or one of the records is
/// invalid or too large. All other errors may be temporary.
fn is_final(error: &SdkError<PutRecordBatchError>) -> bool {
    let too_large = error.raw_response().is_some_and(|response| response.status().as_u16() == 413);
    let refusal = error
        .as_service_error()
        .is_some_and(|error| error.is_invalid_argument_exception() || error.code() == Some("ValidationException"));
    too_large || refusal
}

fn reason(error: &SdkError<PutRecordBatchError>) -> String {
    format!("Firehose rejects the row: {}", DisplayErrorContext(error))
}

/// Returns the five pauses between six attempts of a call without progress. Together, the pauses
/// take 2.5 to 5 seconds. If all attempts fail, Lambda redelivers the batch.
fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(1))
        .with_max_times(5)
        .with_jitter()
        .build()
}
