//! B20: ends a standing order (docs/requirements/bank.md#standing-orders).

use crate::{
    Bank, DOMAIN,
    cost::{self, Calls, Pattern},
    model::standing::StandingOrder,
    patterns::get_standing_order::StandingOrderInput,
};
use function::{Error, NoContent, Problem, Request, Route, Trigger, optimistically};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "B20",
    name: "remove-standing-order",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/bank/accounts/{accountId}/standing-orders/{orderId}",
        scopes: &["bank:write", "bank:operate"],
        summary: "End a standing order, and cancel its open payments asynchronously",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::PAYMENTS, read(case.item))
            .write(cost::PAYMENTS, write(case.item).times(2))
            .write(cost::DUE_PAYMENTS, case.index_write())
            .write(cost::JOBS, 2)
    })],
    contract: function::contract(&remove_standing_order),
    function: || function::http(remove_standing_order, Bank::warm_by_get_payment),
};

/// Ends a standing order. Deletes the order and puts the job that cancels its `SCHEDULED` payments,
/// in one transaction.
///
/// # Errors
/// 403 for an account that the caller does not own, 404 for an unknown order.
pub async fn remove_standing_order(bank: Bank, request: Request<StandingOrderInput>) -> Result<NoContent, Error> {
    let StandingOrderInput { account, order } = &request.input;
    request.caller.must_own(account, DOMAIN)?;
    optimistically(|| async {
        let found = bank.payments.get::<StandingOrder>(&StandingOrder::key_of(account, order)).await?;
        let found = found.ok_or(Error::NotFound("standing order"))?;
        let delete = bank.payments.delete(found.key()).only_if_all(found.is_unchanged()?);
        let job = bank.job_of_change(&found, request.id, Some(found.ended()), request.now)?;
        Ok(bank.dynamo.transact(vec![delete, job]).await?)
    })
    .await?;
    Ok(NoContent)
}
