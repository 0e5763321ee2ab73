//! Starts jobs on references. A venue has at most one job at a time
//! (docs/decisions/wellness-jobs.md).

use crate::{
    Task, Wellness,
    model::job::{Hold, job_key},
};
use function::{Error, Problem, optimistically};
use jobs::{Job, State};
use keys::{
    RequestId, TimestampSeconds,
    wellness::{CompanyId, CompanyPartition, FacetRef, HoldSort, JobId},
};
use table::{Change, Refused};

/// A job on references that is about to start.
pub(crate) struct Start {
    company: CompanyId,
    of: FacetRef,
    /// The new venue of a replacement.
    target: Option<FacetRef>,
    job: Job,
    /// An optional change that the same transaction writes, after all others.
    also: Option<Change>,
}

/// Positions of the changes in the transaction.
const JOB: usize = 0;
const HOLD: usize = 1;
const JOB_OF_TARGET: usize = 2;
const HOLD_OF_TARGET: usize = 3;
const STARTS: usize = 4;

impl Start {
    /// Creates a job that changes the references to the venue `of`. `total` is the number of
    /// references.
    pub(crate) fn new(
        company: &CompanyId,
        of: &FacetRef,
        (task, total): (&Task, u64),
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<Self, Error> {
        let id = JobId::Uses(of.clone());
        let target = match task {
            Task::Replace { replacement, .. } => Some(FacetRef { facet: of.facet, id: replacement.clone() }),
            Task::Update { .. }
            | Task::Follow
            | Task::Enrol
            | Task::Seat
            | Task::Depart
            | Task::Award
            | Task::Receive
            | Task::Group
            | Task::Report { .. }
            | Task::Export { .. }
            | Task::Erase { .. } => None,
        };
        let hold = target.clone().map(|target| HoldSort(target).to_string());
        let job = Job { total: Some(total), hold, ..Job::new(&job_key(company, &id), &id, &run, task, now)? };
        Ok(Self { company: company.clone(), of: of.clone(), target, job, also: None })
    }

    /// Adds another change to the transaction.
    pub(crate) fn with(self, also: Option<Change>) -> Self {
        Self { also, ..self }
    }

    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// Returns the changes that start the job. Only a replacement counts towards the company's
    /// limit of running jobs. All other jobs on references complete a write of the service.
    async fn changes(&self, wellness: &Wellness) -> Result<Vec<Change>, Error> {
        let mut changes = vec![wellness.jobs.table().put(&self.job)?.only_if(Job::is_not_running())];
        changes.extend(wellness.claims(&self.company, &self.of, self.target.as_ref(), &self.job)?);
        if self.target.is_some() {
            changes.push(wellness.counting(&self.company, &self.job).await?);
        }
        changes.extend(self.also.clone());
        Ok(changes)
    }

    /// Returns the id of the conflicting job. The rejected transaction returned the conflicting
    /// items.
    fn hindrance(&self, refused: &Refused) -> Result<Option<JobId>, Error> {
        if refused.at(JOB) {
            return Ok(Some(JobId::Uses(self.of.clone())));
        }
        if refused.at(HOLD) {
            return Ok(refused.found::<Hold>(HOLD)?.map(|hold| hold.holder));
        }
        match &self.target {
            Some(target) if refused.at(JOB_OF_TARGET) => Ok(Some(JobId::Uses(target.clone()))),
            Some(_) => Ok(refused.found::<Hold>(HOLD_OF_TARGET)?.map(|hold| hold.holder)),
            None => Ok(None),
        }
    }

    /// Position of [`Start::also`] in the transaction.
    fn last(&self) -> usize {
        if self.target.is_some() { STARTS + 1 } else { HOLD + 1 }
    }
}

impl Wellness {
    /// Returns the actions of the transaction that check whether the job may start.
    ///
    /// No other job may hold the venue. For a replacement, no job may run on the new venue, and the
    /// transaction puts a hold on it.
    fn claims(
        &self,
        company: &CompanyId,
        of: &FacetRef,
        target: Option<&FacetRef>,
        job: &Job,
    ) -> Result<Vec<Change>, Error> {
        let table = self.jobs.table();
        let mut claims = vec![table.absent(Hold::key_of(company, of))];
        if let Some((target, run)) = target.zip(job.run.clone()) {
            let (partition, sort) = (CompanyPartition(company.clone()), HoldSort(target.clone()));
            let hold = Hold { partition, sort, holder: JobId::Uses(of.clone()), run, expires_at: job.expires_at };
            claims.push(table.check(job_key(company, &JobId::Uses(target.clone())), Job::is_not_running()));
            claims.push(table.put_new(&hold)?);
        }
        Ok(claims)
    }

