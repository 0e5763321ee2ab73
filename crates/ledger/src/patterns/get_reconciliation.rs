//! L8: a reconciliation, how far it is, and what it has found.

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::{Finding, Reconciliation, ReconciliationBody},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::{
    KeyRange,
    ledger::{FindingSort, ReconciliationId, ReconciliationPartition},
};
use table::{Query, Units, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_reconciliation, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "get-reconciliation",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/reconciliations/{reconciliationId}",
        scopes: &["ledger:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = RECONCILIATION#<id>, SK = METADATA, strongly; and the findings: SK begins with FINDING#, strongly",
        formula: "1 R, and ⌈Σ findings⌉ R, 1 where there are none",
        cost: |_| Cost::default().read(cost::JOBS, Units::whole(2)),
    }],
    function,
};

/// Which reconciliation.
#[derive(Debug, Clone)]
pub struct Which(pub(crate) ReconciliationId);

impl Input for Which {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("reconciliationId").map(Self)
    }
}

/// Gets a reconciliation with what it has found so far.
///
/// # Errors
/// 400, 403 for who is no operator, 404.
pub async fn get_reconciliation(ledger: Ledger, request: Request<Which>) -> Result<Json<ReconciliationBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let Which(id) = request.input;
    // First how far it is, then what it found: of one that is done, all of that is there.
    let job = ledger.jobs.get(&Reconciliation::key_of(&id)).await?.ok_or(Error::NotFound("reconciliation"))?;
    let findings = ledger.findings(&id, &FindingSort::all()).await?;
    Ok(Json(ReconciliationBody::of(job, findings)?))
}

impl Ledger {
    /// What the reconciliation has found.
    pub(crate) async fn findings(&self, id: &ReconciliationId, range: &KeyRange) -> Result<Vec<Finding>, Error> {
        let partition = ReconciliationPartition(id.clone());
        Ok(self.jobs.table().query_all(&Query::new(&partition, range)).await?)
    }
}
