use function::Error;
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityId, CompanyId, CompanyPartition, FacetId, FacetRef, HoldSort, JobId, JobSort, Period},
};
use serde::{Deserialize, Serialize};
use table::{Item, JsonText, Key};

/// The task of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "PascalCase")]
pub enum Task {
    /// Replaces a venue in all draft and active activities that end within the period.
    Replace {
        /// Id of the new venue.
        replacement: FacetId,
        /// Data of the new venue, to be copied to the references.
        copied_data: JsonText,
        /// Range of the activities' end dates.
        period: Period,
    },
    /// Updates the copied data of a venue in all draft and active activities that end within the
    /// period.
    Update {
        /// The new data.
        copied_data: JsonText,
        /// Range of the activities' end dates.
        period: Period,
    },
    /// Copies an activity's end date to all of its registrations.
    Follow,
    /// Gives the free seats of an activity to those who wait.
    Seat,
    /// Enrols every eligible employee in an activity, and withdraws those who are not eligible.
    Enrol,
    /// Ends the registrations of a removed employee.
    Depart,
    /// Awards the rewards of an activity to the employees who have already earned them.
    Award,
    /// Computes the progress of the groups of an activity.
    Group,
    /// Checks an uploaded file, or deletes the object of a removed one.
    Receive,
    /// Writes the report of a plan.
    Report {
        /// The id of the report.
        report: RequestId,
        /// The period of the plan.
        period: Period,
    },
    /// Exports the data of the company.
    Export {
        /// The id of the export.
        export: RequestId,
    },
    /// Erases the company, or an employee.
    Erase {
        /// Whether the request has removed the employee.
        was_employed: bool,
    },
}

impl jobs::Task for Task {
    fn kind(&self) -> &'static str {
        match self {
            Self::Replace { .. } => "replacement",
            Self::Update { .. } => "update",
            Self::Follow => "registrations",
            Self::Seat => "seats",
            Self::Enrol => "enrolment",
            Self::Depart => "departure",
            Self::Award => "rewards",
            Self::Group => "groups",
            Self::Receive => "upload",
            Self::Report { .. } => "report",
            Self::Export { .. } => "export",
            Self::Erase { .. } => "erasure",
        }
    }
}

/// Primary key of a company's job.
pub fn job_key(company: &CompanyId, id: &JobId) -> Key {
    Key::new(&CompanyPartition(company.clone()), &JobSort(id.clone()))
}

/// Creates the job that copies an activity's new end date to its registrations.
///
/// The transaction that changes the end date also puts this job, and overwrites a running job for
/// the same activity. No change is lost, because the new job reads the current end date.
///
/// # Errors
/// 500 if the task cannot be serialised.
pub fn following(
    company: &CompanyId,
    activity: &ActivityId,
    run: RequestId,
    now: TimestampSeconds,
) -> Result<Job, Error> {
    let id = JobId::Registrations(activity.clone());
    Job::new(&job_key(company, &id), &id, &run, &Task::Follow, now)
}

/// Creates the job that awards the rewards of an activity.
///
/// The transaction that changes a reward also puts this job, and overwrites a running job for the
/// same activity. No award is lost, because the new job reads the current rewards.
///
/// # Errors
/// 500 if the task cannot be serialised.
pub(crate) fn awarding(
    company: &CompanyId,
    activity: &ActivityId,
    run: RequestId,
    now: TimestampSeconds,
) -> Result<Job, Error> {
    let id = JobId::Rewards(activity.clone());
    Job::new(&job_key(company, &id), &id, &run, &Task::Award, now)
}

/// The hold that a replacement puts on the new venue. No other job can start on a venue with a
/// hold. Replacements therefore cannot form a cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Hold {
    /// Partition key: `CompanyId-<id>`.
    #[serde(rename = "PK")]
    pub partition: CompanyPartition,
    /// Sort key: `Hold#VenueId-<id>`.
    #[serde(rename = "SK")]
    pub sort: HoldSort,
    /// The job that owns the hold.
    pub holder: JobId,
    /// The run id of the job that owns the hold.
    pub run: String,
    /// TTL attribute: a Unix time in seconds. The hold expires together with its job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
}

impl Item for Hold {
    const TYPE: &'static str = "Hold";
}

impl Hold {
    /// Primary key of the hold on a venue.
    pub fn key_of(company: &CompanyId, of: &FacetRef) -> Key {
        Key::new(&CompanyPartition(company.clone()), &HoldSort(of.clone()))
    }
}
