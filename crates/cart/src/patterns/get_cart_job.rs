//! C14: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    Cart,
    cost::{self, Calls, Pattern},
};
use function::{Problem, Route, Trigger};
use table::cost::{Cost, read};

/// Declares the access pattern's route, key condition and cost.
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
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read(0)))],
    contract: function::contract(&jobs::get_job::<Cart>),
    function: || function::http(jobs::get_job::<Cart>, Cart::warm_by_job),
};
