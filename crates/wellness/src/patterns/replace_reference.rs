//! W8: replaces a venue in the activities that refer to it
//! (docs/requirements/wellness.md#replace-a-venue).
//!
//! docs/decisions/wellness-references.md explains why the replacement is a job.

use crate::{
    DOMAIN, Task, Wellness,
    cost::{self, Calls, Pattern},
    jobs::start::Start,
    model::{object::JsonObject, uses::Uses},
    patterns::get_job::accepted,
};
use function::{
    Accepted, Error, Fields, Fingerprint, IdempotentRequest, Input, Problem, Request, Route, Trigger, optimistically,
};
use jobs::{Job, JobBody};
use keys::wellness::{FacetId, FacetRef, Owner};
use table::{
    JsonText,
    cost::{Cost, Term, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W8",
    name: "replace-reference",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}/replacement",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Replace a reference in all draft and active activities",
        problems: &[Problem::JobUnderWay, Problem::IdempotencyKeyReused, Problem::JobLimit],
    }]),
    calls: &[Calls::new("", |case| {
        let held = Term::whole(4);
        Cost::default()
            .read(cost::JOBS, 1)
            .read(cost::LISTS, case.counted())
            .read(cost::ACTIVITIES, case.record_read())
            .write(cost::ACTIVITIES, case.record_write().times(2))
            .write(cost::JOBS, (write(case.job) + held).times(2))
    })],
    contract: function::contract(&replace_reference),
    function: || function::http(replace_reference, Wellness::warm_by_lists),
};

/// A request to replace a venue.
#[derive(Debug, Clone, Input)]
#[input(check = must_differ(uses, by))]
pub struct ReplaceReferenceInput {
    #[input(part)]
    uses: Uses,
    /// Must differ from the replaced reference.
    #[input(body = "replacementId")]
    by: FacetId,
    #[input(body, via = JsonObject)]
    data: JsonText,
}

fn must_differ(fields: &mut Fields, uses: Option<&Uses>, by: Option<&FacetId>) {
    if uses.zip(by).is_some_and(|(uses, by)| uses.of.id == *by) {
        fields.fault::<()>("/body/replacementId", "must differ from the id in the path");
    }
}

impl ReplaceReferenceInput {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&["replace-reference", &self.uses.asked(), self.by.as_str(), self.data.text()])
    }

    fn target(&self) -> FacetRef {
        FacetRef { facet: self.uses.of.facet, id: self.by.clone() }
    }
}

/// Starts the job that replaces the venue in draft and active activities that end within the
/// period. By default, the period starts today at 00:00 UTC.
///
/// If a job with the same task is already running, the response contains the running job.
///
/// # Errors
/// - 409 if another job runs on either venue.
/// - 413 if the data is too large for a reference.
/// - 429 if callers of the company have started too many jobs that are still running.
pub async fn replace_reference(
    wellness: Wellness,
    request: Request<ReplaceReferenceInput>,
) -> Result<Accepted<JobBody>, Error> {
    let ReplaceReferenceInput { uses, data, .. } = &request.input;
    request.caller.must_belong_to(&uses.company, DOMAIN)?;
    uses.must_have_room_for(&request.input.target(), data, request.now, &request.random)?;
    Ok(accepted(&uses.company, optimistically(|| wellness.replace(&request)).await?))
}

impl Wellness {
    async fn replace(&self, request: &Request<ReplaceReferenceInput>) -> Result<Job, Error> {
        let wanted = &request.input;
        let (uses, owner) = (&wanted.uses, Owner::Company(wanted.uses.company.clone()));
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, &owner, key, wanted.fingerprint(), request.milli);
        if let Some(job) = once.before::<Job>().await? {
            self.jobs.nudge(&job, &request.id).await?;
            return Ok(job);
        }
        let total = self.count_uses(uses, None, request.now).await?;
        let (replacement, copied_data) = (wanted.by.clone(), wanted.data.clone());
        let task = Task::Replace { replacement, copied_data, period: uses.period(request.now)? };
        let start = Start::new(&uses.company, &uses.of, (&task, total), request.id, request.now)?;
        let record = once.remember(start.job())?;
        self.start(&start.with(record), request.id).await
    }
}
