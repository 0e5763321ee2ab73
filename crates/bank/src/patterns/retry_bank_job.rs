//! B19: restarts a failed job (docs/decisions/jobs.md).

use crate::{
    Bank,
    cost::{self, Calls, Pattern},
};
use function::{Problem, Route, Trigger};
use table::cost::{Cost, read};

pub const PATTERN: Pattern = Pattern {
    id: "B19",
    name: "retry-bank-job",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/jobs/{jobId}/retry",
        scopes: &["bank:operate"],
        summary: "Retry a failed job",
        problems: &[Problem::NotFound, Problem::JobNotFailed],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read(0)).write(cost::JOBS, 1))],
    contract: function::contract(&jobs::retry_job::<Bank>),
    function: || function::http(jobs::retry_job::<Bank>, Bank::warm_by_job),
};
