//! B13: resumes a failed import (docs/requirements/bank.md#import-payments).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    model::import::{ImportProgress, RunBody},
    patterns::get_import::{self, ImportInput},
};
use function::{Accepted, Error, Problem, Request, Route, Trigger};
use table::cost::{Cost, read};

pub const PATTERN: Pattern = Pattern {
    id: "B13",
    name: "retry-import",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/imports/{importId}/retry",
        scopes: &["bank:operate"],
        summary: "Retry a failed import",
        problems: &[Problem::NotFound, Problem::ImportRejected, Problem::JobNotFailed],
    }]),
    calls: &[Calls::new("", |_| {
        Cost::default().read(cost::JOBS, read(0)).write(cost::JOBS, 1).write(cost::IMPORTS, 1)
    })],
    contract: function::contract(&retry_import),
    function: || function::http(retry_import, Bank::warm_by_query_imports),
};

/// Resumes the latest run of a failed import after its last completed step.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown import, 409 for an import that
/// has not failed, or that has failed because of its file.
pub async fn retry_import(bank: Bank, request: Request<ImportInput>) -> Result<Accepted<RunBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (job, file) = bank.latest_import(&request.input.0).await?;
    if job.progress::<ImportProgress>()?.fault.is_some() {
        let detail = "The file cannot be imported. Correct it, and upload it again.";
        return Err(Error::Conflict(Problem::ImportRejected, detail.to_owned()));
    }
    let job = bank.jobs.retry(job, &request.id, request.now, |_| Ok(Vec::new())).await?;
    let location = get_import::PATTERN.location(|_| Some(file.import.to_string()));
    Ok(Accepted { location, body: RunBody::of(job, file)? })
}
