//! W33: starts the report of a plan (docs/requirements/wellness.md#plan-report).

use crate::{
    DOMAIN, Task, Wellness,
    cost::{self, Calls, Pattern},
    model::job::job_key,
    patterns::{get_job::accepted, get_plan::Which},
};
use function::{Accepted, Error, Function, Request, Route, Trigger};
use jobs::{Job, JobBody};
use keys::wellness::JobId;
use table::cost::{Cost, read, write};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(start_report, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W33",
    name: "start-report",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/plans/{planId}/report",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = CompanyId-…, SK = Plans. Then put the job if no job of the plan is running",
        formula: "⌈plans⌉ R, or 1 R without plans; ⌈job⌉ W",
        cost: |case| Cost::default().read(cost::ACTIVITIES, read(case.own)).write(cost::JOBS, write(case.job)),
    }],
    function,
};

/// Starts the job that writes the report of a plan. If it is already running, returns the running
/// job.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
/// - 404 if the plan does not exist.
pub async fn start_report(wellness: Wellness, request: Request<Which>) -> Result<Accepted<JobBody>, Error> {
    let Which { company, plan } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let period = wellness.plans(company).await?.named(plan).ok_or(Error::NotFound("plan"))?.period;
    let (id, task) = (JobId::Report(plan.clone()), Task::Report { report: request.id, period });
    let key = job_key(company, &id);
    let new = Job::new(&key, &id, &request.id, &task, request.now)?;
    Ok(accepted(company, wellness.jobs.start_again(new, &request.id).await?))
}
