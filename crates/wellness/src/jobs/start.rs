//! How jobs on references are started: one at a time for each that is referred to.

use crate::{Job, Wellness, model::job::Hold};
use function::{Error, Problem};
use keys::{
    RequestId,
    wellness::{FacetRef, HoldSort, JobId},
};
use table::{Change, Condition, Refused};

/// A job to start, and what is to happen together with its start.
pub(crate) struct Start {
    pub(crate) job: Job,
    /// What comes last in the transaction.
    pub(crate) also: Option<Change>,
}

/// Places in the transaction, for what is there of a refusal.
const JOB: usize = 0;
const HOLD: usize = 1;
const JOB_OF_TARGET: usize = 2;
const HOLD_OF_TARGET: usize = 3;

impl Start {
    /// What is worked at, as the partition of its holds and jobs names it.
    fn of(&self) -> Result<&FacetRef, Error> {
        match self.job.id() {
            JobId::Uses(of) => Ok(of),
            JobId::Registrations(_) => Err(Error::Internal("only references are held".to_owned())),
        }
    }

    fn changes(&self, wellness: &Wellness) -> Result<Vec<Change>, Error> {
        let (table, company) = (&wellness.table, self.job.company());
        let mut changes =
            vec![table.put(&self.job)?.only_if(Job::is_not_running()), table.absent(Hold::key_of(company, self.of()?))];
        if let Some((target, run)) = self.job.holds().zip(self.job.run) {
            let hold = Hold {
                partition: self.job.partition.clone(),
                sort: HoldSort(target.clone()),
                holder: self.job.id().clone(),
                run,
                expires_at: self.job.expires_at,
            };
            changes.push(table.check(Job::key_of(company, &JobId::Uses(target)), Job::is_not_running()));
            changes.push(table.put_new(&hold)?);
        }
        changes.extend(self.also.clone());
        Ok(changes)
    }

    /// The job that is in the way, by what the transaction found.
    fn hindrance(&self, refused: &Refused) -> Result<Option<JobId>, Error> {
        let target = self.job.holds().map(JobId::Uses);
        if refused.at(JOB) {
            return Ok(Some(self.job.id().clone()));
        }
        if refused.at(HOLD) {
            return Ok(refused.found::<Hold>(HOLD)?.map(|hold| hold.holder));
        }
        match target {
            Some(target) if refused.at(JOB_OF_TARGET) => Ok(Some(target)),
            Some(_) => Ok(refused.found::<Hold>(HOLD_OF_TARGET)?.map(|hold| hold.holder)),
            None => Ok(None),
        }
    }

    /// Where [`Start::also`] stands.
    fn last(&self) -> usize {
        if self.job.holds().is_some() { HOLD_OF_TARGET + 1 } else { HOLD + 1 }
    }
}

impl Wellness {
    /// Starts the job, or answers the one that is under way where it is the same.
    ///
    /// # Errors
    /// [`table::Error::Refused`] where what was to happen as well was refused; 409 `job-under-way` where another job is at it.
    pub(crate) async fn start(&self, start: &Start, by: RequestId) -> Result<Job, Error> {
        let (company, job) = (start.job.company(), &start.job);
        let refused = match self.dynamo.transact(start.changes(self)?).await {
            Ok(()) => return Ok(job.clone()),
            Err(table::Error::Refused(refused)) => refused,
            Err(error) => return Err(error.into()),
        };
        if refused.at(start.last()) {
            return Err(table::Error::Refused(refused).into());
        }
        let Some(hindrance) = start.hindrance(&refused)? else { return Err(Error::stale()) };
        let other = self.table.get::<Job>(&Job::key_of(company, &hindrance)).await?.filter(|other| other.run.is_some());
        // It may have ended since.
        let other = other.ok_or_else(Error::stale)?;
        if other.id() == job.id() && other.task == job.task {
            return self.join(other, start.also.clone(), by).await;
        }
        self.nudge(&other, by).await?;
        Err(Error::Conflict(
            Problem::JobUnderWay,
            format!("The job {hindrance} is under way. Send the request again when it is done."),
        ))
    }

    /// Answers a job that is under way for a request for the same: what was to happen at its start happens now.
    async fn join(&self, job: Job, also: Option<Change>, by: RequestId) -> Result<Job, Error> {
        let (Some(run), Some(also)) = (&job.run, also) else { return self.nudge(&job, by).await.map(|()| job) };
        let nudge = self.table.update(Job::key_of(job.company(), job.id())).set(Job::NUDGED_BY, &by);
        match self.dynamo.transact(vec![nudge.only_if(Condition::is(Job::RUN, run)), also]).await {
            // It has ended since.
            Err(table::Error::Refused(refused)) if refused.at(0) => Err(Error::stale()),
            done => Ok(done.map(|()| job)?),
        }
    }

    /// Lets the stream call the function that goes on with a job once more: its own calls may have come to nothing.
    pub(crate) async fn nudge(&self, job: &Job, by: RequestId) -> Result<(), Error> {
        let Some(run) = &job.run else { return Ok(()) };
        let nudge = self.table.update(Job::key_of(job.company(), job.id())).set(Job::NUDGED_BY, &by);
        match self.dynamo.write(nudge.only_if(Condition::is(Job::RUN, run))).await {
            // It has ended since.
            Err(table::Error::Refused(_)) => Ok(()),
            done => Ok(done?),
        }
    }
}
