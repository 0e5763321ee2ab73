//! B3: every account's payments that come due on a date, by status.

use crate::{
    Bank, Payment, PaymentBody,
    cost::{self, Calls, Pattern},
    lists::{OfDate, of_date},
};
use function::{Error, Function, List, Request, Route, Trigger};
use keys::bank::Status;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(list_due_payments, Bank::warm_by_due_payments)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "B3",
    name: "list-due-payments",
    trigger: Trigger::Http(&[Route { method: "GET", path: "/bank/payments/due", scopes: &["bank:operate"] }]),
    calls: &[Calls {
        variant: "",
        condition: "GSI1, every shard side by side: GSI1PK = shard, GSI1SK between status#day start and status#day end",
        formula: "½ ⌈Σ entries⌉ R on GSI1 for every query, mostly one a shard (50 items of 5 shards: 5 queries), and ½ ⌈item⌉ R an item (ALL: ½ ⌈Σ items⌉ R a query, 50 items of 5 shards some 13 queries, and nothing more)",
        cost: |case| case.sharded_page(cost::PAYMENTS, cost::DUE_PAYMENTS),
    }],
    function,
};

/// Lists what comes due on a date, over all accounts, in the order of the times.
///
/// # Errors
/// 400, or 403 for who is no operator.
pub async fn list_due_payments(bank: Bank, request: Request<OfDate>) -> Result<List<PaymentBody>, Error> {
    of_date::<Payment, _>(&bank, &bank.payments, &request, Status::Scheduled).await
}
