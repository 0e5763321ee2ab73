//! C14: restarts a failed job (docs/decisions/jobs.md).

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::{accepted, job_key},
    patterns::get_cart_job::Wanted,
};
use function::{Accepted, Error, Function, Request, Route, Trigger};
use jobs::JobBody;
use table::{
    Units,
    cost::{Cost, read},
};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(retry_cart_job, Cart::warm_by_job)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "C14",
    name: "retry-cart-job",
    trigger: Trigger::Http(&[Route { method: "POST", path: "/cart/jobs/{jobId}/retry", scopes: &["cart:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = JOB#<job id>, SK = JOB. Then update the job if it is still failed at the same step",
        formula: "1 R; 1 W",
        cost: |_| Cost::default().read(cost::JOBS, read(0)).write(cost::JOBS, Units::whole(1)),
    }],
    function,
};

/// Resumes a failed job after its last completed step.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown job, 409 for a job that has not
/// failed.
pub async fn retry_cart_job(cart: Cart, request: Request<Wanted>) -> Result<Accepted<JobBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let job = cart.jobs.get(&job_key(&request.input.0)).await?.ok_or(Error::NotFound("job"))?;
    Ok(accepted(cart.jobs.retry(job, &request.id, request.now, |_| Ok(Vec::new())).await?))
}
