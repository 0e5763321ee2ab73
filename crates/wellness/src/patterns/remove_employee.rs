//! W23: removes an employee, and ends the employee's registrations for activities that have not
//! ended (docs/requirements/wellness.md#participants-and-employees).
//!
//! docs/decisions/wellness-registrations.md explains why a job ends the registrations.

use crate::{
    DOMAIN, Employee, Wellness,
    cost::{self, Calls, Pattern},
    model::job::{Task, job_key},
    patterns::{get_employee::EmployeeInput, get_job::accepted},
};
use function::{Accepted, Error, Problem, Request, Route, Trigger, optimistically};
use jobs::{Job, JobBody};
use keys::{
    RequestId, TimestampSeconds,
    wellness::{EmployeeKey, JobId},
};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "W23",
    name: "remove-employee",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/wellness/companies/{companyId}/employees/{userId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Remove an employee and end the future registrations asynchronously",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, read(case.employee))
            .write(cost::ACTIVITIES, write(case.employee).times(2))
            .write(cost::JOBS, write(case.job).times(2))
    })],
    contract: function::contract(&remove_employee),
    function: || function::http(remove_employee, Wellness::warm_by_get),
};

/// Removes an employee. The response contains the job that ends the registrations. The job
/// overwrites a job from an earlier removal, and takes over its work.
///
/// # Errors
/// 404 if the company has no such employee.
pub async fn remove_employee(wellness: Wellness, request: Request<EmployeeInput>) -> Result<Accepted<JobBody>, Error> {
    let EmployeeInput(key) = &request.input;
    request.caller.must_belong_to(&key.company, DOMAIN)?;
    let removed = optimistically(|| wellness.remove(key, &request.id, request.now)).await?;
    let job = removed.ok_or(Error::NotFound("employee"))?;
    Ok(accepted(&key.company, job))
}

impl Wellness {
    /// Removes an employee. Returns the job that ends the registrations, or `None` if there is no
    /// such employee.
    ///
    /// # Errors
    /// [`table::Error::Refused`] if the employee has changed in the meantime.
    pub(crate) async fn remove(
        &self,
        key: &EmployeeKey,
        run: &RequestId,
        now: TimestampSeconds,
    ) -> Result<Option<Job>, Error> {
        let Some(delete) = self.deletion(Employee::key_of(key), Employee::is_unchanged).await? else {
            return Ok(None);
        };
        let id = JobId::Departure(key.user.clone());
        let job = Job::new(&job_key(&key.company, &id), &id, run, &Task::Depart, now)?;
        self.dynamo.transact(vec![delete, self.jobs.table().put(&job)?]).await?;
        Ok(Some(job))
    }
}
