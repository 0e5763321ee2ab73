//! W1: creates an activity with all its parts, optionally from a template
//! (docs/requirements/wellness.md#activity-types).

use crate::{
    Activity, ActivityBody, DOMAIN, Detail, Goal, Groups, Record, Reward, Section, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        content::{Content, Essentials, require},
        enrolment::{Capacity, Enrolment},
        object::JsonObject,
        parts::ReferenceBody,
        sizes::{MAX_PART, MAX_REFERENCE, must_fit},
    },
};
use function::{
    Created, Error, Fields, Fingerprint, IdempotentRequest, Input, Problem, Request, Route, Trigger, optimistically,
};
use futures::future::{try_join, try_join_all};
use keys::wellness::{
    ActivityId, ActivityPartition, CompanyId, EndDateSort, ListPartition, Owner, PlanTime, ProgramPartition,
    ProgramSort, SectionId, Status, TemplateId,
};
use serde_json::{Map, Value, json};
use table::{Change, Item, Table, cost::Cost};

pub const PATTERN: Pattern = Pattern {
    id: "W1",
    name: "create-activity",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/activities",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create an activity with all its parts",
        problems: &[Problem::NotFound, Problem::IdempotencyKeyReused],
    }]),
    calls: &[
        Calls::new("", insertion_cost),
        Calls::new(", automatic enrolment", |case| {
            insertion_cost(case).write(cost::JOBS, table::cost::write(case.job).times(2))
        }),
    ],
    contract: function::contract(&create_activity),
    function: || function::http(create_activity, Wellness::warm_by_get),
};

fn insertion_cost(case: &Named) -> Cost {
    let row = table::cost::write(case.activity);
    Cost::default()
        .read(cost::ACTIVITIES, case.record_read())
        .write(cost::ACTIVITIES, (row + case.parts_write() + case.references_write()).times(2))
        .write(cost::ACTIVITIES, case.record_write().times(2))
        .write(cost::PROGRAM, table::cost::write(case.program))
        .write(cost::LISTS, table::cost::write(case.narrow) + case.references_write())
        .write(cost::LISTS, table::cost::Term::whole(case.groups))
}

/// A request to create an activity.
#[derive(Debug, Clone, Input)]
#[input(check = must_be_complete(), check = must_be_in_order(start, end), schema = is_complete)]
pub struct CreateActivityInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(part)]
    content: Content,
    #[input(body = "startDate")]
    start: PlanTime,
    /// Must not end before `startDate`. A date, or a time of 00:00:00 in UTC, includes that whole
    /// day.
    #[input(body = "endDate")]
    end: PlanTime,
    #[input(body, default)]
    status: Status,
    #[input(body = "sectionId")]
    section: Option<SectionId>,
    #[input(body = "templateId")]
    template: Option<TemplateId>,
    #[input(body)]
    enrolment: Option<Enrolment>,
    /// Number of seats. It requires an `enrolment` that is `open` or `closed`.
    #[input(body)]
    capacity: Option<Capacity>,
}

/// The mandatory fields of an activity without a template.
const ESSENTIAL: [&str; 3] = ["name", "type", "subType"];

fn must_be_complete(fields: &mut Fields) {
    if !fields.has_body("templateId") {
        require(fields, &ESSENTIAL);
    }
}

/// Records a fault if an activity or a section ends before it starts.
pub(super) fn must_be_in_order(fields: &mut Fields, start: Option<&PlanTime>, end: Option<&PlanTime>) {
    if start.zip(end).is_some_and(|(start, end)| end.is_over(start.second())) {
        fields.fault::<()>("/body/endDate", "must not be before startDate");
    }
}

fn is_complete(body: &mut Map<String, Value>) {
    let alternatives = json!([
        {"title": "FromTemplate", "required": ["templateId"]},
        {"title": "WithoutTemplate", "required": ESSENTIAL},
    ]);
    body.insert("allOf".to_owned(), json!([{"anyOf": alternatives}]));
}

impl CreateActivityInput {
    fn fingerprint(&self) -> Result<Fingerprint, Error> {
        let Self { company: _, content, start, end, status, section, template, enrolment, capacity } = self;
        let asked = serde_json::to_string(&(content, start, end, status, section, template, enrolment, capacity));
        Ok(Fingerprint::of(&["create-activity", &asked.map_err(|error| Error::Internal(error.to_string()))?]))
    }

    fn activity(&self, id: ActivityId, content: &Content, request: &Request<Self>) -> Result<Activity, Error> {
        let Essentials { name, activity_type, sub_type } = content.essentials()?;
        Ok(Activity {
            moved_by: None,
            partition: ActivityPartition(id),
            sort: ProgramSort::Program,
            program: ProgramPartition(self.company.clone()),
            end: EndDateSort(self.end),
            list: Some(ListPartition(self.company.clone())),
            list_end: Some(EndDateSort(self.end)),
            company: self.company.clone(),
            name,
            activity_type,
            sub_type,
            status: self.status,
            start_date: self.start,
            section_id: self.section.clone(),
            filters: content.filters.clone().unwrap_or_default().into(),
            capacity: self.capacity.map(u32::from),
            enrolment: self.enrolment.and_then(|enrolment| enrolment.stored(activity_type)),
            data: content.data.clone().map(|JsonObject(data)| data),
            template_id: self.template.clone(),
            version: 1,
            created_at: request.milli.second(),
            changed_by: Some(request.caller.author(DOMAIN)),
        })
    }
}

