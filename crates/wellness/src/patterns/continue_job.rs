//! W18: runs the jobs on references and registrations. The stream of the `WellnessJobs` table
//! invokes this function when a job starts, and again after each step.
//!
//! A job enrols employees (docs/requirements/wellness.md#enroll-existing-employees), gives away
//! seats (docs/requirements/wellness.md#join-and-leave-activities), ends the registrations of a
//! removed employee (docs/requirements/wellness.md#participants-and-employees), awards the points
//! of changed rewards (docs/requirements/wellness.md#points), replaces a venue
//! (docs/requirements/wellness.md#replace-a-venue), updates a venue
//! (docs/requirements/wellness.md#update-a-venue), or copies a new end date to registrations.
//! docs/decisions/jobs.md describes how jobs run. docs/decisions/wellness-jobs.md explains the
//! passes.

use crate::{
    Task, Wellness,
    cost::{self, Calls, Named, Pattern},
    jobs::{
        change_references::References, depart::Depart, enrol::Enrol, erase::Erase, export::Export,
        follow_end::Registrations, group_progress::GroupsOf, import::Import, passes::Passes, receive::Receive,
        report::Report, rewards::Earned, seats::Seats,
    },
    model::{
        failure::Owner,
        upload::{FileStatus, Upload},
    },
};
use function::{Batch, Error, Trigger};
use jobs::{JobService, Jobs, PAGE, Run};
use keys::wellness::{CompanyPartition, EmployeeKey, JobId, ReferencePartition};
use std::collections::BTreeSet;
use table::{
    Key,
    cost::{Cost, Size, Term, read, read_eventually, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W18",
    name: "continue-job",
    trigger: Trigger::Stream("WellnessJobs"),
    calls: &[
        Calls::new(", replacement", |case| {
            let (references, reference) = (case.references, write(case.reference));
            let end = (write(case.job) + 1).times(2);
            Cost::default()
                .read(cost::ACTIVITIES, read(case.reference).times(references))
                .read(cost::JOBS, read(case.job).times(2))
                .read(cost::LISTS, by_pages(case.references, case.reference, read_eventually))
                .read(cost::LISTS, Term::halves(5))
                .write(cost::ACTIVITIES, reference.times(4 * references))
                .write(cost::JOBS, calls(case, 2) + looks(case) + end)
                .write(cost::LISTS, reference.times(2 * references))
        }),
        Calls::new(", update", |case| {
            let (references, reference) = (case.references, write(case.reference));
            Cost::default()
                .read(cost::ACTIVITIES, read(case.reference).times(references))
                .read(cost::JOBS, read(case.job).times(2))
                .read(cost::LISTS, by_pages(case.references, case.reference, read_eventually).times(3))
                .read(cost::LISTS, Term::halves(3))
                .write(cost::ACTIVITIES, reference.times(references))
                .write(cost::JOBS, calls(case, 2) + looks(case) + write(case.job))
                .write(cost::LISTS, reference.times(references))
        }),
        Calls::new(", enrolment", |case| {
            let (eligible, registration) = (case.eligible, write(case.registration));
            Cost::default()
                .read(cost::JOBS, read(case.job).times(2))
                .read(cost::ACTIVITIES, case.activity_read().times(4))
                .read(cost::ACTIVITIES, (Term::whole(1) + read(case.registration)).times(eligible))
                .read(cost::ACTIVITIES, 20 + read(case.registration * case.eligible))
                .read(cost::ACTIVITIES, read(case.employee).times(eligible))
                .write(cost::ACTIVITIES, registration.times(eligible))
                .write(cost::REGISTRATIONS, registration.times(eligible))
                .write(cost::JOBS, write(case.job).times(5))
        }),
        Calls::new(", seats", |case| {
            let registration = write(case.registration);
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .read(cost::ACTIVITIES, 5)
                .write(cost::ACTIVITIES, (registration + 1).times(2) + 3)
                .write(cost::REGISTRATIONS, registration)
                .write(cost::JOBS, write(case.job).times(3))
        }),
        Calls::new(", report", |case| {
            let (row, activities) = (write(case.report), case.items);
            let registrations = read(case.registration).times(activities);
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .read(cost::LISTS, case.listed(case.narrow))
                .read(cost::ACTIVITIES, 10 + registrations + read(case.report * (case.items + 1)))
                .write(cost::ACTIVITIES, row.times(activities) + (row + 1).times(2))
                .write(cost::JOBS, write(case.job).times(activities + 3))
        }),
        Calls::new(", rewards", |case| {
            let (registrations, registration) = (case.items, write(case.registration));
            let pages = case.items.div_ceil(PAGE);
            Cost::default()
                .read(cost::JOBS, read(case.job).times(2))
                .read(cost::ACTIVITIES, read(case.rewards).times(pages + 3))
                .read(cost::ACTIVITIES, by_pages(case.items, case.registration, read).times(3))
                .write(cost::ACTIVITIES, registration.times(registrations))
                .write(cost::JOBS, calls(case, 2) + steps(case, case.items) + write(case.job).times(2))
                .write(cost::REGISTRATIONS, registration.times(registrations))
        }),
        Calls::new(", groups", |case| {
            let groups = case.items;
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .read(cost::ACTIVITIES, case.activity_read() + read(case.registration) + 1)
                .write(cost::ACTIVITIES, Term::whole(groups))
                .write(cost::JOBS, write(case.job).times(2))
        }),
        Calls::new(", departure", |case| {
            let registration = write(case.registration);
            Cost::default()
                .read(cost::JOBS, read(case.job).times(2))
                .read(cost::ACTIVITIES, 2 + read(case.registration))
                .read(cost::REGISTRATIONS, read_eventually(case.registration) + Term::halves(1))
                .write(cost::ACTIVITIES, (registration + 1).times(2))
                .write(cost::REGISTRATIONS, registration)
                .write(cost::JOBS, write(case.job).times(4))
        }),
        Calls::new(", upload", |case| {
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .read(cost::ACTIVITIES, read(case.upload))
                .write(cost::ACTIVITIES, (write(case.upload) + write(case.own)).times(2))
                .write(cost::JOBS, write(case.job).times(2))
        }),
        Calls::new(", import", |case| {
            Cost::default()
                .read(cost::JOBS, read(case.job) + 1)
                .read(cost::ACTIVITIES, read(case.upload) + read(0))
                .write(cost::ACTIVITIES, write(case.employee).times(2) + write(case.upload))
                .write(cost::JOBS, write(case.job).times(4) + 1)
        }),
        Calls::new(", export", |case| {
            Cost::default()
                .read(cost::JOBS, read(case.job))
                .read(cost::ACTIVITIES, 13)
                .read(cost::LISTS, Term::halves(1))
                .write(cost::JOBS, write(case.job).times(7))
        }),
        Calls::new(", erasure", |case| {
            Cost::default()
                .read(cost::JOBS, read(case.job).times(4))
                .read(cost::ACTIVITIES, 26)
                .read(cost::LISTS, 1)
                .write(cost::ACTIVITIES, write(case.employee))
                .write(cost::JOBS, write(case.job).times(6))
        }),
        Calls::new(", registrations", |case| {
            let (registrations, registration) = (case.items, write(case.registration));
            let pages = case.items.div_ceil(PAGE) + 1;
            Cost::default()
                .read(cost::JOBS, read(case.job).times(2))
                .read(cost::ACTIVITIES, case.activity_read().times(pages + 2))
                .read(cost::ACTIVITIES, by_pages(case.items, case.registration, read).times(3))
                .write(cost::ACTIVITIES, registration.times(registrations))
                .write(cost::JOBS, calls(case, 2) + steps(case, case.items) + write(case.job).times(2))
                .write(cost::REGISTRATIONS, registration.times(2 * registrations))
        }),
    ],
    contract: |_| {},
    function: || function::stream(continue_job, Wellness::warm_by_get),
};

/// Read request units for queries of `things` items of `size` bytes, in pages. A full page is
/// always followed by another query, which may find nothing.
fn by_pages(things: Size, size: Size, call: fn(Size) -> Term) -> Term {
    let (full, rest) = (things.value() / PAGE, things.value() % PAGE);
    let units = call((PAGE * size.value()).into()).times(full) + call((rest * size.value()).into());
    units.shown_as(format!("({} in pages of {PAGE})", call(things * size)))
}

/// Write request units (WRU) for the write at the start of each invocation.
fn calls(case: &Named, calls: usize) -> Term {
    write(case.job).times(calls)
}

/// WRU for the steps of a job on references, except for the last step. The job makes two passes,
/// and the second pass finds nothing.
fn looks(case: &Named) -> Term {
    steps(case, case.references) + write(case.job)
}

/// WRU for the steps of one pass: a step for each page, and a final step that finds nothing. Each
/// step stores the ids of its page in the job.
///
/// DynamoDB charges for the larger of the item's sizes before and after a write. Ids are assumed to
/// have 32 characters. After a full page, the step also stores the position, because more pages may
/// follow.
fn steps(case: &Named, things: Size) -> Term {
    const ID: usize = 33;
    const PLACE: usize = 80;
    // Size of the other progress attributes. A new job has none.
    const PROGRESS: usize = 42;
    let job = case.job.value() + PROGRESS;
    let step = |page: usize| write(job + ID * page + if page == PAGE { PLACE } else { 0 });
    let (full, rest) = (things.value() / PAGE, things.value() % PAGE);
    let units = match full {
        0 => step(rest).times(1 + usize::from(rest > 0)),
        _ => step(PAGE).times(full + 1) + if rest > 0 { step(rest) } else { Term::ZERO },
    };
    units.shown_as(format!("(⌈{things} ÷ {PAGE}⌉ + 1) × ⌈{} with a page of ids⌉", case.job))
}

/// Continues the jobs in the batch.
async fn continue_job(wellness: Wellness, batch: Batch) -> Result<BTreeSet<String>, Error> {
    jobs::continue_jobs(&wellness, batch).await
}

impl JobService for Wellness {
    const SIDE_BY_SIDE: usize = 10;

    fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    fn tenant(key: &Key) -> Option<String> {
        key.partition().parse().ok().map(|CompanyPartition(company)| company.to_string())
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        let unreadable = |error| Error::from(table::Error::unreadable("Job", &error));
        let CompanyPartition(company) = run.job().partition.parse().map_err(unreadable)?;
        let (id, task) = (run.job().id.parse().map_err(unreadable)?, run.job().task::<Task>()?);
        match id {
            JobId::Registrations(activity) => {
                let registrations = Registrations::new(self, company, activity);
                run.steps(Passes::new(self, registrations, run.clock())).await?;
            }
            JobId::Enrolment(activity) => {
                run.steps(Enrol::new(self, company, activity, run.clock())).await?;
            }
            JobId::Seats(activity) => {
                run.steps(Seats::new(self, activity, run.clock())).await?;
            }
            JobId::Departure(user) => {
                run.steps(Depart::new(self, EmployeeKey { company, user })).await?;
            }
            JobId::Upload(file) => match self.upload(&company, &file).await? {
                Some(Upload { missing: Some(missing), status: FileStatus::Pending, .. }) => {
                    run.steps(Import::new(self, company, file, missing, run.clock())).await?;
                }
                upload => run.steps(Receive::new(self, company, file, upload)).await?,
            },
            JobId::Rewards(activity) => {
                let earned = Earned::new(self, company, activity, run.job().started_at);
                run.steps(Passes::new(self, earned, run.clock())).await?;
            }
            JobId::Groups(activity) => {
                run.steps(GroupsOf::new(self, company, activity)).await?;
            }
            JobId::Report(plan) => {
                let Task::Report { report, period } = task else {
                    return Err(Error::Internal("a job on a report has another task".to_owned()));
                };
                run.steps(Report::new(self, company, plan, report, period)).await?;
            }
            JobId::Export(_) => {
                let Task::Export { export } = task else {
                    return Err(Error::Internal("an export has another task".to_owned()));
                };
                run.steps(Export::new(self, company, export)).await?;
            }
            JobId::Erasure(_) => {
                let owner = Owner { company, user: None };
                run.steps(Erase::new(self, owner, run.clock())).await?;
            }
            JobId::EmployeeErasure(user) => {
                let owner = Owner { company, user: Some(user) };
                run.steps(Erase::new(self, owner, run.clock())).await?;
            }
            JobId::Uses(of) => {
                let started_at = run.job().started_at;
                let references = References::of(self, ReferencePartition { company, of }, task, started_at);
                let references = references
                    .ok_or_else(|| Error::Internal("a job on references has a task for registrations".to_owned()))?;
                run.steps(Passes::new(self, references, run.clock())).await?;
            }
        }
        Ok(())
    }
}
