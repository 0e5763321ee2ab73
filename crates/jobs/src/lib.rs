//! Jobs: work that outlives a request.
//!
//! A job is an item in the job table of its service. A job is put in the same transaction as the
//! write that requires the job. The stream of the table calls the service's function, which passes
//! the batch to [`continue_jobs`].
//!
//! A job runs step by step, and each step is written before the next one starts. A run may crash
//! between any two calls. The next run then repeats at most one step. Each written step calls the
//! function again, so a run may stop after any step.
//!
//! A service implements [`JobService`], which selects the [`JobRunner`] for the task of a job. A
//! runner that changes many items lists a page of them in one step and changes them in the next:
//! see [`PagedItems`].
//!
//! A job that cannot continue fails with a reason. [`Jobs::retry`] resumes it after its last
//! written step (docs/decisions/jobs.md).
#![deny(clippy::disallowed_methods)]

mod engine;
mod job;
mod page;
mod store;

pub use engine::{JobRunner, JobService, MAX_ATTEMPTS, Next, Run, Step, continue_jobs};
pub use job::{Job, JobBody, State, Task};
pub use page::{ItemState, PAGE, PagedItems};
pub use store::Jobs;