    /// Starts the job. If a job with the same task is already running, returns the running job.
    ///
    /// # Errors
    /// - [`table::Error::Refused`] if the condition of the optional change fails.
    /// - 409 `job-under-way` if a different job runs on one of the venues.
    /// - 429 `job-limit` for a replacement if callers have started too many jobs that are running.
    pub(crate) async fn start(&self, start: &Start, by: RequestId) -> Result<Job, Error> {
        let (company, job) = (&start.company, &start.job);
        let refused = match self.dynamo.transact(start.changes(self).await?).await {
            Ok(()) => return Ok(job.clone()),
            Err(table::Error::Refused(refused)) => refused,
            Err(error) => return Err(error.into()),
        };
        if refused.at(start.last()) {
            return Err(table::Error::Refused(refused).into());
        }
        let Some(hindrance) = start.hindrance(&refused)? else { return Err(Error::stale()) };
        let other = self.jobs.get(&job_key(company, &hindrance)).await?.filter(Job::is_running);
        // The other job has ended in the meantime.
        let other = other.ok_or_else(Error::stale)?;
        if other.id == job.id && other.task == job.task {
            return self.join(other, start.also.clone(), by).await;
        }
        self.jobs.nudge(&other, &by).await?;
        Err(Error::Conflict(
            Problem::JobUnderWay,
            format!("The job {hindrance} is running. Send the request again after it has ended."),
        ))
    }

    /// Returns the job that an identical request already started and that is still running. Also
    /// writes `also`, the optional change of this request.
    async fn join(&self, job: Job, also: Option<Change>, by: RequestId) -> Result<Job, Error> {
        let (Some(nudge), Some(also)) = (self.jobs.nudging(&job, &by), also) else {
            return self.jobs.nudge(&job, &by).await.map(|()| job);
        };
        match self.dynamo.transact(vec![nudge, also]).await {
            // The job has ended in the meantime.
            Err(table::Error::Refused(refused)) if refused.at(0) => Err(Error::stale()),
            done => Ok(done.map(|()| job)?),
        }
    }

    /// Restarts a failed job, under the same conditions as a new job.
    ///
    /// # Errors
    /// - 404 if the job does not exist.
    /// - 409 if the job has not failed, or if it conflicts with another job.
    /// - 429 if callers have started the job and too many others that are running.
    pub(crate) async fn retry(
        &self,
        company: &CompanyId,
        id: &JobId,
        (run, now): (RequestId, TimestampSeconds),
    ) -> Result<Job, Error> {
        optimistically(|| self.retry_once(company, id, run, now)).await
    }

    async fn retry_once(
        &self,
        company: &CompanyId,
        id: &JobId,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<Job, Error> {
        let job = self.jobs.get(&job_key(company, id)).await?.ok_or(Error::NotFound("job"))?;
        // The hold of the job also names the new venue. The task may be unreadable.
        let target = job_target(&job);
        let is_counted = job.state == State::Failed && (target.is_some() || matches!(id, JobId::Report(_)));
        let counting = if is_counted {
            let again = Job { run: Some(run.to_string()), ..job.clone() };
            Some(self.counting(company, &again).await?)
        } else {
            None
        };
        let claims = |again: &Job| match id {
            JobId::Uses(of) => {
                let mut claims = self.claims(company, of, target.as_ref(), again)?;
                claims.extend(counting);
                Ok(claims)
            }
            JobId::Registrations(_)
            | JobId::Enrolment(_)
            | JobId::Seats(_)
            | JobId::Departure(_)
            | JobId::Rewards(_)
            | JobId::Upload(_)
            | JobId::Report(_)
            | JobId::Groups(_)
            | JobId::Export(_)
            | JobId::Erasure(_)
            | JobId::EmployeeErasure(_) => Ok(counting.into_iter().collect()),
        };
        match self.jobs.retry(job, &run, now, claims).await {
            // Another request has started a job at the same time.
            Err(Error::Conflict(Problem::JobUnderWay, _)) if matches!(id, JobId::Report(_)) => Err(Error::stale()),
            retried => retried,
        }
    }
}

fn job_target(job: &Job) -> Option<FacetRef> {
    let hold = job.hold.as_deref().and_then(|hold| hold.parse().ok());
    hold.map(|HoldSort(target)| target)
}
