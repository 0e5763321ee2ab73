//! B10: starts a dispatch by hand (docs/requirements/bank.md#dispatch-due-payments).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::{Task, job_key},
    patterns::get_bank_job::accepted,
};
use function::{Accepted, Error, Problem, Request, Route, Trigger};
use jobs::{Job, JobBody};
use keys::bank::{DispatchId, JobId};
use table::cost::{Cost, read};

pub const PATTERN: Pattern = Pattern {
    id: "B10",
    name: "start-dispatch",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/dispatches",
        scopes: &["bank:operate"],
        summary: "Dispatch the payments that are due now",
        problems: &[Problem::DispatchingDisabled],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::PAYMENTS, read(0)).write(cost::JOBS, 1))],
    contract: |contract| {
        function::contract(&start_dispatch)(contract);
        contract.idempotency_key(false);
    },
    function: || function::http(start_dispatch, Bank::warm_by_get_payment),
};

/// Starts a job that dispatches the payments that are due now.
///
/// # Errors
/// 403 for a caller without the operator scope, 409 if dispatching is disabled.
pub async fn start_dispatch(bank: Bank, request: Request<()>) -> Result<Accepted<JobBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    if !bank.is_dispatching().await? {
        let detail = "Dispatching is disabled. PUT /bank/dispatching enables it.".to_owned();
        return Err(Error::Conflict(Problem::DispatchingDisabled, detail));
    }
    let (key, instant) = (request.idempotency_key.as_ref(), request.milli.instant());
    let id = JobId::Dispatch(DispatchId::of_request(&request.caller.subject, key, instant, &request.random));
    let job = Job::new(&job_key(&id), &id, &request.id, &Task::Dispatch, request.now)?;
    Ok(accepted(bank.jobs.start(job, &request.id).await?))
}
