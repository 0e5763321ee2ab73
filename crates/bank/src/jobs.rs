//! Jobs of the bank: work that takes longer than a request (docs/decisions/jobs.md).

pub(crate) mod close;
pub(crate) mod dispatch;
pub(crate) mod import;
mod postings;

use function::Fingerprint;
use keys::{
    Day,
    bank::{CloseNumber, JobId, JobPartition, JobSort},
};
use serde::{Deserialize, Serialize};
use table::Key;

use crate::model::import::ImportedFile;

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
}

impl jobs::Task for Task {
    fn kind(&self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Import(_) => "import",
            Self::Close { .. } => "close",
        }
    }
}

/// Primary key of a job.
pub fn job_key(id: &JobId) -> Key {
    Key::new(&JobPartition(id.clone()), &JobSort)
}
