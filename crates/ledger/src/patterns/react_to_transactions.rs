//! L14: reacts to posted transactions. The stream of `FinancialTransactions` invokes this function
//! ([decision](../../../../docs/decisions/ledger-grouped-posting.md)).

use crate::{
    Ledger,
    cost::{self, Calls, Pattern},
};
use function::{Batch, Error, Function, Trigger};
use std::collections::BTreeSet;
use table::{Units, cost::Cost};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(react_to_transactions, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L14",
    name: "react-to-transactions",
    trigger: Trigger::Stream("FinancialTransactions"),
    calls: &[Calls {
        variant: "",
        condition: "for each account with a new inbox item: put PK = SETTLEMENT#<account>, SK = METADATA, if no settlement is running; otherwise update the running job",
        formula: "1 W for each account, or 2 W if a settlement is running. The table shows one account without a running settlement",
        cost: |_| Cost::default().write(cost::JOBS, Units::whole(1)),
    }],
    function,
};

/// Reacts to the records of a batch. Each reaction returns the sequence numbers of the records to
/// retry, and must be idempotent: Lambda also retries the later records of the batch.
async fn react_to_transactions(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    ledger.start_settlements(&batch).await
}
