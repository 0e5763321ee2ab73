//! L8: continues reconciliations
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)). The stream of the `LedgerJobs`
//! table invokes this function after each step.

use crate::{
    Ledger,
    cost::{self, Calls, Case, Pattern},
    jobs::reconcile::Steps,
};
use function::{Batch, Clock, Error, Function, Trigger};
use jobs::{JobService, Jobs, Run};
use std::{collections::BTreeSet, time::Duration};
use table::{
    Units,
    cost::{Cost, read, read_eventually},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(reconcile, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "reconcile",
    trigger: Trigger::Stream("LedgerJobs"),
    calls: &[
        Calls {
            variant: "",
            condition: "500 transactions at a time: GSI1PK = STATUS#completed, GSI1SK between CREATED#from and CREATED#to; then their legs, and the markers of the transactions that they reverse, in batches; and the inbox item and the posting of each grouped credit, in batches, strongly consistent. Then 50 accounts at a time: GSI2PK = ACCOUNTS; then the accounts and their last legs in batches, strongly consistent. For each account: GSI1PK = ACCOUNT#<id>, GSI1SK between LEG#from and LEG#to, newest first; then the last leg before the window; its open holds, GSI1SK begins with EXPIRES#, and these holds in batches, strongly consistent; for an account with grouped posting, PK = ACCOUNT#<id>#INBOX#<shard>, and the legs and postings of its inbox items in batches, strongly consistent; and the headers that this run has not read, in batches. Then for each day that lies in the window: its transactions, 500 at a time; the types of their accounts in batches; PK = ALL#<shard>, SK begins with DAY#<date>, and the totals of merchants in batches, strongly consistent",
            formula: "Transactions: GSI1 ½ ⌈Σ headers⌉ R, and ½ ⌈leg⌉ R for each leg; ½ R for the marker of each reversed transaction; ⌈inbox item⌉ + ⌈posting⌉ R for each grouped credit. Accounts: GSI2 ½ ⌈Σ keys⌉ R; for each account ⌈account⌉ + ⌈leg⌉ R, GSI1 ½ ⌈Σ legs⌉ R, ½ ⌈leg⌉ R for the leg before the window, and ½ ⌈Σ entries⌉ R for the open holds; ⌈hold⌉ R for each open hold; ⌈Σ items⌉ R for each of the 8 shards of an inbox, ⌈leg⌉ + ⌈posting⌉ R for each of its items, and ½ ⌈leg⌉ R for each posting. ½ ⌈header⌉ R for each leg whose header this run has not read: a run remembers up to 100,000 headers, and the next run starts with none. Totals: for each day, GSI1 ½ ⌈Σ headers⌉ R, ½ ⌈account⌉ R for each account and 500 transactions, ⌈Σ totals⌉ R for each shard, and ⌈total⌉ R for each total of a merchant and shard. Job: 1 W for each step, and 1 R and 1 W for each of at least two invocations. The table shows one invocation for a window of a day with the given number of transactions, all between the same accounts, and without a merchant",
            cost: direct,
        },
        Calls {
            variant: ", grouped",
            condition: "as above, where each transaction has credited the same account with grouped posting, and is settled",
            formula: "as above: for each transaction 1 R for the missing inbox item, ⌈posting⌉ R and ½ ⌈leg⌉ R, and 1 R for each of the 8 shards",
            cost: |case| {
                let credit = read(0) + read(case.leg) + read_eventually(case.leg);
                direct(case).read(cost::LEDGER, credit.times(Case::count(case.items)) + Units::whole(8))
            },
        },
    ],
    function,
};

/// The cost if no account has grouped posting.
fn direct(case: &Case) -> Cost {
    let (transactions, accounts) = (Case::count(case.items), Case::count(case.legs));
    let leg = read_eventually(case.leg);
    let of_account = case.listed(case.leg) + leg + read_eventually(0);
    let account = read(case.account) + read(case.leg) + read_eventually(case.account);
    Cost::default()
        .read(cost::BY_TIME, case.listed(case.of_status).times(2) + of_account.times(accounts))
        .read(cost::BY_KEY, read_eventually(KEYS * case.legs))
        .read(cost::LEDGER, leg.times(transactions * accounts) + account.times(accounts))
        .read(cost::TOTALS, read(case.total).times(Case::count(case.shards)))
        .read(cost::JOBS, Units::whole(1))
        .write(cost::JOBS, Units::whole(4))
}

/// Size in bytes of an account's entry in GSI2, which lists all accounts. The entry contains only
/// keys.
const KEYS: usize = 200;

/// Continues every reconciliation of the batch.
async fn reconcile(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let reconciliations = Reconciliations { ledger, clock: batch.clock };
    jobs::continue_jobs(&reconciliations, batch).await
}

/// The reconciliations of one invocation.
struct Reconciliations {
    ledger: Ledger,
    clock: Clock,
}

impl JobService for Reconciliations {
    // Each run uses about 40 MB of memory.
    const SIDE_BY_SIDE: usize = 2;
    // A run remembers the headers that it has read, and no tenant waits for a reconciliation.
    const STEPS: Duration = Duration::from_secs(20);

    fn jobs(&self) -> &Jobs {
        &self.ledger.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        run.steps(Steps::of(&self.ledger, self.clock)).await
    }
}
