use crate::{Job, Jobs, Next, Step};
use function::{Batch, Clock, Deadline, Error, Record};
use futures::{StreamExt, stream};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use table::{Error as Store, Item, Key};

/// Maximum duration of a run. Only a step that waits for DynamoDB takes that long.
const BUDGET: Duration = Duration::from_secs(30);
/// The part of [`BUDGET`] that is reserved for the completion of the current step.
const RESERVE: Duration = Duration::from_secs(10);
/// Maximum number of consecutive runs without a written step, after which the job fails. The limit
/// is lower than the 100 times that Lambda retries a batch.
pub const MAX_ATTEMPTS: i64 = 50;

/// A service with jobs.
pub trait JobService: Sync {
    /// Maximum number of concurrent jobs in a batch.
    const SIDE_BY_SIDE: usize;

    /// Time after which a run starts no further step, and a long step returns. In the meantime, the
    /// other jobs of the same lane wait (docs/decisions/jobs.md).
    const STEPS: Duration = Duration::from_secs(3);

    /// The job table of the service.
    fn jobs(&self) -> &Jobs;

    /// The tenant who owns the job with this key. The units of its runs are counted for the tenant.
    fn tenant(_: &Key) -> Option<String> {
        None
    }

    /// Creates the [`JobRunner`] for the job and passes it to [`Run::steps`].
    ///
    /// # Errors
    /// Errors of the runner. After a DynamoDB outage, throttling or a conflict with other writes,
    /// the job is retried. After any other error, the job fails.
    fn run(&self, run: &mut Run<'_>) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Executes the steps of a job. Each run has its own runner, which may cache data that it has read.
pub trait JobRunner: Send {
    /// The stored progress. The first step receives the default value.
    type Progress: Serialize + DeserializeOwned + Default + Send + Sync;

    /// Executes one step and returns the new progress. The engine then writes the progress.
    ///
    /// A step must be idempotent. If a run crashes during a step, the next run repeats the step
    /// from its start. A long step must return once `stop` has passed.
    ///
    /// # Errors
    /// The same errors as for [`JobService::run`].
    fn step(
        &mut self,
        job: &Job,
        progress: Self::Progress,
        stop: Deadline,
    ) -> impl Future<Output = Result<Step<Self::Progress>, Error>> + Send;

    /// Returns the number of items that the job has passed over because they cannot be
    /// deserialized. The job reports this number.
    fn skipped(_: &Self::Progress) -> u64 {
        0
    }

    /// Returns the reason if the job ends without success, for example because its input is not
    /// valid. A retry of the job starts after its last step.
    fn failure(_: &Self::Progress) -> Option<String> {
        None
    }
}

/// A run of a job: the steps of one job in one invocation.
#[derive(Debug)]
pub struct Run<'a> {
    jobs: &'a Jobs,
    job: Job,
    stop: Deadline,
    clock: Clock,
}

impl Run<'_> {
    /// The job, as last read or written by this run.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// The clock, for results with the time of their end.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Executes steps until the job is done, a step ends the run, the time is up, or another run
    /// has written a step. A runner reports the result of a job in its last step, because a run
    /// that is killed after the last write is not repeated.
    ///
    /// # Errors
    /// Errors of the runner, and errors while reading or writing the progress.
    pub async fn steps<R: JobRunner>(&mut self, mut runner: R) -> Result<(), Error> {
        let mut progress = self.job.progress()?;
        loop {
            let step = Box::pin(runner.step(&self.job, progress, self.stop)).await?;
            let failure = R::failure(&step.progress);
            let is_written =
                self.jobs.write(&mut self.job, &step, R::skipped(&step.progress), failure.as_deref()).await?;
            match step.next {
                Next::Continue if is_written && !self.stop.has_passed() => progress = step.progress,
                _ => return Ok(()),
            }
        }
    }
}

