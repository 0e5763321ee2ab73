//! The jobs that callers of a company have started (docs/decisions/jobs.md).

use crate::{Wellness, model::job::job_key};
use function::{Error, Problem};
use futures::future::try_join_all;
use jobs::Job;
use keys::wellness::{CompanyId, CompanyPartition, JobId, StartsSort};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt::Display};
use table::{Attributes, Change, Condition, Item, Key};

/// Maximum number of running jobs that callers of a company have started. A job that completes
/// a write does not count.
const MAX_RUNNING: usize = 10;

/// The last jobs that callers of a company have started. The jobs themselves say whether they are
/// still running, so a job that has ended, failed or expired needs no change of this list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Starts {
    /// Partition key: `CompanyId-<id>`.
    #[serde(rename = "PK")]
    partition: CompanyPartition,
    /// Sort key: `Starts`.
    #[serde(rename = "SK")]
    sort: StartsSort,
    /// The run id of each job.
    jobs: BTreeMap<JobId, String>,
    /// The run id of the last job. A change of it means that another request has started a job.
    run: String,
    /// TTL attribute: a Unix time in seconds. The list expires together with its last job.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
}

impl Item for Starts {
    const TYPE: &'static str = "Starts";
}

/// The jobs of the list except for one, and the condition that the list is unchanged.
type Others = (BTreeMap<JobId, String>, Option<Condition>);

impl Wellness {
    /// Starts a job that a caller has asked for, or replaces one with the same key that has ended.
    /// Wakes up a running job and returns it.
    ///
    /// # Errors
    /// 429 if too many other jobs are running. Other errors mean that the call failed.
    pub(crate) async fn start_counted(&self, company: &CompanyId, job: &Job, by: &impl Display) -> Result<Job, Error> {
        let start = self.jobs.table().put(job)?.only_if(Job::is_not_running());
        let changes = vec![start, self.counting(company, job).await?];
        match self.dynamo.transact(changes).await {
            Ok(()) => Ok(job.clone()),
            Err(table::Error::Refused(refused)) if refused.at(0) => {
                let running = refused.found::<Job>(0)?.ok_or_else(Error::stale)?;
                self.jobs.nudge(&running, by).await?;
                Ok(running)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the change that adds the job to the list.
    ///
    /// # Errors
    /// 429 if too many other jobs are running.
    pub(crate) async fn counting(&self, company: &CompanyId, job: &Job) -> Result<Change, Error> {
        let id: JobId = job.id.parse().map_err(|error| table::Error::unreadable("Job", &error))?;
        let (mut jobs, unchanged) = self.others(company, Some(&id)).await?;
        let run = job.run.clone().unwrap_or_default();
        jobs.insert(id, run.clone());
        let partition = CompanyPartition(company.clone());
        let starts = Starts { partition, sort: StartsSort, jobs, run, expires_at: job.expires_at };
        Ok(self.jobs.table().put(&starts)?.only_if_all(unchanged))
    }

    /// Requires that a caller may start another job.
    ///
    /// # Errors
    /// 429 if too many jobs are running.
    pub(crate) async fn must_have_room(&self, company: &CompanyId) -> Result<(), Error> {
        self.others(company, None).await.map(drop)
    }

    /// Reads the list without the job `own`. If it is full, reads the jobs as well, and keeps those
    /// that are running. A list that cannot be read is replaced.
    async fn others(&self, company: &CompanyId, own: Option<&JobId>) -> Result<Others, Error> {
        let key = Key::new(&CompanyPartition(company.clone()), &StartsSort);
        let (mut jobs, unchanged) = match self.jobs.table().get::<Starts>(&key).await {
            Err(table::Error::Unreadable(..)) => return Ok((BTreeMap::new(), None)),
            found => match found? {
                None => (BTreeMap::new(), Condition::missing(Starts::RUN)),
                Some(starts) => (starts.jobs, Condition::is(Starts::RUN, &starts.run)),
            },
        };
        jobs.retain(|id, _| Some(id) != own);
        if jobs.len() >= MAX_RUNNING {
            let running = try_join_all(jobs.iter().map(|(id, run)| self.is_running(company, id, run))).await?;
            let mut running = running.into_iter();
            jobs.retain(|_, _| running.next().unwrap_or_default());
        }
        if jobs.len() >= MAX_RUNNING {
            let detail = format!(
                "{MAX_RUNNING} jobs of the company are running. Send the request again when one of them has ended."
            );
            return Err(Error::Conflict(Problem::JobLimit, detail));
        }
        Ok((jobs, Some(unchanged)))
    }

    async fn is_running(&self, company: &CompanyId, id: &JobId, run: &str) -> Result<bool, Error> {
        match self.jobs.get(&job_key(company, id)).await {
            Err(Error::Table(table::Error::Unreadable(..))) => Ok(false),
            found => Ok(found?.is_some_and(|job| job.run.as_deref() == Some(run))),
        }
    }
}
