//! B9: reads one payment, archived or not (docs/requirements/bank.md#where-our-keys-differ).

use crate::{
    Bank, DOMAIN, Payment, PaymentBody, Transaction,
    amendment::MovedTo,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    AccountId,
    bank::{PaymentId, PaymentSort},
};
use table::{
    Key,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "B9",
    name: "get-payment",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/bank/accounts/{accountId}/payments/{paymentId}",
        scopes: &["bank:read", "bank:operate"],
        summary: "Get a payment",
        problems: &[Problem::NotFound, Problem::PaymentMoved],
    }]),
    calls: &[
        Calls::new("", |case| Cost::default().read(cost::PAYMENTS, read_eventually(case.item))),
        Calls::new(" archived", |case| {
            Cost::default()
                .read(cost::PAYMENTS, read_eventually(0))
                .read(cost::TRANSACTIONS, read_eventually(case.item))
        }),
    ],
    contract: |contract| {
        function::contract(&get_payment)(contract);
        contract.problem::<MovedTo>(Problem::PaymentMoved);
    },
    function: || function::http(get_payment, Bank::warm_by_get_payment),
};

/// Path parameters of the request: the account and the payment id.
#[derive(Debug, Clone, Input)]
pub struct PaymentInput {
    #[input(path = "accountId")]
    pub(crate) account: AccountId,
    #[input(path = "paymentId")]
    pub(crate) payment: PaymentId,
}

/// Reads one payment, first from `PaymentScheduler` and then from `TransactionHistory`. If
/// eventually consistent reads find it in neither, both are read with strong consistency.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown payment. 404 with the new id
/// for a payment that got a new time.
pub async fn get_payment(bank: Bank, request: Request<PaymentInput>) -> Result<Json<PaymentBody>, Error> {
    let PaymentInput { account, payment } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    let key = Key::new(account, &PaymentSort(*payment));
    let found = match bank.payments.get_eventually::<Payment>(&key).await? {
        Some(payment) => Some(payment),
        None => bank.transactions.get_eventually::<Transaction>(&key).await?.map(Transaction::payment),
    };
    let found = match found {
        Some(payment) => Some(payment),
        None => bank.find_payment(&key).await?,
    };
    match found {
        Some(payment) => Ok(Json(payment.body(&request.caller))),
        None => Err(bank.missing_payment(account, *payment).await),
    }
}

impl Bank {
    /// Reads a payment with strong consistency from `PaymentScheduler`, or from
    /// `TransactionHistory` if it is archived.
    ///
    /// The archive moves a payment in one transaction, and never back. If the first read does not
    /// find an existing payment, the archive has moved it, so the second read finds it. The
    /// opposite order would miss a payment that is moved between the reads.
    pub(crate) async fn find_payment(&self, key: &Key) -> Result<Option<Payment>, Error> {
        if let Some(payment) = self.payments.get::<Payment>(key).await? {
            return Ok(Some(payment));
        }
        let archived = self.transactions.get::<Transaction>(key).await?;
        Ok(archived.map(Transaction::payment))
    }
}
