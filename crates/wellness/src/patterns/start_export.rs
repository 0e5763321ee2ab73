//! W34: starts the export of a company (docs/requirements/wellness.md#tenants).

use crate::{
    DOMAIN, Task, Wellness,
    cost::{self, Calls, Pattern},
    model::job::job_key,
    patterns::{get_job::accepted, list_plans::CompanyInput},
};
use function::{Accepted, Error, Request, Route, Trigger};
use jobs::{Job, JobBody};
use keys::wellness::JobId;
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "W34",
    name: "start-export",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/export",
        scopes: &["wellness:operate"],
        summary: "Export a company",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| Cost::default().write(cost::JOBS, write(case.job)))],
    contract: function::contract(&start_export),
    function: || function::http(start_export, Wellness::warm_by_job),
};

/// Starts the job that exports the data of a company. If it is already running, returns the running
/// job.
pub async fn start_export(wellness: Wellness, request: Request<CompanyInput>) -> Result<Accepted<JobBody>, Error> {
    let CompanyInput(company) = &request.input;
    request.caller.must_operate(DOMAIN)?;
    table::set_tenant(company);
    let (id, task) = (JobId::Export(company.clone()), Task::Export { export: request.id });
    let new = Job::new(&job_key(company, &id), &id, &request.id, &task, request.now)?;
    Ok(accepted(company, wellness.jobs.start_again(new, &request.id).await?))
}
