//! B13: reads the runs of an import (docs/requirements/bank.md#import-payments).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::Task,
    model::import::{ImportBody, ImportedFile, MAX_RUNS, RunBody},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use jobs::Job;
use keys::bank::{ImportId, ImportPartition, ImportRun, ImportSort};
use table::{
    Item, Key, Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "B13",
    name: "get-import",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/imports/{importId}",
        scopes: &["bank:operate"],
        summary: "Get the progress of a run of an import, by default the latest, and the runs before it",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read_eventually(0)))],
    contract: function::contract(&get_import),
    function: || function::http(get_import, Bank::warm_by_query_imports),
};

/// Path parameter of the requests of an import: the import id.
#[derive(Debug, Clone, Input)]
pub struct ImportInput(#[input(path = "importId")] pub(crate) ImportId);

/// Path and query of the request.
#[derive(Debug, Clone, Input)]
pub struct GetImportInput {
    #[input(path = "importId")]
    import: ImportId,
    /// The first run to return.
    #[input(query)]
    run: Option<ImportRun>,
}

fn file_of(job: &Job) -> Result<ImportedFile, Error> {
    match job.task::<Task>()? {
        Task::Import(file) => Ok(file),
        Task::Dispatch | Task::Close { .. } | Task::StandingOrder(_) | Task::StandingOrders => {
            Err(Error::NotFound("import"))
        }
    }
}

/// Describes the run of an import.
///
/// # Errors
/// The task or the progress cannot be deserialized.
pub(crate) fn run_of(job: Job) -> Result<RunBody, Error> {
    let file = file_of(&job)?;
    RunBody::of(job, file)
}

impl Bank {
    /// Reads the latest run of an import with strong consistency.
    ///
    /// # Errors
    /// 404 for an unknown import.
    pub(crate) async fn latest_import(&self, import: &ImportId) -> Result<(Job, ImportedFile), Error> {
        let range = ImportSort::latest();
        let query = Query::new(&ImportPartition(import.clone()), &range).consistent();
        let job = self.jobs.table().page::<Job>(&query, 1).await?.complete()?.pop().ok_or(Error::NotFound("import"))?;
        let file = file_of(&job)?;
        Ok((job, file))
    }

    pub(crate) async fn warm_by_query_imports(self) {
        let range = ImportSort::latest();
        let _ = self.jobs.table().page::<Job>(&Query::new(&"#", &range), 1).await;
    }
}

/// Reads a run of an import, by default the latest, and the runs before it, with eventual
/// consistency. No request creates an import, so a missing one is not read again.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown import or run.
pub async fn get_import(bank: Bank, request: Request<GetImportInput>) -> Result<Json<ImportBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let GetImportInput { import, run } = &request.input;
    let range = run.as_ref().map_or_else(ImportSort::latest, ImportSort::until);
    let query = Query::new(&ImportPartition(import.clone()), &range);
    let (mut page, unreadable) = bank.jobs.table().page_with_unreadable::<Job>(&query, MAX_RUNS + 1).await?;
    let mut sorts: Vec<&str> = page.items.iter().map(|job| job.sort.as_str()).collect();
    sorts.extend(unreadable.iter().map(Key::sort));
    sorts.sort_unstable();
    sorts.reverse();
    let (first, earlier) =
        (sorts.first().map(|sort| (*sort).to_owned()), sorts.get(MAX_RUNS).map(|sort| (*sort).to_owned()));
    let is_wanted = |sort: &String| run.as_ref().is_none_or(|run| ImportSort(run.clone()).to_string() == *sort);
    let first = first.filter(is_wanted).ok_or(Error::NotFound("import"))?;
    page.skipped -= unreadable.iter().filter(|key| Some(key.sort()) == earlier.as_deref()).count();
    page.items.retain(|job| Some(&job.sort) != earlier.as_ref());
    // The requested run must be readable. Unreadable runs before it are left out.
    let job = page.items.first().filter(|job| job.sort == first).cloned();
    let job = job.ok_or_else(|| table::Error::unreadable(Job::TYPE, &"the run of an import"))?;
    let runs = page.try_map(run_of);
    Ok(Json(ImportBody {
        run: run_of(job)?,
        earlier_run: earlier.and_then(|sort| sort.parse().ok()).map(|ImportSort(run)| run),
        skipped: runs.skipped,
        runs: runs.items,
    }))
}