/// Creates an activity with its parts and references in one transaction.
///
/// # Errors
/// - 404 if the section or the template does not exist.
/// - 413 if the base row, a part or a reference is too large.
pub async fn create_activity(
    wellness: Wellness,
    request: Request<CreateActivityInput>,
) -> Result<Created<ActivityBody>, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    let activity = optimistically(|| wellness.create(&request)).await?;
    Ok(Created { id: activity.id().to_string(), body: ActivityBody::of(activity, &request.caller, request.now) })
}

impl Wellness {
    async fn create(&self, request: &Request<CreateActivityInput>) -> Result<Activity, Error> {
        let (new, now) = (&request.input, request.milli);
        let owner = Owner::Company(new.company.clone());
        let once =
            IdempotentRequest::new(&self.table, &owner, request.idempotency_key.as_ref(), new.fingerprint()?, now);
        if let Some(activity) = once.before().await? {
            return Ok(activity);
        }
        let found = Box::pin(try_join(self.content_of(new), self.must_have_section_of(new)));
        let (content, ()) = found.await?;
        let activity = new.activity(ActivityId::new(now.instant(), &request.random), &content, request)?;
        activity.must_take_sign_ups_if_limited()?;
        let mut changes = self.insertion(&activity, content, request)?;
        changes.extend(once.remember(&activity)?);
        let job = activity.first_enrolment(request.id, request.now)?;
        changes.extend(job.map(|job| self.jobs.table().put(&job)).transpose()?);
        self.dynamo.transact(changes).await?;
        Ok(activity)
    }

    /// Returns the content of the request. Missing fields come from the template. A reference of
    /// the template copies the data of the company's record, if there is one.
    async fn content_of(&self, new: &CreateActivityInput) -> Result<Content, Error> {
        let own = new.content.clone();
        let Some(id) = &new.template else { return Ok(own) };
        let has_references = own.references.is_some();
        let mut content = own.or(self.template(&new.company, id).await?.content()?);
        if has_references {
            return Ok(content);
        }
        let current = async |reference: ReferenceBody| -> Result<_, Error> {
            let record = self.table.get::<Record>(&Record::key_of(&new.company, &reference.of())).await?;
            Ok(record.map_or(reference.clone(), |record| reference.with(record.data)))
        };
        let references = content.references.iter().flatten().cloned().map(current);
        let references = Box::pin(try_join_all(references)).await?;
        content.references = Some(references);
        Ok(content)
    }

    /// Checks that the section exists. Sections are never deleted, so the transaction need not
    /// repeat the check.
    async fn must_have_section_of(&self, new: &CreateActivityInput) -> Result<(), Error> {
        let Some(section) = &new.section else { return Ok(()) };
        let found = self.table.get::<Section>(&Section::key_of(&new.company, section)).await?;
        found.map(drop).ok_or(Error::NotFound("section"))
    }

    /// Returns one put for each item: the base row, the parts and the references.
    fn insertion(
        &self,
        activity: &Activity,
        content: Content,
        request: &Request<CreateActivityInput>,
    ) -> Result<Vec<Change>, Error> {
        let id = activity.id();
        let mut new = Insertion { table: &self.table, changes: Vec::new() };
        activity.must_fit()?;
        new.changes.push(self.table.put_new(activity)?);
        if let Some(detail) = content.detail {
            new.add(&Detail::new(id, detail), MAX_PART)?;
        }
        if let Some(goal) = content.goal {
            new.add(&Goal::new(id, goal), MAX_PART)?;
        }
        for reward in content.rewards.into_iter().flatten() {
            new.add(&Reward::new(id, reward), MAX_PART)?;
        }
        if let Some((groups, each)) =
            content.groups.map(|groups| Groups::new(&activity.company, id, groups, request.milli, &request.random))
        {
            new.add(&groups, MAX_PART)?;
            each.iter().try_for_each(|group| new.add(group, MAX_PART))?;
        }
        for reference in content.references.iter().flatten() {
            new.add(&reference.within(activity), MAX_REFERENCE)?;
        }
        Ok(new.changes)
    }
}

/// The puts of a transaction. A put fails if its item already exists.
struct Insertion<'a> {
    table: &'a Table,
    changes: Vec<Change>,
}

impl Insertion<'_> {
    /// Adds a put.
    ///
    /// # Errors
    /// 413 if the item is larger than `most` bytes.
    fn add<T: Item>(&mut self, item: &T, most: usize) -> Result<(), Error> {
        must_fit(item, most)?;
        self.changes.push(self.table.put_new(item)?);
        Ok(())
    }
}
