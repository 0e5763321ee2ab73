//! B14: closes the previous day after midnight (docs/requirements/bank.md#close-a-day,
//! docs/decisions/close.md).

use crate::{
    Bank,
    cost::{Calls, Pattern},
    patterns::start_close::{self, must_be_over},
};
use function::{Error, Input, Scheduled, Trigger};
use keys::{Day, RequestId};
use serde::Serialize;

pub const PATTERN: Pattern = Pattern {
    id: "B14",
    name: "close-day",
    trigger: Trigger::Schedule("cron(15 0 * * ? *)"),
    calls: &[Calls::new("", start_close::PATTERN.calls[0].cost)],
    contract: |_| {},
    function: || function::scheduled(close_day, Bank::warm_by_days),
};

/// Input of a manual run. The schedule sends no input.
#[derive(Debug, Clone, Copy, Input)]
pub struct CloseDayInput {
    #[input(body)]
    date: Option<Day>,
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Closing {
    date: Day,
    /// Job that closes the day. Absent if the day has a certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
}

/// Starts the job that closes a day, by default yesterday (UTC). Does nothing if the day has a
/// certificate, so a repeated event adds no supplement.
///
/// # Errors
/// 400 for an invalid event, or for a day that is not over. Any other error means that DynamoDB was
/// unreachable or rejected a call.
pub async fn close_day(bank: Bank, run: Scheduled<CloseDayInput>) -> Result<Closing, Error> {
    let date = run.input.date.unwrap_or_else(|| run.now.day().before());
    must_be_over(date, run.now, "/body/date")?;
    if bank.last_close(date).await?.is_some() {
        return Ok(Closing { date, job_id: None });
    }
    let id = RequestId::new(run.now.instant(), &run.random);
    let job = bank.close(date, None, None, &id, run.now).await?;
    Ok(Closing { date, job_id: Some(job.id) })
}
