//! W17: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::job::job_key,
};
use function::{Accepted, Caller, Error, Input, Problem, Request, Route, Trigger};
use jobs::{Job, JobBody, JobRoutes, Jobs};
use keys::wellness::{CompanyId, JobId};
use table::{
    Key,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W17",
    name: "get-job",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/jobs/{jobId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Get the progress of a job",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::JOBS, read_eventually(case.job)))],
    contract: function::contract(&jobs::get_job::<Wellness>),
    function: || function::http(jobs::get_job::<Wellness>, Wellness::warm_by_job),
};

/// The job to read.
#[derive(Debug, Clone, Input)]
pub struct CompanyJobInput {
    #[input(path = "companyId")]
    pub(crate) company: CompanyId,
    #[input(path = "jobId")]
    pub(crate) job: JobId,
}

impl JobRoutes for Wellness {
    type Input = CompanyJobInput;

    fn table(&self) -> &Jobs {
        &self.jobs
    }

    fn key(caller: &Caller, CompanyJobInput { company, job }: &CompanyJobInput) -> Result<Key, Error> {
        caller.must_belong_to(company, DOMAIN)?;
        Ok(job_key(company, job))
    }

    fn accepted(input: &CompanyJobInput, job: Job) -> Accepted<JobBody> {
        accepted(&input.company, job)
    }

    async fn restart(&self, _: &Key, request: &Request<CompanyJobInput>) -> Result<Job, Error> {
        let CompanyJobInput { company, job } = &request.input;
        self.retry(company, job, (request.id, request.now)).await
    }
}

/// Creates a 202 response with the location and the progress of the job.
pub(crate) fn accepted(company: &CompanyId, job: Job) -> Accepted<JobBody> {
    let parameter = |name: &str| match name {
        "companyId" => Some(company.to_string()),
        _ => Some(job.id.clone()),
    };
    Accepted { location: PATTERN.location(parameter), body: job.into() }
}
