//! B19: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::job_key,
};
use function::{Accepted, Caller, Error, Problem, Route, Trigger};
use jobs::{Job, JobBody, JobInput, JobRoutes, Jobs};
use keys::bank::JobId;
use table::{
    Key,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "B19",
    name: "get-bank-job",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/jobs/{jobId}",
        scopes: &["bank:operate"],
        summary: "Get the progress of a job",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read_eventually(0)))],
    contract: function::contract(&jobs::get_job::<Bank>),
    function: || function::http(jobs::get_job::<Bank>, Bank::warm_by_job),
};

impl JobRoutes for Bank {
    type Input = JobInput<JobId>;

    fn table(&self) -> &Jobs {
        &self.jobs
    }

    fn key(caller: &Caller, JobInput(id): &Self::Input) -> Result<Key, Error> {
        caller.must_operate(DOMAIN)?;
        Ok(job_key(id))
    }

    fn accepted(_: &Self::Input, job: Job) -> Accepted<JobBody> {
        accepted(job)
    }
}

/// Creates a 202 response with the location and the progress of the job.
pub(crate) fn accepted(job: Job) -> Accepted<JobBody> {
    Accepted { location: PATTERN.location(|_| Some(job.id.clone())), body: job.into() }
}
