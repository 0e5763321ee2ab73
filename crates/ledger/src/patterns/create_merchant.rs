//! L1: creates a merchant
//! ([requirement](../../../../docs/requirements/ledger.md#get-a-merchant-by-id)).

use crate::{
    DOMAIN, Ledger, Merchant, MerchantBody,
    cost::{self, Calls, Pattern},
    model::access::user,
    model::merchant::Name,
};
use function::{Created, Error, Fingerprint, Input, Problem, Request, Route, Trigger};
use keys::ledger::MerchantId;
use table::cost::{Cost, write};

pub const PATTERN: Pattern = Pattern {
    id: "L1",
    name: "create-merchant",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/ledger/merchants",
        scopes: &["ledger:operate"],
        summary: "Create a merchant",
        problems: &[Problem::IdempotencyKeyReused],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default().write(cost::LEDGER, write(case.account)).write(cost::BY_KEY, write(0))
    })],
    contract: function::contract(&create_merchant),
    function: || function::http(create_merchant, Ledger::warm_by_get),
};

/// The request body.
#[derive(Debug, Clone, Input)]
pub struct CreateMerchantInput {
    #[input(body)]
    name: Name,
    #[input(body)]
    category: Name,
}

/// Creates a merchant.
///
/// # Errors
/// Returns 400 for an invalid request, 403 for a caller without the operator scope, and 422 if the
/// idempotency key was used with a different request.
pub async fn create_merchant(
    ledger: Ledger,
    request: Request<CreateMerchantInput>,
) -> Result<Created<MerchantBody>, Error> {
    request.caller.must_operate(DOMAIN)?;
    let CreateMerchantInput { name, category } = request.input;
    let asked = Fingerprint::of(&["create-merchant", &name.to_string(), &category.to_string()]);
    let (by, key, now) = (user(&request.caller)?, request.idempotency_key.as_ref(), request.milli);
    let id = MerchantId::of_request(&by, key, now.instant(), &request.random);
    let merchant = ledger.books.make(Merchant::new(id, name, category, asked, now)).await?;
    Ok(Created { id: merchant.id.to_string(), body: merchant.into() })
}
