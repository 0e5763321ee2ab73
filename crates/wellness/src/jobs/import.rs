use crate::{
    Employee, Wellness,
    employees::{PlacedAttributes, PlacedName, Placement, PutEmployeeInput},
    model::{
        employee::EmployeesQuery,
        import::{ImportProgress, MAX_REJECTED, Missing, Outcome, RejectedLine},
        upload::{FileStatus, Upload},
    },
};
use function::{Clock, Contract, Deadline, Error, Fields, Input, optimistically, unguarded};
use futures::{StreamExt, TryStreamExt, stream};
use intake::{Invalid, Records, Schema, Stop, described, shown};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    RequestId, TimestampSeconds,
    wellness::{AttributeName, CompanyId, Department, EmployeeKey, FacetId, Role, UploadKey, UserId},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    fmt::Display,
    pin::pin,
    str::FromStr,
};
use table::Value;

/// The column of the name. A file without it changes no names.
const NAME: &str = "name";
/// The member that contains the values of columns that a file need not have.
const OTHERS: &str = "others";
/// Columns of a file. Columns that are not listed are attributes.
const SCHEMA: Schema<'_> =
    Schema { own: &["userId", "role", "department"], rest: OTHERS, known: &[NAME], has_cases: true };
/// Maximum number of lines or employees of a step.
const STEP: usize = 500;
/// Number of lines or employees after which a step ends if its time is up.
const PAGE: usize = 50;
/// Number of employees that are changed concurrently.
const SIDE_BY_SIDE: usize = 16;

/// Adds and changes the employees of a file, and removes the others if the import asks for it
/// (docs/decisions/wellness-employees.md).
pub(crate) struct Import<'a> {
    wellness: &'a Wellness,
    object: UploadKey,
    missing: Missing,
    clock: Clock,
    /// Read once in each run.
    rows: Option<Vec<Row>>,
}

/// A record that is not blank.
struct Row {
    /// Number of the line on which the record starts, from 1.
    line: u64,
    content: Result<PutEmployeeInput, Invalid>,
}

/// The values of a record.
struct Record {
    user: UserId,
    role: Role,
    department: Department,
    name: Option<PlacedName>,
    attributes: PlacedAttributes,
}

/// A value of a file. It may come from a list that this service has exported.
struct Exported<T>(T);

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Exported<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        unguarded(&text).parse().map(Self).map_err(D::Error::custom)
    }
}

impl Input for Record {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (user, role) = (fields.body::<Exported<_>>("userId"), fields.body::<Exported<_>>("role"));
        let department = fields.body::<Exported<_>>("department");
        let others: BTreeMap<String, String> = fields.body(OTHERS)?;
        let (mut name, mut changes) = (Some(PlacedName::Unchanged), BTreeMap::new());
        for (column, value) in &others {
            let pointer = format!("/body/{column}");
            let read = match attribute(column) {
                _ if column == NAME => cell(value).map(|value| name = value.map(PlacedName::Is)),
                Ok(attribute) => cell(value).map(|value| drop(changes.insert(attribute, value))),
                Err(error) => return fields.fault(&pointer, error),
            };
            if let Err(error) = read {
                return fields.fault(&pointer, error);
            }
        }
        let attributes = PlacedAttributes::Change(changes);
        Some(Self { user: user?.0, role: role?.0, department: department?.0, name, attributes })
    }

    fn describe(_: &mut Contract) {}
}

/// Reads the value of a column that a file need not have. `None` if it is empty.
fn cell<T: FromStr>(value: &str) -> Result<Option<T>, T::Err> {
    match unguarded(value) {
        "" => Ok(None),
        value => value.parse().map(Some),
    }
}

/// Returns the attribute of a column. Its name may come from a list that this service has exported.
fn attribute(column: &str) -> Result<AttributeName, keys::Invalid> {
    unguarded(column).parse()
}

/// Requires that each further column is another attribute.
fn must_name_attributes(records: &Records) -> Result<(), Stop> {
    let Records::Csv(columns) = records else { return Ok(()) };
    let mut names = BTreeSet::new();
    for column in columns.others(&SCHEMA) {
        let name = unguarded(column);
        let is_new = names.insert(name);
        let reason = match attribute(column) {
            Ok(_) if is_new => continue,
            Ok(_) => "occurs more than once".to_owned(),
            Err(error) => format!("is no attribute. Its name {error}"),
        };
        return Err(Stop::File(format!("The column {} {reason}.", shown(name))));
    }
    Ok(())
}

