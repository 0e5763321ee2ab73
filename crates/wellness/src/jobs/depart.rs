use crate::{Employee, Registration, Wellness, model::registration::Absence};
use function::{Deadline, Error, is_zero};
use futures::{StreamExt, TryStreamExt, stream};
use jobs::{Job, JobRunner, Next, PAGE, Step};
use keys::{
    RequestId,
    wellness::{ActivityEndDateSort, EmployeeKey, Period},
};
use serde::{Deserialize, Serialize};
use table::{Key, Page};

/// Maximum number of concurrent writes of a step.
const SIDE_BY_SIDE: usize = 16;

/// Ends the registrations of a removed employee for activities that have not ended
/// (docs/decisions/wellness-registrations.md).
///
/// A registration without progress is deleted, and any other one is marked as withdrawn. Each
/// change requires that the employee is still absent, so that it never ends a registration of an
/// employee who was hired again.
pub(crate) struct Depart<'a> {
    wellness: &'a Wellness,
    employee: EmployeeKey,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct DepartProgress {
    /// The position in the index after which the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Whether the current pass has found a registration to end.
    found: bool,
    /// Number of completed passes.
    passes: u32,
    /// Number of unreadable registrations in the current pass.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

/// What the job finds under the key of the employee.
enum Found {
    Nobody,
    /// The employee was hired again.
    Employee(Employee),
    Unreadable,
}

impl<'a> Depart<'a> {
    pub(crate) fn new(wellness: &'a Wellness, employee: EmployeeKey) -> Self {
        Self { wellness, employee }
    }

    async fn found(&self) -> Result<Found, Error> {
        match self.wellness.table.get::<Employee>(&Employee::key_of(&self.employee)).await {
            Err(table::Error::Unreadable(..)) => Ok(Found::Unreadable),
            found => Ok(found?.map_or(Found::Nobody, Found::Employee)),
        }
    }

    /// Returns a page of registrations that have not ended, as stored.
    async fn registrations(&self, job: &Job, at: &mut DepartProgress) -> Result<Vec<Registration>, Error> {
        let range = ActivityEndDateSort::within(Period::not_over(job.started_at));
        let page = self.wellness.registrations_page::<Registration>(&self.employee, &range, at.after.as_deref(), PAGE);
        let Page { items, next, skipped } = page.await?;
        (at.after, at.skipped) = (next, at.skipped + skipped);
        let keys: Vec<Key> = items.iter().map(Registration::key).collect();
        let stored = self.wellness.table.get_all::<Registration>(&keys, true).await?.items;
        let takes_part = |one: &Registration| one.absence != Some(Absence::Withdrawn);
        let is_open = |one: &Registration| !one.end.0.is_over(job.started_at);
        Ok(stored.into_values().filter(|one| takes_part(one) && is_open(one)).collect())
    }

    /// Ends a registration. The next pass repeats a refused change.
    async fn end(&self, registration: &Registration, job: &Job) -> Result<u64, Error> {
        let wellness = self.wellness;
        let run = RequestId::new(job.started_at.instant(), wellness.dynamo.random());
        let mut changes = if registration.is_untouched() {
            wellness.with_ticket(wellness.withdrawing(registration)?, registration, run, job.started_at)?
        } else {
            wellness.marking_left(registration, run, job.started_at)?
        };
        changes.push(wellness.table.absent(Employee::key_of(&self.employee)));
        match wellness.dynamo.transact(changes).await {
            Ok(()) => Ok(1),
            Err(table::Error::Refused(_)) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}

impl JobRunner for Depart<'_> {
    type Progress = DepartProgress;

    async fn step(&mut self, job: &Job, at: DepartProgress, _: Deadline) -> Result<Step<DepartProgress>, Error> {
        let mut progress = at;
        match self.found().await? {
            Found::Nobody => {}
            Found::Unreadable => return Ok(Step { progress, done: job.done, next: Next::End }),
            Found::Employee(employee) => {
                // The first enrolment may have seen a registration in the index that this job had
                // already deleted.
                self.wellness.enrol_again(&employee).await?;
                return Ok(Step { progress, done: job.done, next: Next::End });
            }
        }
        let registrations = self.registrations(job, &mut progress).await?;
        progress.found |= !registrations.is_empty();
        let this = &*self;
        let ends = stream::iter(registrations).map(|one| async move { this.end(&one, job).await });
        let ended: Vec<u64> = ends.buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
        let done = job.done + ended.iter().sum::<u64>();
        if progress.after.is_some() {
            return Ok(Step { progress, done, next: Next::Continue });
        }
        // The index may not show the latest registrations yet, so a first pass never ends the job.
        if progress.passes > 0 && !progress.found {
            return Ok(Step { progress, done, next: Next::End });
        }
        let progress = DepartProgress { passes: progress.passes.saturating_add(1), ..DepartProgress::default() };
        Ok(Step { progress, done, next: Next::Wait })
    }

    fn skipped(progress: &DepartProgress) -> u64 {
        u64::try_from(progress.skipped).unwrap_or(u64::MAX)
    }
}
