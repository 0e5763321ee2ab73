//! C14: reads a job and its progress (docs/decisions/jobs.md).

use crate::{
    Cart, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::job_key,
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use jobs::JobBody;
use keys::cart::JobId;
use table::cost::{Cost, read};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_cart_job, Cart::warm_by_job)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "C14",
    name: "get-cart-job",
    trigger: Trigger::Http(&[Route { method: "GET", path: "/cart/jobs/{jobId}", scopes: &["cart:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = JOB#<job id>, SK = JOB",
        formula: "1 R",
        cost: |_| Cost::default().read(cost::JOBS, read(0)),
    }],
    function,
};

/// Path parameter of the request: the job id.
#[derive(Debug, Clone)]
pub struct Wanted(pub(crate) JobId);

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("jobId").map(Self)
    }
}

/// Reads a job with strong consistency.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown job.
pub async fn get_cart_job(cart: Cart, request: Request<Wanted>) -> Result<Json<JobBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let job = cart.jobs.get(&job_key(&request.input.0)).await?;
    Ok(Json(job.ok_or(Error::NotFound("job"))?.into()))
}
