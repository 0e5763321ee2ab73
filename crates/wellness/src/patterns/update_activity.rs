//! W16: updates an activity if its version equals the version in the request
//! (docs/requirements/wellness.md#edit-all-parts-of-an-activity).
//!
//! A new status or end date is also written to the references, and a new end date to the
//! registrations. docs/decisions/wellness-activities.md explains the version.

use crate::{
    Activity, ActivityBody, DOMAIN, Filters, FiltersBody, Groups, Name, Reference, Wellness,
    cost::{self, Calls, Named, Pattern},
    jobs::group_progress::has_long_ended,
    model::{
        enrolment::{Capacity, Enrolment},
        job::following,
        object::JsonObject,
        ticket::seating,
    },
};
use function::{Error, Fields, Input, Json, Problem, Request, Route, Trigger, Version, optimistically};
use keys::wellness::{
    ActivityId, ActivityPartition, CompanyId, EndDateSort, GroupsPartition, GroupsSort, JobId, Level, PlanTime,
    ProgramSort, Status,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Map;
use table::{
    Attribute, Change, Condition, Item, JsonText, Key, Query, Value,
    cost::{Cost, Size, Term, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W16",
    name: "update-activity",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/wellness/companies/{companyId}/activities/{activityId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Change an activity if it has the given version",
        problems: &[Problem::NotFound, Problem::AnotherVersion],
    }]),
    calls: &[
        Calls::new("", part_cost),
        Calls::new(", status", status_cost),
        Calls::new(", endDate", |case| {
            status_cost(case)
                .write(cost::JOBS, 2)
                .write(cost::PROGRAM, write(case.program))
                .write(cost::LISTS, write(case.narrow))
        }),
        Calls::new(", enrolment", |case| part_cost(case).write(cost::JOBS, write(case.job).times(2))),
        Calls::new(", capacity", |case| {
            Cost::default()
                .read(cost::ACTIVITIES, case.activity_read() + 1)
                .write(cost::ACTIVITIES, (write(case.activity) + 1).times(2))
                .write(cost::PROGRAM, write(case.program))
                .write(cost::JOBS, write(case.job).times(2))
        }),
    ],
    contract: function::contract(&update_activity),
    function: || function::http(update_activity, Wellness::warm_by_get),
};

fn part_cost(case: &Named) -> Cost {
    Cost::default()
        .read(cost::ACTIVITIES, case.activity_read())
        .write(cost::ACTIVITIES, write(case.activity).times(2))
        .write(cost::PROGRAM, write(case.program))
        .write(cost::LISTS, write(case.narrow))
}

fn status_cost(case: &Named) -> Cost {
    part_cost(case)
        .read(cost::ACTIVITIES, read(case.collection()).times(2))
        .write(cost::ACTIVITIES, case.follow_write().times(2))
        .write(cost::LISTS, case.follow_write().times(2))
}

impl Named {
    /// Total size of an activity's base row, parts and references.
    pub(crate) fn collection(&self) -> Size {
        self.activity + self.part * self.parts + self.reference * self.references
    }

    /// Write request units (WRU) for updating the references. A transaction consumes twice as many.
    fn follow_write(&self) -> Term {
        write(self.reference).times(self.references)
    }
}

/// A request to update an activity. Omitted fields keep their stored values.
#[derive(Debug, Clone, Input)]
#[input(check = must_be_in_order(start, end), check = must_have_any(), schema = has_any)]
pub struct UpdateActivityInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    #[input(body, via = Version)]
    version: i64,
    #[input(body)]
    name: Option<Name>,
    #[input(body)]
    status: Option<Status>,
    #[input(body = "startDate")]
    start: Option<PlanTime>,
    /// Must not end before `startDate`. A date, or a time of 00:00:00 in UTC, includes that whole
    /// day.
    #[input(body = "endDate")]
    end: Option<PlanTime>,
    #[input(body, via = FiltersBody)]
    filters: Option<Filters>,
    #[input(body)]
    enrolment: Option<Enrolment>,
    /// `null` removes the limit.
    #[input(body)]
    capacity: Option<NewCapacity>,
    /// `null` removes the data.
    #[input(body)]
    data: Option<NewData>,
}

