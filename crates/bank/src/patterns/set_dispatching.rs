//! B18: stops or resumes dispatch and execution
//! (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    switch::{Switch, SwitchBody},
};
use function::{Error, Input, Json, Request, Route, Trigger};
use table::{Condition, Error::Refused, Value, cost::Cost};

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
    calls: &[Calls::new("", |_| Cost::default().write(cost::PAYMENTS, 1))],
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
    let switch = Switch::new(enabled, request.now);
    let put = bank.payments.put(&switch)?;
    // A repeated request must not change the time of the switch, because payments that were handed
    // over before that time are dispatched again.
    let is_change = Condition::missing_or_is(Switch::ENABLED, Value::of(&!enabled)?);
    match bank.dynamo.write_once_as(put.clone().only_if(is_change), &switch).await {
        Err(Refused(refused)) => match refused.found::<Switch>(0) {
            Ok(Some(unchanged)) => return Ok(Json(Some(unchanged).into())),
            _ => bank.dynamo.write(put).await?,
        },
        done => done?,
    }
    tracing::warn!(enabled, caller = request.caller.subject, "the dispatch switch was changed");
    Ok(Json(Some(switch).into()))
}
