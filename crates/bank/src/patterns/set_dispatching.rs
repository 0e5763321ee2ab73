//! B18: stops or resumes dispatch and execution
//! (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    switch::{Switch, SwitchBody},
};
use function::{Error, Input, Json, Request, Route, Trigger};
use table::cost::{Cost, read};

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
    // A repeated request must not change the time of the switch, because payments that were handed
    // over before that time are dispatched again.
    let found = match bank.switch().await {
        Err(Error::Table(table::Error::Unreadable(..))) => None,
        found => found?,
    };
    if let Some(switch) = found.filter(|switch| switch.enabled == enabled) {
        return Ok(Json(Some(switch).into()));
    }
    let switch = Switch::new(enabled, request.now);
    bank.dynamo.write(bank.payments.put(&switch)?).await?;
    tracing::warn!(enabled, caller = request.caller.subject, "the dispatch switch was changed");
    Ok(Json(Some(switch).into()))
}
