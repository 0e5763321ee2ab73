//! B10: dispatches the payments whose scheduled time has come
//! (docs/requirements/bank.md#dispatch-due-payments, docs/decisions/dispatch.md).

use crate::{
    Bank,
    cost::{self, Calls, Case, Pattern},
    dispatch::Dispatched,
};
use function::{Error, Fields, Function, Input, Scheduled, Trigger};
use keys::RequestId;
use std::time::Duration;
use table::{
    Units,
    cost::{Cost, read, read_eventually},
};

/// Maximum time reserved before the deadline, to finish the current pages.
const RESERVE: Duration = Duration::from_secs(10);

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::scheduled(dispatch_due_payments, Bank::warm_by_get_payment)
}

/// Declares the access pattern's schedule, key conditions and costs.
pub const PATTERN: Pattern = Pattern {
    id: "B10",
    name: "dispatch-due-payments",
    trigger: Trigger::Schedule("rate(2 minutes)"),
    calls: &[Calls {
        variant: "",
        condition: "get the dispatch switch. GSI1, one worker for each shard: GSI1SK from SCHEDULED# to SCHEDULED#now; update GSI1SK of each payment to PENDING#… if it is unchanged. With a transaction service, a second worker for each shard: GSI1SK from PENDING# to PENDING#now; get the payments in batches, and update those whose next attempt is due",
        formula: "1 R for the switch, once and for each page of 100 entries; GSI1 ½ ⌈Σ entries⌉ R for each page (ALL: ½ ⌈Σ items⌉ R). For each payment ⌈item⌉ W, GSI1 2 × ⌈entry⌉ W (ALL: 2 × ⌈item⌉ W). For each payment that is still PENDING ½ ⌈item⌉ R, and ⌈item⌉ W if it is handed over again. The table shows the claims without a transaction service",
        cost: |case| swept(case),
    }],
    function,
};

/// Cost of a sweep that claims one payment on each of the first shards.
fn swept(case: &Case) -> Cost {
    let (claimed, shards) = (case.count(), u64::try_from(case.shards).unwrap_or(u64::MAX));
    let entry = match case.projection {
        table::Projection::All => case.item,
        table::Projection::KeysOnly => case.entry,
    };
    let empty = read_eventually(0).times(shards.saturating_sub(claimed));
    Cost::default()
        .read(cost::PAYMENTS, read(0).times(1 + shards))
        .read(cost::DUE_PAYMENTS, empty + read_eventually(entry).times(claimed))
        .write(cost::PAYMENTS, table::cost::write(case.item).times(claimed))
        .write(cost::DUE_PAYMENTS, case.index_write().times(2 * claimed) + Units::ZERO)
}

/// Input of a manual run: none.
#[derive(Debug, Clone, Copy)]
pub struct Nothing;

impl Input for Nothing {
    fn read(_: &mut Fields) -> Option<Self> {
        Some(Self)
    }
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
pub async fn dispatch_due_payments(bank: Bank, run: Scheduled<Nothing>) -> Result<Dispatched, Error> {
    let id = RequestId::new(run.now.instant(), &run.random);
    bank.sweep(run.now, run.deadline.with_reserve(RESERVE), id).await
}
