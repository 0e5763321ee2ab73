//! L8: lists the reconciliations
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report)).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::{ListedReconciliation, Reconciliation, ReconciliationSummary},
};
use function::{Error, Input, List, Request, Route, Trigger};
use jobs::Job;
use keys::ledger::{ReconciliationsPartition, StartedSort};
use table::{
    Page, Query,
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
    let page = ledger.jobs.table().page::<ListedReconciliation>(&query, listing.limit).await?;
    let keys: Vec<_> = page.items.iter().map(|entry| Reconciliation::key_of(&entry.partition.0)).collect();
    let mut jobs = ledger.jobs.table().get_existing::<Job>(&keys, &[]).await?;
    let items = keys.iter().filter_map(|key| jobs.items.remove(key)).collect();
    let found = Page { items, next: page.next, skipped: page.skipped + jobs.unreadable.len() };
    Ok(listing.list(found.try_map(ReconciliationSummary::of)))
}
