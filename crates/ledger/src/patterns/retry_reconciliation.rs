//! L8: retries a failed reconciliation
//! ([decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::{Progress, Reconciliation, ReconciliationBody},
    patterns::get_reconciliation::{self, ReconciliationInput},
};
use function::{Accepted, Error, Problem, Request, Route, Trigger};
use keys::ledger::FindingSort;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "retry-reconciliation",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/reconciliations/{reconciliationId}/retry",
        scopes: &["ledger:operate"],
        summary: "Retry a failed reconciliation",
        problems: &[Problem::NotFound, Problem::JobNotFailed],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, 2).write(cost::JOBS, 1))],
    contract: function::contract(&retry_reconciliation),
    function: || function::http(retry_reconciliation, Ledger::warm_by_job),
};

/// Restarts a failed reconciliation after its last completed step.
///
/// # Errors
/// Returns 400 for an invalid request, 403 for a caller without the operator scope, 404 if the
/// reconciliation does not exist, and 409 if it has not failed. Returns 500 if its job cannot be
/// read; the job then remains failed.
pub async fn retry_reconciliation(
    ledger: Ledger,
    request: Request<ReconciliationInput>,
) -> Result<Accepted<ReconciliationBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let ReconciliationInput(id) = &request.input;
    let job = ledger.jobs.get(&Reconciliation::key_of(id)).await?.ok_or(Error::NotFound("reconciliation"))?;
    // A job whose task or progress cannot be read would fail again.
    Reconciliation::of(&job)?;
    job.progress::<Progress>()?;
    let job = ledger.jobs.retry(job, &request.id, request.now, |_| Ok(Vec::new())).await?;
    let findings = ledger.findings(id, &FindingSort::all()).await?;
    let location = get_reconciliation::PATTERN.location(|_| Some(id.to_string()));
    Ok(Accepted { location, body: ReconciliationBody::of(job, findings)? })
}
