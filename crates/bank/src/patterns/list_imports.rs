//! B13: lists the runs of all imports, newest first (docs/requirements/bank.md#import-payments,
//! docs/decisions/indexes.md).

use crate::{
    Bank, DOMAIN, RunBody,
    cost::{self, Calls, Pattern},
    patterns::get_import::run_of,
};
use function::{Error, Input, List, Request, Route, Trigger};
use jobs::Job;
use keys::{
    Day,
    bank::{ImportStartSort, ImportsPartition},
};
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "B13",
    name: "list-imports",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/imports",
        scopes: &["bank:operate"],
        summary: "List the runs of all imports, newest first",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::IMPORTS, read_eventually(case.run * case.items)))],
    contract: function::contract(&list_imports),
    function: || function::http(list_imports, Bank::warm_by_list_imports),
};

/// Query parameters of the request.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListImportsInput {
    /// Only runs that started on this day in UTC. The default is all days.
    #[input(query)]
    date: Option<Day>,
}

impl Bank {
    async fn warm_by_list_imports(self) {
        let range = ImportStartSort::all();
        let _ = self.jobs.table().page::<Job>(&Query::new(&"#", &range).on(&self.imports), 1).await;
    }
}

/// Lists the runs of all imports, newest first. A run that has just started may be missing for a
/// moment.
///
/// # Errors
/// 403 for a caller without the operator scope.
pub async fn list_imports(bank: Bank, request: Request<ListImportsInput>) -> Result<List<RunBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let range = request.input.date.map_or_else(ImportStartSort::all, ImportStartSort::on);
    let listing = request.listing(range, "")?;
    let query = Query::new(&ImportsPartition, &listing.range).on(&bank.imports);
    let page = bank.jobs.table().page::<Job>(&query, listing.limit).await?;
    Ok(listing.list(page.try_map(run_of)))
}
