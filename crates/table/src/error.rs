use crate::{Key, key::Attributes, usage};
use aws_sdk_dynamodb::{error::SdkError, types::CancellationReason};
use backon::{ExponentialBuilder, Retryable};
use std::{fmt, time::Duration};
use tokio::time::timeout_at;

/// The error of a DynamoDB call.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A condition failed. Nothing was written.
    #[error("a condition failed")]
    Refused(Refused),
    /// All attempts conflicted with other writes of the same items, or were throttled.
    #[error("all attempts conflicted with other writes or were throttled")]
    Contended {
        /// Whether all attempts failed only because of throttling.
        throttled: bool,
    },
    /// The call exceeded the capacity of a table, an index or a partition.
    #[error("DynamoDB throttled the call")]
    Throttled,
    /// DynamoDB did not respond in time. The call may or may not have been executed.
    #[error("DynamoDB did not respond: {0}")]
    Unavailable(String),
    /// An earlier attempt of the same transaction is still in progress. That attempt may or may not
    /// succeed.
    #[error("the transaction is still in progress")]
    Underway,
    /// A range is too large to be read without pages: over 5 MB for items, or over 100 MB for a
    /// count.
    #[error("the range is too large to be read without pages")]
    TooMuch,
    /// A stored item cannot be deserialized as its type.
    #[error("a stored {0} cannot be read: {1}")]
    Unreadable(&'static str, serde_dynamo::Error),
    /// DynamoDB rejected the call. The cause is a defect in the code or the deployment.
    #[error("DynamoDB rejected the call: {0}")]
    Rejected(String),
}

/// Cancellation reason codes (DynamoDB API Reference, `TransactWriteItems`).
const FAILED: &str = "ConditionalCheckFailed";
const CONFLICT: &str = "TransactionConflict";
const THROTTLED: [&str; 2] = ["ThrottlingError", "ProvisionedThroughputExceeded"];

impl Error {
    /// Creates an [`Error::Unreadable`]. `what` is the item type, or the part of an item, that
    /// cannot be read.
    pub fn unreadable(what: &'static str, cause: &impl fmt::Display) -> Self {
        Self::Unreadable(what, serde::de::Error::custom(cause))
    }

    /// Creates an [`Error::Unreadable`] for a part of a stored item, and counts the item with its
    /// key in the usage of the invocation.
    pub fn unreadable_part(what: &'static str, key: Key, cause: &impl fmt::Display) -> Self {
        usage::unreadable(what, Some(key));
        Self::unreadable(what, cause)
    }

    /// Classifies a failed call. The SDK has already retried throttled calls and 5xx responses. The
    /// SDK does not retry cancelled transactions.
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

    /// Classifies a cancelled transaction. A failed condition takes precedence over conflicts and
    /// throttling. [`Error::Contended`] means that all reasons are conflicts or throttling. Any
    /// other reason is a defect ([`Error::Rejected`]).
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

/// Sends one call and aborts it at the deadline.
///
/// The future is boxed because it takes several KB. Without the box, copying the future between
/// callers took up to a third of our own instructions.
pub(crate) fn call<T, E>(
    request: impl Future<Output = Result<T, SdkError<E>>>,
) -> impl Future<Output = Result<T, Error>>
where
    aws_sdk_dynamodb::Error: From<E>,
    E: std::error::Error + 'static,
{
    let request = Box::pin(request);
    async {
        let answer = match usage::deadline() {
            Some(deadline) => timeout_at(deadline, request).await.ok(),
            None => Some(request.await),
        };
        usage::note(|usage| usage.retries = usage.retries.saturating_sub(1));
        answer.ok_or_else(|| Error::Unavailable("the deadline passed".to_owned()))?.map_err(Error::classify)
    }
}

/// Returns the messages of the error and its causes. Unlike the `Debug` output, these messages
/// contain no request data and no stored data.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The failed conditions of a write, with the stored items.
pub struct Refused {
    /// One entry per change: `None` if the condition passed, otherwise the stored item. A missing
    /// item is represented by an empty item.
    pub(crate) changes: Vec<Option<Attributes>>,
}

/// Prints only the positions of the failed changes, because errors are logged and items are
/// customer data.
impl fmt::Debug for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed: Vec<usize> = (0..self.changes.len()).filter(|change| self.at(*change)).collect();
        out.debug_struct("Refused").field("changes", &failed).finish()
    }
}

impl Refused {
    /// Returns whether the condition of this change failed. `change` is its position in the
    /// transaction.
    pub fn at(&self, change: usize) -> bool {
        matches!(self.changes.get(change), Some(Some(_)))
    }
}

/// Retries the call on contention until the deadline, with exponential backoff and jitter.
pub(crate) async fn despite_contention<T, F: Future<Output = Result<T, Error>>>(
    call: impl FnMut() -> F,
) -> Result<T, Error> {
    call.retry(backoff())
        .when(|error| matches!(error, Error::Contended { .. }) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Resends a transaction until the deadline, as long as DynamoDB reports that it is in progress.
pub(crate) async fn while_underway<T, F: Future<Output = Result<T, Error>>>(
    call: impl FnMut() -> F,
) -> Result<T, Error> {
    call.retry(backoff())
        .when(|error| matches!(error, Error::Underway) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Runs an optimistic read-modify-write. Retries the attempt while `stale` returns true for its
/// error.
///
/// Makes at most 60 retries, and none after the deadline. This suffices for many concurrent writers
/// of one cart or account.
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

/// Maximum pause between retries. Jitter may double the configured maximum.
const LONGEST_PAUSE: Duration = Duration::from_millis(2 * 400);

/// Returns the backoff policy: 8 retries, with pauses of about two seconds in total.
pub(crate) fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(LONGEST_PAUSE / 2)
        .with_max_times(8)
        .with_jitter()
}
