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
    cost::{self, Calls, Case, Pattern},
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
use function::{Batch, Error, Function, Trigger};
use jobs::{JobService, Jobs, PAGE, Run};
use keys::wellness::{CompanyPartition, EmployeeKey, JobId, ReferencePartition};
use std::collections::BTreeSet;
use table::{
    Key, Units,
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
            condition: "for each page of 50: query GSI2PK = CompanyId-<id>#VenueId-<id>, GSI2SK between draft#from and draft#to, then between active#from and active#to. Get the references with strong consistency, and write their ids to the job. For each reference, one transaction deletes Program#Venue#VenueId-<id> if its status and end date are unchanged, and puts Program#Venue#VenueId-<replacement>. The job ends after two consecutive passes that find nothing",
            formula: "per reference: ⌈reference⌉ R; 2 × 2 ⌈reference⌉ W; GSI2 2 ⌈reference⌉ W. Per page: GSI2 ½ ⌈Σ references⌉ R; ⌈job with the ids of the page⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. A job has at least two invocations. Per job: GSI2 2.5 R; 2 ⌈job⌉ W, and 2 × (⌈job⌉ + ⌈hold⌉) W at the end",
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
            condition: "as for a replacement, but query only references with different data. Update each Program#Venue#VenueId-<id> if its status and end date are unchanged",
            formula: "per reference: ⌈reference⌉ R; ⌈reference⌉ W; GSI2 ⌈reference⌉ W. Per page: GSI2 3 × ½ ⌈Σ references⌉ R; ⌈job with the ids of the page⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. A job has at least two invocations. Per job: GSI2 1.5 R; 3 ⌈job⌉ W",
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
            variant: ", enrolment",
            condition: "two passes over the employees, and then one over the registrations, all with strong consistency. For each page of 500: get PK = ActivityId-<id>, SK = Program. Query PK = CompanyId-<id>#Employees#<0-9>, batch-get the registrations of the eligible employees, and put the missing ones if absent. Then query PK = ActivityId-<id>, SK begins with Registration#, batch-get the employees, and delete the registration of each employee who is not eligible and has done nothing. After a page with writes, get SK = Program again",
            formula: "per new registration: ⌈registration⌉ W; GSI3 ⌈registration⌉ W. Per eligible employee: 1 + 2 ⌈registration⌉ + 3 ⌈employee⌉ R at most. Per pass over the employees: 10 R at least. Per page: ⌈activity⌉ R, or 2 ⌈activity⌉ R with writes; ⌈job⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. The table shows the cost for one page of employees",
            cost: |case| {
                let (eligible, registration) = (Case::count(case.eligible), write(case.registration));
                Cost::default()
                    .read(cost::JOBS, read(case.job).times(2))
                    .read(cost::ACTIVITIES, case.activity_read().times(4))
                    .read(cost::ACTIVITIES, (Units::whole(1) + read(case.registration)).times(eligible))
                    .read(cost::ACTIVITIES, Units::whole(20) + read(case.registration * case.eligible))
                    .read(cost::ACTIVITIES, read(case.employee).times(eligible))
                    .write(cost::ACTIVITIES, registration.times(eligible))
                    .write(cost::REGISTRATIONS, registration.times(eligible))
                    .write(cost::JOBS, write(case.job).times(5))
            },
        },
        Calls {
            variant: ", seats",
            condition: "in each step: get SK = Tickets, batch-get the Ticket#… of the sign-ups in progress, and put the lost ones if absent, all strongly consistent. Query up to 1,000 Ticket#… until the seats are counted, and raise Limit of SK = Tickets. Then query up to 100 Ticket#… below the limit, with strong consistency. For each employee who gets a seat, one transaction updates Ticket#<number> and Registration#UserId-<id>. While a sign-up below the limit is in progress, at most 60 seconds, the job waits in steps of one second",
            formula: "⌈Σ tickets with a seat⌉ + 4 R; 3 W. Per employee who gets a seat: 2 × (⌈registration⌉ + 1) W; GSI3 ⌈registration⌉ W. Per lost ticket: 3 R and 2 W. Per step: 1 R; ⌈job⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. The table shows the cost for one employee and few tickets",
            cost: |case| {
                let registration = write(case.registration);
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::ACTIVITIES, Units::whole(5))
                    .write(cost::ACTIVITIES, (registration + Units::whole(1)).times(2) + Units::whole(3))
                    .write(cost::REGISTRATIONS, registration)
                    .write(cost::JOBS, write(case.job).times(3))
            },
        },
        Calls {
            variant: ", report",
            condition: "once in each invocation: query GSI2PK = CompanyId-…#Program#List, GSI2SK between EndDate#first and EndDate#last second of the plan, and PK = CompanyId-…#Employees#<0-9>. For each activity and page of 1,000: query SK begins with Registration#, and put PK = CompanyId-…#Reports, SK = PlanId-…#ReportId-…#ActivityId-…. At the end, one transaction puts SK = PlanId-…#ReportId-…#Total and SK = PlanId-…; then query SK begins with PlanId-…#, and delete the rows of the previous report",
            formula: "per activity: ⌈Σ registrations⌉ R and ⌈row⌉ W. Per page: ⌈job⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W; ½ ⌈Σ entries⌉ R of GSI2; ⌈Σ employees⌉ R, at least 10 R. Per report: ⌈Σ rows⌉ R; 2 × (⌈row⌉ + 1) W; 1 W per row of the previous report. The table shows the cost for few employees",
            cost: |case| {
                let (row, activities) = (write(case.report), Case::count(case.items));
                let registrations = read(case.registration).times(activities);
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::LISTS, case.listed(case.narrow))
                    .read(cost::ACTIVITIES, Units::whole(10) + registrations + read(case.report * (case.items + 1)))
                    .write(cost::ACTIVITIES, row.times(activities) + (row + Units::whole(1)).times(2))
                    .write(cost::JOBS, write(case.job).times(activities + 3))
            },
        },
        Calls {
            variant: ", rewards",
            condition: "for each page of 50: query PK = ActivityId-<id>, SK begins with Program#Reward, and SK begins with Registration#, both strongly consistent. Write the ids of the registrations with a missing award to the job. Update each of these registrations if its awards are unchanged. The job ends after two consecutive passes that find nothing, and waits before the last one",
            formula: "per award: ⌈registration⌉ W; GSI3 ⌈registration⌉ W. Per page: ⌈Σ rewards⌉ + ⌈Σ registrations⌉ R; ⌈job with the ids of the page⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. A job has at least two invocations",
            cost: |case| {
                let (registrations, registration) = (Case::count(case.items), write(case.registration));
                let pages = Case::count(case.items.div_ceil(PAGE));
                Cost::default()
                    .read(cost::JOBS, read(case.job).times(2))
                    .read(cost::ACTIVITIES, read(case.rewards).times(pages + 3))
                    .read(cost::ACTIVITIES, by_pages(case.items, case.registration, read).times(3))
                    .write(cost::ACTIVITIES, registration.times(registrations))
                    .write(cost::JOBS, calls(case, 2) + steps(case, case.items) + write(case.job).times(2))
                    .write(cost::REGISTRATIONS, registration.times(registrations))
            },
        },
        Calls {
            variant: ", groups",
            condition: "for each page of 1,000: query PK = ActivityId-…, SK begins with Registration#, strongly consistent. After the last one: get SK = Program, query SK begins with Program#Groups, both strongly consistent, and update each group. 31 days after the end of the activity, remove the keys of GSI2 from SK = Program#Groups",
            formula: "per page: ⌈Σ registrations⌉ R; ⌈job⌉ W. Per job: ⌈activity⌉ + ⌈Σ groups⌉ R; Σ ⌈group⌉ W; 2 ⌈job⌉ W. Per invocation: ⌈job⌉ R",
            cost: |case| {
                let groups = Case::count(case.items);
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::ACTIVITIES, case.activity_read() + read(case.registration) + Units::whole(1))
                    .write(cost::ACTIVITIES, Units::whole(groups))
                    .write(cost::JOBS, write(case.job).times(2))
            },
        },
        Calls {
            variant: ", departure",
            condition: "at least two passes. For each page of 50: get the employee; query GSI3PK = CompanyId-…#UserId-…#Registrations, GSI3SK from today on; batch-get the registrations, strongly consistent. For each registration, one transaction deletes it, or marks it as withdrawn if there is progress, and checks that the employee is absent. With a ticket, the transaction also updates or deletes Ticket#<number> and puts the job that gives the seat away",
            formula: "per registration: ⌈registration⌉ R; 2 × (⌈registration⌉ + 1) W; GSI3 ⌈registration⌉ W. Per page: 1 R; GSI3 ½ ⌈Σ registrations⌉ R; ⌈job⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. The table shows the cost for one registration without a ticket",
            cost: |case| {
                let registration = write(case.registration);
                Cost::default()
                    .read(cost::JOBS, read(case.job).times(2))
                    .read(cost::ACTIVITIES, Units::whole(2) + read(case.registration))
                    .read(cost::REGISTRATIONS, read_eventually(case.registration) + Units::halves(1))
                    .write(cost::ACTIVITIES, (registration + Units::whole(1)).times(2))
                    .write(cost::REGISTRATIONS, registration)
                    .write(cost::JOBS, write(case.job).times(4))
            },
        },
        Calls {
            variant: ", upload",
            condition: "get SK = Upload#FileId-…, and the start of the object in S3. Then one transaction updates the upload if it is pending, and puts SK = File#FileId-…. A rejected upload is updated alone. After the removal of a file: get SK = File#FileId-…, delete the object, and delete the upload",
            formula: "⌈upload⌉ R; 2 × (⌈upload⌉ + ⌈record⌉) W. ⌈job⌉ R; 2 ⌈job⌉ W",
            cost: |case| {
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::ACTIVITIES, read(case.upload))
                    .write(cost::ACTIVITIES, (write(case.upload) + write(case.own)).times(2))
                    .write(cost::JOBS, write(case.job).times(2))
            },
        },
        Calls {
            variant: ", import",
            condition: "get SK = Upload#FileId-…, and the object in S3, once in each invocation. For each line: get PK = CompanyId-<id>#Employees#<0-9>, SK = UserId-…, and put the employee if there is a change. To remove the others, for each page of 500: query PK = CompanyId-<id>#Employees#<0-9>, strongly consistent; for each employee who is missing, one transaction as W23 remove-employee. At the end, update SK = Upload#FileId-… and delete the object",
            formula: "per line: ⌈employee⌉ R; ⌈employee⌉ W if there is a change, and 2 × ⌈employee⌉ W for a new employee. Per 500 lines or employees: ⌈job⌉ W. Per removed employee: 2 × (⌈employee⌉ + ⌈job⌉) W. Per invocation: ⌈upload⌉ R; ⌈job⌉ R; ⌈job⌉ W. Per import: ⌈upload⌉ W; 2 ⌈job⌉ W. The table shows the cost for one new employee",
            cost: |case| {
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::ACTIVITIES, read(case.upload) + read(0))
                    .write(cost::ACTIVITIES, write(case.employee).times(2) + write(case.upload))
                    .write(cost::JOBS, write(case.job).times(4))
            },
        },
        Calls {
            variant: ", export",
            condition: "query GSI2PK = CompanyId-…#Program#List. Then query the whole partitions CompanyId-…#Employees#0 to 9, each ActivityId-…, CompanyId-…, CompanyId-…#Points and CompanyId-…#Reports, strongly consistent, in pages of 1,000 items. Put an object of 4 MB or more after each step. Then list the uploads in S3, and copy each",
            formula: "GSI2 ½ ⌈Σ entries⌉ R. Per partition: ⌈Σ items⌉ R, or 1 R without items. Per object, and per kind of partition: ⌈job⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. The table shows the cost for a company that has nothing but an employee",
            cost: |case| {
                Cost::default()
                    .read(cost::JOBS, read(case.job))
                    .read(cost::ACTIVITIES, Units::whole(13))
                    .read(cost::LISTS, Units::halves(1))
                    .write(cost::JOBS, write(case.job).times(7))
            },
        },
        Calls {
            variant: ", erasure",
            condition: "for each pass: query the partitions of an export, and the partition CompanyId-… of WellnessJobs. Write the keys of up to 500 items to the job, and delete these items in the next step. Then list and delete the objects of the company in S3, and read all failed events. For an employee: query GSI3PK = UserId-…#Registrations, filtered by CompanyId, and batch-get the registrations; query CompanyId-…#Points, SK begins with Correction#UserId-…#; at the end, get the employee, and mark one who was added again as newly placed",
            formula: "per deleted item: ⌈item⌉ W, twice as much for a registration of an erased employee. Per page of 500: ⌈job with the keys of the page⌉ W. Per pass: the reads of an export, and ⌈Σ jobs⌉ R. Per invocation: ⌈job⌉ R; ⌈job⌉ W. A job has at least two passes and two invocations. The table shows the cost for a company that has nothing but an employee and an export",
            cost: |case| {
                Cost::default()
                    .read(cost::JOBS, read(case.job).times(4))
                    .read(cost::ACTIVITIES, Units::whole(26))
                    .read(cost::LISTS, Units::whole(1))
                    .write(cost::ACTIVITIES, write(case.employee))
                    .write(cost::JOBS, write(case.job).times(6))
            },
        },
        Calls {
            variant: ", registrations",
            condition: "for each page of 50: get PK = ActivityId-<id>, SK = Program; query PK = ActivityId-<id>, SK begins with Registration#, both strongly consistent. Write the ids of the registrations with a different end date to the job. Update each of these registrations if its end date is unchanged. The job ends after two consecutive passes that find nothing, and waits before the last one",
            formula: "per registration: ⌈registration⌉ W; GSI3 2 ⌈registration⌉ W. Per page: ⌈activity⌉ + ⌈Σ registrations⌉ R; ⌈job with the ids of the page⌉ W. Per invocation: ⌈job⌉ R; ⌈job⌉ W. A job has at least three passes in two invocations",
            cost: |case| {
                let (registrations, registration) = (Case::count(case.items), write(case.registration));
                let pages = Case::count(case.items.div_ceil(PAGE)) + 1;
                Cost::default()
                    .read(cost::JOBS, read(case.job).times(2))
                    .read(cost::ACTIVITIES, case.activity_read().times(pages + 2))
                    .read(cost::ACTIVITIES, by_pages(case.items, case.registration, read).times(3))
                    .write(cost::ACTIVITIES, registration.times(registrations))
                    .write(cost::JOBS, calls(case, 2) + steps(case, case.items) + write(case.job).times(2))
                    .write(cost::REGISTRATIONS, registration.times(2 * registrations))
            },
        },
    ],
    function,
};