type NewCapacity = Option<Capacity>;

type NewData = Option<JsonObject>;

const MEMBERS: [&str; 8] = ["name", "status", "startDate", "endDate", "filters", "enrolment", "capacity", "data"];

const BEFORE_START: &str = "must not be before startDate";

fn must_be_in_order(fields: &mut Fields, start: Option<&PlanTime>, end: Option<&PlanTime>) {
    if start.zip(end).is_some_and(|(start, end)| end < start) {
        fields.fault::<()>("/body/endDate", BEFORE_START);
    }
}

fn must_have_any(fields: &mut Fields) {
    if !MEMBERS.into_iter().any(|member| fields.has_body(member)) {
        fields.fault::<()>("/body", format!("must have at least one of {}", MEMBERS.join(", ")));
    }
}

/// The version and another member.
fn has_any(body: &mut Map<String, serde_json::Value>) {
    body.insert("minProperties".to_owned(), 2.into());
}

/// An activity after its update.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ChangedActivity")]
pub struct Updated {
    #[serde(flatten)]
    activity: ActivityBody,
    /// The id of the job that updates the registrations. Absent if the end date does not change.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<JobId>,
    /// The id of the job that enrols and withdraws employees. Absent if the update concerns nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    enrolment_job_id: Option<JobId>,
}

/// Updates the name, the status, the dates, the filters and the data of an activity. The version in
/// the request must be the activity's current version.
///
/// The same transaction updates the references, and starts the job that updates the registrations.
///
/// # Errors
/// - 404 if the activity does not exist.
/// - 412 if the activity has a different version.
/// - 413 if the base row grows beyond 8 KB.
pub async fn update_activity(
    wellness: Wellness,
    request: Request<UpdateActivityInput>,
) -> Result<Json<Updated>, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    Ok(Json(optimistically(|| wellness.update(&request)).await?))
}

impl Wellness {
    /// Makes one attempt to update the activity. After a conflict, `optimistically` makes another
    /// attempt, which reads the activity and its references again.
    async fn update(&self, request: &Request<UpdateActivityInput>) -> Result<Updated, Error> {
        let patch = &request.input;
        let old = self.activity(&patch.company, &patch.activity).await?;
        if old.version != patch.version {
            return Err(Error::AnotherVersion);
        }
        let new = patch.applied_to(&old)?;
        if new == old {
            let activity = ActivityBody::of(old, &request.caller, request.now);
            return Ok(Updated { activity, job_id: None, enrolment_job_id: None });
        }
        let (version, changed_by) = (old.version + 1, Some(request.caller.author(DOMAIN)));
        let new = Activity { version, changed_by, ..new };
        let mut changes = vec![self.row(&old, &new)?];
        if (new.status, new.end) != (old.status, old.end) {
            changes.extend(self.references(new.id()).await?.iter().map(|reference| self.along(reference, &new)));
        }
        let ends_otherwise = new.end != old.end;
        if ends_otherwise && has_long_ended(&old, request.now) {
            changes.extend(self.listing_groups(&new).await?);
        }
        if ends_otherwise {
            let job = following(&new.company, new.id(), request.id, request.now)?;
            changes.push(self.jobs.table().put(&job)?);
        }
        let enrolment = new.next_enrolment(&old, request.id, request.now)?;
        let enrolment_job_id = enrolment.as_ref().map(|_| JobId::Enrolment(new.id().clone()));
        changes.extend(enrolment.map(|job| self.jobs.table().put(&job)).transpose()?);
        if new.capacity != old.capacity {
            let job = seating(&new.company, new.id(), request.id, request.now)?;
            changes.extend([self.resizing(new.id(), new.capacity).await?, self.jobs.table().put(&job)?]);
        }
        self.dynamo.transact(changes).await?;
        let job_id = ends_otherwise.then(|| JobId::Registrations(new.id().clone()));
        let activity = ActivityBody::of(new, &request.caller, request.now);
        Ok(Updated { activity, job_id, enrolment_job_id })
    }

