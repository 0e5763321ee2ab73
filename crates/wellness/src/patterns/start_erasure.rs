//! W34: starts the erasure of a company or of an employee (docs/requirements/wellness.md#tenants).

use crate::{
    DOMAIN, Employee, Task, Wellness,
    cost::{self, Calls, Pattern},
    model::{failure::Owner, job::job_key},
    patterns::get_job::accepted,
};
use function::{Accepted, Error, Input, Problem, Request, Route, Trigger, optimistically};
use jobs::{Job, JobBody};
use keys::wellness::{EmployeeKey, JobId};
use table::cost::{Cost, read, write};

/// The routes of an erasure.
pub(super) const fn routes(
    method: &'static str,
    [company, employee]: [&'static str; 2],
    problems: &'static [Problem],
) -> [Route; 2] {
    let path = "/wellness/companies/{companyId}/erasure";
    let of_company = Route { method, path, scopes: &["wellness:operate"], summary: company, problems };
    let path = "/wellness/companies/{companyId}/employees/{userId}/erasure";
    [of_company, Route { path, summary: employee, ..of_company }]
}

pub const PATTERN: Pattern = Pattern {
    id: "W34",
    name: "start-erasure",
    trigger: Trigger::Http(&routes("POST", ["Erase a company", "Erase an employee"], &[])),
    calls: &[
        Calls::new("", |case| Cost::default().write(cost::JOBS, write(case.job))),
        Calls::new(", of an employee", |case| {
            Cost::default()
                .read(cost::ACTIVITIES, read(case.employee))
                .write(cost::ACTIVITIES, write(case.employee).times(2))
                .write(cost::JOBS, write(case.job).times(2))
        }),
    ],
    contract: function::contract(&start_erasure),
    function: || function::http(start_erasure, Wellness::warm_by_job),
};

/// The company or employee in the path.
#[derive(Debug, Clone, Input)]
pub struct ErasureInput(#[input(part)] pub(super) Owner);

impl Owner {
    /// The id of the job that erases the owner's data.
    pub(super) fn job_id(&self) -> JobId {
        match &self.user {
            Some(user) => JobId::EmployeeErasure(user.clone()),
            None => JobId::Erasure(self.company.clone()),
        }
    }
}

/// Starts the job that erases a company or an employee. If it is already running, returns the
/// running job.
///
/// The employee may have been removed before. An employee who was added again during an erasure is
/// removed again, and the new job takes over the work of the running one.
pub async fn start_erasure(wellness: Wellness, request: Request<ErasureInput>) -> Result<Accepted<JobBody>, Error> {
    let ErasureInput(owner) = &request.input;
    request.caller.must_operate(DOMAIN)?;
    table::set_tenant(&owner.company);
    let job = optimistically(|| wellness.start_erasure(owner, &request)).await?;
    Ok(accepted(&owner.company, job))
}

impl Wellness {
    async fn start_erasure(&self, owner: &Owner, request: &Request<ErasureInput>) -> Result<Job, Error> {
        let (id, company) = (owner.job_id(), &owner.company);
        let job = |was_employed| {
            let task = Task::Erase { was_employed };
            Job::new(&job_key(company, &id), &id, &request.id, &task, request.now)
        };
        if let Some(user) = &owner.user {
            let key = Employee::key_of(&EmployeeKey { company: company.clone(), user: user.clone() });
            if let Some(delete) = self.deletion(key, Employee::is_unchanged).await? {
                let job = job(true)?;
                self.dynamo.transact(vec![delete, self.jobs.table().put(&job)?]).await?;
                return Ok(job);
            }
        }
        self.jobs.start_again(job(false)?, &request.id).await
    }
}
