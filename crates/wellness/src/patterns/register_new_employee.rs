//! W11: registers new and transferred employees for the activities that they are eligible for
//! (docs/requirements/wellness.md#new-employees-join-eligible-challenges).
//!
//! docs/decisions/wellness-registrations.md explains the order of the writes and reads.

use crate::{
    Activity, Employee, Filters, Registration, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        enrolment::{Enrolment, Offer},
        option::ActivityOption,
    },
};
use function::{Batch, Deadline, Error, Record, Trigger};
use futures::{StreamExt, stream};
use keys::{
    TimestampSeconds,
    wellness::{ActivityEndDateSort, ActivityType, CompanyId, EmployeeKey, EmployeeSort, EndDateSort, Period, Status},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::Display,
    time::Duration,
};
use table::{
    Item, Key,
    cost::{Cost, Term, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W11",
    name: "register-new-employee",
    trigger: Trigger::Stream("Activities"),
    calls: &[Calls::new("", |case| {
        let challenges = case.eligible;
        Cost::default()
            .read(cost::ACTIVITIES, read(case.employee))
            .read(cost::LISTS, case.listed(case.narrow))
            .read(cost::REGISTRATIONS, Term::halves(1))
            .write(cost::ACTIVITIES, write(case.registration).times(challenges))
            .write(cost::REGISTRATIONS, write(case.registration).times(challenges))
            .read(cost::ACTIVITIES, case.activity_read().times(challenges))
    })],
    contract: |_| {},
    function: || function::stream(register_new_employee, Wellness::warm_by_lists),
};

/// Maximum number of concurrent calls to DynamoDB.
const AT_ONCE: usize = 16;

/// Time reserved for the final check of the end dates, but at most a quarter of the remaining time.
const TIME_TO_SETTLE: Duration = Duration::from_secs(5);

/// Registers every employee of the batch. Returns the sequence numbers of the records to retry.
///
/// Only failures that a retry may fix are retried, because the shard waits for a retried record and
/// contains the employees of other companies. An unreadable record or item is logged, counted and
/// passed over. The stored employee is the copy of the event: putting it again repeats the event.
async fn register_new_employee(wellness: Wellness, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let stop = batch.deadline.with_reserve(TIME_TO_SETTLE);
    let mut run = Run { wellness: &wellness, starts: Vec::new(), stop, failed: BTreeSet::new() };
    batch.records.iter().for_each(|record| run.read(record));
    let mut employees = run.employees().await;
    let mut registered = run.registrations(&mut employees).await;
    let there: HashSet<_> = registered.iter().map(|(_, registration)| registration.key()).collect();
    let options = run.options(&employees).await;
    let (wanted, left) = run.wanted(&employees, &options);
    let placed = employees.iter().map(|(start, employee)| (*start, employee)).collect();
    run.withdraw(left, &placed).await;
    let missing = run.missing(wanted, &there).await;
    let put = run.each(missing, |registration| wellness.register(registration)).await;
    registered.extend(put.into_iter().filter_map(|(start, registration)| Some((start, registration?))));
    run.stop = batch.deadline;
    run.settle(registered, &placed).await;
    Ok(run.failed)
}

/// An employee who is new or has a new company, role or department. Records of the same employee
/// are merged into one `Start` with the earliest time.
struct Start {
    employee: EmployeeKey,
    since: TimestampSeconds,
    /// Whether the employee existed before, and may have to leave activities.
    is_move: bool,
    sequence_numbers: Vec<String>,
}

impl Start {
    /// Returns `None` for a record of another item. The event filter normally removes such records.
    fn read(record: &Record) -> Result<Option<Self>, &'static str> {
        let sort = record.sort_key().ok_or("no sort key")?;
        if !EmployeeSort::all().contains(sort) {
            return Ok(None);
        }
        let employee = record.partition_key().and_then(|partition| EmployeeKey::parse(partition, sort).ok());
        let since = record.created_at().and_then(|time| TimestampSeconds::containing(time).ok());
        let sequence_numbers = vec![record.sequence_number().to_owned()];
        let (employee, since) = (employee.ok_or("no key of an employee")?, since.ok_or("no creation time")?);
        Ok(Some(Self { employee, since, is_move: record.is_modification(), sequence_numbers }))
    }
}

/// The keys of the registrations to leave, and the time of the change.
type Leaving = (Vec<Key>, TimestampSeconds);

/// Work items, each with the index of its `Start`.
type Work<T> = Vec<(usize, T)>;

/// The state of a batch. Each work item carries the index of its `Start`.
struct Run<'a> {
    wellness: &'a Wellness,
    starts: Vec<Start>,
    /// No call starts after this deadline.
    stop: Deadline,
    /// Sequence numbers of the records to retry.
    failed: BTreeSet<String>,
}

