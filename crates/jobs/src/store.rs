use crate::{Job, State, Step, engine::Next};
use function::{Error, Problem};
use keys::TimestampSeconds;
use serde::Serialize;
use std::fmt::Display;
use table::{Change, Condition, Dynamo, Key, Refused, Table, Value};

/// The job table of a service.
#[derive(Debug, Clone)]
pub struct Jobs {
    dynamo: Dynamo,
    table: Table,
}

/// Returns whether a conditional write succeeded. DynamoDB refuses the write if another run has
/// changed the job.
fn written(outcome: Result<(), table::Error>) -> Result<bool, Error> {
    match outcome {
        Ok(()) => Ok(true),
        Err(table::Error::Refused(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Jobs {
    /// Returns the job table with the name.
    #[must_use]
    pub fn new(dynamo: &Dynamo, name: String) -> Self {
        Self { dynamo: dynamo.clone(), table: dynamo.table(name) }
    }

    /// The underlying table, for transactions that put jobs, and for the other items in the table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Opens the connection before the first event.
    pub async fn warm_up(&self) {
        let _ = self.table.get_eventually::<Job>(&Key::placeholder()).await;
    }

    /// Reads a job, strongly consistent.
    ///
    /// # Errors
    /// The call failed, or the item is not a job.
    pub async fn get(&self, key: &Key) -> Result<Option<Job>, Error> {
        Ok(self.table.get(key).await?)
    }

    /// Makes the stream call the function again for a running job, and resets its number of
    /// attempts. This is needed if Lambda has discarded the earlier records of the job.
    ///
    /// # Errors
    /// The call failed.
    pub async fn nudge(&self, job: &Job, by: &impl Display) -> Result<(), Error> {
        match self.nudging(job, by) {
            Some(nudge) => written(self.dynamo.write(nudge).await).map(drop),
            None => Ok(()),
        }
    }

    /// Returns the write of [`Jobs::nudge`], for use in a transaction. DynamoDB refuses the write
    /// if the job has ended. Returns `None` if `job` is not running.
    #[must_use]
    pub fn nudging(&self, job: &Job, by: &impl Display) -> Option<Change> {
        let run = job.run.as_ref()?;
        let nudge = self.table.update(job.key()).set(Job::NUDGED_BY, &by.to_string()).set(Job::ATTEMPTS, 0);
        Some(nudge.only_if(Condition::is(Job::RUN, run)))
    }

    /// Resumes a failed job after its last written step. `claims` returns changes that must succeed
    /// in the same transaction.
    ///
    /// # Errors
    /// 409 `job-not-failed` if the job is running or done, or if another retry came first. 409
    /// `job-under-way` if a claim is refused. Other errors mean that the call failed.
    pub async fn retry(
        &self,
        job: Job,
        run: &impl Display,
        now: TimestampSeconds,
        claims: impl FnOnce(&Job) -> Result<Vec<Change>, Error>,
    ) -> Result<Job, Error> {
        let not_failed = || Error::Conflict(Problem::JobNotFailed, "Only a failed job can be run again.".to_owned());
        if job.state != State::Failed {
            return Err(not_failed());
        }
        let expires_at = job.expires_at.map(|_| Job::expiry(now));
        let next =
            Job { state: State::Running, run: Some(run.to_string()), attempts: 0, reason: None, expires_at, ..job };
        let claims = claims(&next)?;
        let update = self.table.update(next.key()).only_if(Condition::is(Job::STATE, Value::of(&State::Failed)?));
        let update = update.only_if(Condition::is(Job::STEP, next.step)).set(Job::STATE, Value::of(&next.state)?);
        let update = update.set(Job::RUN, &run.to_string()).set(Job::ATTEMPTS, 0).remove(Job::REASON);
        let update = expires_at.into_iter().fold(update, |update, at| update.set(Job::EXPIRES_AT, at));
        let outcome = if claims.is_empty() {
            self.dynamo.write(update).await
        } else {
            self.dynamo.transact([update].into_iter().chain(claims).collect()).await
        };
        match outcome {
            Ok(()) => Ok(next),
            Err(table::Error::Refused(refused)) if refused.at(0) => Err(not_failed()),
            Err(table::Error::Refused(refused)) => Err(in_the_way(&refused)),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts a run before it starts. Returns `false` if another run has written a step or the job
    /// has ended.
    ///
    /// The run is counted before it starts. The count therefore includes runs that end without an
    /// error, for example because they run out of memory.
    pub(crate) async fn claim(&self, job: &mut Job) -> Result<bool, Error> {
        job.attempts += 1;
        written(self.dynamo.write(self.update(job).set(Job::ATTEMPTS, job.attempts)).await)
    }

    /// Writes a step. Returns `false` if another run has written this step, or the job has ended or
    /// was restarted.
    pub(crate) async fn write<P: Serialize>(&self, job: &mut Job, step: &Step<P>) -> Result<bool, Error> {
        let update =
            self.update(job).set(Job::PROGRESS, Value::of(&step.progress)?).set(Job::DONE, Value::of(&step.done)?);
        let update = update.set(Job::STEP, job.step + 1).set(Job::ATTEMPTS, 0);
        let is_written = if step.next == Next::End {
            self.finish(job, update.set(Job::STATE, Value::of(&State::Done)?).remove(Job::RUN)).await?
        } else {
            written(self.dynamo.write(update).await)?
        };
        (job.step, job.done, job.attempts) = (job.step + 1, step.done, 0);
        Ok(is_written)
    }

    /// Marks a job as failed. Does nothing if another run has written a step or the job has ended.
    pub(crate) async fn fail(&self, job: &Job, reason: &str, cause: &impl Display) -> Result<(), Error> {
        let update =
            self.update(job).set(Job::STATE, Value::of(&State::Failed)?).set(Job::REASON, &reason).remove(Job::RUN);
        if self.finish(job, update).await? {
            report(&job.key(), reason, cause);
        }
        Ok(())
    }

    /// Marks a job as failed if its item cannot be deserialized.
    pub(crate) async fn fail_unreadable(&self, key: &Key, cause: &Error) -> Result<(), Error> {
        const REASON: &str = "The job itself cannot be read.";
        let is_running = Condition::is(Job::STATE, Value::of(&State::Running)?);
        let update =
            self.table.update(key.clone()).set(Job::STATE, Value::of(&State::Failed)?).set(Job::REASON, &REASON);
        if written(self.dynamo.write(update.remove(Job::RUN).only_if(is_running)).await)? {
            report(key, REASON, cause);
        }
        Ok(())
    }

    /// Returns an update with the condition that the job was not restarted, and that no step was
    /// written, since the job was read.
    fn update(&self, job: &Job) -> Change {
        let run = job.run.as_ref().map_or_else(Job::is_not_running, |run| Condition::is(Job::RUN, run));
        self.table.update(job.key()).only_if(run).only_if(Condition::is(Job::STEP, job.step))
    }

    /// Executes the update that ends a job, and deletes the hold of the job.
    async fn finish(&self, job: &Job, update: Change) -> Result<bool, Error> {
        if let Some((hold, run)) = job.hold.as_ref().zip(job.run.as_ref()) {
            let hold = self.table.delete(Key::new(&job.partition, hold)).only_if(Condition::is(Job::RUN, run));
            match self.dynamo.transact(vec![update.clone(), hold]).await {
                // The hold has expired. The job itself is unchanged.
                Err(table::Error::Refused(refused)) if !refused.at(0) => {}
                outcome => return written(outcome),
            }
        }
        written(self.dynamo.write(update).await)
    }
}

fn in_the_way(refused: &Refused) -> Error {
    tracing::info!(?refused, "a retry meets another job");
    let detail = "Another job is under way there. Send the request again when it is done.";
    Error::Conflict(Problem::JobUnderWay, detail.to_owned())
}

/// Logs a failed job and counts it as a defect, which triggers the alarm of the service.
fn report(key: &Key, reason: &str, cause: &impl Display) {
    function::count("Defects", 1);
    let (partition, sort) = (key.partition(), key.sort());
    tracing::error!(partition, sort, reason, %cause, "a job failed");
}
