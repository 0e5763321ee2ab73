//! L8: starts the reconciliation of the day that is over.

use crate::{
    Ledger,
    cost::{Calls, Pattern},
    model::reconciliation::{Reconciliation, Window},
    patterns::start_reconciliation::{self, Started},
};
use function::{Error, Fields, Fingerprint, Function, Input, Scheduled, Trigger};
use keys::{Day, TimestampMillis, ledger::ReconciliationId};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::scheduled(start_daily_reconciliation, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "start-daily-reconciliation",
    trigger: Trigger::Schedule("cron(20 0 * * ? *)"),
    calls: &[Calls {
        condition: "put if absent: PK = RECONCILIATION#daily-<day>, SK = METADATA",
        ..start_reconciliation::PATTERN.calls[0]
    }],
    function,
};

/// What somebody asks for by hand; the schedule asks for nothing.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    day: Option<Day>,
}

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { day: fields.body_if_any("day") })
    }
}

/// Starts to go through a day's transactions, by default those of the last that is over, and through all accounts. There is one
/// such reconciliation a day, however often it is started.
///
/// # Errors
/// 400 for a faulty event, or a day that is not over; else DynamoDB stayed out of reach, which somebody should hear of.
pub async fn start_daily_reconciliation(ledger: Ledger, run: Scheduled<Wanted>) -> Result<Started, Error> {
    let day = run.input.day.unwrap_or_else(|| run.now.day().before());
    let now = TimestampMillis::containing(run.now.instant()).map_err(|error| Error::invalid("/time", error))?;
    let window = Window { from: day.first_milli(), to: day.last_milli() };
    if window.settled(now) != window {
        return Err(Error::invalid("/body/day", "must be over, and its last transactions on the books"));
    }
    let asked = Fingerprint::of(&["start-daily-reconciliation", &day.to_string()]);
    let job = Reconciliation::job(&ReconciliationId::of_day(day), window, asked, now)?;
    ledger.start(job, &run.now).await
}
