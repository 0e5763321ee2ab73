//! The routes that read and restart the jobs of a service.

use crate::{Job, JobBody, Jobs};
use function::{Accepted, App, Caller, Error, Input, Json, Request};
use schemars::JsonSchema;
use std::{fmt::Debug, str::FromStr};
use table::Key;

/// Path parameter of a request about a job: its id.
#[derive(Debug, Clone, Input)]
pub struct JobInput<Id: FromStr<Err = keys::Invalid> + JsonSchema + Send>(#[input(path = "jobId")] pub Id);

/// A service whose callers read and restart jobs.
pub trait JobRoutes: App {
    /// The path parameters of a job.
    type Input: Input + Sync + 'static;

    /// The table of the jobs.
    fn table(&self) -> &Jobs;

    /// Returns the key of the job.
    ///
    /// # Errors
    /// 403 if the caller may not see the job.
    fn key(caller: &Caller, input: &Self::Input) -> Result<Key, Error>;

    /// Creates a 202 response with the location and the progress of the job.
    fn accepted(input: &Self::Input, job: Job) -> Accepted<JobBody>;

    /// Resumes the failed job with this key after its last completed step.
    fn restart(&self, key: &Key, request: &Request<Self::Input>) -> impl Future<Output = Result<Job, Error>> + Send {
        async {
            let job = self.table().get(key).await?.ok_or(Error::NotFound("job"))?;
            self.table().retry(job, &request.id, request.now, |_| Ok(Vec::new())).await
        }
    }
}

/// Reads a job.
///
/// # Errors
/// 403 for a caller who may not see the job, 404 for an unknown job.
pub async fn get_job<S: JobRoutes>(service: S, request: Request<S::Input>) -> Result<Json<JobBody>, Error> {
    let key = S::key(&request.caller, &request.input)?;
    Ok(Json(service.table().look_up(&key).await?.ok_or(Error::NotFound("job"))?.into()))
}

/// Resumes a failed job after its last completed step.
///
/// # Errors
/// 403 for a caller who may not see the job, 404 for an unknown job, 409 for a job that has not
/// failed. The errors of [`JobRoutes::restart`].
pub async fn retry_job<S: JobRoutes>(service: S, request: Request<S::Input>) -> Result<Accepted<JobBody>, Error> {
    let key = S::key(&request.caller, &request.input)?;
    let job = service.restart(&key, &request).await?;
    Ok(S::accepted(&request.input, job))
}
