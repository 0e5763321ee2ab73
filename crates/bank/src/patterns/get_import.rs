//! B13: reads the progress of an import (docs/requirements/bank.md#import-payments).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::Task,
    model::import::{ImportBody, ImportedFile},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use jobs::Job;
use keys::bank::{ImportId, ImportPartition, ImportSort};
use table::{
    Query,
    cost::{Cost, read},
};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_import, Bank::warm_by_query_imports)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "B13",
    name: "get-import",
    trigger: Trigger::Http(&[Route { method: "GET", path: "/bank/imports/{importId}", scopes: &["bank:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "PK = IMPORT#<import id>, SK begins with RUN#, newest first",
        formula: "1 R",
        cost: |_| Cost::default().read(cost::JOBS, read(0)),
    }],
    function,
};

/// Path parameter of the request: the import id.
#[derive(Debug, Clone)]
pub struct Wanted(pub(crate) ImportId);

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("importId").map(Self)
    }
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
        match job.task::<Task>()? {
            Task::Import(file) => Ok((job, file)),
            Task::Dispatch | Task::Close { .. } => Err(Error::NotFound("import")),
        }
    }

    pub(crate) async fn warm_by_query_imports(self) {
        let range = ImportSort::latest();
        let _ = self.jobs.table().page::<Job>(&Query::new(&"#", &range), 1).await;
    }
}

/// Reads the latest run of an import.
///
/// # Errors
/// 403 for a caller without the operator scope, 404 for an unknown import.
pub async fn get_import(bank: Bank, request: Request<Wanted>) -> Result<Json<ImportBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (job, file) = bank.latest_import(&request.input.0).await?;
    ImportBody::of(job, file).map(Json)
}
