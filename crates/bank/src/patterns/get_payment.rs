//! B9: reads one payment. The requirements do not name this access pattern.

use crate::{
    Bank, DOMAIN, Payment, PaymentBody,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::{
    AccountId,
    bank::{PaymentId, PaymentSort},
};
use table::{Key, cost::Cost};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_payment, Bank::warm_by_get_payment)
}

/// Declares the access pattern's route, key condition and cost.
pub const PATTERN: Pattern = Pattern {
    id: "B9",
    name: "get-payment",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/payments/{paymentId}",
        scopes: &["bank:read", "bank:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get with strong consistency: PK = account, SK = time#payment id",
        formula: "⌈item⌉ R",
        cost: |case| Cost::default().read(cost::PAYMENTS, table::cost::read(case.item)),
    }],
    function,
};

/// Path parameters of the request: the account and the payment id.
#[derive(Debug, Clone)]
pub struct Wanted {
    account: AccountId,
    payment: PaymentId,
}

impl Input for Wanted {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (account, payment) = (fields.path("accountId"), fields.path("paymentId"));
        Some(Self { account: account?, payment: payment? })
    }
}

/// Reads one payment with strong consistency.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown payment.
pub async fn get_payment(bank: Bank, request: Request<Wanted>) -> Result<Json<PaymentBody>, Error> {
    let Wanted { account, payment } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let found = bank.payments.get::<Payment>(&Key::new(account, &PaymentSort(*payment))).await?;
    Ok(Json(found.ok_or(Error::NotFound("payment"))?.into()))
}
