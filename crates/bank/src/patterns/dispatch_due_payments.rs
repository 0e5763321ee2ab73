//! B10: dispatches the payments whose scheduled time has come
//! (docs/requirements/bank.md#dispatch-due-payments, docs/decisions/dispatch.md).

use crate::{
    Bank,
    cost::{self, Calls, Named, Pattern},
    dispatch::Dispatched,
};
use function::{Error, Scheduled, Trigger};
use keys::RequestId;
use std::time::Duration;
use table::cost::{Cost, read, read_eventually};

/// Maximum time reserved before the deadline, to finish the current pages.
const RESERVE: Duration = Duration::from_secs(10);

pub const PATTERN: Pattern = Pattern {
    id: "B10",
    name: "dispatch-due-payments",
    trigger: Trigger::Schedule("rate(2 minutes)"),
    calls: &[Calls::new("", swept)],
    contract: |_| {},
    function: || function::scheduled(dispatch_due_payments, Bank::warm_by_get_payment),
};

/// Cost of a sweep that claims one payment on each of the first shards.
fn swept(case: &Named) -> Cost {
    let (claimed, shards) = (case.items, case.shards);
    let entry = match case.projection {
        table::Projection::All => case.item,
        table::Projection::KeysOnly | table::Projection::Narrow => case.entry,
    };
    let empty = read_eventually(0).times(shards.saturating_sub(claimed));
    Cost::default()
        .read(cost::PAYMENTS, read(0))
        .read(cost::DUE_PAYMENTS, empty + read_eventually(entry).times(claimed))
        .write(cost::PAYMENTS, table::cost::write(case.item).times(claimed))
        .write(cost::DUE_PAYMENTS, case.index_write().times(2 * claimed))
}

/// Claims all `SCHEDULED` payments whose scheduled time has come, including those of past days, by
/// changing their status to `PENDING`. Hands `PENDING` payments whose next attempt is due to the
/// executor again.
///
/// A run that nears its deadline stops and returns `left: true`. The next run continues.
///
/// # Errors
/// 400 for an invalid event. Any other error means that DynamoDB was unreachable or rejected a
/// call.
pub async fn dispatch_due_payments(bank: Bank, run: Scheduled<()>) -> Result<Dispatched, Error> {
    let id = RequestId::new(run.now.instant(), &run.random);
    bank.sweep(run.now, run.deadline.with_reserve(RESERVE), id).await
}
