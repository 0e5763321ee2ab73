//! W17: runs a failed job again.

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    patterns::get_job::{Which, accepted},
};
use function::{Accepted, Error, Function, Request, Route, Trigger};
use jobs::JobBody;
use table::{
    Units,
    cost::{Cost, read, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(retry_job, Wellness::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W17",
    name: "retry-job",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/jobs/{jobId}/retry",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get: PK = CompanyId-<id>, SK = Job#<job id>; then update it if it has failed at that step, of a job at references in one transaction while there is no Hold#VenueId-<id>; of a replacement also while nothing is under way at the replacement, and put Hold#VenueId-<replacement> if there is none",
        formula: "⌈job⌉ R; ⌈job⌉ W for registrations; 2 × (⌈job⌉ + 1) W for an update, 2 × (⌈job⌉ + ⌈hold⌉ + 2) W for a replacement, more by its size if the replacement had a job itself. In the table an update",
        cost: |case| {
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .write(cost::JOBS, (write(case.job) + Units::whole(1)).times(2))
        },
    }],
    function,
};

/// Runs a failed job again, from its last written step.
///
/// # Errors
/// 400, 403 for another's company, 404, 409 for a job that has not failed, or if another job is in the way.
pub async fn retry_job(wellness: Wellness, request: Request<Which>) -> Result<Accepted<JobBody>, Error> {
    let Which { company, job } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let job = wellness.retry(company, job, (request.id, request.now)).await?;
    Ok(accepted(company, job))
}