    /// Returns the change that resumes the computation of the progress of groups.
    async fn listing_groups(&self, activity: &Activity) -> Result<Option<Change>, Error> {
        let key = Key::new(&ActivityPartition(activity.id().clone()), &ProgramSort::Groups);
        let Some(groups) = self.table.get::<Groups>(&key).await? else { return Ok(None) };
        let place = GroupsSort { company: activity.company.clone(), activity: activity.id().clone() };
        let list = self.table.update(Key::new(&groups.partition, &groups.sort));
        Ok(Some(list.set(Groups::LIST, &GroupsPartition::of(activity.id())).set(Groups::PLACE, &place)))
    }

    /// Returns the update of the base row, which fails if the version has changed. It does not
    /// write the section, because W6 (move-activity) changes the section without a new version.
    fn row(&self, old: &Activity, new: &Activity) -> Result<Change, Error> {
        let row = self.table.update(Activity::key_of(new.id())).only_if(Condition::is(Activity::VERSION, old.version));
        let row =
            row.set(Activity::VERSION, new.version).set(Activity::NAME, &new.name).set(Activity::STATUS, &new.status);
        let row = row
            .set(Activity::START_DATE, &new.start_date)
            .set(Activity::END, &new.end)
            .set(Activity::LIST_END, &new.end);
        let row = row.set(Activity::FILTERS, Value::of(&new.filters)?);
        let row = row.set(Activity::CHANGED_BY, Value::of(&new.changed_by)?);
        let row = match &new.enrolment {
            Some(enrolment) => row.set(Activity::ENROLMENT, Value::of(enrolment)?),
            None => row.remove(Activity::ENROLMENT),
        };
        let row = match new.capacity {
            Some(capacity) => row.set(Activity::CAPACITY, i64::from(capacity)),
            None => row.remove(Activity::CAPACITY),
        };
        Ok(match &new.data {
            Some(data) => row.set(Activity::DATA, Value::of(data)?),
            None => row.remove(Activity::DATA),
        })
    }

    fn along(&self, reference: &Reference, activity: &Activity) -> Change {
        let moved = self.table.update(Reference::key_of(activity.id(), reference.of()));
        let moved = moved.only_if(Condition::is(Reference::PLACE, &reference.place));
        moved.set(Reference::PLACE, &reference.moved(activity.status, activity.end()))
    }

    /// Reads the references of an activity.
    ///
    /// A query is not a snapshot: during a replacement, it may return neither the old nor the new
    /// reference. Two consecutive queries must therefore return the same references. If a reference
    /// is replaced after the second query, the transaction fails.
    async fn references(&self, activity: &ActivityId) -> Result<Vec<Reference>, Error> {
        let (partition, range) = (ActivityPartition(activity.clone()), Level::Program.range());
        let query = Query::new(&partition, &range).only_if(Condition::is(Attribute::TYPE, &Reference::TYPE));
        let first = self.table.query_all::<Reference>(&query).await?.complete()?;
        let again = self.table.query_all(&query).await?.complete()?;
        if first == again { Ok(again) } else { Err(Error::stale()) }
    }
}

impl UpdateActivityInput {
    fn applied_to(&self, old: &Activity) -> Result<Activity, Error> {
        let mut new = old.clone();
        new.name = self.name.clone().unwrap_or(new.name);
        new.filters = self.filters.clone().unwrap_or(new.filters);
        new.filters.must_be_of(Some(new.activity_type), Some(&new.sub_type))?;
        if let Some(enrolment) = self.enrolment {
            new.enrolment = enrolment.stored(new.activity_type);
        }
        if let Some(capacity) = self.capacity {
            new.capacity = capacity.map(u32::from);
        }
        if let Some(data) = &self.data {
            new.data = data.clone().map(JsonText::from);
        }
        if table::size(&new)? > table::size(old)? {
            new.must_fit()?;
        }
        new.status = self.status.unwrap_or(new.status);
        new.start_date = self.start.unwrap_or(new.start_date);
        new.end = self.end.map_or(new.end, EndDateSort);
        new.list_end = Some(new.end);
        new.must_take_sign_ups_if_limited()?;
        if new.end().is_over(new.start_date.second()) {
            return Err(match self.end {
                Some(_) => Error::invalid("/body/endDate", BEFORE_START),
                None => Error::invalid("/body/startDate", "must not be after endDate"),
            });
        }
        Ok(new)
    }
}
