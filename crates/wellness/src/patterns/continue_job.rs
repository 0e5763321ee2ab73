//! W18: continues jobs. The stream of their table calls it for each written step.

use crate::{
    Task, Wellness,
    cost::{self, Calls, Case, Pattern},
    jobs::{change_references::References, follow_end::Registrations, passes::Passes},
};
use function::{Batch, Error, Function, Trigger};
use jobs::{JobService, Jobs, PAGE, Run};
use keys::wellness::{CompanyPartition, JobId, ReferencePartition};
use std::collections::BTreeSet;
use table::{
    Units,
    cost::{Cost, read, read_eventually, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(continue_job, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W18",
    name: "continue-job",
    trigger: Trigger::Stream("WellnessJobs"),
    calls: &[
        Calls {
            variant: ", replacement",
            condition: "50 at a time: GSI2PK = CompanyId-<id>#VenueId-<id>, GSI2SK between draft#from and draft#to, then between active#from and active#to; get those strongly and write them into the job; for each in one transaction delete Program#Venue#VenueId-<id> if it stands where it stood, and put Program#Venue#VenueId-<replacement>; until two passes find nothing",
            formula: "a reference: ⌈reference⌉ R; 2 × 2 ⌈reference⌉ W; GSI2 2 ⌈reference⌉ W. The job: GSI2 ½ ⌈Σ references⌉ R a page, and 2.5 R; ⌈job and its page's ids⌉ W a page, 2 ⌈job⌉ W, and 2 × (⌈job⌉ + ⌈hold⌉) W at the end; ⌈job⌉ R and ⌈job⌉ W a call, two at least",
            cost: |case| {
                let (references, reference) = (Case::count(case.references), write(case.reference));
                let end = (write(case.job) + Units::whole(1)).times(2);
                Cost::default()
                    .read(cost::ACTIVITIES, read(case.reference).times(references))
                    .read(cost::JOBS, read(case.job).times(2))
                    .read(cost::LISTS, by_pages(case.references, case.reference, read_eventually))
                    .read(cost::LISTS, Units::halves(5))
                    .write(cost::ACTIVITIES, reference.times(4 * references))
                    .write(cost::JOBS, calls(case, 2) + looks(case) + end)
                    .write(cost::LISTS, reference.times(2 * references))
            },
        },
        Calls {
            variant: ", update",
            condition: "as a replacement, but only references with other data; for each update Program#Venue#VenueId-<id> if it stands where it stood",
            formula: "a reference: ⌈reference⌉ R; ⌈reference⌉ W; GSI2 ⌈reference⌉ W. The job: GSI2 3 × ½ ⌈Σ references⌉ R a page, and 1.5 R; ⌈job and its page's ids⌉ W a page, 3 ⌈job⌉ W, and ⌈job⌉ R and ⌈job⌉ W a call, two at least",
            cost: |case| {
                let (references, reference) = (Case::count(case.references), write(case.reference));
                Cost::default()
                    .read(cost::ACTIVITIES, read(case.reference).times(references))
                    .read(cost::JOBS, read(case.job).times(2))
                    .read(cost::LISTS, by_pages(case.references, case.reference, read_eventually).times(3))
                    .read(cost::LISTS, Units::halves(3))
                    .write(cost::ACTIVITIES, reference.times(references))
                    .write(cost::JOBS, calls(case, 2) + looks(case) + write(case.job))
                    .write(cost::LISTS, reference.times(references))
            },
        },
        Calls {
            variant: ", registrations",
            condition: "50 at a time: get ActivityId-<id> | Program, strongly; PK = ActivityId-<id>, SK begins with Registration#, strongly; write those that end otherwise into the job; then update each if it ends as it did",
            formula: "a registration: ⌈registration⌉ W; GSI3 2 ⌈registration⌉ W. The job: ⌈activity⌉ + ⌈Σ registrations⌉ R and ⌈job and its page's ids⌉ W a page, ⌈activity⌉ R and ⌈job⌉ W, and ⌈job⌉ R and ⌈job⌉ W a call",
            cost: |case| {
                let (registrations, registration) = (Case::count(case.items), write(case.registration));
                let pages = Case::count(case.items.div_ceil(PAGE)) + 1;
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::ACTIVITIES, case.activity_read().times(pages))
                    .read(cost::ACTIVITIES, by_pages(case.items, case.registration, read))
                    .write(cost::ACTIVITIES, registration.times(registrations))
                    .write(cost::JOBS, calls(case, 1) + steps(case, case.items))
                    .write(cost::REGISTRATIONS, registration.times(2 * registrations))
            },
        },
    ],
    function,
};

/// So many things of a size, a page a call. A call of a full page does not see whether it was the last.
fn by_pages(things: usize, size: usize, call: fn(usize) -> Units) -> Units {
    call(PAGE * size).times(Case::count(things / PAGE)) + call(things % PAGE * size)
}

/// What so many calls write before their first step.
fn calls(case: &Case, calls: u64) -> Units {
    write(case.job).times(calls)
}

/// What a job at references writes before its last step: two passes, of which the second finds nothing.
fn looks(case: &Case) -> Units {
    steps(case, case.references) + write(case.job)
}

/// The steps of a pass: one for each page, which then stands in the item, and one that finds none. A write costs what is larger,
/// the item before or after it. An id has 32 digits here; a full page may not be the last, and has its place beside it.
fn steps(case: &Case, things: usize) -> Units {
    const ID: usize = 33;
    const PLACE: usize = 80;
    // The progress without these, which a new job has not.
    const PROGRESS: usize = 42;
    let step = |page: usize| write(case.job + PROGRESS + ID * page + if page == PAGE { PLACE } else { 0 });
    let (full, rest) = (things / PAGE, things % PAGE);
    match full {
        0 => step(rest).times(1 + u64::from(rest > 0)),
        _ => step(PAGE).times(Case::count(full) + 1) + if rest > 0 { step(rest) } else { Units::ZERO },
    }
}

/// Continues every job of the batch.
async fn continue_job(wellness: Wellness, batch: Batch) -> Result<BTreeSet<String>, Error> {
    jobs::continue_jobs(&wellness, batch).await
}

impl JobService for Wellness {
    const SIDE_BY_SIDE: usize = 10;

    fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        let unreadable = |error| Error::from(table::Error::unreadable("Job", &error));
        let CompanyPartition(company) = run.job().partition.parse().map_err(unreadable)?;
        let (id, task) = (run.job().id.parse().map_err(unreadable)?, run.job().task::<Task>()?);
        match id {
            JobId::Registrations(activity) => {
                let registrations = Registrations::new(self, company, activity);
                run.steps(Passes::new(self, registrations)).await?;
            }
            JobId::Uses(of) => {
                let references = References::of(self, ReferencePartition { company, of }, task);
                let references =
                    references.ok_or_else(|| Error::Internal("a job at references without one".to_owned()))?;
                run.steps(Passes::new(self, references)).await?;
            }
        }
        Ok(())
    }
}