/// Returns the user of a line that is not valid otherwise.
fn user_of(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Named {
        user_id: Exported<UserId>,
    }
    serde_json::from_str::<Named>(json).ok().map(|named| named.user_id.0.to_string())
}

impl<'a> Import<'a> {
    pub(crate) fn new(
        wellness: &'a Wellness,
        company: CompanyId,
        file: FacetId,
        missing: Missing,
        clock: Clock,
    ) -> Self {
        Self { wellness, object: UploadKey { company, file }, missing, clock, rows: None }
    }

    /// Reads the whole file. Of several lines of a user, only the first one is valid.
    async fn read(&self) -> Result<Vec<Row>, Stop> {
        let file = self.wellness.files.csv(&self.object)?;
        let opened = file.open(&SCHEMA).await?;
        must_name_attributes(&opened.records)?;
        let (mut rows, mut first) = (Vec::new(), BTreeMap::new());
        let mut records = pin!(file.records(&opened, opened.start));
        while let Some(raw) = records.next().await {
            let raw = raw?;
            let content = match opened.record::<Record>(&raw, user_of) {
                Ok(None) => continue,
                Ok(Some(record)) => match first.entry(record.user.clone()) {
                    Entry::Vacant(vacant) => {
                        vacant.insert(raw.line);
                        Ok(self.placed(record))
                    }
                    Entry::Occupied(before) => {
                        let reason = format!("The user is also on line {}.", before.get());
                        Err(Invalid { id: Some(record.user.to_string()), reason })
                    }
                },
                Err(invalid) => Err(invalid),
            };
            rows.push(Row { line: raw.line, content });
        }
        if rows.is_empty() { Err(Stop::File("The file has no employees.".to_owned())) } else { Ok(rows) }
    }

    fn placed(&self, Record { user, role, department, name, attributes }: Record) -> PutEmployeeInput {
        let key = EmployeeKey { company: self.object.company.clone(), user };
        PutEmployeeInput { key, role, department, name, attributes: Some(attributes) }
    }

    /// Adds or changes the employees of the next lines.
    async fn place(&self, rows: &[Row], at: &mut ImportProgress, stop: Deadline) -> Result<(), Error> {
        for page in rows[at.next.min(rows.len())..rows.len().min(at.next + STEP)].chunks(PAGE) {
            self.place_page(page, at).await?;
            if stop.has_passed() {
                break;
            }
        }
        Ok(())
    }

