//! B9: one payment.

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

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(get_payment, Bank::warm_by_get_payment)
}

/// The access pattern.
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
        condition: "get: PK = account, SK = time#payment id",
        formula: "⌈item⌉ R: what was written is seen",
        cost: |case| Cost::default().read(cost::PAYMENTS, table::cost::read(case.item)),
    }],
    function,
};

/// Which payment.
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

/// Reads one payment, strongly consistent.
///
/// # Errors
/// 403 for another's account, 404.
pub async fn get_payment(bank: Bank, request: Request<Wanted>) -> Result<Json<PaymentBody>, Error> {
    let Wanted { account, payment } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let found = bank.payments.get::<Payment>(&Key::new(account, &PaymentSort(*payment))).await?;
    Ok(Json(found.ok_or(Error::NotFound("payment"))?.into()))
}
