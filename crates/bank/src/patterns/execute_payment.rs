//! B11: executes dispatched payments with the transaction service, and publishes the events of
//! payments. The stream of `PaymentScheduler` invokes this function
//! (docs/requirements/bank.md#execute-payments, docs/decisions/execution.md,
//! docs/decisions/events.md).

use crate::{
    Fact,
    cost::{self, Calls, Named, Pattern},
    execution::{Executor, Run},
};
use function::{Batch, Error, Trigger};
use futures::future::join;
use std::collections::BTreeSet;
use table::cost::Cost;

pub const PATTERN: Pattern = Pattern {
    id: "B11",
    name: "execute-payment",
    trigger: Trigger::Stream("PaymentScheduler"),
    calls: &[
        Calls::new("", |case| settled(case).write(cost::PAYMENTS, case.items)),
        Calls::new(", rejected", settled),
        Calls::new(", no outcome", |case| {
            let cost = reads(case).write(cost::PAYMENTS, table::cost::write(case.item).times(case.items));
            match case.projection {
                table::Projection::KeysOnly | table::Projection::Narrow => cost,
                table::Projection::All => cost.write(cost::DUE_PAYMENTS, case.index_write().times(case.items)),
            }
        }),
    ],
    contract: |_| {},
    function: || function::stream(execute_payment, Executor::warm_up),
};

fn reads(case: &Named) -> Cost {
    Cost::default()
        .read(cost::PAYMENTS, table::cost::read(0))
        .read(cost::PAYMENTS, table::cost::read(case.item).times(case.items))
}

fn settled(case: &Named) -> Cost {
    reads(case)
        .write(cost::PAYMENTS, table::cost::write(case.item).times(case.items))
        .write(cost::DUE_PAYMENTS, case.index_write().times(2 * case.items))
}

/// Executes the payments of the batch. Returns the sequence numbers of the records to retry: those
/// of payments that were not attempted, whose outcome could not be written, or whose event could
/// neither be published nor kept.
async fn execute_payment(executor: Executor, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let mut run = Run::new(&executor, &batch);
    let published = executor.bank.bus.publish_or_keep(&batch.records, batch.deadline, Fact::of);
    let (executed, unpublished) = Box::pin(join(run.execute(), published)).await;
    if let Err(error) = executed {
        tracing::warn!(%error, "the payments of a batch cannot be read");
        run.retry_all();
    }
    Ok(run.report().into_iter().chain(unpublished).collect())
}
