use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityId, CompanyId, CompanyPartition, FacetId, FacetRef, HoldSort, JobId, JobSort, Period},
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Condition, Item, JsonText, Key};

/// How long a job that has ended can be asked for, in days.
const KEPT: i64 = 30;

/// Work that may take longer than a request: what it is to do, and how far it is.
///
/// The item drives itself: its stream calls the function that goes on with it, and whatever that writes of its progress
/// calls it again, until it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Job {
    /// Whose it is.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// What it works at.
    #[serde(rename = "SK")]
    pub sort: JobSort,
    /// Whether it goes on; the stream's filter reads it.
    pub state: State,
    /// Which run of the job it is: one that was started again is another, and nobody goes on with the old. Only a job that
    /// goes on has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RequestId>,
    /// The request that asked for the job last, so that its stream calls the function again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nudged_by: Option<RequestId>,
    /// Counts what was written of its progress: who wants to write the next must have seen the last.
    pub step: i64,
    /// What is to be done.
    pub task: Task,
    /// How far it is.
    pub progress: JobProgress,
    /// When it was started.
    pub started_at: TimestampSeconds,
    /// When it is forgotten, in seconds since 1970.
    pub expires_at: i64,
}

impl Item for Job {
    const TYPE: &'static str = "Job";
}

/// Whether a job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// It goes on.
    Running,
    /// It has ended.
    Done,
}

/// What a job is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "PascalCase")]
pub enum Task {
    /// Every reference in activities that end within the period becomes one to another.
    Replace {
        /// The other.
        replacement: FacetId,
        /// The data copied from it.
        copied_data: JsonText,
        /// When the activities end.
        period: Period,
    },
    /// Every reference in activities that end within the period gets this data.
    Update {
        /// The data.
        copied_data: JsonText,
        /// When the activities end.
        period: Period,
    },
    /// Every registration follows its activity's end.
    Follow,
}

/// How far a job is: what it has done, where it is on its way, and what it is at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobProgress {
    /// What it has changed. What it is at is not counted yet.
    pub done: u64,
    /// What there was to change when it was started, where that was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Which range of its pass it is in.
    pub(crate) range: usize,
    /// The sort key behind which that range goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// What it is at, by the ids: each was there to be changed when the page before was done.
    pub(crate) page: Vec<String>,
    /// Whether the pass has found something to change.
    pub(crate) found: bool,
    /// Passes, one after the other until now, that found nothing.
    pub(crate) quiet: u8,
}

impl Job {
    /// A job that is started now.
    #[must_use]
    pub fn started(company: CompanyId, id: JobId, task: Task, run: RequestId, now: TimestampSeconds) -> Self {
        Self {
            partition: CompanyPartition(company),
            sort: JobSort(id),
            state: State::Running,
            run: Some(run),
            nudged_by: None,
            step: 0,
            task,
            progress: JobProgress::default(),
            started_at: now,
            expires_at: now.plus_days(KEPT).instant().as_second(),
        }
    }

    /// The job that lets an activity's registrations follow its end. Put in the transaction that moves the end, in place of
    /// any that is under way: this one reads the end anew.
    #[must_use]
    pub fn following(company: CompanyId, activity: ActivityId, run: RequestId, now: TimestampSeconds) -> Self {
        Self::started(company, JobId::Registrations(activity), Task::Follow, run, now)
    }

    /// The key of a job.
    #[must_use]
    pub fn key_of(company: &CompanyId, id: &JobId) -> Key {
        Key::new(&CompanyPartition(company.clone()), &JobSort(id.clone()))
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.sort.0
    }

    /// Whose it is.
    #[must_use]
    pub fn company(&self) -> &CompanyId {
        &self.partition.0
    }

    /// What it holds beside what it works at: where a replacement goes to.
    pub(crate) fn holds(&self) -> Option<FacetRef> {
        match (&self.task, self.id()) {
            (Task::Replace { replacement, .. }, JobId::Uses(of)) => {
                Some(FacetRef { facet: of.facet, id: replacement.clone() })
            }
            _ => None,
        }
    }

    /// Holds while no job goes on under the key, whether one was there or not.
    pub(crate) fn is_not_running() -> Condition {
        Condition::missing(Self::RUN)
    }
}

/// What a replacement holds while it goes on: the one that takes the other's place. No job starts there meanwhile, so no chain
/// of replacements can chase itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Hold {
    /// Whose it is.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// What is held.
    #[serde(rename = "SK")]
    pub sort: HoldSort,
    /// The job that holds it.
    pub holder: JobId,
    /// The run of that job.
    pub run: RequestId,
    /// When it is forgotten, with its job, in seconds since 1970.
    pub expires_at: i64,
}

impl Item for Hold {
    const TYPE: &'static str = "Hold";
}

impl Hold {
    /// Its key.
    #[must_use]
    pub fn key_of(company: &CompanyId, of: &FacetRef) -> Key {
        Key::new(&CompanyPartition(company.clone()), &HoldSort(of.clone()))
    }
}

/// What a job does, as it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Replacement,
    Update,
    Registrations,
}

impl Task {
    fn kind(&self) -> Kind {
        match self {
            Self::Replace { .. } => Kind::Replacement,
            Self::Update { .. } => Kind::Update,
            Self::Follow => Kind::Registrations,
        }
    }
}

/// A job as it is answered.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobBody {
    job_id: JobId,
    kind: Kind,
    status: State,
    done: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
}

impl From<Job> for JobBody {
    fn from(job: Job) -> Self {
        let JobProgress { done, total, .. } = job.progress;
        let left = match job.state {
            State::Running => total.map(|total| total.saturating_sub(done)),
            State::Done => Some(0),
        };
        Self { job_id: job.sort.0, kind: job.task.kind(), status: job.state, done, left }
    }
}
