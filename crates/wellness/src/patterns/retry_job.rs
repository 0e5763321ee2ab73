//! W17: restarts a failed job (docs/decisions/jobs.md).

use crate::{
    Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Problem, Route, Trigger};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "W17",
    name: "retry-job",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/jobs/{jobId}/retry",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Retry a failed job",
        problems: &[Problem::NotFound, Problem::JobNotFailed, Problem::JobUnderWay, Problem::JobLimit],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::JOBS, read(case.job)).write(cost::JOBS, (write(case.job) + 1).times(2))
    })],
    contract: function::contract(&jobs::retry_job::<Wellness>),
    function: || function::http(jobs::retry_job::<Wellness>, Wellness::warm_by_job),
};
