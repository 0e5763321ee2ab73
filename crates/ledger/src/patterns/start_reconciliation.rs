//! L8: starts a reconciliation (seed 004, reconciliation report).

use crate::{
    DOMAIN, Ledger,
    cost::{self, Calls, Pattern},
    model::reconciliation::{Reconciliation, Task, Window},
    patterns::get_reconciliation,
    store::user,
};
use function::{Accepted, Error, Fields, Fingerprint, Function, Input, Request, Route, Trigger};
use jobs::Job;
use keys::{TimestampMillis, ledger::ReconciliationId};
use serde::Serialize;
use std::fmt::Display;
use table::{Units, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(start_reconciliation, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "start-reconciliation",
    trigger: Trigger::Http(&[Route { method: "POST", path: "/ledger/reconciliations", scopes: &["ledger:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "put if absent: PK = RECONCILIATION#<id>, SK = METADATA; the caller and the Idempotency-Key make the id",
        formula: "1 W, and 1 W more where the same request comes again while it is under way; what it costs to go through the books stands with reconcile",
        cost: |_| Cost::default().write(cost::JOBS, Units::whole(1)),
    }],
    function,
};

/// What a caller posts.
#[derive(Debug, Clone)]
pub struct Wanted(Window);

impl Input for Wanted {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (from, to) = (fields.body::<TimestampMillis>("from"), fields.body::<TimestampMillis>("to"));
        let window = Window { from: from?, to: to? };
        if window.to < window.from {
            return fields.fault("/body/to", "must not be before from");
        }
        Some(Self(window))
    }
}

/// What was started: until when it goes through the books may be earlier than what was asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    reconciliation_id: ReconciliationId,
    from: TimestampMillis,
    to: TimestampMillis,
}

/// Starts to go through the transactions of a time and through all accounts.
///
/// # Errors
/// 400, 403 for who is no operator, 422 for a key that came with another request.
pub async fn start_reconciliation(ledger: Ledger, request: Request<Wanted>) -> Result<Accepted<Started>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let (Wanted(window), now) = (request.input, request.milli);
    let id = ReconciliationId::of_request(
        &user(&request.caller)?,
        request.idempotency_key.as_ref(),
        now.instant(),
        &request.random,
    );
    let asked = Fingerprint::of(&["start-reconciliation", &window.from.to_string(), &window.to.to_string()]);
    let started = ledger.start(Reconciliation::job(&id, window, asked, now)?, &request.id).await?;
    let location = get_reconciliation::PATTERN.location(|_| Some(started.reconciliation_id.to_string()));
    Ok(Accepted { location, body: started })
}

impl Ledger {
    /// Puts the job if there is none of its id; else nudges the one that the same request has put before.
    ///
    /// # Errors
    /// 422 where another request has put it.
    pub(crate) async fn start(&self, job: Job, by: &impl Display) -> Result<Started, Error> {
        let job = match self.dynamo.write(self.jobs.table().put_new(&job)?).await {
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
        let Reconciliation { id, window: Window { from, to }, .. } = Reconciliation::of(&job)?;
        Ok(Started { reconciliation_id: id, from, to })
    }
}
