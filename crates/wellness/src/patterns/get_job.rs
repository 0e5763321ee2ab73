//! W17: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::job::job_key,
};
use function::{Accepted, Error, Fields, Function, Input, Json, Request, Route, Trigger};
use jobs::{Job, JobBody};
use keys::wellness::{CompanyId, JobId};
use table::cost::{Cost, read};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_job, Wellness::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W17",
    name: "get-job",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/jobs/{jobId}",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = CompanyId-<id>, SK = Job#<job id>",
        formula: "⌈job⌉ R",
        cost: |case| Cost::default().read(cost::JOBS, read(case.job)),
    }],
    function,
};

/// The job to read.
#[derive(Debug, Clone)]
pub struct Which {
    pub(crate) company: CompanyId,
    pub(crate) job: JobId,
}

impl Input for Which {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, job) = (fields.path("companyId"), fields.path("jobId"));
        Some(Self { company: company?, job: job? })
    }
}

/// Reads a job with strong consistency.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
/// - 404 if the job does not exist.
pub async fn get_job(wellness: Wellness, request: Request<Which>) -> Result<Json<JobBody>, Error> {
    let Which { company, job } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let job = wellness.jobs.get(&job_key(company, job)).await?;
    Ok(Json(job.ok_or(Error::NotFound("job"))?.into()))
}

/// Creates a 202 response with the location and the progress of the job.
pub(crate) fn accepted(company: &CompanyId, job: Job) -> Accepted<JobBody> {
    let parameter = |name: &str| match name {
        "companyId" => Some(company.to_string()),
        _ => Some(job.id.clone()),
    };
    Accepted { location: PATTERN.location(parameter), body: job.into() }
}
