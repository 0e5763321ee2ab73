//! L8: starts the reconciliation of the previous day
//! ([decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    Ledger,
    cost::{Calls, Pattern},
    model::reconciliation::{Reconciliation, Window},
    patterns::start_reconciliation::{self, Started},
};
use function::{Error, Fingerprint, Input, Scheduled, Trigger};
use keys::{Day, TimestampMillis, ledger::ReconciliationId};

pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "start-daily-reconciliation",
    trigger: Trigger::Schedule("cron(20 0 * * ? *)"),
    calls: &[Calls { ..start_reconciliation::PATTERN.calls[0] }],
    contract: |_| {},
    function: || function::scheduled(start_daily_reconciliation, Ledger::warm_by_job),
};

/// The input of a manual invocation. The schedule sends no day.
#[derive(Debug, Clone, Copy, Input)]
pub struct StartDailyReconciliationInput {
    #[input(body)]
    day: Option<Day>,
}

/// Starts the reconciliation of a day, by default the previous day. The job checks the transactions
/// of the day and the balances of all accounts. Each day has only one such reconciliation, even if
/// this function is invoked several times.
///
/// # Errors
/// Returns 400 for an invalid event, or for a day that has not ended at least 90 seconds ago. Any
/// other error means that DynamoDB was unavailable. The invocation then fails, and an alarm reports
/// the failure.
pub async fn start_daily_reconciliation(
    ledger: Ledger,
    run: Scheduled<StartDailyReconciliationInput>,
) -> Result<Started, Error> {
    let day = run.input.day.unwrap_or_else(|| run.now.day().before());
    let now = TimestampMillis::containing(run.now.instant()).map_err(|error| Error::invalid("/time", error))?;
    let window = Window { from: day.first_milli(), to: day.last_milli() };
    if window.settled(now) != window {
        return Err(Error::invalid("/body/day", "must have ended at least 90 seconds ago"));
    }
    let asked = Fingerprint::of(&["start-daily-reconciliation", &day.to_string()]);
    let job = Reconciliation::job(&ReconciliationId::of_day(day), window, asked, now)?;
    ledger.start(job, &run.now).await
}
