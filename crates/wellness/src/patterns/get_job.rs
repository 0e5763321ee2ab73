//! W17: one job by its id, and how far it is.

use crate::{
    DOMAIN, Job, Wellness,
    cost::{self, Pattern},
    model::job::JobBody,
};
use function::{Error, Fields, Function, Input, Json, Request};
use keys::wellness::{CompanyId, JobId};
use table::cost::{Cost, read};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_job, Wellness::warm_by_get)
}

/// What it asks and costs.
pub const PATTERN: Pattern = Pattern {
    id: "W17",
    function: "get-job",
    condition: "get: PK = CompanyId-<id>, SK = Job#<job id>",
    formula: "⌈job⌉ R",
    cost: |case| Cost::default().read(cost::ACTIVITIES, read(case.job)),
};

/// Which job.
#[derive(Debug, Clone)]
pub struct Which {
    company: CompanyId,
    job: JobId,
}

impl Input for Which {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, job) = (fields.path("companyId"), fields.path("jobId"));
        Some(Self { company: company?, job: job? })
    }
}

/// Gets one job, strongly consistent.
///
/// # Errors
/// 400, 403 for another's company, 404.
pub async fn get_job(wellness: Wellness, request: Request<Which>) -> Result<Json<JobBody>, Error> {
    let Which { company, job } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let job = wellness.table.get::<Job>(&Job::key_of(company, job)).await?;
    Ok(Json(job.ok_or(Error::NotFound("job"))?.into()))
}
