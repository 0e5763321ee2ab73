use super::places::{Partition, partitions};
use crate::{
    Activity, Correction, Employee, Registration, Wellness,
    model::{
        failure::{Cleaned, Owner},
        stored::{AuthoredActivity, ListedActivity, StoredItem},
    },
};
use function::{Clock, Deadline, Error};
use futures::{StreamExt, TryStreamExt, stream};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    KeyRange, RequestId, TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityId, CompanyPartition, CorrectionSort, EmployeeKey, ExportKey, JobId, JobSort,
        PointsPartition, UploadKey, UserId,
    },
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};
use table::{BatchWrite, Change, Condition, Item, Key, Table};
use tokio::time::sleep;

/// Number of items that a step deletes.
const ITEMS: usize = 500;
/// Number of objects, of registrations of one employee, or of authors that a step deletes.
const PAGE: usize = 100;
/// Prefix of the failed events that Lambda writes.
const FAILED: &str = "aws/lambda/";
/// Maximum number of concurrent transactions.
const SIDE_BY_SIDE: usize = 16;
/// The kind of a removed author.
const AUTHOR: &str = "Author";
/// Default of the setting `ERASURE_QUIET_SECONDS`.
const QUIET: u32 = 960;
/// Pause of a run that waits. Other jobs of the same batch wait as long.
const PAUSE: Duration = Duration::from_secs(1);

/// Erases a company or an employee (docs/decisions/wellness-tenants.md).
///
/// A step finds a page of items and stores their keys. The next step deletes and counts them. A
/// repeated step therefore counts no item twice. The job ends after a pass that finds nothing,
/// [`QUIET`] seconds after the last pass that found something.
pub(crate) struct Erase<'a> {
    wellness: &'a Wellness,
    owner: Owner,
    clock: Clock,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct EraseProgress {
    /// All known activities of the company. After the deletion of an activity, nothing but this
    /// list leads to a registration that a concurrent enrolment puts.
    activities: Vec<ActivityId>,
    /// Number of places that the current pass has completed.
    place: usize,
    /// The position in the current place.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// The page that the next step deletes.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<ErasePage>,
    /// Whether the current pass has found something.
    found: bool,
    /// Number of completed passes.
    passes: u32,
    /// The seconds that the job has waited since the last pass that found something.
    waited: u32,
    /// Number of deleted items of each type, of deleted objects, of changed failed events, and of
    /// removed authors.
    pub(crate) removed: BTreeMap<String, u64>,
    /// The time of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) completed_at: Option<TimestampSeconds>,
}

/// A page of items to delete.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ErasePage {
    place: usize,
    /// The sort keys, the ids of activities, or the keys of objects.
    keys: Vec<String>,
    kinds: BTreeMap<String, u64>,
}

/// A place where data of the company or employee may be stored.
enum Place {
    /// Items of `Activities` or `WellnessJobs`, except for this job.
    Items(Table, Partition),
    /// The registrations of an employee.
    Registrations(UserId),
    /// The activities that name an employee as their author.
    Authors(UserId),
    /// Objects with a prefix.
    Objects(String),
    /// Failed events.
    Failures,
}

/// The result of one read of a place.
#[derive(Default)]
struct Look {
    keys: Vec<String>,
    kinds: BTreeMap<String, u64>,
    next: Option<String>,
}

impl Look {
    fn add(&mut self, key: String, kind: &str) {
        self.keys.push(key);
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
    }
}

/// The ids of activities in a page.
fn parsed(keys: &[String]) -> Vec<ActivityId> {
    keys.iter().filter_map(|id| id.parse().ok()).collect()
}

impl<'a> Erase<'a> {
    pub(crate) fn new(wellness: &'a Wellness, owner: Owner, clock: Clock) -> Self {
        Self { wellness, owner, clock }
    }

