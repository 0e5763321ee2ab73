use function::Error;
use keys::TimestampSeconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::fmt::Display;
use table::{Attributes, Condition, Item, Key};

/// Retention of a job in days, since its start or last retry.
const DAYS_KEPT: i64 = 30;

/// The task of a job, as stored. Each service has an enum with one variant per kind of job.
pub trait Task: Serialize + DeserializeOwned {
    /// The kind of job, as returned to callers.
    fn kind(&self) -> &'static str;
}

/// A stored job.
///
/// The task and the progress are stored as JSON, and only the service deserializes them. The engine
/// can therefore mark a job with an unreadable task as failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Job {
    /// The partition key. The service defines its format.
    #[serde(rename = "PK")]
    pub partition: String,
    /// The sort key.
    #[serde(rename = "SK")]
    pub sort: String,
    /// The partition key in GSI1, for a job that a list of the service shows.
    #[serde(rename = "GSI1PK", skip_serializing_if = "Option::is_none")]
    pub list: Option<String>,
    /// The sort key in GSI1.
    #[serde(rename = "GSI1SK", skip_serializing_if = "Option::is_none")]
    pub list_sort: Option<String>,
    /// The id, as returned to callers.
    #[serde(rename = "ID")]
    pub id: String,
    /// The kind of job, as returned to callers.
    pub kind: String,
    /// The state. The event source mapping passes only running jobs to the function.
    pub state: State,
    /// The id of the last start or retry. A retry sets a new id, so that runs from before the retry
    /// can no longer write. Absent if the job is not running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The id of the last nudge ([`Jobs::nudge`](crate::Jobs::nudge)). A change of this attribute
    /// creates a stream record, which invokes the function again. A run does not end the job if the
    /// value has changed since the run started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudged_by: Option<String>,
    /// Number of written steps. A run can write a step only if no other run has written it.
    pub step: i64,
    /// Number of runs since the last written step. The event source mapping passes only records
    /// with 0 to the function. A written step sets 0 and thus invokes the function, but the start
    /// of a run does not.
    pub attempts: i64,
    /// The task.
    pub task: Value,
    /// The progress after the last written step. Absent before the first step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Value>,
    /// Number of completed work units.
    pub done: u64,
    /// Number of items that the job passed over because they cannot be deserialized. Absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: u64,
    /// Total number of work units at the start of the job, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// The sort key of the job's hold: an item in the same partition that excludes other jobs. It
    /// is deleted when the job is done or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// The reason for a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The start time.
    pub started_at: TimestampSeconds,
    /// The expiry time in seconds since 1970. Absent if the job never expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Item for Job {
    const TYPE: &'static str = "Job";
}

/// Whether a job has skipped no item. The job then has no attribute or member for them.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_zero(skipped: &u64) -> bool {
    *skipped == 0
}

/// The state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "JobStatus")]
pub enum State {
    /// The job is running.
    Running,
    /// The job has completed.
    Done,
    /// The job has failed, and can be retried.
    Failed,
}

impl Job {
    /// Creates a job that starts now. `run` must be unique among all starts and retries of jobs
    /// with the same key.
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
            list: None,
            list_sort: None,
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
            skipped: 0,
            total: None,
            hold: None,
            reason: None,
            started_at: now,
            expires_at: Some(Self::expiry(now)),
        })
    }

    /// Adds the job to a list: an item collection of GSI1.
    #[must_use]
    pub fn listed(self, list: &impl Display, sort: &impl Display) -> Self {
        Self { list: Some(list.to_string()), list_sort: Some(sort.to_string()), ..self }
    }

    /// Returns the expiry time, in seconds since 1970, of a job that starts now.
    pub(crate) fn expiry(now: TimestampSeconds) -> i64 {
        now.plus_days(DAYS_KEPT).instant().as_second()
    }

    /// The primary key.
    pub fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// The task.
    ///
    /// # Errors
    /// The task cannot be deserialized as `T`.
    pub fn task<T: Task>(&self) -> Result<T, Error> {
        T::deserialize(&self.task).map_err(|error| table::Error::unreadable_part("Task", self.key(), &error).into())
    }

    /// The progress.
    ///
    /// # Errors
    /// The progress cannot be deserialized as `P`.
    pub fn progress<P: DeserializeOwned + Default>(&self) -> Result<P, Error> {
        let progress = self.progress.as_ref().map(P::deserialize).transpose();
        let progress = progress.map_err(|error| table::Error::unreadable_part("Progress", self.key(), &error))?;
        Ok(progress.unwrap_or_default())
    }

    /// Returns whether the job is running.
    pub fn is_running(&self) -> bool {
        self.state == State::Running
    }

    /// Returns the condition that the stored job is not running. The condition also holds if no job
    /// is stored.
    pub fn is_not_running() -> Condition {
        Condition::missing(Self::RUN)
    }
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<P> {
    /// The progress after the step.
    pub progress: P,
    /// Number of work units completed since the start of the job.
    pub done: u64,
    /// The action of the engine after this step.
    pub next: Next,
}

/// The action of the engine after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Execute the next step if enough time remains. Otherwise end this run.
    Continue,
    /// End this run. The stream then starts another run.
    Wait,
    /// End the job: successfully, unless [`JobRunner::failure`] returns a reason.
    End,
}

/// A background job.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobBody {
    /// The id of the job. It is percent-encoded in paths.
    job_id: String,
    /// What the job does, such as `close` or `export`. Other kinds may be added.
    kind: String,
    status: State,
    done: u64,
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    /// Reason why the job failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl From<Job> for JobBody {
    fn from(Job { id, kind, state, done, skipped, total, reason, .. }: Job) -> Self {
        let left = match state {
            State::Done => Some(0),
            State::Running | State::Failed => total.map(|total| total.saturating_sub(done)),
        };
        Self { job_id: id, kind, status: state, done, skipped, left, reason }
    }
}
