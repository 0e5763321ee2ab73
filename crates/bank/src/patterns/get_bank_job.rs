//! B19: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    Bank,
    cost::{self, Calls, Pattern},
};
use function::{Problem, Route, Trigger};
use table::cost::{Cost, read};

/// Declares the access pattern's route, key condition and cost.
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
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read(0)))],
    contract: function::contract(&jobs::get_job::<Bank>),
    function: || function::http(jobs::get_job::<Bank>, Bank::warm_by_job),
};
