//! L1: reads a merchant by its id
//! ([requirement](../../../../docs/requirements/ledger.md#get-a-merchant-by-id)).

use crate::{
    Ledger, Merchant, MerchantBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::ledger::MerchantId;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "L1",
    name: "get-merchant",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/merchants/{merchantId}",
        scopes: &["ledger:read", "ledger:operate"],
        summary: "Get a merchant",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::LEDGER, read_eventually(case.account)))],
    contract: function::contract(&get_merchant),
    function: || function::http(get_merchant, Ledger::warm_by_get),
};

/// The requested merchant.
#[derive(Debug, Clone, Input)]
pub struct GetMerchantInput(#[input(path = "merchantId")] MerchantId);

/// Reads a merchant. Every caller may read every merchant.
///
/// # Errors
/// Returns 404 if the merchant does not exist.
pub async fn get_merchant(ledger: Ledger, request: Request<GetMerchantInput>) -> Result<Json<MerchantBody>, Error> {
    let merchant = ledger.books.table.look_up::<Merchant>(&Merchant::key_of(&request.input.0)).await?;
    Ok(Json(merchant.ok_or(Error::NotFound("merchant"))?.into()))
}
