//! B14: closes a day by hand (docs/requirements/bank.md#close-a-day, docs/decisions/close.md).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    jobs::{Task, job_key},
    model::day::CertificateKey,
    patterns::get_bank_job::accepted,
};
use function::{Accepted, Error, Fingerprint, Input, Request, Route, Trigger};
use jobs::{Job, JobBody, State};
use keys::{
    Day, TimestampSeconds,
    bank::{CertificateSort, CloseNumber, DayPartition, JobId},
};
use std::fmt::Display;
use table::{
    Query,
    cost::{Cost, read},
};

pub const PATTERN: Pattern = Pattern {
    id: "B14",
    name: "start-close",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/bank/days/{date}/close",
        scopes: &["bank:operate"],
        summary: "Close a day that is over, or add a supplement to its certificate",
        problems: &[],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::JOBS, read(0)).write(cost::JOBS, 1))],
    contract: |contract| {
        function::contract(&start_close)(contract);
        contract.idempotency_key(false);
    },
    function: || function::http(start_close, Bank::warm_by_days),
};

/// Path parameter of the request: the day.
#[derive(Debug, Clone, Copy, Input)]
pub struct DayInput(#[input(path = "date")] pub(crate) Day);

/// Starts a job that closes a day. The first close of a day puts its certificate. Each later close
/// adds a supplement. While a close of the day is running, the response is its job.
///
/// # Errors
/// 400 for a day that is not over, 403 for a caller without the operator scope.
pub async fn start_close(bank: Bank, request: Request<DayInput>) -> Result<Accepted<JobBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let DayInput(day) = request.input;
    must_be_over(day, request.now, "/path/date")?;
    let key = request.idempotency_key.as_ref();
    let asked = key.map(|key| Fingerprint::of(&["start-close", &request.caller.subject, key.as_str()]));
    let last = bank.last_close(day).await?;
    if let Some((number, asked)) = last.zip(asked.as_ref()) {
        let job = bank.jobs.get(&job_key(&JobId::Close(day, number))).await?;
        if let Some(job) = job.filter(|job| was_asked(job, asked)) {
            return Ok(accepted(job));
        }
    }
    Ok(accepted(bank.close(day, last, asked, &request.id, request.now).await?))
}

/// Returns an error if the day is not over.
pub(crate) fn must_be_over(day: Day, now: TimestampSeconds, pointer: &str) -> Result<(), Error> {
    if day < now.day() { Ok(()) } else { Err(Error::invalid(pointer, format!("must be a day before {}", now.day()))) }
}

/// Whether the request with this fingerprint started the job.
fn was_asked(job: &Job, asked: &Fingerprint) -> bool {
    matches!(job.task(), Ok(Task::Close { request: Some(request), .. }) if request == *asked)
}

impl Bank {
    /// Returns the number of the last close of the day that is complete.
    pub(crate) async fn last_close(&self, day: Day) -> Result<Option<CloseNumber>, Error> {
        let (partition, range) = (DayPartition(day), CertificateSort::all().newest_first());
        let query = Query::new(&partition, &range).consistent();
        let page = self.jobs.table().page::<CertificateKey>(&query, 1).await?;
        Ok(page.complete()?.pop().map(|certificate| certificate.sort.0))
    }

    /// Starts the next close of the day after `last`, or resumes it if it has failed. Returns its
    /// job.
    pub(crate) async fn close(
        &self,
        day: Day,
        last: Option<CloseNumber>,
        request: Option<Fingerprint>,
        run: &impl Display,
        now: TimestampSeconds,
    ) -> Result<Job, Error> {
        let number = last.map_or(Some(CloseNumber::FIRST), CloseNumber::next);
        let number = number.ok_or_else(|| Error::invalid("/path/date", "was closed too often"))?;
        let id = JobId::Close(day, number);
        let job = Job::new(&job_key(&id), &id, run, &Task::Close { day, number, request }, now)?;
        let started = self.jobs.start(job, run).await?;
        match started.state {
            State::Running | State::Done => Ok(started),
            State::Failed => self.jobs.retry(started, run, now, |_| Ok(Vec::new())).await,
        }
    }
}