impl Run<'_> {
    fn read(&mut self, record: &Record) {
        match Start::read(record) {
            Ok(Some(new)) => {
                let is_same = |start: &&mut Start| start.employee == new.employee;
                match self.starts.iter_mut().find(is_same) {
                    Some(start) => {
                        start.since = start.since.min(new.since);
                        start.is_move |= new.is_move;
                        start.sequence_numbers.extend(new.sequence_numbers);
                    }
                    None => self.starts.push(new),
                }
            }
            Ok(None) => {}
            Err(reason) => {
                let (partition, sort) = (record.partition_key(), record.sort_key());
                let sequence_number = record.sequence_number();
                tracing::error!(
                    sequence_number,
                    partition,
                    sort,
                    reason,
                    "the stream record of an employee cannot be read"
                );
                function::count("UnreadableItems", 1);
            }
        }
    }

    /// Reads the current state of the employees, without deleted and unreadable employees.
    async fn employees(&mut self) -> Vec<(usize, Employee)> {
        let wellness = self.wellness;
        let keys = self.starts.iter().map(|start| Employee::key_of(&start.employee)).enumerate().collect();
        let found = self.each(keys, async |key| if_readable(wellness.table.get::<Employee>(&key).await)).await;
        found.into_iter().filter_map(|(start, employee)| Some((start, employee??))).collect()
    }

    /// Reads the existing registrations for activities that have not ended, so that their end dates
    /// are checked as well.
    ///
    /// A killed run may have left registrations with an outdated end date. If the activity has
    /// since ended, nothing else corrects these registrations. An employee whose list could not be
    /// read is removed from `employees`: the list is not empty.
    async fn registrations(&mut self, employees: &mut Vec<(usize, Employee)>) -> Vec<(usize, Registration)> {
        let wellness = self.wellness;
        let of = |start: usize| (start, (self.starts[start].employee.clone(), self.starts[start].since));
        let users = employees.iter().map(|(start, _)| of(*start)).collect();
        let found = self.each(users, |(of, since)| wellness.registrations_of(of, Period::not_over(since))).await;
        let found: BTreeMap<_, _> = found.into_iter().filter_map(|(start, found)| Some((start, found?))).collect();
        employees.retain(|(start, _)| found.contains_key(start));
        found.into_iter().flat_map(|(start, found)| found.into_iter().map(move |one| (start, one))).collect()
    }

    /// For each company, lists the activities that may not have ended at the earliest `since` of
    /// its employees. `None` if the list is too large, so that a retry cannot read it.
    async fn options(&mut self, employees: &[(usize, Employee)]) -> HashMap<CompanyId, Option<Vec<ActivityOption>>> {
        let mut first = BTreeMap::new();
        for (start, employee) in employees {
            let since = self.starts[*start].since;
            let entry = first.entry(employee.company().clone()).or_insert((*start, since));
            entry.1 = entry.1.min(since);
        }
        let wellness = self.wellness;
        let companies = first.into_iter().map(|(company, (start, since))| (start, (company, since))).collect();
        let found = self.each(companies, async |(company, since): (CompanyId, TimestampSeconds)| {
            let options = wellness.all_options(&company, Period::not_over(since)).await;
            Ok((company, if_readable(options.map(|page| page.items))?))
        });
        found.await.into_iter().map(|(_, found)| found).collect()
    }

    /// Builds a registration for every activity in which the service enrols an employee, and the
    /// keys of the registrations that a moved employee must leave.
    fn wanted(
        &mut self,
        employees: &[(usize, Employee)],
        options: &HashMap<CompanyId, Option<Vec<ActivityOption>>>,
    ) -> (Work<Registration>, Work<Leaving>) {
        let (mut wanted, mut left) = (Vec::new(), Vec::new());
        for (start, employee) in employees {
            let Start { since, is_move, .. } = self.starts[*start];
            let options = match options.get(employee.company()) {
                Some(Some(options)) => options,
                Some(None) => continue,
                None => {
                    self.fail(*start, &"the list of activities could not be read");
                    continue;
                }
            };
            let eligible = options.iter().filter(|option| option.offer().enrols(employee, since));
            wanted.extend(eligible.map(|option| (*start, option.registration(employee, since))));
            let excluded = options.iter().filter(|option| is_move && option.offer().excludes(employee, since));
            let keys: Vec<_> =
                excluded.map(|option| Registration::key_of(&option.partition.0, employee.user())).collect();
            left.extend((!keys.is_empty()).then_some((*start, (keys, since))));
        }
        (wanted, left)
    }

    /// Returns the registrations that do not exist. The index may still show a registration that
    /// was deleted a moment ago, so the registrations that it shows are read from the table.
    async fn missing(&mut self, wanted: Work<Registration>, shown: &HashSet<Key>) -> Work<Registration> {
        let wellness = self.wellness;
        let (shown, mut missing): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(_, registration)| shown.contains(&registration.key()));
        let mut keys = BTreeMap::<usize, Vec<Key>>::new();
        for (start, registration) in &shown {
            keys.entry(*start).or_default().push(registration.key());
        }
        let read = async |keys: Vec<Key>| Ok(wellness.table.get_all::<Registration>(&keys, true).await?);
        let found = self.each(keys.into_iter().collect(), read).await.into_iter();
        let stored: HashSet<Key> =
            found.flat_map(|(_, found)| found.items.into_keys().chain(found.unreadable)).collect();
        missing.extend(shown.into_iter().filter(|(_, registration)| !stored.contains(&registration.key())));
        missing
    }

    /// Updates the end dates of the registrations until they equal the end dates of the activities.
    ///
    /// The transaction that changes an end date also starts the job that updates the registrations.
    /// The job can miss only a registration that is put after that change. In this case, this
    /// function reads the new end date.
    ///
    /// An employee who is no longer eligible for an activity leaves it. Its filters may have
    /// changed after the list was read.
    async fn settle(&mut self, mut registered: Vec<(usize, Registration)>, employees: &HashMap<usize, &Employee>) {
        let wellness = self.wellness;
        while !registered.is_empty() {
            let ends = match wellness.ends(&registered).await {
                Ok(ends) => ends,
                Err(error) => return registered.iter().for_each(|(start, _)| self.fail(*start, &error)),
            };
            let (out, rest): (Vec<_>, Vec<_>) = registered.into_iter().partition(|(start, registration)| {
                let now = ends.get(&Activity::key_of(&registration.partition.0));
                let since = self.starts[*start].since;
                now.zip(employees.get(start)).is_some_and(|(now, employee)| now.excludes(employee, since))
            });
            let leave = |start: usize, one: Registration| (start, (vec![one.key()], self.starts[start].since));
            let out = out.into_iter().map(|(start, registration)| leave(start, registration)).collect();
            self.withdraw(out, employees).await;
            let moved = rest.into_iter().filter_map(|(start, registration)| {
                let end = ActivityEndDateSort(ends.get(&Activity::key_of(&registration.partition.0))?.end.0);
                (registration.end != end).then_some((start, Registration { end, ..registration }))
            });
            let moved = moved.collect();
            registered = self.each(moved, |registration| wellness.move_to_end(registration)).await;
        }
    }

    /// Withdraws employees, and then reads the activities again.
    ///
    /// A change of an activity may admit the employee again in the meantime. The job that this
    /// change starts puts no registration if it still finds the old one. The record of the employee
    /// is therefore retried, and the retry registers the employee.
    async fn withdraw(&mut self, left: Work<Leaving>, employees: &HashMap<usize, &Employee>) {
        let wellness = self.wellness;
        let found = self.each(left, |(keys, since)| wellness.leave(keys, since)).await;
        let found: Vec<_> =
            found.into_iter().flat_map(|(start, found)| found.into_iter().map(move |one| (start, one))).collect();
        if found.is_empty() {
            return;
        }
        let ends = match wellness.ends(&found).await {
            Ok(ends) => ends,
            Err(error) => return found.iter().for_each(|(start, _)| self.fail(*start, &error)),
        };
        for (start, registration) in &found {
            let now = ends.get(&Activity::key_of(&registration.partition.0)).zip(employees.get(start));
            if now.is_some_and(|(now, employee)| now.enrols(employee, self.starts[*start].since)) {
                self.fail(*start, &"an activity admits the employee again");
            }
        }
    }

    /// Runs `work` for all items concurrently, until the deadline. Failures are recorded in
    /// `failed` and omitted from the result.
    async fn each<T, U, F>(&mut self, items: Vec<(usize, T)>, work: impl Fn(T) -> F) -> Vec<(usize, U)>
    where
        F: Future<Output = Result<U, Error>>,
    {
        let stop = self.stop;
        let works: Vec<_> = items
            .into_iter()
            .map(|(start, item)| {
                let work = work(item);
                let work = table::for_tenant(&self.starts[start].employee.company, work);
                async move { (start, if stop.has_passed() { None } else { stop.bound(work).await }) }
            })
            .collect();
        let mut works = stream::iter(works).buffer_unordered(AT_ONCE);
        let mut done = Vec::new();
        while let Some((start, result)) = works.next().await {
            match result {
                Some(Ok(result)) => done.push((start, result)),
                Some(Err(error)) => self.fail(start, &error),
                None => self.fail(start, &"the deadline has passed"),
            }
        }
        done
    }

    fn fail(&mut self, start: usize, reason: &impl Display) {
        for sequence_number in &self.starts[start].sequence_numbers {
            if self.failed.insert(sequence_number.clone()) {
                tracing::warn!(sequence_number, %reason, "the registrations of an employee are incomplete");
            }
        }
    }
}

