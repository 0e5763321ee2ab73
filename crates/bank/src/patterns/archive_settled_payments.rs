//! B5: moves settled payments to the history at the end of the day
//! (docs/requirements/bank.md#transaction-history, docs/decisions/archive.md).

use crate::{
    Bank,
    archive::{Archived, Moves},
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Scheduled, Trigger};
use keys::{
    Day,
    bank::{DueSort, Status},
};
use std::time::Duration;

/// Maximum time reserved before the deadline, to finish the current page.
const RESERVE: Duration = Duration::from_secs(10);

pub const PATTERN: Pattern = Pattern {
    id: "B5",
    name: "archive-settled-payments",
    trigger: Trigger::Schedule("cron(0/15 * * * ? *)"),
    calls: &[Calls::new("", |case| {
        let twice = table::cost::write(case.item).times(2 * case.items);
        case.sharded_page(cost::PAYMENTS, cost::DUE_PAYMENTS)
            .read(cost::DUE_PAYMENTS, case.empty_shards().times(2))
            .write(cost::PAYMENTS, twice)
            .write(cost::DUE_PAYMENTS, case.index_write().times(case.items))
            .write(cost::TRANSACTIONS, twice)
            .write(cost::DUE_TRANSACTIONS, case.index_write().times(case.items))
            .write(cost::BY_TRANSACTION, case.items)
    })],
    contract: |_| {},
    function: || function::scheduled(archive_settled_payments, Bank::warm_by_due_payments),
};

/// Input of a manual run. The schedule sends no input.
#[derive(Debug, Clone, Copy, Input)]
pub struct ArchiveSettledPaymentsInput {
    #[input(body)]
    date: Option<Day>,
}

/// Moves all settled payments that are due by the end of a day. The default day is yesterday (UTC).
/// Each payment is moved in a separate transaction, so a payment is always in exactly one table.
///
/// A run that nears its deadline stops and returns `left: true`. The run stores no progress,
/// because the index lists the remaining payments by their status. The next scheduled run finds
/// them. A run skips and counts payments that cannot be read.
///
/// # Errors
/// 400 for an invalid event. Any other error means that DynamoDB was unreachable or rejected a
/// call.
pub async fn archive_settled_payments(
    bank: Bank,
    run: Scheduled<ArchiveSettledPaymentsInput>,
) -> Result<Archived, Error> {
    let until = run.input.date.unwrap_or_else(|| run.now.day().before());
    let stop = run.deadline.with_reserve(RESERVE);
    let mut moves = Moves::default();
    for status in Status::SETTLED {
        if !bank.archive_all(&DueSort::due_until(until, status), run.now, stop, &mut moves).await? {
            return Ok(moves.archived(until, true));
        }
    }
    let left = !moves.stuck.is_empty() || moves.skipped > 0;
    Ok(moves.archived(until, left))
}
