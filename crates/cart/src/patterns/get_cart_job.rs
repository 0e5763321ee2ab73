//! C14: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::job_key,
};
use function::{Accepted, Caller, Error, Problem, Route, Trigger};
use jobs::{Job, JobBody, JobInput, JobRoutes, Jobs};
use keys::cart::JobId;
use table::{
    Key,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "C14",
    name: "get-cart-job",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/cart/jobs/{jobId}",
        scopes: &["cart:operate"],
        summary: "Get the progress of a job",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read_eventually(0)))],
    contract: function::contract(&jobs::get_job::<Cart>),
    function: || function::http(jobs::get_job::<Cart>, Cart::warm_by_job),
};

impl JobRoutes for Cart {
    type Input = JobInput<JobId>;

    fn table(&self) -> &Jobs {
        &self.jobs
    }

    fn key(caller: &Caller, JobInput(id): &Self::Input) -> Result<Key, Error> {
        caller.must_operate(DOMAIN)?;
        Ok(job_key(id))
    }

    fn accepted(_: &Self::Input, job: Job) -> Accepted<JobBody> {
        Accepted { location: PATTERN.location(|_| Some(job.id.clone())), body: job.into() }
    }
}
