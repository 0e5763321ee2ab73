//! W29: adds a reference to an activity, with a copy of the record's data
//! (docs/requirements/wellness.md#edit-all-parts-of-an-activity).
//!
//! docs/decisions/wellness-references.md explains how a reference and the removal of its record
//! exclude each other.

use crate::{
    Activity, DOMAIN, Record, Reference, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        object::JsonObject,
        part::limit,
        parts::MAX_REFERENCES,
        reference::VenuePath,
        sizes::{MAX_REFERENCE, must_fit},
    },
};
use function::{Error, Input, Problem, Put, Request, Route, Trigger, Version, optimistically};
use keys::wellness::{ActivityId, ActivityPartition, CompanyId, Facet, FacetId, FacetRef, Level, UseSort};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Attribute, Condition, Item, Key, Query, Value,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W29",
    name: "add-reference",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/activities/{activityId}/references/{facet}/{facetId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Add a reference to an activity, with the data of the record",
        problems: &[Problem::NotFound, Problem::PartLimit, Problem::AnotherVersion],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, case.activity_read() + read(case.own) + read(case.collection()))
            .write(cost::ACTIVITIES, (write(case.activity) + write(case.own) + write(case.reference)).times(2))
            .write(cost::PROGRAM, write(case.program))
            .write(cost::LISTS, write(case.reference))
    })],
    contract: function::contract(&add_reference),
    function: || function::http(add_reference, Wellness::warm_by_get),
};

/// A request to add a reference.
#[derive(Debug, Clone, Input)]
pub struct AddReferenceInput {
    #[input(body, via = Version)]
    version: Option<i64>,
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    #[input(part, via = VenuePath)]
    of: FacetRef,
}

/// A reference, with the version of its activity.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActivityReference")]
pub struct UseBody {
    activity_id: ActivityId,
    facet: Facet,
    id: FacetId,
    data: JsonObject,
    #[schemars(range(min = 1))]
    version: i64,
}

impl UseBody {
    fn new(reference: Reference, version: i64) -> Self {
        let Reference { uses, place, copied_data, .. } = reference;
        let FacetRef { facet, id } = uses.of;
        Self { activity_id: place.activity, facet, id, data: JsonObject(copied_data), version }
    }
}

/// Adds a reference to an activity. If the activity already has the reference, its copy of the data
/// is renewed.
///
/// # Errors
/// - 404 if the activity or the record does not exist.
/// - 409 if the activity has 25 references.
/// - 412 if the activity has a different version than the request names.
/// - 413 if the reference exceeds 4 KB.
pub async fn add_reference(wellness: Wellness, request: Request<AddReferenceInput>) -> Result<Put<UseBody>, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    optimistically(|| wellness.refer(&request)).await
}

impl Wellness {
    async fn refer(&self, request: &Request<AddReferenceInput>) -> Result<Put<UseBody>, Error> {
        let AddReferenceInput { version, company, activity, of } = &request.input;
        let activity = self.activity_at(company, activity, *version).await?;
        let key = Record::key_of(company, of);
        let record = self.table.get::<Record>(&key).await?.ok_or(Error::NotFound("reference"))?;
        let place = UseSort { status: activity.status, end: activity.end(), activity: activity.id().clone() };
        let reference = Reference::new(company.clone(), of.clone(), place, record.data.clone());
        must_fit(&reference, MAX_REFERENCE)?;
        let stored = self.stored_references(&activity).await?;
        let is_new = !stored.has(&reference);
        if is_new && stored.count() >= MAX_REFERENCES {
            return Err(limit(MAX_REFERENCES, "references"));
        }
        if stored.items.contains(&reference) {
            return Ok(Put { is_new, body: UseBody::new(reference, activity.version) });
        }
        let record = self.table.update(key).only_if(Condition::is(Record::DATA, Value::of(&record.data)?));
        let record = record.set(Record::USED_BY, activity.id());
        let changes = vec![self.next_version(&activity, &request.caller)?, record, self.table.put(&reference)?];
        self.dynamo.transact(changes).await?;
        Ok(Put { is_new, body: UseBody::new(reference, activity.version + 1) })
    }

    async fn stored_references(&self, activity: &Activity) -> Result<Stored, Error> {
        let (partition, range) = (ActivityPartition(activity.id().clone()), Level::Program.range());
        let query = Query::new(&partition, &range).only_if(Condition::is(Attribute::TYPE, &Reference::TYPE));
        let (page, unreadable) = self.table.query_all_with_unreadable::<Reference>(&query).await?;
        Ok(Stored { items: page.items, unreadable })
    }
}

/// The references of an activity.
struct Stored {
    items: Vec<Reference>,
    unreadable: Vec<Key>,
}

impl Stored {
    fn count(&self) -> usize {
        self.items.len() + self.unreadable.len()
    }

    /// Whether the activity refers to the same venue. The stored reference may be unreadable.
    fn has(&self, reference: &Reference) -> bool {
        let sort = reference.sort.to_string();
        self.items.iter().any(|one| one.sort == reference.sort) || self.unreadable.iter().any(|key| key.sort() == sort)
    }
}