impl ActivityOption {
    fn registration(&self, employee: &Employee, now: TimestampSeconds) -> Registration {
        let (company, activity) = (employee.company().clone(), self.partition.0.clone());
        Registration::new(company, activity, self.end.0, employee.user().clone(), now)
    }
}

/// The attributes of an activity that the final check needs. The function ignores all others, so an
/// invalid one cannot make it fail. Without a readable status, type or filter, nobody leaves.
#[derive(Serialize, Deserialize)]
struct Current {
    #[serde(rename = "GSI1SK")]
    end: EndDateSort,
    #[serde(rename = "ActivityType", default)]
    activity_type: Lenient<ActivityType>,
    #[serde(rename = "Status", default)]
    status: Lenient<Status>,
    #[serde(rename = "Filters", default)]
    filters: Lenient<Filters>,
    #[serde(rename = "Enrolment", default)]
    enrolment: Lenient<Enrolment>,
}

impl Item for Current {
    const TYPE: &'static str = "Activity";
}

impl Current {
    fn excludes(&self, employee: &Employee, at: TimestampSeconds) -> bool {
        self.offer().is_some_and(|offer| offer.excludes(employee, at))
    }

    fn enrols(&self, employee: &Employee, at: TimestampSeconds) -> bool {
        self.offer().is_some_and(|offer| offer.enrols(employee, at))
    }

