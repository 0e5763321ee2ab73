//! Work that outlives a request.
//!
//! A job is an item of its service's table of jobs. The write that makes the job necessary puts it in the same transaction.
//! The table's stream calls the service's function, which hands the batch to [`continue_jobs`]. This runs each job step by
//! step, and writes each step before the next: a run may die between any two calls, and the next run repeats one step.
//! Each written step calls the function again, so a run may stop after any step.
//!
//! A service implements [`JobService`], which picks the [`JobRunner`] of a job by its task. A runner whose steps change many
//! items lists a page of them in one step and changes them in the next: [`PagedItems`] does this.
//!
//! A job that cannot continue fails with a reason, and [`Jobs::retry`] runs it again from its last step. See
//! `docs/decisions/jobs.md`.
#![deny(clippy::disallowed_methods)]

mod engine;
mod job;
mod page;
mod store;

pub use engine::{JobRunner, JobService, MAX_ATTEMPTS, Next, Run, Step, continue_jobs};
pub use job::{Job, JobBody, State, Task};
pub use page::{ItemState, PAGE, PagedItems};
pub use store::Jobs;