    /// The places of the owner's data. Jobs come first, so that they stop.
    fn places(&self, activities: &[ActivityId]) -> Vec<Place> {
        let (company, table) = (&self.owner.company, &self.wellness.table);
        let jobs = |range| {
            let key = CompanyPartition(company.clone()).to_string();
            Place::Items(self.wellness.jobs.table().clone(), Partition { group: "jobs", key, range })
        };
        let exports = Place::Objects(ExportKey::of_company(company));
        let Some(user) = &self.owner.user else {
            let items = partitions(company, activities).into_iter().map(|one| Place::Items(table.clone(), one));
            let jobs = [jobs(KeyRange::whole_partition())];
            let uploads = Place::Objects(UploadKey::of_company(company));
            return jobs.into_iter().chain(items).chain([uploads, exports, Place::Failures]).collect();
        };
        let departure = jobs(KeyRange::of_key(&JobSort(JobId::Departure(user.clone()))));
        let key = PointsPartition(company.clone()).to_string();
        let points = Partition { group: "points", key, range: CorrectionSort::of(user) };
        let points = Place::Items(table.clone(), points);
        let (registrations, authors) = (Place::Registrations(user.clone()), Place::Authors(user.clone()));
        vec![departure, registrations, points, authors, exports, Place::Failures]
    }

    /// Whether the employee was added again after the start of the job. The data since then stays.
    async fn is_employed(&self, user: &UserId) -> Result<bool, Error> {
        let key = EmployeeKey { company: self.owner.company.clone(), user: user.clone() };
        match self.wellness.table.get::<Employee>(&Employee::key_of(&key)).await {
            Err(table::Error::Unreadable(..)) => Ok(true),
            found => Ok(found?.is_some()),
        }
    }

