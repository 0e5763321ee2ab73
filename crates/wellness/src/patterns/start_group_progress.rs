//! W37: starts the jobs that compute the progress of groups
//! (docs/requirements/wellness.md#groups, docs/decisions/wellness-points.md).

use crate::{
    Groups, Wellness,
    cost::{self, Calls, Pattern},
    model::job::{Task, job_key},
};
use function::{Deadline, Error, Scheduled, Trigger, is_zero};
use futures::{StreamExt, TryStreamExt, stream};
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{GroupsPartition, GroupsSort, JobId},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use table::{
    Item, Query,
    cost::{Cost, write},
};

/// Maximum number of activities that a query returns.
const PAGE: usize = 100;
/// Number of jobs that are put concurrently.
const SIDE_BY_SIDE: usize = 16;
/// Maximum time reserved before the deadline, to finish the current page.
const RESERVE: Duration = Duration::from_secs(10);

pub const PATTERN: Pattern = Pattern {
    id: "W37",
    name: "start-group-progress",
    trigger: Trigger::Schedule("rate(1 hour)"),
    calls: &[Calls::new("", |case| {
        let partitions = table::cost::read_eventually(0).times(10);
        Cost::default().read(cost::LISTS, partitions).write(cost::JOBS, write(case.job).times(case.items))
    })],
    contract: |_| {},
    function: || function::scheduled(start_group_progress, Wellness::warm_by_get),
};

/// The entry of an activity with groups in GSI2.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    #[serde(rename = "GSI2SK")]
    place: GroupsSort,
}

impl Item for Entry {
    const TYPE: &'static str = Groups::TYPE;
}

/// The result of a run.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartedJobs {
    /// Number of jobs that this run has started.
    started: usize,
    /// Whether activities remain for the next run.
    left: bool,
    /// Number of unreadable entries.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

/// Starts a job for each activity with groups whose job is not running.
///
/// # Errors
/// 400 for an invalid event. Any other error means that DynamoDB was unreachable or rejected a
/// call.
pub async fn start_group_progress(wellness: Wellness, run: Scheduled<()>) -> Result<StartedJobs, Error> {
    let (id, stop) = (RequestId::new(run.now.instant(), &run.random), run.deadline.with_reserve(RESERVE));
    let mut jobs = StartedJobs::default();
    for partition in GroupsPartition::all() {
        jobs.left |= !wellness.start_in(partition, id, run.now, stop, &mut jobs).await?;
    }
    Ok(jobs)
}

impl Wellness {
    /// Starts the jobs of a partition. Returns `false` if the time is up.
    async fn start_in(
        &self,
        partition: GroupsPartition,
        run: RequestId,
        now: TimestampSeconds,
        stop: Deadline,
        jobs: &mut StartedJobs,
    ) -> Result<bool, Error> {
        let mut rest = GroupsSort::all();
        while !stop.has_passed() {
            let page = self.table.page::<Entry>(&Query::new(&partition, &rest).on(&self.lists), PAGE).await?;
            jobs.skipped += page.skipped;
            let starts = stream::iter(page.items).map(|entry| self.start_groups(entry.place, run, now));
            let started: Vec<bool> = starts.buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
            jobs.started += started.into_iter().filter(|is_new| *is_new).count();
            let Some(position) = page.next else { return Ok(true) };
            rest = rest.after(&position);
        }
        Ok(false)
    }

    /// Starts the job of an activity. Returns whether no job was running.
    async fn start_groups(&self, place: GroupsSort, run: RequestId, now: TimestampSeconds) -> Result<bool, Error> {
        let id = JobId::Groups(place.activity);
        let job = Job::new(&job_key(&place.company, &id), &id, &run, &Task::Group, now)?;
        match self.dynamo.write(self.jobs.table().put(&job)?.only_if(Job::is_not_running())).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
