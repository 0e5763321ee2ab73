//! W34: reads what the erasure of a company or of an employee has removed
//! (docs/requirements/wellness.md#tenants).

use crate::{
    DOMAIN, Employee, Task, Wellness,
    cost::{self, Calls, Pattern},
    jobs::erase::EraseProgress,
    model::job::job_key,
    patterns::start_erasure::{ErasureInput, routes},
};
use function::{Error, Json, Problem, Request, Trigger};
use jobs::{Job, State};
use keys::{TimestampSeconds, wellness::JobId};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Item,
    cost::{Cost, read},
};

/// Days for which DynamoDB can restore a table (point-in-time recovery).
const RECOVERY_DAYS: i64 = 35;
/// Days for which a stream keeps its records.
const STREAM_DAYS: i64 = 1;
/// Days for which a job is kept.
const JOB_DAYS: i64 = 30;

pub const PATTERN: Pattern = Pattern {
    id: "W34",
    name: "get-erasure",
    trigger: Trigger::Http(&routes(
        "GET",
        ["Read the erasure of a company", "Read the erasure of an employee"],
        &[Problem::NotFound],
    )),
    calls: &[Calls::new("", |case| Cost::default().read(cost::JOBS, read(case.job)))],
    contract: function::contract(&get_erasure),
    function: || function::http(get_erasure, Wellness::warm_by_job),
};

/// An erasure.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasureBody {
    job_id: JobId,
    status: State,
    started_at: TimestampSeconds,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<TimestampSeconds>,
    /// The number of removed items of each kind.
    removed: Vec<Removed>,
    /// The copies that stay until a time. Empty until the erasure is done.
    kept: Vec<Kept>,
    /// Reason why the erasure has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A number of removed items.
#[derive(Debug, Serialize, JsonSchema)]
struct Removed {
    /// Type of an item, `Object` for a file in S3, `FailedEvent`, or `Author` for an activity that
    /// named the employee in `changedBy`.
    kind: String,
    #[schemars(range(min = 1))]
    count: u64,
}

/// A copy that stays.
#[derive(Debug, Serialize, JsonSchema)]
struct Kept {
    #[schemars(extend("enum" = ["streams", "point-in-time recovery", "this erasure", "logs"]))]
    what: &'static str,
    until: TimestampSeconds,
}

/// Reads an erasure: the number of removed items, and the copies that remain with the time of their
/// deletion.
///
/// # Errors
/// 404 if there is no erasure of the company or employee in the last 30 days.
pub async fn get_erasure(wellness: Wellness, request: Request<ErasureInput>) -> Result<Json<ErasureBody>, Error> {
    let ErasureInput(owner) = &request.input;
    request.caller.must_operate(DOMAIN)?;
    table::set_tenant(&owner.company);
    let job_id = owner.job_id();
    let job = wellness.jobs.get(&job_key(&owner.company, &job_id)).await?.ok_or(Error::NotFound("erasure"))?;
    let EraseProgress { mut removed, completed_at, .. } = job.progress()?;
    if (Task::Erase { was_employed: true }) == job.task()? {
        *removed.entry(Employee::TYPE.to_owned()).or_default() += 1;
    }
    let removed = removed.into_iter().map(|(kind, count)| Removed { kind, count }).collect();
    let kept = completed_at.map_or_else(Vec::new, |end| wellness.kept(&job, end));
    let Job { state: status, started_at, reason, .. } = job;
    Ok(Json(ErasureBody { job_id, status, started_at, completed_at, removed, kept, reason }))
}

impl Wellness {
    fn kept(&self, job: &Job, end: TimestampSeconds) -> Vec<Kept> {
        let kept = |what, until| Kept { what, until };
        let logs = self.log_days.map(|days| kept("logs", end.plus_days(days)));
        [
            kept("streams", end.plus_days(STREAM_DAYS)),
            kept("point-in-time recovery", end.plus_days(RECOVERY_DAYS)),
            kept("this erasure", job.started_at.plus_days(JOB_DAYS)),
        ]
        .into_iter()
        .chain(logs)
        .collect()
    }
}
