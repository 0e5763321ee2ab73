//! Background jobs: work that takes longer than a request.
//!
//! A job is an item in the job table of its service. A request creates the job in the same
//! transaction as the write that requires it. The stream of the job table invokes the service's
//! function, which passes the batch to [`continue_jobs`].
//!
//! A job runs in steps. The progress is written after each step. If a run crashes, the next run
//! repeats only the unfinished step. Each written step invokes the function again, so a run may
//! stop after any step.
//!
//! A service implements [`JobService`], which selects the [`JobRunner`] for a job. A runner that
//! changes many items alternates between two kinds of steps: one step lists a page of items, and
//! the next step changes them. See [`PagedItems`].
//!
//! A service implements [`JobRoutes`] for the routes that read and restart its jobs.
//!
//! A job that cannot continue fails with a reason. [`Jobs::retry`] resumes the job after its last
//! written step (docs/decisions/jobs.md).
//!
//! # Example
//!
//! A job that counts to a number:
//!
//! ```
//! use function::{Deadline, Error};
//! use jobs::{Job, JobRunner, JobService, Jobs, Next, Run, Step, Task};
//! use serde::{Deserialize, Serialize};
//! use table::Key;
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! enum Work {
//!     Count { to: u64 },
//! }
//!
//! impl Task for Work {
//!     fn kind(&self) -> &'static str {
//!         "count"
//!     }
//! }
//!
//! struct Counter {
//!     to: u64,
//! }
//!
//! impl JobRunner for Counter {
//!     type Progress = u64;
//!
//!     async fn step(&mut self, _: &Job, progress: u64, _: Deadline) -> Result<Step<u64>, Error> {
//!         let progress = progress + 1;
//!         let next = if progress < self.to { Next::Continue } else { Next::End };
//!         Ok(Step { progress, done: progress, next })
//!     }
//! }
//!
//! struct Service {
//!     jobs: Jobs,
//! }
//!
//! impl JobService for Service {
//!     const SIDE_BY_SIDE: usize = 10;
//!
//!     fn jobs(&self) -> &Jobs {
//!         &self.jobs
//!     }
//!
//!     async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
//!         let Work::Count { to } = run.job().task()?;
//!         run.steps(Counter { to }).await
//!     }
//! }
//!
//! // A request puts this item into the job table. The stream then starts the job.
//! let key = Key::new(&"COUNTERS", &"JOB#1");
//! let now = "2026-12-01T09:30:00Z".parse()?;
//! let job = Job::new(&key, &"1", &"start-1", &Work::Count { to: 3 }, now)?;
//! assert!(job.is_running());
//! assert_eq!(job.task::<Work>()?, Work::Count { to: 3 });
//! assert_eq!(job.progress::<u64>()?, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::disallowed_methods)]

mod engine;
mod job;
mod page;
mod routes;
mod store;

pub use engine::{JobRunner, JobService, MAX_ATTEMPTS, Run, continue_jobs};
pub use job::{Job, JobBody, Next, State, Step, Task};
pub use page::{ItemState, PAGE, PagedItems};
pub use routes::{JobInput, JobRoutes, get_job, retry_job};
pub use store::Jobs;
