//! L8: runs a failed reconciliation again.

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::{Reconciliation, ReconciliationBody},
    patterns::get_reconciliation::{self, Which},
};
use function::{Accepted, Error, Function, Request, Route, Trigger};
use keys::ledger::FindingSort;
use table::{Units, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(retry_reconciliation, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "retry-reconciliation",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/reconciliations/{reconciliationId}/retry",
        scopes: &["ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = RECONCILIATION#<id>, SK = METADATA, strongly; then update it if it has failed at that step; and the findings: SK begins with FINDING#, strongly",
        formula: "1 R and 1 W, ⌈job⌉ if it was among the accounts; and ⌈Σ findings⌉ R, 1 where there are none",
        cost: |_| Cost::default().read(cost::JOBS, Units::whole(2)).write(cost::JOBS, Units::whole(1)),
    }],
    function,
};

/// Runs a failed reconciliation again, from its last written step.
///
/// # Errors
/// 400, 403 for a caller without the operator scope, 404, 409 for one that has not failed.
pub async fn retry_reconciliation(
    ledger: Ledger,
    request: Request<Which>,
) -> Result<Accepted<ReconciliationBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let Which(id) = &request.input;
    let job = ledger.jobs.get(&Reconciliation::key_of(id)).await?.ok_or(Error::NotFound("reconciliation"))?;
    let job = ledger.jobs.retry(job, &request.id, request.now, |_| Ok(Vec::new())).await?;
    let findings = ledger.findings(id, &FindingSort::all()).await?;
    let location = get_reconciliation::PATTERN.location(|_| Some(id.to_string()));
    Ok(Accepted { location, body: ReconciliationBody::of(job, findings)? })
}
