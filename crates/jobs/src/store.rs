use crate::{Job, Next, State, Step};
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

/// Returns whether a conditional write succeeded. A refused write means that another run has
/// changed the job.
fn written(outcome: Result<(), table::Error>) -> Result<bool, Error> {
    match outcome {
        Ok(()) => Ok(true),
        Err(table::Error::Refused(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Jobs {
    /// Returns the job table with this name.
    pub fn new(dynamo: &Dynamo, name: String) -> Self {
        Self { dynamo: dynamo.clone(), table: dynamo.table(name) }
    }

    /// The underlying table. Services use it for transactions that create jobs, and for other items
    /// in the same table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Opens the connection before the first event.
    pub async fn warm_up(&self) {
        let _ = self.table.get_eventually::<Job>(&Key::placeholder()).await;
    }

    /// Reads a job with strong consistency.
    ///
    /// # Errors
    /// The call failed, or the item cannot be deserialized as a job.
    pub async fn get(&self, key: &Key) -> Result<Option<Job>, Error> {
        Ok(self.table.get(key).await?)
    }

    /// Reads a job that a response shows, as [`Table::look_up`] does.
    ///
    /// # Errors
    /// The errors of [`Jobs::get`].
    pub async fn look_up(&self, key: &Key) -> Result<Option<Job>, Error> {
        Ok(self.table.look_up(key).await?)
    }

    /// Creates the job, unless a job with the same key exists. Wakes up an existing job and
    /// returns it.
    ///
    /// # Errors
    /// The call failed, or the existing item cannot be deserialized as a job.
    pub async fn start(&self, job: Job, by: &impl Display) -> Result<Job, Error> {
        match self.dynamo.write(self.table.put_new(&job)?).await {
            Ok(()) => Ok(job),
            Err(table::Error::Refused(refused)) => {
                let found = refused.found::<Job>(0)?.ok_or_else(Error::stale)?;
                self.nudge(&found, by).await?;
                Ok(found)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Creates the job, or replaces a job with the same key that has ended. Wakes up a running job
    /// and returns it.
    ///
    /// # Errors
    /// The call failed, or the running item cannot be deserialized as a job.
    pub async fn start_again(&self, job: Job, by: &impl Display) -> Result<Job, Error> {
        match self.dynamo.write(self.table.put(&job)?.only_if(Job::is_not_running())).await {
            Ok(()) => Ok(job),
            Err(table::Error::Refused(refused)) => {
                let running = refused.found::<Job>(0)?.ok_or_else(Error::stale)?;
                self.nudge(&running, by).await?;
                Ok(running)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Invokes the function again for a running job, through the stream, and resets the number of
    /// attempts. Use this method if Lambda may have discarded earlier stream records of the job.
    pub async fn nudge(&self, job: &Job, by: &impl Display) -> Result<(), Error> {
        match self.nudging(job, by) {
            Some(nudge) => written(self.dynamo.write(nudge).await).map(drop),
            None => Ok(()),
        }
    }

    /// Returns the change that [`Jobs::nudge`] executes, for use in a transaction. DynamoDB refuses
    /// the change if the job has ended. Returns `None` if `job` is not running.
    pub fn nudging(&self, job: &Job, by: &impl Display) -> Option<Change> {
        let run = job.run.as_ref()?;
        let nudge = self.table.update(job.key()).set(Job::NUDGED_BY, &by.to_string()).set(Job::ATTEMPTS, 0);
        Some(nudge.only_if(Condition::is(Job::RUN, run)))
    }

    /// Resumes a failed job after its last written step. `claims` returns further changes for the
    /// same transaction, such as the hold of the job.
    ///
    /// # Errors
    /// 409 `job-not-failed` if the job is running or done, or if a concurrent retry has resumed it.
    /// 409 `job-under-way` if one of the `claims` is refused. Other errors mean that the call
    /// failed.
    pub async fn retry(
        &self,
        job: Job,
        run: &impl Display,
        now: TimestampSeconds,
        claims: impl FnOnce(&Job) -> Result<Vec<Change>, Error>,
    ) -> Result<Job, Error> {
        let not_failed = || Error::Conflict(Problem::JobNotFailed, "Only a failed job can be retried.".to_owned());
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

    /// Increments the number of attempts before a run. Returns `false` if another run has written a
    /// step or the job has ended.
    ///
    /// The count therefore includes runs that are killed, for example because they exceed the
    /// memory limit.
    pub(crate) async fn claim(&self, job: &mut Job) -> Result<bool, Error> {
        job.attempts += 1;
        written(self.dynamo.write(self.update(job).set(Job::ATTEMPTS, job.attempts)).await)
    }

    /// Writes the result of a step. Returns `false` if another run has written this step, or if the
    /// job has ended or was retried. Also returns `false` if the step ends the job, but a nudge has
    /// arrived since the run started.
    pub(crate) async fn write<P: Serialize>(
        &self,
        job: &mut Job,
        step: &Step<P>,
        skipped: u64,
        failure: Option<&str>,
    ) -> Result<bool, Error> {
        let update =
            self.update(job).set(Job::PROGRESS, Value::of(&step.progress)?).set(Job::DONE, Value::of(&step.done)?);
        let mut update = update.set(Job::STEP, job.step + 1).set(Job::ATTEMPTS, 0);
        if skipped != job.skipped {
            update = update.set(Job::SKIPPED, Value::of(&skipped)?);
        }
        let is_written = if step.next == Next::End {
            // A nudge announces work that this run may not have seen. Its stream record starts
            // another run.
            let nudged = job.nudged_by.as_ref();
            update = update.only_if(
                nudged
                    .map_or_else(|| Condition::missing(Job::NUDGED_BY), |nudged| Condition::is(Job::NUDGED_BY, nudged)),
            );
            let (state, update) = match failure {
                Some(reason) => (State::Failed, update.set(Job::REASON, &reason.to_owned())),
                None => (State::Done, update),
            };
            self.finish(job, update.set(Job::STATE, Value::of(&state)?).remove(Job::RUN)).await?
        } else {
            written(self.dynamo.write(update).await)?
        };
        (job.step, job.done, job.skipped, job.attempts) = (job.step + 1, step.done, skipped, 0);
        Ok(is_written)
    }

    /// Marks a job as failed, unless another run has written a step or the job has ended.
    pub(crate) async fn fail(&self, job: &Job, reason: &str, cause: &impl Display) -> Result<(), Error> {
        let update =
            self.update(job).set(Job::STATE, Value::of(&State::Failed)?).set(Job::REASON, &reason).remove(Job::RUN);
        if self.finish(job, update).await? {
            report(&job.key(), reason, cause);
        }
        Ok(())
    }

    /// Marks a job as failed whose item cannot be deserialized.
    pub(crate) async fn fail_unreadable(&self, key: &Key, cause: &Error) -> Result<(), Error> {
        const REASON: &str = "The stored job cannot be read.";
        let is_running = Condition::is(Job::STATE, Value::of(&State::Running)?);
        let update =
            self.table.update(key.clone()).set(Job::STATE, Value::of(&State::Failed)?).set(Job::REASON, &REASON);
        if written(self.dynamo.write(update.remove(Job::RUN).only_if(is_running)).await)? {
            report(key, REASON, cause);
        }
        Ok(())
    }

    /// Returns an update of the job. DynamoDB refuses the update if the job was retried or a step
    /// was written in the meantime.
    fn update(&self, job: &Job) -> Change {
        let run = job.run.as_ref().map_or_else(Job::is_not_running, |run| Condition::is(Job::RUN, run));
        self.table.update(job.key()).only_if(run).only_if(Condition::is(Job::STEP, job.step))
    }

    /// Executes the update that ends a job, and deletes the job's hold.
    async fn finish(&self, job: &Job, update: Change) -> Result<bool, Error> {
        if let Some((hold, run)) = job.hold.as_ref().zip(job.run.as_ref()) {
            let hold = self.table.delete(Key::new(&job.partition, hold)).only_if(Condition::is(Job::RUN, run));
            match self.dynamo.transact(vec![update.clone(), hold]).await {
                // The hold no longer exists, because it has expired. The job is unchanged, so
                // update it without the hold.
                Err(table::Error::Refused(refused)) if !refused.at(0) => {}
                outcome => return written(outcome),
            }
        }
        written(self.dynamo.write(update).await)
    }
}

fn in_the_way(refused: &Refused) -> Error {
    tracing::info!(?refused, "a retry was refused because of another job");
    let detail = "Another job is already changing the same items. Retry the request when that job is done.";
    Error::Conflict(Problem::JobUnderWay, detail.to_owned())
}

/// Logs a failed job and counts it as a defect. The defect count triggers an alarm of the service.
fn report(key: &Key, reason: &str, cause: &impl Display) {
    function::count("Defects", 1);
    let (partition, sort) = (key.partition(), key.sort());
    tracing::error!(partition, sort, reason, %cause, "a job failed");
}
