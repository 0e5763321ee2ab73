//! B18: reads the dispatch switch (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    switch::{Switch, SwitchBody},
};
use function::{Error, Json, Request, Route, Trigger};
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "B18",
    name: "get-dispatching",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/dispatching",
        scopes: &["bank:operate"],
        summary: "Get the dispatch switch",
        problems: &[],
    }]),
    calls: &[Calls::new("", |_| Cost::default().read(cost::PAYMENTS, read_eventually(0)))],
    contract: function::contract(&get_dispatching),
    function: || function::http(get_dispatching, Bank::warm_by_get_payment),
};

/// Reads whether payments are dispatched and executed, with eventual consistency. Usually nobody
/// has changed the switch, so a missing one is not read again.
pub async fn get_dispatching(bank: Bank, request: Request<()>) -> Result<Json<SwitchBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    Ok(Json(bank.payments.get_eventually::<Switch>(&Switch::key()).await?.into()))
}
