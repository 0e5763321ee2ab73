//! L8: continues reconciliations
//! ([requirement](../../../../docs/requirements/ledger.md#reconciliation-report),
//! [decision](../../../../docs/decisions/ledger-reconciliation.md)). The stream of the `LedgerJobs`
//! table invokes this function after each step.

use crate::{
    Fact, Ledger,
    cost::{self, Calls, Named, Pattern},
    jobs::reconcile::Steps,
};
use function::{Batch, Clock, Error, Trigger};
use futures::future::join;
use jobs::{JobService, Jobs, Run};
use std::{collections::BTreeSet, time::Duration};
use table::cost::{Cost, read, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "reconcile",
    trigger: Trigger::Stream("LedgerJobs"),
    calls: &[
        Calls::new("", direct),
        Calls::new(", grouped", |case| {
            let credit = read(0) + read(case.leg) + read_eventually(case.leg);
            direct(case).read(cost::LEDGER, credit.times(case.items) + 8)
        }),
    ],
    contract: |_| {},
    function: || function::stream(reconcile, Ledger::warm_by_job),
};

/// The cost if no account has grouped posting.
fn direct(case: &Named) -> Cost {
    let (transactions, accounts) = (case.items, case.legs);
    let leg = read_eventually(case.leg);
    let of_account = case.listed(case.leg) + leg + read_eventually(0);
    let account = read(case.account) + read(case.leg) + read_eventually(case.account);
    Cost::default()
        .read(cost::BY_TIME, case.listed(case.of_status).times(2) + of_account.times(accounts))
        .read(cost::BY_KEY, read_eventually(KEYS * case.legs))
        .read(cost::LEDGER, leg.times(transactions * accounts) + account.times(accounts))
        .read(cost::TOTALS, read(case.total).times(case.shards))
        .read(cost::JOBS, 1)
        .write(cost::JOBS, 4)
}

/// Size in bytes of an account's entry in GSI2, which lists all accounts. The entry contains only
/// keys.
const KEYS: usize = 200;

/// Continues every reconciliation of the batch, and publishes those that ended with discrepancies.
async fn reconcile(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let (bus, records, deadline) = (ledger.bus.clone(), batch.records.clone(), batch.deadline);
    let reconciliations = Reconciliations { ledger, clock: batch.clock };
    let published = bus.publish_or_keep(&records, deadline, Fact::of);
    let (failed, unpublished) = Box::pin(join(jobs::continue_jobs(&reconciliations, batch), published)).await;
    Ok(failed?.into_iter().chain(unpublished).collect())
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
