//! W34: reads the last export of a company (docs/requirements/wellness.md#tenants).

use crate::{
    DOMAIN, Task, Wellness,
    cost::{self, Calls, Pattern},
    jobs::export::{ExportObject, ExportProgress},
    model::job::job_key,
    patterns::list_plans::CompanyInput,
};
use function::{Error, Json, Problem, Request, Route, Trigger, is_zero};
use jobs::State;
use keys::{
    TimestampSeconds,
    wellness::{ExportKey, JobId},
};
use schemars::JsonSchema;
use serde::Serialize;
use table::cost::{Cost, read};

/// Time in days after which the objects of an export expire. The lifecycle rule of the bucket has
/// the same number.
const DAYS_KEPT: i64 = 7;

pub const PATTERN: Pattern = Pattern {
    id: "W34",
    name: "get-export",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/export",
        scopes: &["wellness:operate"],
        summary: "Read the last export of a company",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::JOBS, read(case.job)))],
    contract: function::contract(&get_export),
    function: || function::http(get_export, Wellness::warm_by_job),
};

/// An export.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportBody {
    job_id: JobId,
    status: State,
    started_at: TimestampSeconds,
    expires_at: TimestampSeconds,
    /// Empty until the export is done.
    files: Vec<FileBody>,
    /// Number of items with an attribute that JSON cannot express.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
    /// Reason why the export has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A file of an export.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExportFile")]
struct FileBody {
    name: String,
    /// Number of lines. Absent for an uploaded file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    items: Option<u64>,
    bytes: usize,
    /// Valid for five minutes.
    download_url: String,
}

/// Reads the last export of a company, with download URLs.
///
/// # Errors
/// 404 if there is no export, or it has expired.
pub async fn get_export(wellness: Wellness, request: Request<CompanyInput>) -> Result<Json<ExportBody>, Error> {
    let CompanyInput(company) = &request.input;
    request.caller.must_operate(DOMAIN)?;
    table::set_tenant(company);
    let job_id = JobId::Export(company.clone());
    let job = wellness.jobs.get(&job_key(company, &job_id)).await?;
    let job = job.filter(|job| job.started_at.plus_days(DAYS_KEPT) > request.now).ok_or(Error::NotFound("export"))?;
    let ExportProgress { objects, skipped, .. } = job.progress()?;
    let mut files = Vec::new();
    if let (State::Done, Task::Export { export }) = (job.state, job.task()?) {
        for ExportObject { name, items, bytes } in objects {
            let key = ExportKey { company: company.clone(), export, name: name.clone() };
            let download_url = wellness.files.download(&key, &name, request.now).await?;
            files.push(FileBody { name, items, bytes, download_url });
        }
    }
    let (started_at, expires_at) = (job.started_at, job.started_at.plus_days(DAYS_KEPT));
    Ok(Json(ExportBody { job_id, status: job.state, started_at, expires_at, files, skipped, reason: job.reason }))
}
