use crate::{Job, Jobs};
use function::{Batch, Deadline, Error, Record};
use futures::{StreamExt, stream};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use table::{Error as Store, Key};

/// The longest run of a function: others wait for it in the same shard.
const BUDGET: Duration = Duration::from_secs(30);
/// The part of it that is left for the step under way.
const RESERVE: Duration = Duration::from_secs(10);
/// Runs in a row without a written step, after which a job fails. Fewer than the tries of the mapping, 100.
pub const MAX_ATTEMPTS: i64 = 50;

/// A service that has jobs.
pub trait JobService: Sync {
    /// The number of jobs of a batch that run at once.
    const SIDE_BY_SIDE: usize;

    /// The table of its jobs.
    fn jobs(&self) -> &Jobs;

    /// Gives the runner of the job's kind to [`Run::steps`].
    ///
    /// # Errors
    /// Those of the runner. The job fails unless the next try may succeed: DynamoDB was out of reach or short of capacity, or
    /// other writes got in between.
    fn run(&self, run: &mut Run<'_>) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The steps of one kind of job. It lives as long as a run, and may remember what it has read.
pub trait JobRunner: Send {
    /// The progress as it is stored; its default before the first step.
    type Progress: Serialize + DeserializeOwned + Default + Send + Sync;

    /// Does one step, and answers the progress after it, which is then written.
    ///
    /// A step may be repeated after any of its calls, and must not count anything twice. A step that takes long returns when
    /// `stop` has passed.
    ///
    /// # Errors
    /// As [`JobService::run`].
    fn step(
        &mut self,
        job: &Job,
        progress: Self::Progress,
        stop: Deadline,
    ) -> impl Future<Output = Result<Step<Self::Progress>, Error>> + Send;
}

/// A finished step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<P> {
    /// The progress after it.
    pub progress: P,
    /// Finished units of work, of the whole job.
    pub done: u64,
    /// What follows.
    pub next: Next,
}

/// What follows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next step, if there is time.
    Continue,
    /// The next step in another run, which the stream calls a little later.
    Wait,
    /// Nothing: the job is done.
    End,
}

/// One run of a job.
#[derive(Debug)]
pub struct Run<'a> {
    jobs: &'a Jobs,
    job: Job,
    stop: Deadline,
}

impl Run<'_> {
    /// The job as it was last read or written.
    #[must_use]
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Does steps until the job is done, waits or is out of time, or another run has written a step. Answers the progress of a
    /// job that is done by this run, and of no other.
    ///
    /// # Errors
    /// Those of the runner; the progress cannot be read or written.
    pub async fn steps<R: JobRunner>(&mut self, mut runner: R) -> Result<Option<R::Progress>, Error> {
        let mut progress = self.job.progress()?;
        loop {
            let step = Box::pin(runner.step(&self.job, progress, self.stop)).await?;
            let is_written = self.jobs.write(&mut self.job, &step).await?;
            match step.next {
                Next::End if is_written => return Ok(Some(step.progress)),
                Next::Continue if is_written && !self.stop.has_passed() => progress = step.progress,
                _ => return Ok(None),
            }
        }
    }
}

/// Continues the jobs of a batch of the stream; answers the sequence numbers of the changes that must come again.
///
/// No job holds up another: one that cannot continue fails, and one that may continue later is reported.
///
/// # Errors
/// None.
pub async fn continue_jobs<S: JobService>(service: &S, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let end = batch.deadline.at_most(BUDGET);
    let stop = end.with_reserve(RESERVE);
    let runs = jobs_of(&batch.records).into_iter().map(|((partition, sort), sequence_numbers)| async move {
        let key = Key::new(&partition, &sort);
        match Box::pin(continue_job(service, &key, stop, end)).await {
            Ok(true) => Vec::new(),
            Ok(false) => sequence_numbers,
            Err(error) => {
                tracing::warn!(partition, sort, %error, "a job continues later");
                sequence_numbers
            }
        }
    });
    Ok(stream::iter(runs).buffer_unordered(S::SIDE_BY_SIDE).concat().await.into_iter().collect())
}

/// The jobs that the changes are of, each once, and the sequence numbers of the changes.
fn jobs_of(records: &[Record]) -> BTreeMap<(String, String), Vec<String>> {
    let mut jobs = BTreeMap::<_, Vec<_>>::new();
    for record in records {
        let sequence_number = record.sequence_number().to_owned();
        if let Some((partition, sort)) = record.partition_key().zip(record.sort_key()) {
            jobs.entry((partition.to_owned(), sort.to_owned())).or_default().push(sequence_number);
        } else {
            tracing::error!(sequence_number, "a change of a job cannot be read");
        }
    }
    jobs
}

/// Runs a job. `false` if there was no time to begin.
async fn continue_job<S: JobService>(service: &S, key: &Key, stop: Deadline, end: Deadline) -> Result<bool, Error> {
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
        let reason = format!("{MAX_ATTEMPTS} runs in a row ended without a step: out of time or memory.");
        return jobs.fail(&job, &reason, &"no run came to an end").await.map(|()| true);
    }
    if !jobs.claim(&mut job).await? {
        return Ok(true);
    }
    let mut run = Run { jobs, job, stop };
    let outcome = end.bound(service.run(&mut run)).await;
    match outcome.unwrap_or_else(|| Err(Store::Unavailable("a step took too long".to_owned()).into())) {
        Ok(()) => Ok(true),
        Err(error) if may_pass(&error) && run.job.attempts < MAX_ATTEMPTS => Err(error),
        Err(error) => jobs.fail(&run.job, &reason(&error), &error).await.map(|()| true),
    }
}

/// Whether the next try may succeed.
fn may_pass(error: &Error) -> bool {
    error.is_outage() || matches!(error, Error::Table(Store::Refused(_)))
}

/// The error in words for the job's owner: nothing of the stored data, and nothing of how this works.
fn reason(error: &Error) -> String {
    match error {
        Error::Table(Store::Unreadable(what, _)) => format!("A stored {what} cannot be read."),
        Error::Table(Store::TooMuch) => "A range holds more than can be read at once.".to_owned(),
        error if may_pass(error) => format!("{MAX_ATTEMPTS} runs in a row failed. The log has the causes."),
        _ => "An internal error stopped it. The log has the cause.".to_owned(),
    }
}
