//! L10: reads a hold ([requirement](../../../../docs/requirements/ledger.md#holds)).

use crate::{
    HoldBody, Ledger,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::ledger::HoldId;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "L10",
    name: "get-hold",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/holds/{holdId}",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "Get a hold",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::LEDGER, read_eventually(case.hold)))],
    contract: function::contract(&get_hold),
    function: || function::http(get_hold, Ledger::warm_by_get),
};

/// The requested hold.
#[derive(Debug, Clone, Input)]
pub struct HoldInput(#[input(path = "holdId")] pub(crate) HoldId);

/// Reads a hold. From `expiresAt` on, its status is `expired`, even if its amount is still
/// reserved.
///
/// # Errors
/// Returns 403 if the caller is neither the payer nor the payee nor an operator. If the hold does
/// not exist, operators get 404, and other callers get 403.
pub async fn get_hold(ledger: Ledger, request: Request<HoldInput>) -> Result<Json<HoldBody>, Error> {
    let hold = ledger.books.hold_shown(&request.input.0, &request.caller).await?;
    Ok(Json(HoldBody::of(hold, request.milli)?))
}
