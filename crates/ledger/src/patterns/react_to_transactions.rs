//! L14: reacts to posted transactions, and publishes the events of transactions and holds. The
//! stream of `FinancialTransactions` invokes this function
//! ([requirement](../../../../docs/requirements/ledger.md#totals-and-trial-balance),
//! [totals](../../../../docs/decisions/ledger-reconciliation.md),
//! [settlement](../../../../docs/decisions/ledger-throughput.md),
//! [events](../../../../docs/decisions/events.md)).

use crate::{
    Fact, Ledger,
    cost::{self, Calls, Pattern},
};
use function::{Batch, Error, Trigger};
use futures::future::join3;
use std::collections::BTreeSet;
use table::cost::{Cost, Term, read_eventually, write};

pub const PATTERN: Pattern = Pattern {
    id: "L14",
    name: "react-to-transactions",
    trigger: Trigger::Stream("FinancialTransactions"),
    calls: &[Calls::new("", |case| {
        let totals = write(case.total).times(case.totals);
        Cost::default()
            .read(cost::LEDGER, read_eventually(case.account).times(case.legs))
            .write(cost::TOTALS, (Term::whole(1) + totals).times(2))
    })],
    contract: |_| {},
    function: || function::stream(react_to_transactions, Ledger::warm_totals),
};

/// Reacts to the records of a batch. Each reaction returns the sequence numbers of the records to
/// retry, and must be idempotent: Lambda also retries the later records of the batch.
async fn react_to_transactions(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let published = ledger.bus.publish_or_keep(&batch.records, batch.deadline, Fact::of);
    let reactions = join3(ledger.count_transactions(&batch), ledger.start_settlements(&batch), published);
    let (counted, settled, unpublished) = Box::pin(reactions).await;
    Ok(counted?.into_iter().chain(settled?).chain(unpublished).collect())
}