/// Continues the jobs in a batch of stream records. Returns the sequence numbers of the records to
/// retry.
///
/// If a job cannot continue, it is marked as failed and does not block other jobs. If a retry may
/// succeed, the job's records are reported as batch item failures.
///
/// # Errors
/// This function always returns `Ok`.
pub async fn continue_jobs<S: JobService>(service: &S, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let end = batch.deadline.at_most(BUDGET);
    let stop = end.with_reserve(RESERVE).at_most(S::STEPS);
    let runs = jobs_of(&batch.records).into_iter().map(|((partition, sort), sequence_numbers)| async move {
        let key = Key::new(&partition, &sort);
        let run = Box::pin(continue_job(service, &key, (stop, end), batch.clock));
        let result = match S::tenant(&key) {
            Some(tenant) => table::for_tenant(&tenant, run).await,
            None => run.await,
        };
        match result {
            Ok(true) => Vec::new(),
            Ok(false) => sequence_numbers,
            Err(error) => {
                tracing::warn!(partition, sort, %error, "a job will be retried");
                sequence_numbers
            }
        }
    });
    Ok(stream::iter(runs).buffer_unordered(S::SIDE_BY_SIDE).concat().await.into_iter().collect())
}

/// Groups the sequence numbers of the records by job. A function that publishes events also gets
/// records of other items and of jobs that have ended. They start no run.
fn jobs_of(records: &[Record]) -> BTreeMap<(String, String), Vec<String>> {
    let mut jobs = BTreeMap::<_, Vec<_>>::new();
    let is_of_other = |record: &&Record| record.new_type().is_some_and(|kind| kind != Job::TYPE);
    let has_ended = |record: &&Record| record.new_text(Job::STATE).is_some_and(|state| state != "running");
    for record in records.iter().filter(|record| !is_of_other(record) && !has_ended(record)) {
        let sequence_number = record.sequence_number().to_owned();
        if let Some((partition, sort)) = record.partition_key().zip(record.sort_key()) {
            jobs.entry((partition.to_owned(), sort.to_owned())).or_default().push(sequence_number);
        } else {
            tracing::error!(sequence_number, "a stream record of the job table has no key");
        }
    }
    jobs
}

/// Runs a job. Returns `false` if too little time remained to start a run.
async fn continue_job<S: JobService>(
    service: &S,
    key: &Key,
    (stop, end): (Deadline, Deadline),
    clock: Clock,
) -> Result<bool, Error> {
    if stop.has_passed() {
        return Ok(false);
    }
    let jobs = service.jobs();
    let mut job = match jobs.get(key).await {
        Ok(Some(job)) if job.is_running() => job,
        Ok(_) => return Ok(true),
        Err(error @ Error::Table(Store::Unreadable(..))) => {
            return jobs.fail_unreadable(key, &error).await.map(|()| true);
        }
        Err(error) => return Err(error),
    };
    if job.attempts >= MAX_ATTEMPTS {
        let reason =
            format!("{MAX_ATTEMPTS} consecutive runs completed no step. They may have run out of time or memory.");
        return jobs.fail(&job, &reason, &"no run completed a step").await.map(|()| true);
    }
    if !jobs.claim(&mut job).await? {
        return Ok(true);
    }
    let mut run = Run { jobs, job, stop, clock };
    let outcome = end.bound(service.run(&mut run)).await;
    match outcome.unwrap_or_else(|| Err(Store::Unavailable("a step took too long".to_owned()).into())) {
        Ok(()) => Ok(true),
        Err(error) if may_pass(&error) && run.job.attempts < MAX_ATTEMPTS => Err(error),
        Err(error) => jobs.fail(&run.job, &reason(&error), &error).await.map(|()| true),
    }
}

/// Returns whether a retry may succeed.
fn may_pass(error: &Error) -> bool {
    error.is_outage() || matches!(error, Error::Table(Store::Refused(_)))
}

/// Describes the error for the owner of the job, without stored data or internal details.
fn reason(error: &Error) -> String {
    match error {
        Error::Table(Store::Unreadable(what, _)) => format!("A stored {what} cannot be read."),
        Error::Table(Store::TooMuch) => "A range is too large to be read without pages.".to_owned(),
        error if may_pass(error) => format!("{MAX_ATTEMPTS} consecutive runs failed. The log contains the causes."),
        _ => "An internal error stopped the job. The log contains the cause.".to_owned(),
    }
}
