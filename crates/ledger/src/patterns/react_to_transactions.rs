//! L14: reacts to posted transactions. The stream of `FinancialTransactions` invokes this function
//! ([requirement](../../../../docs/requirements/ledger.md#totals-and-trial-balance),
//! [totals](../../../../docs/decisions/ledger-totals.md),
//! [settlement](../../../../docs/decisions/ledger-grouped-posting.md)).

use crate::{
    Ledger,
    cost::{self, Calls, Case, Pattern},
};
use function::{Batch, Error, Function, Trigger};
use futures::future::join;
use std::collections::BTreeSet;
use table::{
    Units,
    cost::{Cost, read_eventually, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(react_to_transactions, Ledger::warm_totals)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L14",
    name: "react-to-transactions",
    trigger: Trigger::Stream("FinancialTransactions"),
    calls: &[Calls {
        variant: "",
        condition: "the types of the accounts in batches; then, for as many transactions as fit into 100 changes: put a marker of each transaction if absent (PK = COUNTED#<transaction>, SK = METADATA), and add to the totals of the day in one shard: PK = ALL#<shard>, and PK = MERCHANT#<id>#<shard> for each merchant, SK = DAY#<date>#<series>. For each account with a new inbox item: put PK = SETTLEMENT#<account>, SK = METADATA, if no settlement is running; otherwise update the running job",
        formula: "½ ⌈account⌉ R for each account. 2 W for each transaction, and 2 ⌈total⌉ W for each total. Transactions in the same batch share the totals. 1 W for each account with new inbox items, or 2 W if its settlement is running. The table shows a transaction without grouped credits",
        cost: |case| {
            let totals = write(case.total).times(Case::count(case.totals));
            Cost::default()
                .read(cost::LEDGER, read_eventually(case.account).times(Case::count(case.legs)))
                .write(cost::TOTALS, (Units::whole(1) + totals).times(2))
        },
    }],
    function,
};

/// Reacts to the records of a batch. Each reaction returns the sequence numbers of the records to
/// retry, and must be idempotent: Lambda also retries the later records of the batch.
async fn react_to_transactions(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let (counted, settled) = Box::pin(join(ledger.count_transactions(&batch), ledger.start_settlements(&batch))).await;
    Ok(counted?.into_iter().chain(settled?).collect())
}
