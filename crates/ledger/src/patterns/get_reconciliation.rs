//! L8: reads a reconciliation with its progress and findings
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report)).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::{Finding, Reconciliation, ReconciliationBody},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    KeyRange,
    ledger::{FindingSort, ReconciliationId, ReconciliationPartition},
};
use table::{
    Page, Query,
    cost::{Cost, read, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "get-reconciliation",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/reconciliations/{reconciliationId}",
        scopes: &["ledger:operate"],
        summary: "Get the progress and the discrepancies of a reconciliation",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read_eventually(0) + read(0)))],
    contract: function::contract(&get_reconciliation),
    function: || function::http(get_reconciliation, Ledger::warm_by_job),
};

/// The requested reconciliation.
#[derive(Debug, Clone, Input)]
pub struct ReconciliationInput(#[input(path = "reconciliationId")] pub(crate) ReconciliationId);

/// Reads a reconciliation with its findings so far.
///
/// # Errors
/// Returns 400 for an invalid request, 403 for a caller without the operator scope, and 404 if the
/// reconciliation does not exist. Returns 500 if its job cannot be read.
pub async fn get_reconciliation(
    ledger: Ledger,
    request: Request<ReconciliationInput>,
) -> Result<Json<ReconciliationBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let ReconciliationInput(id) = request.input;
    // Read the job before its findings, and these with strong consistency, so that a completed job
    // is returned with all of its findings.
    let job = ledger.jobs.look_up(&Reconciliation::key_of(&id)).await?.ok_or(Error::NotFound("reconciliation"))?;
    let findings = ledger.findings(&id, &FindingSort::all()).await?;
    Ok(Json(ReconciliationBody::of(job, findings)?))
}

impl Ledger {
    /// Reads the reconciliation's findings in the key range. Skips unreadable findings.
    pub(crate) async fn findings(&self, id: &ReconciliationId, range: &KeyRange) -> Result<Page<Finding>, Error> {
        let partition = ReconciliationPartition(id.clone());
        Ok(self.jobs.table().query_all(&Query::new(&partition, range)).await?)
    }
}
