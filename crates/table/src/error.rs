use crate::{Item, item::Attributes, usage};
use aws_sdk_dynamodb::{error::SdkError, types::CancellationReason};
use backon::{ExponentialBuilder, Retryable};
use std::{fmt, time::Duration};

/// An error of a call to DynamoDB.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A condition failed, and nothing was written.
    #[error("a condition did not hold")]
    Refused(Refused),
    /// All retries conflicted with other writes of the same items, or were throttled.
    #[error("other writes of the same items got in between")]
    Contended {
        /// Whether throttling was the only reason.
        throttled: bool,
    },
    /// The call exceeded the capacity of the table, an index or a partition.
    #[error("DynamoDB throttled the call")]
    Throttled,
    /// DynamoDB did not respond in time. The call may or may not have been executed.
    #[error("DynamoDB did not answer: {0}")]
    Unavailable(String),
    /// An earlier attempt of the same transaction is still in progress. It may or may not succeed.
    #[error("the transaction is under way")]
    Underway,
    /// A range that is read without pages exceeds the maximum size: 5 MB for items, 100 MB for a
    /// count.
    #[error("the range holds too much to be read whole")]
    TooMuch,
    /// A stored item cannot be deserialized as its type.
    #[error("a stored {0} could not be read: {1}")]
    Unreadable(&'static str, serde_dynamo::Error),
    /// DynamoDB rejected the call because of a defect in the code or the deployment.
    #[error("DynamoDB rejected the call: {0}")]
    Rejected(String),
}

/// Cancellation reason codes (DynamoDB API Reference, `TransactWriteItems`).
const FAILED: &str = "ConditionalCheckFailed";
const CONFLICT: &str = "TransactionConflict";
const THROTTLED: [&str; 2] = ["ThrottlingError", "ProvisionedThroughputExceeded"];

impl Error {
    /// Creates an [`Error::Unreadable`] for a part of a stored item.
    #[must_use]
    pub fn unreadable(what: &'static str, cause: &impl fmt::Display) -> Self {
        Self::Unreadable(what, serde::de::Error::custom(cause))
    }

    /// Classifies a failed call. The SDK has already retried throttled calls and 5xx responses, but
    /// not cancelled transactions.
    pub(crate) fn classify<E>(error: SdkError<E>) -> Self
    where
        aws_sdk_dynamodb::Error: From<E>,
        E: std::error::Error + 'static,
    {
        use aws_sdk_dynamodb::Error as Service;
        let error = match error {
            SdkError::ServiceError(error) if error.raw().status().as_u16() < 500 => error.into_err(),
            other => return Self::Unavailable(chain(&other)),
        };
        match Service::from(error) {
            Service::ConditionalCheckFailedException(failed) => {
                usage::note(|usage| usage.conflicts += 1);
                Self::Refused(Refused { changes: vec![Some(failed.item.unwrap_or_default())] })
            }
            Service::TransactionCanceledException(cancelled) => {
                usage::note(|usage| usage.conflicts += 1);
                Self::cancelled(cancelled.cancellation_reasons.unwrap_or_default())
            }
            Service::TransactionConflictException(_) => {
                usage::note(|usage| usage.conflicts += 1);
                Self::Contended { throttled: false }
            }
            Service::TransactionInProgressException(_) => Self::Underway,
            Service::ProvisionedThroughputExceededException(_)
            | Service::RequestLimitExceeded(_)
            | Service::ThrottlingException(_) => Self::Throttled,
            other => Self::Rejected(chain(&other)),
        }
    }

    /// Classifies a cancelled transaction. A failed condition takes precedence.
    /// [`Error::Contended`] is returned only if all reasons are conflicts or throttling. Any other
    /// code is an error.
    fn cancelled(reasons: Vec<CancellationReason>) -> Self {
        let code = |reason: &CancellationReason| reason.code.clone().unwrap_or_else(|| "None".to_owned());
        let codes: Vec<String> = reasons.iter().map(code).filter(|code| code != "None").collect();
        let all_are = |known: &[&str]| !codes.is_empty() && codes.iter().all(|code| known.contains(&code.as_str()));
        if all_are(&[FAILED, CONFLICT, THROTTLED[0], THROTTLED[1]]) && codes.iter().any(|code| code == FAILED) {
            let failed =
                |reason: CancellationReason| (code(&reason) == FAILED).then_some(reason.item.unwrap_or_default());
            Self::Refused(Refused { changes: reasons.into_iter().map(failed).collect() })
        } else if all_are(&[CONFLICT, THROTTLED[0], THROTTLED[1]]) {
            Self::Contended { throttled: all_are(&THROTTLED) }
        } else {
            Self::Rejected(format!("transaction cancelled: {}", codes.join(", ")))
        }
    }
}

/// Returns the messages of the error and its causes. The `Debug` output would contain request data
/// and stored data.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The failed conditions and the items that failed them.
pub struct Refused {
    /// An entry for each change: `None` if the condition passed, otherwise the stored item. The
    /// entry is an empty item if no item was stored.
    changes: Vec<Option<Attributes>>,
}

/// Does not print the items, because errors are logged.
impl fmt::Debug for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed: Vec<usize> = (0..self.changes.len()).filter(|change| self.at(*change)).collect();
        out.debug_struct("Refused").field("changes", &failed).finish()
    }
}

impl Refused {
    /// Returns whether the condition of the change failed.
    #[must_use]
    pub fn at(&self, change: usize) -> bool {
        matches!(self.changes.get(change), Some(Some(_)))
    }

    /// The stored item for which the condition of the change failed. `None` if there was no item.
    ///
    /// # Errors
    /// The item cannot be deserialized as `T`.
    pub fn found<T: Item>(&self, change: usize) -> Result<Option<T>, Error> {
        let found = self.changes.get(change).cloned().flatten();
        found.filter(|item| !item.is_empty()).map(crate::item::read).transpose()
    }
}

/// Retries the call on contention, with exponential backoff and jitter, until the deadline.
pub(crate) async fn despite_contention<T, F: Future<Output = Result<T, Error>>>(
    call: impl FnMut() -> F,
) -> Result<T, Error> {
    call.retry(backoff())
        .when(|error| matches!(error, Error::Contended { .. }) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Sends the same transaction again while it is in progress, until the deadline.
pub(crate) async fn while_underway<T, F: Future<Output = Result<T, Error>>>(
    call: impl FnMut() -> F,
) -> Result<T, Error> {
    call.retry(backoff())
        .when(|error| matches!(error, Error::Underway) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Runs an optimistic read-modify-write, and retries it as long as `stale` returns true for its
/// error.
///
/// There are up to 60 retries before the deadline, which is enough for many concurrent writers of
/// one cart or account.
///
/// # Errors
/// The error of the last attempt, or the first error for which `stale` returns false.
pub async fn optimistically<T, E, F: Future<Output = Result<T, E>>>(
    attempt: impl FnMut() -> F,
    stale: impl Fn(&E) -> bool,
) -> Result<T, E> {
    attempt
        .retry(backoff().with_max_times(60))
        .when(|error| stale(error) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Maximum pause with jitter, which may double the configured maximum.
const LONGEST_PAUSE: Duration = Duration::from_millis(2 * 400);

/// Returns the pauses between 8 retries, about two seconds in total.
pub(crate) fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(LONGEST_PAUSE / 2)
        .with_max_times(8)
        .with_jitter()
}
