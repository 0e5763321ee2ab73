//! L8: continues reconciliations. The stream of their table calls it for each written step.

use crate::{
    Ledger,
    cost::{self, Calls, Case, Pattern},
    jobs::reconcile::Steps,
    model::reconciliation::{Progress, Reconciliation},
};
use function::{Batch, Error, Function, Trigger};
use jobs::{JobService, Jobs, Run};
use keys::ledger::ReconciliationId;
use std::collections::BTreeSet;
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
    calls: &[Calls {
        variant: "",
        condition: "500 transactions at a time: GSI1PK = STATUS#completed, GSI1SK between CREATED#from and CREATED#to, and their legs in batches; then 50 accounts at a time: GSI2PK = ACCOUNTS, the accounts and their last legs in batches, strongly; of each GSI1PK = ACCOUNT#<id>, GSI1SK between LEG#from and LEG#to, newest first, and the one before; and in batches the headers that this run has not read",
        formula: "the transactions: GSI1 ½ ⌈Σ headers⌉ R, and ½ ⌈leg⌉ R a leg; an account: GSI2 ½ ⌈Σ keys⌉ R, ⌈account⌉ + ⌈leg⌉ R, GSI1 ½ ⌈Σ legs⌉ R, and ½ ⌈leg⌉ R for the one before; ½ ⌈header⌉ R a leg whose transaction this run has not read: after 100,000, or where the run before ended. The job: 1 W a step, and 1 R and 1 W a call, two at least. In the table a window of so many transactions, all between the same accounts, in one call",
        cost: |case| {
            let (transactions, accounts) = (Case::count(case.items), Case::count(case.legs));
            let leg = read_eventually(case.leg);
            Cost::default()
                .read(cost::BY_TIME, case.listed(case.of_status) + (case.listed(case.leg) + leg).times(accounts))
                .read(cost::BY_KEY, read_eventually(KEYS * case.legs))
                .read(cost::LEDGER, leg.times(transactions * accounts))
                .read(cost::LEDGER, (read(case.account) + read(case.leg)).times(accounts))
                .read(cost::JOBS, Units::whole(1))
                .write(cost::JOBS, Units::whole(3))
        },
    }],
    function,
};

/// What the keys of an account weigh, by which all accounts are listed.
const KEYS: usize = 200;

/// Continues every reconciliation of the batch.
async fn reconcile(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    jobs::continue_jobs(&ledger, batch).await
}

impl JobService for Ledger {
    // Each has some 40 MB.
    const SIDE_BY_SIDE: usize = 2;

    fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        let Reconciliation { id, .. } = Reconciliation::of(run.job())?;
        if let Some(progress) = run.steps(Steps::of(self)).await? {
            report(&id, &progress);
        }
        Ok(())
    }
}

/// Reports a finished reconciliation: the alarms read its metrics.
fn report(reconciliation: &ReconciliationId, progress: &Progress) {
    let Progress { transactions, accounts, discrepancies, .. } = *progress;
    function::count("Reconciliations", 1);
    function::count("Discrepancies", discrepancies);
    if discrepancies > 0 {
        tracing::error!(%reconciliation, discrepancies, "the books do not agree");
    } else {
        tracing::info!(%reconciliation, transactions, accounts, "the books agree");
    }
}
