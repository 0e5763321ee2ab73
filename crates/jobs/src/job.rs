use function::Error;
use keys::TimestampSeconds;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Display;
use table::{Attributes, Condition, Item, Key};

/// Days that a job can be read, from its start or its last retry.
const DAYS_KEPT: i64 = 30;

/// The work of a job, as it is stored: an enum of a service with a variant for each kind.
pub trait Task: Serialize + DeserializeOwned {
    /// The kind, as it is answered.
    fn kind(&self) -> &'static str;
}

/// A job as it is stored.
///
/// Task and progress are read by their service only: a job whose task cannot be read can still fail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Job {
    /// The partition key, which its service knows.
    #[serde(rename = "PK")]
    pub partition: String,
    /// The sort key.
    #[serde(rename = "SK")]
    pub sort: String,
    /// The id, as it is answered.
    #[serde(rename = "ID")]
    pub id: String,
    /// The kind, as it is answered.
    pub kind: String,
    /// Whether it runs. The filter of the stream reads it.
    pub state: State,
    /// Names this start of the job. A job that was started again has another, and a run of the old one writes nothing.
    /// Only a running job has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The request that asked for the job last, so that the stream calls the function once more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudged_by: Option<String>,
    /// The number of written steps. A run writes the next step only if it has seen the last.
    pub step: i64,
    /// Runs since the last written step. The filter of the stream reads it: only a step calls the function, not its attempts.
    pub attempts: i64,
    /// The work.
    pub task: Value,
    /// The progress of its runner, absent before the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Value>,
    /// Finished units of work.
    pub done: u64,
    /// Units of work at the start, if they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The sort key of an item in the same partition that is deleted when the job ends or fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The time of its start.
    pub started_at: TimestampSeconds,
    /// The time after which it is deleted, in seconds since 1970. Absent if it is kept for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Item for Job {
    const TYPE: &'static str = "Job";
}

/// Whether a job runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It runs.
    Running,
    /// It has finished its work.
    Done,
    /// It cannot continue, and waits for a retry.
    Failed,
}

impl Job {
    /// A job that starts now. `run` must differ from that of every other start under the key.
    ///
    /// # Errors
    /// The task cannot be written as JSON.
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

    /// The time after which a job is deleted that starts now, in seconds since 1970.
    pub(crate) fn expiry(now: TimestampSeconds) -> i64 {
        now.plus_days(DAYS_KEPT).instant().as_second()
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// Its task.
    ///
    /// # Errors
    /// It is not a `T`.
    pub fn task<T: Task>(&self) -> Result<T, Error> {
        T::deserialize(&self.task).map_err(|error| table::Error::unreadable("Task", &error).into())
    }

    /// Its progress.
    ///
    /// # Errors
    /// It is not a `P`.
    pub fn progress<P: DeserializeOwned + Default>(&self) -> Result<P, Error> {
        let progress = self.progress.as_ref().map(P::deserialize).transpose();
        let progress = progress.map_err(|error| table::Error::unreadable("Progress", &error))?;
        Ok(progress.unwrap_or_default())
    }

    /// Whether it runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Holds if no job runs under the key, whether one is stored or not.
    #[must_use]
    pub fn is_not_running() -> Condition {
        Condition::missing(Self::RUN)
    }
}

/// A job as it is answered.
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
