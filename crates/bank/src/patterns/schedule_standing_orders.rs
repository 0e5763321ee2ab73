//! B20: schedules the payments of standing orders every day
//! (docs/requirements/bank.md#standing-orders, docs/decisions/payments.md).

use crate::{
    Bank,
    cost::{self, Calls, Pattern},
    jobs::{Task, job_key},
};
use function::{Error, Scheduled, Trigger};
use jobs::Job;
use keys::{RequestId, bank::JobId};
use serde::Serialize;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "B20",
    name: "schedule-standing-orders",
    trigger: Trigger::Schedule("cron(5 0 * * ? *)"),
    calls: &[Calls::new("", |_| Cost::default().write(cost::JOBS, 1))],
    contract: |_| {},
    function: || function::scheduled(schedule_standing_orders, Bank::warm_by_job),
};

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    job_id: String,
}

/// Starts the job of the day, or wakes it up. The job schedules the payments that have come into
/// reach.
///
/// # Errors
/// 400 for an invalid event. Any other error means that DynamoDB was unreachable or rejected a
/// call.
pub async fn schedule_standing_orders(bank: Bank, run: Scheduled<()>) -> Result<Started, Error> {
    let id = JobId::StandingOrders(run.now.day());
    let request = RequestId::new(run.now.instant(), &run.random);
    let job = Job::new(&job_key(&id), &id, &request, &Task::StandingOrders, run.now)?;
    Ok(Started { job_id: bank.jobs.start_again(job, &request).await?.id })
}
