use function::Error;
use keys::TimestampSeconds;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Display;
use table::{Attributes, Condition, Item, Key};

/// Retention of a job in days, from its start or last retry.
const DAYS_KEPT: i64 = 30;

/// The work of a job in its stored form. Each service has an enum with a variant for each kind of
/// job.
pub trait Task: Serialize + DeserializeOwned {
    /// The kind, as returned to callers.
    fn kind(&self) -> &'static str;
}

/// A stored job.
///
/// Only its service deserializes the task and the progress. A job with an unreadable task can
/// therefore still be marked as failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Job {
    /// The partition key. Its format is defined by the service.
    #[serde(rename = "PK")]
    pub partition: String,
    /// The sort key.
    #[serde(rename = "SK")]
    pub sort: String,
    /// The id, as returned to callers.
    #[serde(rename = "ID")]
    pub id: String,
    /// The kind, as returned to callers.
    pub kind: String,
    /// The state. The filter of the event source mapping reads this attribute.
    pub state: State,
    /// The id of this start of the job. A retry gets another id, so a run of an earlier start
    /// cannot write. Absent if the job is not running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The id of the last request for this job. A change of this attribute makes the stream call
    /// the function again. No code reads the id.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub nudged_by: Option<String>,
    /// The number of written steps. A run can write a step only if it has read the previous step.
    pub step: i64,
    /// Number of runs since the last written step. The filter of the event source mapping reads
    /// this attribute, so a written step calls the function and a counted run does not.
    pub attempts: i64,
    /// The work.
    pub task: Value,
    /// The progress of the runner. Absent before the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Value>,
    /// Number of completed units of work.
    pub done: u64,
    /// Number of units of work when the job started, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The sort key of a hold in the same partition. The hold is deleted when the job ends or
    /// fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// The reason of a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The start time.
    pub started_at: TimestampSeconds,
    /// The expiry time in seconds since 1970. Absent if the job is kept forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Item for Job {
    const TYPE: &'static str = "Job";
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// The job is running.
    Running,
    /// The job is complete.
    Done,
    /// The job cannot continue, and can be retried.
    Failed,
}

impl Job {
    /// Creates a job that starts now. `run` must be unique among all starts of the same key.
    ///
    /// # Errors
    /// The task cannot be serialized.
    pub fn new(
        key: &Key,
        id: &impl Display,
        run: &impl Display,
        task: &impl Task,
        now: TimestampSeconds,
    ) -> Result<Self, Error> {
        Ok(Self {
            partition: key.partition().to_owned(),
            sort: key.sort().to_owned(),
            id: id.to_string(),
            kind: task.kind().to_owned(),
            state: State::Running,
            run: Some(run.to_string()),
            nudged_by: None,
            step: 0,
            attempts: 0,
            task: serde_json::to_value(task).map_err(|error| Error::Internal(error.to_string()))?,
            progress: None,
            done: 0,
            total: None,
            hold: None,
            reason: None,
            started_at: now,
            expires_at: Some(Self::expiry(now)),
        })
    }

    /// The expiry time of a job that starts now, in seconds since 1970.
    pub(crate) fn expiry(now: TimestampSeconds) -> i64 {
        now.plus_days(DAYS_KEPT).instant().as_second()
    }

    /// The primary key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// The task.
    ///
    /// # Errors
    /// The task cannot be deserialized as `T`.
    pub fn task<T: Task>(&self) -> Result<T, Error> {
        T::deserialize(&self.task).map_err(|error| table::Error::unreadable("Task", &error).into())
    }

    /// The progress.
    ///
    /// # Errors
    /// The progress cannot be deserialized as `P`.
    pub fn progress<P: DeserializeOwned + Default>(&self) -> Result<P, Error> {
        let progress = self.progress.as_ref().map(P::deserialize).transpose();
        let progress = progress.map_err(|error| table::Error::unreadable("Progress", &error))?;
        Ok(progress.unwrap_or_default())
    }

    /// Returns whether the job is running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// The condition that no job with this key is running. It also passes if no job is stored.
    #[must_use]
    pub fn is_not_running() -> Condition {
        Condition::missing(Self::RUN)
    }
}

/// A job as a response body.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobBody {
    job_id: String,
    kind: String,
    status: State,
    done: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Job> for JobBody {
    fn from(Job { id, kind, state, done, total, reason, .. }: Job) -> Self {
        let left = match state {
            State::Done => Some(0),
            State::Running | State::Failed => total.map(|total| total.saturating_sub(done)),
        };
        Self { job_id: id, kind, status: state, done, left, reason }
    }
}
