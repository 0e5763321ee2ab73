//! Imports of employees (docs/decisions/wellness-employees.md).

use function::is_zero;
use keys::wellness::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum size of a file in bytes.
pub(crate) const MAX_IMPORT: i64 = 5 * 1024 * 1024;
/// Maximum number of rejected lines that the job keeps.
pub(crate) const MAX_REJECTED: usize = 100;

/// What becomes of the employees that the file does not contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Missing {
    /// They stay.
    Keep,
    /// They are removed.
    End,
}

/// Numbers of lines and employees. Blank lines and the header do not count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Counts {
    /// Number of lines that were read.
    pub(crate) read: u64,
    /// Number of new employees.
    pub(crate) added: u64,
    /// Number of employees whose role, department, name or attributes have changed.
    pub(crate) changed: u64,
    /// Number of employees who already had this data.
    pub(crate) unchanged: u64,
    /// Number of employees who are not in the file and were removed.
    pub(crate) ended: u64,
    /// Number of lines that are not valid.
    pub(crate) rejected: u64,
}

/// A line that is not valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RejectedLine {
    /// Number of the line in the file, starting at 1.
    #[schemars(range(min = 1))]
    pub(crate) line: u64,
    /// The user, if the id can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_id: Option<UserId>,
    pub(crate) reason: String,
}

/// The result of an import, or its state so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Outcome {
    pub(crate) counts: Counts,
    /// The first rejected lines.
    pub(crate) rejected_lines: Vec<RejectedLine>,
    /// Number of unreadable employees, who were not removed.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) skipped: usize,
    /// Why the file was not imported, or only in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

/// The progress of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ImportProgress {
    /// Number of lines that are done.
    pub(crate) next: usize,
    /// Position in the list of employees, of whom the missing ones are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
    /// Whether only the outcome remains to be stored, and the object to be deleted.
    pub(crate) is_complete: bool,
    pub(crate) outcome: Outcome,
}
