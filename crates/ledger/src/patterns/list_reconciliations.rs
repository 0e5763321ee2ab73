//! L8: lists the reconciliations
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report)).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::ReconciliationSummary,
};
use function::{Error, Input, List, Request, Route, Trigger};
use jobs::Job;
use keys::ledger::{ReconciliationsPartition, StartedSort};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "list-reconciliations",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/reconciliations",
        scopes: &["ledger:operate"],
        summary: "List the reconciliations, newest first",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().read(cost::BY_START, case.listed(KEYS)).read(cost::JOBS, read_eventually(0).times(case.items))
    })],
    contract: function::contract(&list_reconciliations),
    function: || function::http(list_reconciliations, Ledger::warm_by_start),
};

/// Size in bytes of a reconciliation's entry in GSI1, which contains only keys.
const KEYS: usize = 170;

/// The list has no parameters except those of its pages.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListReconciliationsInput;

/// Lists all reconciliations with their progress, sorted by the time of the request that started
/// them. The jobs are read by key, because the index does not contain their progress.
///
/// # Errors
/// Returns 400 for an invalid request, and 403 for a caller without the operator scope.
pub async fn list_reconciliations(
    ledger: Ledger,
    request: Request<ListReconciliationsInput>,
) -> Result<List<ReconciliationSummary>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let listing = request.listing(StartedSort::all().newest_first(), "")?;
    let query = Query::new(&ReconciliationsPartition, &listing.range).on(&ledger.by_start);
    let jobs = ledger.jobs.table().page_by_key::<Job>(&query, listing.limit, false).await?;
    Ok(listing.list(jobs.try_map(ReconciliationSummary::of)))
}
