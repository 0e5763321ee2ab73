use crate::{Activity, Employee, Registration, Wellness};
use function::{Clock, Deadline, Error, is_zero};
use futures::{StreamExt, TryStreamExt, stream};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    TimestampMillis,
    wellness::{
        ActivityEndDateSort, ActivityId, ActivityPartition, CompanyId, EmployeeKey, EmployeeSort, EmployeesPartition,
        RegistrationSort,
    },
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use table::{Change, Condition, Key, Page, Query};

/// Number of employees or registrations that a step reads. A job reads all employees of a company
/// twice, so a step with few of them would mostly write the job.
const PAGE: usize = 500;
/// Maximum number of concurrent writes of a step.
const SIDE_BY_SIDE: usize = 16;
/// Number of passes over the employees. W11 may register a new employee while the index does not
/// show the activity yet. The second pass starts after this lag, and finds the employee.
const PASSES: u8 = 2;

/// Enrols the employees of a company in an activity, and then withdraws those who are not eligible.
///
/// A step reads a page and applies it. It is idempotent, so a killed run repeats its page. The last
/// phase reads every registration again, together with its employee. It therefore corrects what
/// another run or a change of an employee has left behind (docs/decisions/wellness-enrolment.md).
pub(crate) struct Enrol<'a> {
    wellness: &'a Wellness,
    company: CompanyId,
    activity: ActivityId,
    clock: Clock,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct EnrolProgress {
    /// Number of completed passes over the employees.
    passes: u8,
    /// The current partition of employees.
    part: u8,
    /// The sort key after which the next page starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The time of the second pass, at which the index shows the activity to W11.
    #[serde(skip_serializing_if = "Option::is_none")]
    second_at: Option<TimestampMillis>,
    /// Number of unreadable items in all passes.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

impl<'a> Enrol<'a> {
    pub(crate) fn new(wellness: &'a Wellness, company: CompanyId, activity: ActivityId, clock: Clock) -> Self {
        Self { wellness, company, activity, clock }
    }

    /// Reads the activity with strong consistency.
    async fn activity(&self) -> Result<Option<Activity>, Error> {
        let found = self.wellness.table.get::<Activity>(&Activity::key_of(&self.activity)).await?;
        Ok(found.filter(|found| found.company == self.company))
    }

    /// Reads employees until a page is full or the pass ends.
    async fn employees(&self, at: &mut EnrolProgress) -> Result<Vec<Employee>, Error> {
        let (all, mut employees) = (EmployeeSort::all(), Vec::new());
        while let Some(partition) = EmployeesPartition::numbered(self.company.clone(), at.part) {
            let rest = at.after.as_ref().map_or_else(|| all.clone(), |position| all.after(position));
            let query = Query::new(&partition, &rest).consistent();
            let limit = PAGE.saturating_sub(employees.len()).max(1);
            let Page { items, next, skipped } = self.wellness.table.page::<Employee>(&query, limit).await?;
            at.part += u8::from(next.is_none());
            (at.after, at.skipped) = (next, at.skipped + skipped);
            employees.extend(items);
            if employees.len() >= PAGE {
                return Ok(employees);
            }
        }
        (at.passes, at.part) = (at.passes + 1, 0);
        Ok(employees)
    }

    /// Enrols the eligible employees of a page. Returns their number.
    async fn enrol(&self, job: &Job, activity: &Activity, at: &mut EnrolProgress) -> Result<usize, Error> {
        let employees = self.employees(at).await?;
        let eligible: Vec<_> =
            employees.into_iter().filter(|employee| activity.offer().enrols(employee, job.started_at)).collect();
        let keys: Vec<_> = eligible.iter().map(|one| Registration::key_of(&self.activity, one.user())).collect();
        let found = self.wellness.table.get_all::<Registration>(&keys, true).await?;
        at.skipped += found.unreadable.len();
        let end = ActivityEndDateSort(activity.end());
        let mut changes = Vec::new();
        for (employee, key) in eligible.iter().zip(&keys).filter(|(_, key)| !found.unreadable.contains(key)) {
            match found.items.get(key) {
                Some(registration) => changes.extend(self.moved(registration, end)),
                None => changes.push(self.wellness.table.put_new(&self.registration(employee, end, job))?),
            }
        }
        if self.apply(changes).await? > 0 {
            self.must_be_unchanged(activity).await?;
        }
        Ok(eligible.len())
    }

    fn registration(&self, employee: &Employee, end: ActivityEndDateSort, job: &Job) -> Registration {
        let (company, user) = (self.company.clone(), employee.user().clone());
        Registration::new(company, self.activity.clone(), end.0, user, job.started_at)
    }

    /// Returns the update of a registration with another end date.
    fn moved(&self, registration: &Registration, end: ActivityEndDateSort) -> Option<Change> {
        let update = self.wellness.table.update(registration.key()).set(Registration::END, &end);
        (registration.end != end).then(|| update.only_if(Condition::is(Registration::END, &registration.end)))
    }

    /// Withdraws the employees of a page of registrations who are not eligible. An employee who is
    /// missing or unreadable keeps the registration.
    async fn withdraw(&self, job: &Job, activity: &Activity, at: &mut EnrolProgress) -> Result<(), Error> {
        let all = RegistrationSort::all();
        let rest = at.after.as_ref().map_or_else(|| all.clone(), |position| all.after(position));
        let query = Query::new(&ActivityPartition(self.activity.clone()), &rest).consistent();
        let Page { items, next, skipped } = self.wellness.table.page::<Registration>(&query, PAGE).await?;
        (at.after, at.skipped) = (next, at.skipped + skipped);
        let key = |one: &Registration| EmployeeKey { company: self.company.clone(), user: one.sort.0.clone() };
        let keys: Vec<Key> = items.iter().map(|one| Employee::key_of(&key(one))).collect();
        let employees = self.wellness.table.get_all::<Employee>(&keys, true).await?.items;
        let end = ActivityEndDateSort(activity.end());
        let (mut changes, mut left) = (Vec::new(), Vec::new());
        for (registration, key) in items.iter().zip(&keys) {
            let Some(employee) = employees.get(key) else { continue };
            if activity.offer().excludes(employee, job.started_at) {
                left.push(registration.clone());
            } else {
                changes.extend(self.moved(registration, end));
            }
        }
        let count = left.len();
        let withdrawn = stream::iter(left)
            .map(|one: Registration| async move { self.wellness.withdraw(&one, job.started_at).await });
        withdrawn.buffer_unordered(SIDE_BY_SIDE).try_collect::<Vec<_>>().await?;
        if self.apply(changes).await? + count > 0 {
            self.must_be_unchanged(activity).await?;
        }
        Ok(())
    }

    /// Executes the changes concurrently. A refused change is not needed any more: another run has
    /// done it, or the employee has made progress. Returns the number of attempted changes.
    async fn apply(&self, changes: Vec<Change>) -> Result<usize, Error> {
        let count = changes.len();
        let writes = stream::iter(changes).map(|change| async move {
            match self.wellness.dynamo.write(change).await {
                Err(table::Error::Refused(_)) => Ok(()),
                written => written,
            }
        });
        writes.buffer_unordered(SIDE_BY_SIDE).try_collect::<()>().await?;
        Ok(count)
    }

    /// Requires that the activity still says who takes part. Otherwise the next run repeats the
    /// page with the new activity.
    async fn must_be_unchanged(&self, before: &Activity) -> Result<(), Error> {
        let terms =
            |activity: &Activity| (activity.status, activity.end(), activity.enrolment(), activity.filters.clone());
        let now = self.activity().await?;
        if now.as_ref().map(terms) == Some(terms(before)) { Ok(()) } else { Err(Error::stale()) }
    }
}

impl JobRunner for Enrol<'_> {
    type Progress = EnrolProgress;

    async fn step(&mut self, job: &Job, at: EnrolProgress, stop: Deadline) -> Result<Step<EnrolProgress>, Error> {
        let (mut progress, mut done) = (at, job.done);
        if let Some(at) = progress.second_at {
            if !self.clock.wait_until(at, stop).await? {
                return Ok(Step { progress, done, next: Next::Wait });
            }
            progress.second_at = None;
        }
        let end = |progress, done| Step { progress, done, next: Next::End };
        // A cancelled or ended activity keeps its registrations.
        let Some(activity) = self.activity().await? else { return Ok(end(progress, done)) };
        if !activity.offer().is_running(job.started_at) {
            return Ok(end(progress, done));
        }
        if progress.passes >= PASSES {
            self.withdraw(job, &activity, &mut progress).await?;
            let next = if progress.after.is_none() { Next::End } else { Next::Continue };
            return Ok(Step { progress, done, next });
        }
        let pass = progress.passes;
        let enrolled = self.enrol(job, &activity, &mut progress).await?;
        // Both passes find the same employees.
        done += if pass == 0 { u64::try_from(enrolled).unwrap_or_default() } else { 0 };
        let mut next = Next::Continue;
        if progress.passes == 1 && pass == 0 {
            let lag = Duration::from_secs(self.wellness.index_lag_seconds.unwrap_or_default().into());
            (progress.second_at, next) = (Some(self.clock.after(lag)?), Next::Wait);
        }
        Ok(Step { progress, done, next })
    }

    fn skipped(progress: &EnrolProgress) -> u64 {
        u64::try_from(progress.skipped).unwrap_or(u64::MAX)
    }
}
