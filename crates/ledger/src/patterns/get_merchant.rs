//! L1: reads a merchant by its id
//! ([requirement](../../../../docs/requirements/ledger.md#get-a-merchant-by-id)).

use crate::{
    Ledger, Merchant, MerchantBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::ledger::MerchantId;
use table::cost::{Cost, read};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_merchant, Ledger::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L1",
    name: "get-merchant",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/ledger/merchants/{merchantId}",
        scopes: &["ledger:read", "ledger:operate"],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::LEDGER, read(case.account)))],
    function,
};

/// The requested merchant.
#[derive(Debug, Clone)]
pub struct GetMerchantInput(MerchantId);

impl Input for GetMerchantInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        fields.path("merchantId").map(Self)
    }
}

/// Reads a merchant. Every caller may read every merchant.
///
/// # Errors
/// Returns 404 if the merchant does not exist.
pub async fn get_merchant(ledger: Ledger, request: Request<GetMerchantInput>) -> Result<Json<MerchantBody>, Error> {
    let merchant = ledger.books.table.get::<Merchant>(&Merchant::key_of(&request.input.0)).await?;
    Ok(Json(merchant.ok_or(Error::NotFound("merchant"))?.into()))
}
