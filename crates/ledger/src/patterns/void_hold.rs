//! L10: voids a hold ([requirement](../../../../docs/requirements/ledger.md#holds),
//! [decision](../../../../docs/decisions/ledger-transfers.md)).

use crate::{
    HoldBody, Ledger,
    cost::{self, Calls, Pattern},
    model::access::user,
    patterns::{create_hold::open_entries, get_hold::HoldInput},
};
use function::{Error, Fingerprint, Json, Problem, Request, Route, Trigger};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "L10",
    name: "void-hold",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/holds/{holdId}/void",
        scopes: &["ledger:write", "ledger:operate"],
        summary: "Release the rest of a hold",
        problems: &[Problem::NotFound, Problem::HoldClosed, Problem::TooLarge],
    }]),
    calls: &[Calls::new("", |case| {
        let (reads, writes) = (read(case.hold) + read(case.account), write(case.hold) + write(case.account));
        open_entries(Cost::default(), case).read(cost::LEDGER, reads).write(cost::LEDGER, writes.times(2))
    })],
    contract: |contract| {
        function::contract(&void_hold)(contract);
        contract.idempotency_key(false);
    },
    function: || function::http(void_hold, Ledger::warm_by_get),
};

/// Voids a hold, and releases what is not captured. A retry with the same key gets the voided hold.
/// The payer's account may be frozen.
///
/// # Errors
/// Returns 403 if the caller is neither the payee nor an operator. For a missing hold, operators
/// get 404, and other callers get 403. Returns 409 if the hold is captured, expired, or voided by
/// another request.
pub async fn void_hold(ledger: Ledger, request: Request<HoldInput>) -> Result<Json<HoldBody>, Error> {
    let (id, by) = (&request.input.0, user(&request.caller)?);
    let key = request.idempotency_key.as_ref().map_or("", |key| key.as_str());
    let asked = Fingerprint::of(&["void-hold", id.as_str(), by.as_str(), key]);
    let hold = Box::pin(ledger.books.void(id, &request.caller, &asked, request.milli)).await?;
    Ok(Json(HoldBody::of(hold, request.milli)?))
}
