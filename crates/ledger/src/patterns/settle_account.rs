//! L11: settles accounts with grouped posting
//! ([requirement](../../../../docs/requirements/ledger.md#accounts-with-many-payers),
//! [decision](../../../../docs/decisions/ledger-throughput.md)). The stream of the
//! `LedgerJobs` table invokes this function.

use crate::{
    Ledger,
    cost::{self, Calls, Pattern},
    jobs::settle::Settlements,
};
use function::{Batch, Error, Trigger};
use std::collections::BTreeSet;
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "L11",
    name: "settle-account",
    trigger: Trigger::Stream("LedgerJobs"),
    calls: &[Calls::new("", |case| {
        let credits = crate::jobs::settle::MAX_SETTLED;
        let (posting, shards) = (write(case.leg), 8);
        Cost::default()
            .read(cost::LEDGER, shards + read(case.account))
            .write(cost::LEDGER, write(case.account).times(2) + (posting + write(case.inbox)).times(2 * credits))
            .write(cost::BY_TIME, posting.times(credits))
            .read(cost::JOBS, 1)
            .write(cost::JOBS, 2)
    })],
    contract: |_| {},
    function: || function::stream(settle_account, Ledger::warm_by_job),
};

/// Continues every settlement of the batch.
async fn settle_account(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let settlements = Settlements { ledger, clock: batch.clock };
    jobs::continue_jobs(&settlements, batch).await
}