    fn offer(&self) -> Option<Offer<'_>> {
        let activity_type = self.activity_type.0?;
        let enrolment = self.enrolment.0.unwrap_or(Enrolment::of_type(activity_type));
        Some(Offer { status: self.status.0?, enrolment, end: self.end.0, filters: self.filters.0.as_ref()? })
    }
}

/// An attribute that may be missing or unreadable.
#[derive(Serialize)]
#[serde(transparent)]
struct Lenient<T>(Option<T>);

impl<T> Default for Lenient<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(Self(serde_json::from_value(serde_json::Value::deserialize(input)?).ok()))
    }
}

impl Wellness {
    /// Reads the registrations of an employee, without the values that can be large and that the
    /// function does not need. `None` if the list is too large.
    async fn registrations_of(&self, of: EmployeeKey, period: Period) -> Result<Option<Vec<Registration>>, Error> {
        let trimmed = |one| Registration { data: None, awards: Vec::new(), ..one };
        if_readable(self.all_registrations(&of, period, trimmed).await.map(|page| page.items))
    }

    /// Puts the registration and returns it. If the registration already exists, returns the
    /// existing registration, or `None` if it cannot be read.
    async fn register(&self, registration: Registration) -> Result<Option<Registration>, Error> {
        match self.dynamo.write(self.table.put_new(&registration)?).await {
            Err(table::Error::Refused(refused)) => Ok(if_readable(refused.found(0))?.flatten()),
            written => Ok(written.map(|()| Some(registration))?),
        }
    }

    /// Withdraws an employee from these activities, unless the employee has done something. Returns
    /// the registrations that were found.
    async fn leave(&self, keys: Vec<Key>, now: TimestampSeconds) -> Result<Vec<Registration>, Error> {
        let found = self.table.get_all::<Registration>(&keys, true).await?.items;
        for registration in found.values() {
            self.withdraw(registration, now).await?;
        }
        Ok(found.into_values().collect())
    }

    /// Updates the end date of an existing registration.
    async fn move_to_end(&self, registration: Registration) -> Result<Registration, Error> {
        let key = Registration::key_of(&registration.partition.0, &registration.sort.0);
        self.dynamo.write(self.table.update(key).set(Registration::END, &registration.end)).await?;
        Ok(registration)
    }

    /// Reads the current end date of each activity once, with strong consistency.
    async fn ends(&self, registrations: &[(usize, Registration)]) -> Result<BTreeMap<Key, Current>, Error> {
        let activities: BTreeSet<_> = registrations.iter().map(|(_, registration)| &registration.partition.0).collect();
        let keys: Vec<Key> = activities.into_iter().map(Activity::key_of).collect();
        Ok(self.table.get_all(&keys, true).await?.items)
    }
}

/// Returns `None` if a stored item cannot be read, or a list is too large. A retry cannot fix
/// either. The invocation logs the key of an unreadable item.
fn if_readable<T>(found: Result<T, impl Into<Error>>) -> Result<Option<T>, Error> {
    match found.map_err(Into::into) {
        Err(Error::Table(table::Error::Unreadable(..))) => Ok(None),
        Err(error @ Error::Table(table::Error::TooMuch)) => {
            tracing::error!(%error, "employees of a company lack registrations");
            function::count("UnreadableItems", 1);
            Ok(None)
        }
        found => found.map(Some),
    }
}
