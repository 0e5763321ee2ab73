//! W33: starts the report of a plan (docs/requirements/wellness.md#plan-report).

use crate::{
    DOMAIN, Task, Wellness,
    cost::{self, Calls, Pattern},
    model::{job::job_key, report::PlanReport, stored::ListedActivity},
    patterns::{get_job::accepted, get_plan::PlanInput},
};
use function::{Accepted, Error, Problem, Request, Route, Trigger, optimistically};
use jobs::{Job, JobBody};
use keys::wellness::{CompanyId, EndDateSort, JobId, ListPartition, Period, PlanId};
use table::{
    Query,
    cost::{Cost, Term, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W33",
    name: "start-report",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/plans/{planId}/report",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Start the report of a plan",
        problems: &[Problem::NotFound, Problem::NoActivities, Problem::JobLimit],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, read(case.own))
            .read(cost::LISTS, Term::halves(1))
            .read(cost::JOBS, 1)
            .write(cost::JOBS, (write(case.job) + 1).times(2))
    })],
    contract: function::contract(&start_report),
    function: || function::http(start_report, Wellness::warm_by_get),
};

/// Starts the job that writes the report of a plan. If it is already running, returns the running
/// job.
///
/// # Errors
/// - 404 if the plan does not exist.
/// - 409 if no activity ends within the plan, unless there is a report to replace.
/// - 429 if callers of the company have started too many jobs that are still running.
pub async fn start_report(wellness: Wellness, request: Request<PlanInput>) -> Result<Accepted<JobBody>, Error> {
    let PlanInput { company, plan } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let period = wellness.plans(company).await?.named(plan).ok_or(Error::NotFound("plan"))?.period;
    wellness.must_have_activities(company, plan, period).await?;
    let (id, task) = (JobId::Report(plan.clone()), Task::Report { report: request.id, period });
    let key = job_key(company, &id);
    let new = Job::new(&key, &id, &request.id, &task, request.now)?;
    let job = optimistically(|| wellness.start_counted(company, &new, &request.id)).await?;
    Ok(accepted(company, job))
}

impl Wellness {
    /// Requires an activity that the report of the plan can show. Otherwise a company could start a
    /// job for each of 9,999 years.
    ///
    /// # Errors
    /// 409 if no activity ends within the period, and there is no report to replace.
    async fn must_have_activities(&self, company: &CompanyId, plan: &PlanId, period: Period) -> Result<(), Error> {
        let (partition, range) = (ListPartition(company.clone()), EndDateSort::within(period));
        let query = Query::new(&partition, &range).on(&self.lists);
        let page = self.table.page::<ListedActivity>(&query, 1).await?;
        if page.items.is_empty() && page.next.is_none() && page.skipped == 0 {
            let report = self.table.get::<PlanReport>(&PlanReport::key_of(company, plan)).await;
            if matches!(report, Ok(None)) {
                let detail = format!(
                    "No activity ends within the plan {plan}. Create one, or start the report of another plan."
                );
                return Err(Error::Conflict(Problem::NoActivities, detail));
            }
        }
        Ok(())
    }
}
