//! The steps of a dispatch that an operator started.

use crate::{Bank, dispatch::Dispatched};
use function::{Deadline, Error};
use jobs::{Job, JobRunner, Next, Step};
use keys::{Random, RequestId};
use std::time::Duration;

/// Maximum duration of a step, so that the job reports its progress in the meantime.
const STEP: Duration = Duration::from_secs(5);

/// Executes the steps of a dispatch. Each step is a sweep with limited time.
pub(crate) struct Steps<'a> {
    pub(crate) bank: &'a Bank,
    pub(crate) random: Random,
}

impl JobRunner for Steps<'_> {
    type Progress = Dispatched;

    async fn step(&mut self, job: &Job, mut progress: Dispatched, stop: Deadline) -> Result<Step<Dispatched>, Error> {
        let now = job.started_at;
        let run = RequestId::new(now.instant(), &self.random);
        let swept = self.bank.sweep(now, stop.at_most(STEP), run).await?;
        let next = if swept.left { Next::Continue } else { Next::End };
        progress.left = false;
        progress += swept;
        Ok(Step { done: progress.claimed + progress.retried, progress, next })
    }

    fn skipped(progress: &Dispatched) -> u64 {
        u64::try_from(progress.skipped).unwrap_or(u64::MAX)
    }
}