    async fn place_page(&self, page: &[Row], at: &mut ImportProgress) -> Result<(), Error> {
        // The time of this run, and not that of the start: a retried import may run long after it.
        // The version of a new employee starts with this time.
        let now = self.clock.now()?.second();
        let writes: Vec<_> = page.iter().map(|row| self.place_one(row, now)).collect();
        let placed: Vec<Result<Placement, Invalid>> = stream::iter(writes).buffered(SIDE_BY_SIDE).try_collect().await?;
        let counts = &mut at.outcome.counts;
        for (row, placement) in page.iter().zip(placed) {
            match placement {
                Ok(Placement::Added) => counts.added += 1,
                Ok(Placement::Changed) => counts.changed += 1,
                Ok(Placement::Unchanged) => counts.unchanged += 1,
                Err(invalid) => {
                    counts.rejected += 1;
                    if at.outcome.rejected_lines.len() < MAX_REJECTED {
                        let user_id = invalid.id.and_then(|id| id.parse().ok());
                        let rejected = RejectedLine { line: row.line, user_id, reason: invalid.reason };
                        at.outcome.rejected_lines.push(rejected);
                    }
                }
            }
        }
        at.next += page.len();
        at.outcome.counts.read += u64::try_from(page.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Adds or changes the employee of a line. The stored attributes and those of the line may be
    /// too many.
    async fn place_one(&self, row: &Row, now: TimestampSeconds) -> Result<Result<Placement, Invalid>, Error> {
        let placed = match &row.content {
            Ok(placed) => placed,
            Err(invalid) => return Ok(Err(invalid.clone())),
        };
        match optimistically(|| self.wellness.place(placed, now)).await {
            Ok((placement, _)) => Ok(Ok(placement)),
            Err(Error::Invalid(faults)) => {
                Ok(Err(Invalid { id: Some(placed.key.user.to_string()), reason: described(&faults) }))
            }
            Err(error) => Err(error),
        }
    }

    async fn end_one(&self, user: &UserId, now: TimestampSeconds) -> Result<Option<Job>, Error> {
        let key = EmployeeKey { company: self.object.company.clone(), user: user.clone() };
        let run = RequestId::new(now.instant(), self.wellness.dynamo.random());
        optimistically(|| self.wellness.remove(&key, &run, now)).await
    }

    /// Removes the next employees who are not in the file.
    async fn end(&self, rows: &[Row], at: &mut ImportProgress, stop: Deadline) -> Result<(), Error> {
        let named: BTreeSet<&UserId> =
            rows.iter().filter_map(|row| Some(&row.content.as_ref().ok()?.key.user)).collect();
        for _ in 0..STEP / PAGE {
            self.end_page(&named, at).await?;
            if at.is_complete || stop.has_passed() {
                break;
            }
        }
        Ok(())
    }

    async fn end_page(&self, named: &BTreeSet<&UserId>, at: &mut ImportProgress) -> Result<(), Error> {
        let now = self.clock.now()?.second();
        let company = &self.object.company;
        let position = at.after.as_ref().map(|position| position.parse()).transpose();
        let position = position.map_err(|_| Error::Internal("an import has an invalid position".to_owned()))?;
        let of = EmployeesQuery { company, department: None, consistent: true };
        let page = self.wellness.employees(of, position, PAGE).await?;
        let missing = page.items.iter().map(Employee::user).filter(|user| !named.contains(user));
        let ends: Vec<_> = missing.map(|user| self.end_one(user, now)).collect();
        let ended: Vec<Option<Job>> = stream::iter(ends).buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
        at.outcome.counts.ended += u64::try_from(ended.into_iter().flatten().count()).unwrap_or(u64::MAX);
        at.outcome.skipped += page.skipped;
        at.is_complete = page.next.is_none();
        at.after = page.next;
        Ok(())
    }

    /// Stores the outcome, and deletes the object. A repeated event of the object then starts no
    /// second import.
    async fn finish(&self, outcome: &Outcome) -> Result<(), Error> {
        let status = if outcome.reason.is_none() { FileStatus::Ready } else { FileStatus::Rejected };
        let update = self.wellness.table.update(Upload::key_of(&self.object.company, &self.object.file));
        let update = update.set(Upload::STATUS, Value::of(&status)?).set(Upload::OUTCOME, Value::of(outcome)?);
        match self.wellness.dynamo.write(update).await {
            // The upload may have expired.
            Ok(()) | Err(table::Error::Refused(_)) => self.wellness.files.delete(&self.object).await,
            Err(error) => Err(error.into()),
        }
    }

    /// Counts the import among the running jobs that callers have started. It has started already,
    /// so it runs even if the list has no room. W35 then refuses the next import.
    async fn count_in(&self, job: &Job) -> Result<(), Error> {
        let counted = match self.wellness.counting(&self.object.company, job).await {
            Ok(change) => self.wellness.dynamo.write(change).await,
            Err(Error::Conflict(..)) => Ok(()),
            Err(error) => return Err(error),
        };
        match counted {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    async fn advance(&mut self, job: &Job, at: &mut ImportProgress, stop: Deadline) -> Result<(), Stop> {
        if *at == ImportProgress::default() {
            self.count_in(job).await?;
        }
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => self.read().await?,
        };
        if at.next < rows.len() {
            self.place(&rows, at, stop).await?;
        } else if self.missing == Missing::Keep {
            at.is_complete = true;
        } else if at.outcome.counts.rejected > 0 {
            let reason = "Nobody was removed, because lines were rejected. Correct them, and import the file again.";
            return Err(Stop::File(reason.to_owned()));
        } else {
            self.end(&rows, at, stop).await?;
        }
        self.rows = Some(rows);
        Ok(())
    }
}

impl JobRunner for Import<'_> {
    type Progress = ImportProgress;

    async fn step(&mut self, job: &Job, at: ImportProgress, stop: Deadline) -> Result<Step<ImportProgress>, Error> {
        let mut progress = at;
        if progress.is_complete {
            self.finish(&progress.outcome).await?;
            return Ok(Step { progress, done: job.done, next: Next::End });
        }
        match self.advance(job, &mut progress, stop).await {
            Ok(()) => {}
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::File(reason)) => {
                function::count("RejectedFiles", 1);
                progress.outcome.reason = Some(reason);
                progress.is_complete = true;
            }
        }
        Ok(Step { done: progress.outcome.counts.read, progress, next: Next::Continue })
    }

    fn failure(progress: &ImportProgress) -> Option<String> {
        progress.outcome.reason.clone()
    }

    fn skipped(progress: &ImportProgress) -> u64 {
        u64::try_from(progress.outcome.skipped).unwrap_or(u64::MAX)
    }
}
