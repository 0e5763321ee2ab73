//! W8: replaces a venue, file, course, tracker or notification by another in every activity that refers to it (seed 002,
//! pattern 5).

use crate::{
    DOMAIN, Task, Wellness,
    cost::{self, Calls, Pattern},
    jobs::start::Start,
    model::uses::{Uses, read_data},
    patterns::get_job::accepted,
};
use function::{
    Accepted, Error, Fields, Fingerprint, Function, IdempotentRequest, Input, Request, Route, Trigger, optimistically,
};
use jobs::{Job, JobBody};
use keys::wellness::{FacetId, FacetRef, Owner};
use table::{
    JsonText, Units,
    cost::{Cost, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(replace_reference, Wellness::warm_by_lists)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W8",
    name: "replace-reference",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/references/{facet}/{facetId}/replacement",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "count: GSI2PK = CompanyId-<id>#VenueId-<id>, GSI2SK between draft#from and draft#to, and active#from and active#to; then in one transaction put Job#VenueId-<id> if none is under way, and Hold#VenueId-<replacement> if there is none, while there is no Hold#VenueId-<id> and nothing under way at the replacement",
        formula: "GSI2 ½ ⌈Σ references⌉ R a status; 2 × (⌈job⌉ + ⌈hold⌉ + 2) W, more by its size where the replacement had a job itself; 1 R and 2 × ⌈record⌉ W more with an Idempotency-Key; what the job costs stands with continue-job",
        cost: |case| {
            let held = Units::whole(3);
            Cost::default()
                .read(cost::LISTS, case.counted())
                .read(cost::ACTIVITIES, case.record_read())
                .write(cost::ACTIVITIES, case.record_write().times(2))
                .write(cost::JOBS, (write(case.job) + held).times(2))
        },
    }],
    function,
};

/// What is replaced by what.
#[derive(Debug, Clone)]
pub struct Replacement {
    uses: Uses,
    by: FacetId,
    data: JsonText,
}

impl Input for Replacement {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (uses, by, data) = (Uses::read(fields), fields.body("replacementId"), read_data(fields));
        let (uses, by) = (uses?, by?);
        if uses.of.id == by {
            return fields.fault("/body/replacementId", "must be another than the one that is replaced");
        }
        Some(Self { uses, by, data: data? })
    }
}

impl Replacement {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&["replace-reference", &self.uses.asked(), self.by.as_str(), self.data.text()])
    }

    fn target(&self) -> FacetRef {
        FacetRef { facet: self.uses.of.facet, id: self.by.clone() }
    }
}

/// Starts the job that replaces every reference in activities that are drafts or active and end in the time: from today's
/// first second on, or in a given time. The same request while the job is under way answers that job.
///
/// # Errors
/// 400, 403 for another's company, 409 where another job is at one of the two, 413 for data that is too long for a reference,
/// 422 for a key that came with another request.
pub async fn replace_reference(wellness: Wellness, request: Request<Replacement>) -> Result<Accepted<JobBody>, Error> {
    let Replacement { uses, data, .. } = &request.input;
    request.caller.must_belong_to(&uses.company, DOMAIN)?;
    uses.must_have_room_for(&request.input.target(), data, request.now, &request.random)?;
    Ok(accepted(&uses.company, optimistically(|| wellness.replace(&request)).await?))
}

impl Wellness {
    async fn replace(&self, request: &Request<Replacement>) -> Result<Job, Error> {
        let wanted = &request.input;
        let (uses, owner) = (&wanted.uses, Owner::Company(wanted.uses.company.clone()));
        let key = request.idempotency_key.as_ref();
        let once = IdempotentRequest::new(&self.table, &owner, key, wanted.fingerprint(), request.milli);
        if let Some(job) = once.before::<Job>().await? {
            self.jobs.nudge(&job, &request.id).await?;
            return Ok(job);
        }
        let period = uses.period(request.now)?;
        let (replacement, copied_data) = (wanted.by.clone(), wanted.data.clone());
        let task = Task::Replace { replacement, copied_data, period };
        let total = self.count_uses(uses, period, None).await?;
        let start = Start::new(&uses.company, &uses.of, (&task, total), request.id, request.now)?;
        let record = once.remember(start.job())?;
        self.start(&start.with(record), request.id).await
    }
}
