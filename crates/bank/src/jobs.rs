//! Jobs of the bank: work that takes longer than a request (docs/decisions/jobs.md).

pub(crate) mod close;
pub(crate) mod dispatch;
pub(crate) mod import;
mod postings;
pub(crate) mod standing;

use ::jobs::Job;
use function::{Error, Fingerprint};
use keys::{
    Day, ItemHash, TimestampSeconds,
    bank::{CloseNumber, ImportStartSort, ImportsPartition, JobId, JobPartition, JobSort},
};
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use table::Key;

use crate::{jobs::standing::StandingChange, model::import::ImportedFile};

/// The task of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "PascalCase")]
pub enum Task {
    /// Dispatches the payments that are due.
    Dispatch,
    /// Schedules the payments of a file.
    Import(ImportedFile),
    /// Closes a day.
    Close {
        /// The day.
        day: Day,
        /// Number of the close.
        number: CloseNumber,
        /// Fingerprint of the caller and the idempotency key of the request that started the close.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<Fingerprint>,
    },
    /// Cancels and schedules payments after a change of a standing order.
    StandingOrder(Box<StandingChange>),
    /// Schedules the payments of all standing orders that come into reach.
    StandingOrders,
}

impl jobs::Task for Task {
    fn kind(&self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Import(_) => "import",
            Self::Close { .. } => "close",
            Self::StandingOrder(_) => "standing-order",
            Self::StandingOrders => "standing-orders",
        }
    }
}

/// Primary key of a job.
pub fn job_key(id: &JobId) -> Key {
    Key::new(&JobPartition(id.clone()), &JobSort)
}

impl ImportedFile {
    /// The job of the run. It is in the list of all runs.
    ///
    /// # Errors
    /// The task cannot be serialized.
    pub fn job(&self, request: &impl Display, now: TimestampSeconds) -> Result<Job, Error> {
        let key = self.job_key();
        let place = ImportStartSort { started_at: now, run: ItemHash::of(key.partition(), key.sort()) };
        let job = Job::new(&key, &self.import, request, &Task::Import(self.clone()), now)?;
        Ok(job.listed(&ImportsPartition, &place))
    }
}
