//! W35: reads the progress of an import of employees
//! (docs/requirements/wellness.md#import-employees).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        import::{Counts, ImportProgress, MAX_REJECTED, Missing, Outcome, RejectedLine},
        job::job_key,
        upload::{FileStatus, Upload},
    },
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger, is_zero};
use jobs::{Job, State};
use keys::wellness::{CompanyId, FacetId, JobId};
use schemars::JsonSchema;
use serde::Serialize;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "W35",
    name: "get-employee-import",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/employee-imports/{importId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Get the progress of an import of employees",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.upload)))],
    contract: function::contract(&get_employee_import),
    function: || function::http(get_employee_import, Wellness::warm_by_get),
};

/// The import to read.
#[derive(Debug, Clone, Input)]
pub struct GetEmployeeImportInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "importId")]
    import: FacetId,
}

/// An import.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EmployeeImport")]
pub struct ImportBody {
    import_id: FacetId,
    status: ImportStatus,
    end_missing: bool,
    #[serde(flatten)]
    counts: Counts,
    /// The first 100 rejected lines.
    #[schemars(length(max = MAX_REJECTED))]
    rejected_lines: Vec<RejectedLine>,
    /// Number of unreadable employees, who were not removed.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
    /// Reason why the import has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// The status of an import.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ImportStatus {
    /// The file is not there yet.
    Pending,
    Running,
    Done,
    Failed,
}

/// Reads an import. It is kept for 31 days.
///
/// # Errors
/// 404 if the company has no such import.
pub async fn get_employee_import(
    wellness: Wellness,
    request: Request<GetEmployeeImportInput>,
) -> Result<Json<ImportBody>, Error> {
    let GetEmployeeImportInput { company, import } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let upload = wellness.table.look_up::<Upload>(&Upload::key_of(company, import)).await?;
    let upload = upload.filter(|upload| upload.missing.is_some()).ok_or(Error::NotFound("import"))?;
    let (status, outcome) = match (upload.outcome, upload.status) {
        (Some(outcome), FileStatus::Rejected) => (ImportStatus::Failed, outcome),
        (Some(outcome), _) => (ImportStatus::Done, outcome),
        (None, _) => wellness.running_import(company, import).await?,
    };
    let end_missing = upload.missing == Some(Missing::End);
    let (import_id, Outcome { counts, rejected_lines, skipped, reason }) = (import.clone(), outcome);
    Ok(Json(ImportBody { import_id, status, end_missing, counts, rejected_lines, skipped, reason }))
}

impl Wellness {
    /// Returns the state of an import that has not ended. Usually its file is not there yet, so a
    /// missing job is not read again.
    async fn running_import(&self, company: &CompanyId, import: &FacetId) -> Result<(ImportStatus, Outcome), Error> {
        let key = job_key(company, &JobId::Upload(import.clone()));
        let job = self.jobs.table().get_eventually::<Job>(&key).await?;
        let Some(job) = job else { return Ok((ImportStatus::Pending, Outcome::default())) };
        let outcome = job.progress::<ImportProgress>()?.outcome;
        Ok(match job.state {
            State::Failed => (ImportStatus::Failed, Outcome { reason: job.reason, ..outcome }),
            State::Running | State::Done => (ImportStatus::Running, outcome),
        })
    }
}
