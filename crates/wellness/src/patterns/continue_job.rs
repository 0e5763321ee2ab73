//! W18: goes on with jobs, called by the stream for each step that is written of their progress.

use crate::{
    Job, Wellness,
    cost::{self, Calls, Case, Pattern},
    jobs::{change_references::References, follow_end::Registrations, runner::PAGE},
};
use function::{Batch, Deadline, Error, Function, Record, Trigger};
use futures::future::join_all;
use keys::wellness::{CompanyId, CompanyPartition, JobId, JobSort, ReferencePartition};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use table::{
    Units,
    cost::{Cost, read, read_eventually, write},
};

/// Time that is kept back for the page under way, at most.
const RESERVE: Duration = Duration::from_secs(10);

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(continue_job, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W18",
    name: "continue-job",
    trigger: Trigger::Stream("Activities"),
    calls: &[
        Calls {
            variant: ", replacement",
            condition: "50 at a time: GSI2PK = CompanyId-<id>#VenueId-<id>, GSI2SK between draft#from and draft#to, then between active#from and active#to; get those strongly and write them into the job; for each in one transaction delete Program#Venue#VenueId-<id> if it stands where it stood, and put Program#Venue#VenueId-<replacement>; until two passes find nothing",
            formula: "a reference: ⌈reference⌉ R; 2 × 2 ⌈reference⌉ W; GSI2 2 ⌈reference⌉ W. The job: GSI2 ½ ⌈Σ references⌉ R a page, and 2.5 R; ⌈job and its page's ids⌉ W a page, 2 ⌈job⌉ W, and 2 × (⌈job⌉ + ⌈hold⌉) W at the end; ⌈job⌉ R a call, two at least",
            cost: |case| {
                let (references, reference) = (Case::count(case.references), write(case.reference));
                let end = (write(case.job) + Units::whole(1)).times(2);
                Cost::default()
                    .read(cost::ACTIVITIES, read(case.job).times(2) + read(case.reference).times(references))
                    .read(cost::LISTS, by_pages(case.references, case.reference, read_eventually))
                    .read(cost::LISTS, Units::halves(5))
                    .write(cost::ACTIVITIES, reference.times(4 * references) + looks(case) + end)
                    .write(cost::LISTS, reference.times(2 * references))
            },
        },
        Calls {
            variant: ", update",
            condition: "as a replacement, but only references with other data; for each update Program#Venue#VenueId-<id> if it stands where it stood",
            formula: "a reference: ⌈reference⌉ R; ⌈reference⌉ W; GSI2 ⌈reference⌉ W. The job: GSI2 3 × ½ ⌈Σ references⌉ R a page, and 1.5 R; ⌈job and its page's ids⌉ W a page, 3 ⌈job⌉ W, and ⌈job⌉ R a call, two at least",
            cost: |case| {
                let (references, reference) = (Case::count(case.references), write(case.reference));
                Cost::default()
                    .read(cost::ACTIVITIES, read(case.job).times(2) + read(case.reference).times(references))
                    .read(cost::LISTS, by_pages(case.references, case.reference, read_eventually).times(3))
                    .read(cost::LISTS, Units::halves(3))
                    .write(cost::ACTIVITIES, reference.times(references) + looks(case) + write(case.job))
                    .write(cost::LISTS, reference.times(references))
            },
        },
        Calls {
            variant: ", registrations",
            condition: "50 at a time: get ActivityId-<id> | Program, strongly; PK = ActivityId-<id>, SK begins with Registration#, strongly; write those that end otherwise into the job; then update each if it ends as it did",
            formula: "a registration: ⌈registration⌉ W; GSI3 2 ⌈registration⌉ W. The job: ⌈activity⌉ + ⌈Σ registrations⌉ R and ⌈job and its page's ids⌉ W a page, ⌈activity⌉ R and ⌈job⌉ W, and ⌈job⌉ R a call",
            cost: |case| {
                let (registrations, registration) = (Case::count(case.items), write(case.registration));
                let pages = Case::count(case.items.div_ceil(PAGE)) + 1;
                Cost::default()
                    .read(cost::ACTIVITIES, read(case.job) + case.activity_read().times(pages))
                    .read(cost::ACTIVITIES, by_pages(case.items, case.registration, read))
                    .write(cost::ACTIVITIES, registration.times(registrations) + steps(case, case.items))
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

/// What a job at references writes before its last step: two passes, of which the second finds nothing.
fn looks(case: &Case) -> Units {
    steps(case, case.references) + write(case.job)
}

/// The steps of a pass: one for each page, which then stands in the item, and one that finds none. A write costs what is larger,
/// the item before or after it. An id has 32 digits here; a full page may not be the last, and has its place beside it.
fn steps(case: &Case, things: usize) -> Units {
    const ID: usize = 33;
    const PLACE: usize = 80;
    let step = |page: usize| write(case.job + ID * page + if page == PAGE { PLACE } else { 0 });
    let (full, rest) = (things / PAGE, things % PAGE);
    match full {
        0 => step(rest).times(1 + u64::from(rest > 0)),
        _ => step(PAGE).times(Case::count(full) + 1) + if rest > 0 { step(rest) } else { Units::ZERO },
    }
}

/// Goes on with every job of the batch, all at once; answers the changes that must come again.
///
/// What can't be read is logged and left out: it would hold up the jobs of others, and it is not lost, because the job itself
/// stays where it is, and whoever asks for the same again lets it go on.
async fn continue_job(wellness: Wellness, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let stop = batch.deadline.with_reserve(RESERVE);
    let runs = jobs(&batch.records).into_iter().map(async |((company, id), sequence_numbers)| {
        match Box::pin(wellness.go_on(&company, &id, stop)).await {
            Ok(()) => Vec::new(),
            Err(Error::Table(error @ table::Error::Unreadable(..))) => {
                tracing::error!(?sequence_numbers, %error, "a job can't go on");
                Vec::new()
            }
            Err(error) => {
                tracing::warn!(?sequence_numbers, %error, "a job goes on later");
                sequence_numbers
            }
        }
    });
    Ok(join_all(runs).await.into_iter().flatten().collect())
}

/// The jobs that the changes are of, each once, and the sequence numbers of the changes.
fn jobs(records: &[Record]) -> BTreeMap<(CompanyId, JobId), Vec<String>> {
    let mut jobs = BTreeMap::<_, Vec<_>>::new();
    for record in records {
        let sequence_number = record.sequence_number().to_owned();
        let keys = record.partition_key().zip(record.sort_key());
        let parsed = keys.and_then(|(partition, sort)| Some((partition.parse().ok()?, sort.parse().ok()?)));
        if let Some((CompanyPartition(company), JobSort(id))) = parsed {
            jobs.entry((company, id)).or_default().push(sequence_number);
        } else {
            tracing::error!(sequence_number, "a change of a job can't be read");
        }
    }
    jobs
}

impl Wellness {
    async fn go_on(&self, company: &CompanyId, id: &JobId, stop: Deadline) -> Result<(), Error> {
        let job = self.table.get::<Job>(&Job::key_of(company, id)).await?;
        let Some(job) = job.filter(|job| job.run.is_some()) else { return Ok(()) };
        match (id.clone(), job.task.clone()) {
            (JobId::Registrations(activity), _) => {
                self.walk(Registrations::new(self, company.clone(), activity), job, stop).await
            }
            (JobId::Uses(of), task) => {
                let uses = ReferencePartition { company: company.clone(), of };
                match References::of(self, uses, task) {
                    Some(references) => self.walk(references, job, stop).await,
                    None => Err(Error::Internal("a job at references that is for registrations".to_owned())),
                }
            }
        }
    }
}
