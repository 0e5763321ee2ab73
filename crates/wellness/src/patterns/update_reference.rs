//! W9: updates a venue and the copies of its data in activities
//! (docs/requirements/wellness.md#update-a-venue).
//!
//! docs/decisions/wellness-references.md explains why a job updates the copies.

use crate::{
    DOMAIN, Record, Task, Wellness,
    cost::{self, Calls, Pattern},
    jobs::start::Start,
    model::{object::JsonObject, uses::Uses},
    patterns::get_job::accepted,
};
use function::{Accepted, Error, Input, Problem, Request, Route, Trigger, optimistically};
use jobs::{Job, JobBody};
use table::{
    JsonText, Value,
    cost::{Cost, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W9",
    name: "update-reference",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Change the data of a reference and its copies in activities",
        problems: &[Problem::NotFound, Problem::JobUnderWay],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::LISTS, case.counted())
            .write(cost::ACTIVITIES, write(case.reference).times(2))
            .write(cost::JOBS, (write(case.job) + 1).times(2))
    })],
    contract: function::contract(&update_reference),
    function: || function::http(update_reference, Wellness::warm_by_lists),
};

/// A request to update the data of a venue.
#[derive(Debug, Clone, Input)]
pub struct UpdateReferenceInput {
    #[input(part)]
    uses: Uses,
    #[input(body, via = JsonObject)]
    data: JsonText,
}

/// Updates the company's record of a venue, and starts the job that updates the copies. The job
/// updates the copies in draft and active activities that end within the period. By default, the
/// period starts today at 00:00 UTC.
///
/// If a job with the same task is already running, the response contains the running job.
///
/// # Errors
/// - 404 if the company has no such record.
/// - 409 if another job runs on the venue.
/// - 413 if the data is too large for a reference.
pub async fn update_reference(
    wellness: Wellness,
    request: Request<UpdateReferenceInput>,
) -> Result<Accepted<JobBody>, Error> {
    let UpdateReferenceInput { uses, data } = &request.input;
    request.caller.must_belong_to(&uses.company, DOMAIN)?;
    uses.must_have_room_for(&uses.of, data, request.now, &request.random)?;
    Ok(accepted(&uses.company, optimistically(|| wellness.change_data(&request)).await?))
}

impl Wellness {
    async fn change_data(&self, request: &Request<UpdateReferenceInput>) -> Result<Job, Error> {
        let UpdateReferenceInput { uses, data } = &request.input;
        let total = self.count_uses(uses, Some(data), request.now).await?;
        let task = Task::Update { copied_data: data.clone(), period: uses.period(request.now)? };
        let start = Start::new(&uses.company, &uses.of, (&task, total), request.id, request.now)?;
        let record = self.table.update(Record::key_of(&uses.company, &uses.of)).set(Record::DATA, Value::of(data)?);
        let record = record.set(Record::REVISION, &request.id);
        match self.start(&start.with(Some(record)), request.id).await {
            Err(Error::Table(table::Error::Refused(_))) => Err(Error::NotFound("reference")),
            started => started,
        }
    }
}
