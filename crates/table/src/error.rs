use crate::{Item, item::Attributes, usage};
use aws_sdk_dynamodb::{error::SdkError, types::CancellationReason};
use backon::{ExponentialBuilder, Retryable};
use std::{fmt, time::Duration};

/// Why a call did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A condition did not hold, and nothing was written.
    #[error("a condition did not hold")]
    Refused(Refused),
    /// Other writes of the same items kept getting in between, or kept taking a transaction's capacity.
    #[error("other writes of the same items got in between")]
    Contended {
        /// Whether it was for capacity alone.
        throttled: bool,
    },
    /// DynamoDB's capacity for the table, an index or a partition was used up.
    #[error("DynamoDB throttled the call")]
    Throttled,
    /// DynamoDB did not answer in time; what was asked may or may not have happened.
    #[error("DynamoDB did not answer: {0}")]
    Unavailable(String),
    /// A transaction that was sent before has not ended yet; it may or may not happen.
    #[error("the transaction is under way")]
    Underway,
    /// A range that is read whole holds more than 5 MB.
    #[error("the range holds too much to be read whole")]
    TooMuch,
    /// A stored item is not what its type says.
    #[error("a stored {0} could not be read: {1}")]
    Unreadable(&'static str, serde_dynamo::Error),
    /// DynamoDB would not take the call: a defect of ours or of the deployment.
    #[error("DynamoDB rejected the call: {0}")]
    Rejected(String),
}

/// Codes of cancellation reasons (DynamoDB API reference, `TransactWriteItems`).
const FAILED: &str = "ConditionalCheckFailed";
const CONFLICT: &str = "TransactionConflict";
const THROTTLED: [&str; 2] = ["ThrottlingError", "ProvisionedThroughputExceeded"];

impl Error {
    /// A part of a stored item is not what its type says.
    #[must_use]
    pub fn unreadable(what: &'static str, cause: &impl fmt::Display) -> Self {
        Self::Unreadable(what, serde::de::Error::custom(cause))
    }

    /// What one failed call means. The SDK has already retried what it knows to retry: throttled calls and
    /// 5xx, but no cancelled transaction.
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

    /// A cancelled transaction: a failed condition decides, contention is retried only where it is
    /// the whole reason, anything else is an error.
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

/// The error and its causes in words. Never their `Debug`: that would show what was sent and stored.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Which conditions failed, and what stood there instead.
pub struct Refused {
    /// A change each: none where its condition held, else the item that was found, empty if there is none.
    changes: Vec<Option<Attributes>>,
}

/// Without the items: errors are logged.
impl fmt::Debug for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed: Vec<usize> = (0..self.changes.len()).filter(|change| self.at(*change)).collect();
        out.debug_struct("Refused").field("changes", &failed).finish()
    }
}

impl Refused {
    /// Whether the condition of that change failed.
    #[must_use]
    pub fn at(&self, change: usize) -> bool {
        matches!(self.changes.get(change), Some(Some(_)))
    }

    /// The item that made the condition of that change fail; none where there is no item.
    ///
    /// # Errors
    /// The item is not what its type says.
    pub fn found<T: Item>(&self, change: usize) -> Result<Option<T>, Error> {
        let found = self.changes.get(change).cloned().flatten();
        found.filter(|item| !item.is_empty()).map(crate::item::read).transpose()
    }
}

/// Does the call again, with growing and jittered pauses, while it is contended and there is time.
pub(crate) async fn despite_contention<T, F: Future<Output = Result<T, Error>>>(
    call: impl FnMut() -> F,
) -> Result<T, Error> {
    call.retry(backoff())
        .when(|error| matches!(error, Error::Contended { .. }) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Asks for the same transaction again while it has not ended, and there is time.
pub(crate) async fn while_underway<T, F: Future<Output = Result<T, Error>>>(
    call: impl FnMut() -> F,
) -> Result<T, Error> {
    call.retry(backoff())
        .when(|error| matches!(error, Error::Underway) && usage::time_left() > LONGEST_PAUSE)
        .notify(|_, _| usage::note(|usage| usage.retries += 1))
        .await
}

/// Reads, decides and writes again while `stale` says that what was read had changed before it was written, and there is time:
/// 60 tries at most, for the writers of one cart or account that all come at once.
///
/// # Errors
/// The last try's, or whatever is not stale.
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

/// With its jitter a pause may be twice as long as the longest that is asked for.
const LONGEST_PAUSE: Duration = Duration::from_millis(2 * 400);

/// 8 tries over some two seconds.
pub(crate) fn backoff() -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(10))
        .with_max_delay(LONGEST_PAUSE / 2)
        .with_max_times(8)
        .with_jitter()
}
