//! Files of records in S3: JSON Lines and CSV of up to 10 GB.
//!
//! A job reads the records of a file in order with constant memory, and can resume after any record
//! (docs/decisions/intake.md). A service defines the meaning of a record.
#![deny(clippy::disallowed_methods)]

mod control;
mod file;
mod record;
mod report;
mod scan;
mod store;

pub use control::{Expected, MAX_COUNTED, Totals};
pub use file::{File, Invalid, MAX_FILE, Opened, described};
pub use record::{Columns, Format, Records, Schema, shown};
pub use report::{Composition, Report, Row, RowObjects};
pub use scan::{MAX_RECORD, Place, RawRecord};
pub use store::{Files, Part};

use function::Error;

/// The reason for which a file cannot be read any further.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The file is not valid, or no longer there. A retry cannot succeed. The text is for the
    /// sender of the file.
    #[error("{0}")]
    File(String),
    /// A call failed. A retry may succeed.
    #[error(transparent)]
    Error(#[from] Error),
}

impl Stop {
    fn file(reason: impl Into<String>) -> Self {
        Self::File(reason.into())
    }
}
