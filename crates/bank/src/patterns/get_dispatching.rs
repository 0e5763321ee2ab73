//! B18: reads the dispatch switch (docs/requirements/bank.md#stop-and-resume-dispatching).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    switch::SwitchBody,
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use table::cost::{Cost, read};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_dispatching, Bank::warm_by_get_payment)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "B18",
    name: "get-dispatching",
    trigger: Trigger::Http(&[Route { method: "GET", path: "/bank/dispatching", scopes: &["bank:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "get PK = SETTING#DISPATCHING, SK = DISPATCHING with strong consistency",
        formula: "1 R",
        cost: |_| Cost::default().read(cost::PAYMENTS, read(0)),
    }],
    function,
};

/// Input of the request: none.
#[derive(Debug, Clone, Copy)]
pub struct Nothing;

impl Input for Nothing {
    fn read(_: &mut Fields) -> Option<Self> {
        Some(Self)
    }
}

/// Reads whether payments are dispatched and executed.
///
/// # Errors
/// 403 for a caller without the operator scope.
pub async fn get_dispatching(bank: Bank, request: Request<Nothing>) -> Result<Json<SwitchBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    Ok(Json(bank.switch().await?.into()))
}
