//! L8: starts a reconciliation
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::access::user,
    model::reconciliation::{Coverage, Reconciliation, Task, Window},
    patterns::get_reconciliation,
};
use function::{Accepted, Contract, Error, Fields, Fingerprint, Input, Problem, Request, Route, Trigger};
use jobs::Job;
use keys::{Bound, Bounds, TimestampMillis, ledger::ReconciliationId};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Display;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "start-reconciliation",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/reconciliations",
        scopes: &["ledger:operate"],
        summary: "Start a reconciliation of all accounts and the transactions of a period",
        problems: &[Problem::IdempotencyKeyReused],
    }]),
    calls: &[Calls::new("", |_| Cost::default().write(cost::JOBS, 1).write(cost::BY_START, 1))],
    contract: function::contract(&start_reconciliation),
    function: || function::http(start_reconciliation, Ledger::warm_by_job),
};

/// The request body: the window, both ends included. A date is a whole day.
#[derive(Debug, Clone)]
pub struct StartReconciliationInput {
    from: TimestampMillis,
    to: TimestampMillis,
    /// The end as in the request. A day that is not over ends at the time of the request.
    until: Bound,
}

impl Input for StartReconciliationInput {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (from, until) = (fields.body("from"), fields.body("to"));
        let (from, until) = (Some(from?), until?);
        match Bounds::new(from, Some(until)).map(Bounds::millis) {
            Some((Some(from), Some(to))) if from <= to => Some(Self { from, to, until }),
            _ => fields.fault("/body/to", "must not be before from"),
        }
    }

    fn describe(contract: &mut Contract) {
        contract.name_body("NewReconciliation");
        contract.body::<Bound>("from", "Must be at least 90 seconds before the request.", true);
        contract.body::<Bound>("to", "Must not be before `from`, and not in the future.", true);
    }
}

/// A started reconciliation. `to` is at least 90 seconds before the request. A later `to` in the
/// request is replaced.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StartedReconciliation")]
pub struct Started {
    reconciliation_id: ReconciliationId,
    #[serde(flatten)]
    coverage: Coverage,
}

/// Starts a job that checks the transactions of a window and the balances of all accounts.
///
/// # Errors
/// Returns 400 for an invalid request, for a window that ends after the request or starts less than
/// 90 seconds before the request, 403 for a caller without the operator scope, and 422 if the
/// idempotency key was used with a different request.
pub async fn start_reconciliation(
    ledger: Ledger,
    request: Request<StartReconciliationInput>,
) -> Result<Accepted<Started>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let StartReconciliationInput { from, to, until } = request.input;
    let asked = Fingerprint::of(&["start-reconciliation", &from.to_string(), &to.to_string()]);
    let (by, key, now) = (user(&request.caller)?, request.idempotency_key.as_ref(), request.milli);
    let id = ReconciliationId::of_request(&by, key, now.instant(), &request.random);
    let is_future = || Error::invalid("/body/to", "must not be in the future");
    let window = Window { from, to: until.until(now).ok_or_else(is_future)? };
    if window.from > window.settled(now).to {
        return Err(Error::invalid("/body/from", "must be at least 90 seconds before the request"));
    }
    let started = ledger.start(Reconciliation::job(&id, window, asked, now)?, &request.id).await?;
    let location = get_reconciliation::PATTERN.location(|_| Some(started.reconciliation_id.to_string()));
    Ok(Accepted { location, body: started })
}

impl Ledger {
    /// Creates the job, unless a job with the same id exists. If the same request created the
    /// existing job, wakes up that job and returns it.
    ///
    /// # Errors
    /// Returns 422 if a different request created the existing job.
    pub(crate) async fn start(&self, job: Job, by: &impl Display) -> Result<Started, Error> {
        let job = match self.books.dynamo.write(self.jobs.table().put_new(&job)?).await {
            Ok(()) => job,
            Err(table::Error::Refused(refused)) => {
                let found = refused.found::<Job>(0)?.ok_or_else(Error::stale)?;
                if found.task::<Task>()?.request != job.task::<Task>()?.request {
                    return Err(Error::KeyReused);
                }
                self.jobs.nudge(&found, by).await?;
                found
            }
            Err(error) => return Err(error.into()),
        };
        let of = Reconciliation::of(&job)?;
        Ok(Started { coverage: of.coverage(), reconciliation_id: of.id })
    }
}
