use function::Error;
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityId, CompanyId, CompanyPartition, FacetId, FacetRef, HoldSort, JobId, JobSort, Period},
};
use serde::{Deserialize, Serialize};
use table::{Item, JsonText, Key};

/// The work of a job.
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

impl jobs::Task for Task {
    fn kind(&self) -> &'static str {
        match self {
            Self::Replace { .. } => "replacement",
            Self::Update { .. } => "update",
            Self::Follow => "registrations",
        }
    }
}

/// The key of a company's job.
#[must_use]
pub fn job_key(company: &CompanyId, id: &JobId) -> Key {
    Key::new(&CompanyPartition(company.clone()), &JobSort(id.clone()))
}

/// The job that lets an activity's registrations follow its end. The transaction that moves the end puts it, in place of one
/// that is under way: this one reads the end anew.
///
/// # Errors
/// None that the arguments can cause.
pub fn following(
    company: &CompanyId,
    activity: &ActivityId,
    run: RequestId,
    now: TimestampSeconds,
) -> Result<Job, Error> {
    let id = JobId::Registrations(activity.clone());
    Job::new(&job_key(company, &id), &id, &run, &Task::Follow, now)
}

/// The hold of a replacement on the one that takes the other's place. No job starts there meanwhile, so no chain of
/// replacements can chase itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub run: String,
    /// The time after which it is deleted, with its job, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
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
