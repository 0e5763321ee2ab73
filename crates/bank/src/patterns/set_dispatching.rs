//! B18: stops or resumes dispatch and execution
//! (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    switch::{Switch, SwitchBody},
};
use function::{Caller, Error, Input, Json, Request, Route, Trigger, optimistically};
use keys::TimestampSeconds;
use table::{
    Condition,
    cost::{Cost, read},
};

pub const PATTERN: Pattern = Pattern {
    id: "B18",
    name: "set-dispatching",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/bank/dispatching",
        scopes: &["bank:operate"],
        summary: "Stop or resume dispatch and execution",
        problems: &[],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::PAYMENTS, read(0)).write(cost::PAYMENTS, 1))],
    contract: function::contract(&set_dispatching),
    function: || function::http(set_dispatching, Bank::warm_by_get_payment),
};

/// Body of the request.
#[derive(Debug, Clone, Copy, Input)]
pub struct SetDispatchingInput {
    #[input(body)]
    enabled: bool,
}

/// Stops or resumes dispatch and execution. Functions read the switch once per batch, so payments
/// of a batch in progress are still dispatched and executed.
pub async fn set_dispatching(bank: Bank, request: Request<SetDispatchingInput>) -> Result<Json<SwitchBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let enabled = request.input.enabled;
    let (is_changed, switch) = optimistically(|| bank.set_switch(enabled, &request.caller, request.now)).await?;
    if is_changed {
        tracing::warn!(enabled, "the dispatch switch was changed");
    }
    Ok(Json(Some(switch).into()))
}

impl Bank {
    /// Sets the switch. Returns whether it has changed. A repeated request must not change its
    /// time, because payments that were handed over before that time are dispatched again.
    async fn set_switch(&self, enabled: bool, caller: &Caller, now: TimestampSeconds) -> Result<(bool, Switch), Error> {
        let new = Switch::new(enabled, now, caller.author(DOMAIN));
        let put = match self.switch().await {
            Ok(Some(old)) if old.enabled == enabled => return Ok((false, old)),
            Ok(Some(old)) => self.payments.replace(&new)?.only_if(Condition::is(Switch::CHANGED_AT, &old.changed_at)),
            Ok(None) => self.payments.put_new(&new)?,
            // Its time is not known. Only the client token of a transaction makes a late attempt
            // harmless.
            Err(Error::Table(table::Error::Unreadable(..))) => {
                self.dynamo.transact(vec![self.payments.put(&new)?]).await?;
                return Ok((true, new));
            }
            Err(error) => return Err(error),
        };
        self.dynamo.write_once_as(put, &new).await?;
        Ok((true, new))
    }
}