/// Read request units for queries of `things` items of `size` bytes, in pages. A full page is
/// always followed by another query, which may find nothing.
fn by_pages(things: usize, size: usize, call: fn(usize) -> Units) -> Units {
    call(PAGE * size).times(Case::count(things / PAGE)) + call(things % PAGE * size)
}

/// Write request units (WRU) for the write at the start of each invocation.
fn calls(case: &Case, calls: u64) -> Units {
    write(case.job).times(calls)
}

/// WRU for the steps of a job on references, except for the last step. The job makes two passes,
/// and the second pass finds nothing.
fn looks(case: &Case) -> Units {
    steps(case, case.references) + write(case.job)
}

/// WRU for the steps of one pass: a step for each page, and a final step that finds nothing. Each
/// step stores the ids of its page in the job.
///
/// DynamoDB charges for the larger of the item's sizes before and after a write. Ids are assumed to
/// have 32 characters. After a full page, the step also stores the position, because more pages may
/// follow.
fn steps(case: &Case, things: usize) -> Units {
    const ID: usize = 33;
    const PLACE: usize = 80;
    // Size of the other progress attributes. A new job has none.
    const PROGRESS: usize = 42;
    let step = |page: usize| write(case.job + PROGRESS + ID * page + if page == PAGE { PLACE } else { 0 });
    let (full, rest) = (things / PAGE, things % PAGE);
    match full {
        0 => step(rest).times(1 + u64::from(rest > 0)),
        _ => step(PAGE).times(Case::count(full) + 1) + if rest > 0 { step(rest) } else { Units::ZERO },
    }
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
                    run.steps(Import::new(self, company, file, missing)).await?;
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
