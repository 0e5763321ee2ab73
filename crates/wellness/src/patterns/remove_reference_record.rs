//! W30: removes a company's record of a venue that no activity refers to
//! (docs/requirements/wellness.md#manage-reference-records).
//!
//! docs/decisions/wellness-references.md explains the conditions of the removal.

use crate::{
    DOMAIN, Record, Reference, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        job::{Hold, job_key},
        reference::LastUse,
        upload::receiving,
    },
    patterns::get_reference::RecordInput,
};
use function::{Error, NoContent, Problem, Request, Route, Trigger, optimistically};
use jobs::Job;
use keys::wellness::{ActivityId, ActivityPartition, Facet, JobId, ReferencePartition, UseSort};
use serde::{Deserialize, Serialize};
use table::{
    Item, Query,
    cost::{Cost, Term, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W30",
    name: "remove-reference-record",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Remove a venue, file, course, tracker or notification that no activity refers to",
        problems: &[Problem::NotFound, Problem::ReferenceInUse, Problem::JobUnderWay],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, read(case.own))
            .read(cost::LISTS, Term::halves(1))
            .write(cost::ACTIVITIES, write(case.own).times(2))
            .write(cost::JOBS, 4)
    })],
    contract: function::contract(&remove_reference_record),
    function: || function::http(remove_reference_record, Wellness::warm_by_get),
};

/// The partition key of a reference.
#[derive(Debug, Serialize, Deserialize)]
struct Use {
    #[serde(rename = "PK")]
    partition: ActivityPartition,
}

impl Item for Use {
    const TYPE: &'static str = "Reference";
}

/// Removes a record that no activity refers to.
///
/// # Errors
/// - 404 if the company has no such record.
/// - 409 if an activity refers to the venue, or if a job runs on it.
pub async fn remove_reference_record(wellness: Wellness, request: Request<RecordInput>) -> Result<NoContent, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    optimistically(|| wellness.remove_record(&request)).await
}

const RECORD: usize = 0;

impl Wellness {
    async fn remove_record(&self, request: &Request<RecordInput>) -> Result<NoContent, Error> {
        let record @ RecordInput { company, of } = &request.input;
        let key = Record::key_of(company, of);
        let last = self.table.get::<LastUse>(&key).await?.ok_or(Error::NotFound("reference"))?;
        if self.is_in_use(record, last.used_by.as_ref()).await? {
            let detail = "An activity refers to it. Remove or replace the reference first.";
            return Err(Error::Conflict(Problem::ReferenceInUse, detail.to_owned()));
        }
        let jobs = self.jobs.table();
        let mut changes = vec![
            self.table.delete(key).only_if(last.is_unchanged()),
            jobs.check(job_key(company, &JobId::Uses(of.clone())), Job::is_not_running()),
            jobs.absent(Hold::key_of(company, of)),
        ];
        if of.facet == Facet::Files {
            changes.push(jobs.put(&receiving(company, &of.id, request.id, request.now)?)?);
        }
        match self.dynamo.transact(changes).await {
            Err(table::Error::Refused(refused)) if !refused.at(RECORD) => {
                let detail = "A job is changing the references to it. Send the request again after it has ended.";
                Err(Error::Conflict(Problem::JobUnderWay, detail.to_owned()))
            }
            outcome => Ok(outcome.map(|()| NoContent)?),
        }
    }

    /// Whether an activity refers to the record. The index can lack the newest reference, so that
    /// one is read from the table.
    async fn is_in_use(&self, record: &RecordInput, last: Option<&ActivityId>) -> Result<bool, Error> {
        if let Some(activity) = last
            && self.table.get::<Use>(&Reference::key_of(activity, &record.of)).await?.is_some()
        {
            return Ok(true);
        }
        let uses = ReferencePartition { company: record.company.clone(), of: record.of.clone() };
        let range = UseSort::all();
        let page = self.table.page::<Use>(&Query::new(&uses, &range).on(&self.lists), 1).await?;
        Ok(!page.items.is_empty() || page.skipped > 0)
    }
}