    /// Enrols an employee who was added again once more. The first enrolment may have seen
    /// registrations that this job has deleted.
    async fn enrol_again(&self) -> Result<(), Error> {
        let Some(user) = self.owner.user.clone() else { return Ok(()) };
        let key = EmployeeKey { company: self.owner.company.clone(), user };
        match self.wellness.table.get::<Employee>(&Employee::key_of(&key)).await {
            Ok(Some(employee)) => self.wellness.enrol_again(&employee).await,
            Ok(None) | Err(table::Error::Unreadable(..)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn look(&self, place: &Place, after: Option<&str>, job: &Job) -> Result<Look, Error> {
        match place {
            Place::Items(table, partition) => self.items(table, partition, after, job).await,
            Place::Registrations(user) => self.registrations(user, after, job).await,
            Place::Authors(user) => self.authors(user, after).await,
            Place::Objects(prefix) => {
                let page = self.wellness.files.list(prefix, after, PAGE).await?;
                let mut look = Look { next: page.next, ..Look::default() };
                page.keys.into_iter().for_each(|key| look.add(key, "Object"));
                Ok(look)
            }
            Place::Failures => {
                let page = self.wellness.failures.list(FAILED, after, PAGE).await?;
                let mut look = Look { next: page.next, ..Look::default() };
                for key in page.keys {
                    let document = self.wellness.failures.read(&key).await?.unwrap_or_default();
                    if self.owner.clean(&document) != Cleaned::Unchanged {
                        look.add(key, "FailedEvent");
                    }
                }
                Ok(look)
            }
        }
    }

    async fn items(&self, table: &Table, partition: &Partition, after: Option<&str>, job: &Job) -> Result<Look, Error> {
        let page = partition.page(table, after, ITEMS).await?;
        let is_employed = match &self.owner.user {
            Some(user) => self.is_employed(user).await?,
            None => false,
        };
        let since = job.started_at.to_string();
        let stays = |item: &StoredItem| {
            item.sort() == job.sort || (is_employed && item.text(Correction::CORRECTED_AT) > since.as_str())
        };
        let mut look = Look { next: page.next, ..Look::default() };
        for item in page.items.iter().filter(|item| !stays(item)) {
            look.add(item.sort().to_owned(), item.kind());
        }
        page.unreadable.into_iter().for_each(|sort| look.add(sort, StoredItem::TYPE));
        Ok(look)
    }

    /// Finds registrations in the index, which may be outdated. Each one is read again.
    async fn registrations(&self, user: &UserId, after: Option<&str>, job: &Job) -> Result<Look, Error> {
        let of = EmployeeKey { company: self.owner.company.clone(), user: user.clone() };
        let all = ActivityEndDateSort::all();
        let page = self.wellness.registrations_page::<ListedActivity>(&of, &all, after, PAGE).await?;
        let keys: Vec<Key> = page.items.iter().map(|one| Registration::key_of(&one.partition.0, user)).collect();
        let found = self.wellness.table.get_all::<Registration>(&keys, true).await?;
        let is_employed = self.is_employed(user).await?;
        let stays = |one: &Registration| is_employed && one.registered_at > job.started_at;
        let mut look = Look { next: page.next, ..Look::default() };
        for (activity, key) in page.items.into_iter().zip(&keys) {
            let is_due = found.items.get(key).map_or(found.unreadable.contains(key), |one| !stays(one));
            if is_due {
                look.add(activity.partition.0.to_string(), Registration::TYPE);
            }
        }
        Ok(look)
    }

    /// Finds the activities that the employee changed last. The index has no authors, so the
    /// activities are read. An author has no time. The job therefore also removes an employee who
    /// was added again.
    async fn authors(&self, user: &UserId, after: Option<&str>) -> Result<Look, Error> {
        let page = self.wellness.activities_page(&self.owner.company, after, PAGE).await?;
        let keys: Vec<Key> = page.items.iter().map(Activity::key_of).collect();
        let attributes = [Key::PARTITION, Key::SORT, Activity::CHANGED_BY];
        let found = self.wellness.table.get_all_attributes::<AuthoredActivity>(&keys, true, &attributes).await?;
        let mut look = Look { next: page.next, ..Look::default() };
        for activity in found.items.into_values().filter(|activity| activity.has_author(user)) {
            look.add(activity.partition.0.to_string(), AUTHOR);
        }
        Ok(look)
    }

    async fn erase(&self, place: &Place, keys: &[String], job: &Job) -> Result<(), Error> {
        match place {
            Place::Items(table, partition) => self.delete(table, &partition.key, keys).await,
            Place::Registrations(user) => {
                let ends = stream::iter(parsed(keys)).map(|activity| self.end(activity, user, job));
                ends.buffer_unordered(SIDE_BY_SIDE).try_collect().await
            }
            Place::Authors(user) => {
                let removals = stream::iter(parsed(keys)).map(|activity| self.forget(activity, user));
                removals.buffer_unordered(SIDE_BY_SIDE).try_collect().await
            }
            Place::Objects(_) => self.wellness.files.delete_all(keys).await,
            Place::Failures => {
                for key in keys {
                    let document = self.wellness.failures.read(key).await?.unwrap_or_default();
                    match self.owner.clean(&document) {
                        Cleaned::Unchanged => {}
                        Cleaned::Others(others) => self.wellness.failures.put(key, others).await?,
                        Cleaned::Nothing => self.wellness.failures.delete(key).await?,
                    }
                }
                Ok(())
            }
        }
    }

    async fn delete(&self, table: &Table, partition: &str, sorts: &[String]) -> Result<(), Error> {
        let mut batch = BatchWrite::default();
        for sort in sorts {
            batch.delete(table, &Key::new(&partition, sort))?;
        }
        Ok(self.wellness.dynamo.batch_write(batch).await.map_err(|left| left.why)?)
    }

    /// Removes the employee as the author of an activity. The version stays, so that no request
    /// gets 412. A request may have changed the activity in the meantime, and named another author.
    async fn forget(&self, activity: ActivityId, user: &UserId) -> Result<(), Error> {
        let is_author = Condition::entry_is(Activity::CHANGED_BY, &AuthoredActivity::SUB, user);
        let removal = self.wellness.table.update(Activity::key_of(&activity)).only_if(is_author);
        self.apply(vec![removal.remove(Activity::CHANGED_BY)]).await
    }

    /// Deletes a registration and gives up its ticket.
    async fn end(&self, activity: ActivityId, user: &UserId, job: &Job) -> Result<(), Error> {
        let wellness = self.wellness;
        let key = Registration::key_of(&activity, user);
        let delete = wellness.table.delete(key.clone());
        let changes = match wellness.table.get::<Registration>(&key).await {
            Ok(None) => return Ok(()),
            Err(table::Error::Unreadable(..)) => vec![delete],
            found => {
                let Some(registration) = found? else { return Ok(()) };
                let run = RequestId::new(job.started_at.instant(), wellness.dynamo.random());
                let mut changes = wellness.with_ticket(delete, &registration, run, job.started_at)?;
                if registration.registered_at > job.started_at {
                    let employee = EmployeeKey { company: self.owner.company.clone(), user: user.clone() };
                    changes.push(wellness.table.absent(Employee::key_of(&employee)));
                }
                changes
            }
        };
        self.apply(changes).await
    }

    /// Executes the changes. The next pass repeats a refused change.
    async fn apply(&self, changes: Vec<Change>) -> Result<(), Error> {
        match self.wellness.dynamo.apply(changes).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the stored page.
    async fn finish_page(&self, at: &mut EraseProgress, places: &[Place], job: &Job) -> Result<(), Error> {
        let Some(ErasePage { place, keys, kinds }) = at.page.take() else { return Ok(()) };
        if let Some(place) = places.get(place) {
            self.erase(place, &keys, job).await?;
        }
        for (kind, count) in kinds {
            *at.removed.entry(kind).or_default() += count;
        }
        Ok(())
    }

    /// Looks at places until a page has something to delete, the pass ends, or the time is up.
    async fn next_page(
        &self,
        at: &mut EraseProgress,
        places: &[Place],
        job: &Job,
        stop: Deadline,
    ) -> Result<(), Error> {
        while let Some(place) = places.get(at.place) {
            let Look { keys, kinds, next } = self.look(place, at.after.as_deref(), job).await?;
            let found = ErasePage { place: at.place, keys, kinds };
            at.place += usize::from(next.is_none());
            at.after = next;
            if !found.keys.is_empty() {
                (at.found, at.page) = (true, Some(found));
                return Ok(());
            }
            if stop.has_passed() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds the activities that the company has now to the known ones.
    async fn list(&self, known: &mut Vec<ActivityId>) -> Result<(), Error> {
        if self.owner.user.is_some() {
            return Ok(());
        }
        for activity in self.wellness.activities_of(&self.owner.company).await? {
            if !known.contains(&activity) {
                known.push(activity);
            }
        }
        Ok(())
    }
}

impl EraseProgress {
    fn is_at_start(&self) -> bool {
        self.place == 0 && self.after.is_none() && self.page.is_none()
    }

    /// Ends a pass. Returns whether the job is done.
    fn end_pass(&mut self) -> bool {
        if self.passes > 0 && !self.found {
            return true;
        }
        (self.place, self.after, self.waited, self.found) = (0, None, 0, false);
        self.passes = self.passes.saturating_add(1);
        false
    }
}

impl JobRunner for Erase<'_> {
    type Progress = EraseProgress;

    async fn step(&mut self, job: &Job, at: EraseProgress, stop: Deadline) -> Result<Step<EraseProgress>, Error> {
        let mut progress = at;
        if progress.is_at_start() {
            if progress.passes > 0 && progress.waited < self.wellness.quiet_seconds.unwrap_or(QUIET) {
                sleep(PAUSE).await;
                progress.waited += 1;
                return Ok(Step { progress, done: job.done, next: Next::Wait });
            }
            self.list(&mut progress.activities).await?;
        }
        let places = self.places(&progress.activities);
        self.finish_page(&mut progress, &places, job).await?;
        self.next_page(&mut progress, &places, job, stop).await?;
        let done = progress.removed.values().sum();
        if progress.place < places.len() || progress.page.is_some() {
            return Ok(Step { progress, done, next: Next::Continue });
        }
        if progress.end_pass() {
            self.enrol_again().await?;
            progress.completed_at = Some(self.clock.now()?.second());
            return Ok(Step { progress, done, next: Next::End });
        }
        Ok(Step { progress, done, next: Next::Wait })
    }
}
