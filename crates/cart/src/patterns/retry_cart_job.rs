//! C14: restarts a failed job (docs/decisions/jobs.md).

use crate::{
    Cart,
    cost::{self, Calls, Pattern},
};
use function::{Problem, Route, Trigger};
use table::cost::{Cost, read};

pub const PATTERN: Pattern = Pattern {
    id: "C14",
    name: "retry-cart-job",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/cart/jobs/{jobId}/retry",
        scopes: &["cart:operate"],
        summary: "Retry a failed job",
        problems: &[Problem::NotFound, Problem::JobNotFailed],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read(0)).write(cost::JOBS, 1))],
    contract: function::contract(&jobs::retry_job::<Cart>),
    function: || function::http(jobs::retry_job::<Cart>, Cart::warm_by_job),
};
