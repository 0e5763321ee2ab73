//! L11: settles accounts with grouped posting
//! ([requirement](../../../../docs/requirements/ledger.md#accounts-with-many-payers),
//! [decision](../../../../docs/decisions/ledger-grouped-posting.md)). The stream of the
//! `LedgerJobs` table invokes this function.

use crate::{
    Ledger,
    cost::{self, Calls, Case, Pattern},
    jobs::settle::Settlements,
};
use function::{Batch, Error, Function, Trigger};
use std::collections::BTreeSet;
use table::{
    Units,
    cost::{Cost, read, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(settle_account, Ledger::warm_by_job)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L11",
    name: "settle-account",
    trigger: Trigger::Stream("LedgerJobs"),
    calls: &[Calls {
        variant: "",
        condition: "each of 8 shards, up to 49 items: PK = ACCOUNT#<id>#INBOX#<shard>, SK begins with CREATED#, strongly consistent. For up to 49 items get PK = ACCOUNT#<id>, SK = METADATA, strongly consistent; then one transaction: put each posting, SK = POSTING#<leg>, if absent, delete its inbox item, and update the account if its version is unchanged",
        formula: "⌈Σ items⌉ R for each shard, at least 1 R; ⌈account⌉ R and 2 × ⌈account⌉ W for up to 49 credits; 2 × (⌈posting⌉ + ⌈inbox item⌉) W and GSI1 ⌈posting⌉ W for each credit. Job: 1 R and 2 W for each invocation. The table shows one invocation for 49 credits",
        cost: |case| {
            let credits = Case::count(crate::jobs::settle::MAX_SETTLED);
            let (posting, shards) = (write(case.leg), Units::whole(8));
            Cost::default()
                .read(cost::LEDGER, shards + read(case.account))
                .write(cost::LEDGER, write(case.account).times(2) + (posting + write(case.inbox)).times(2 * credits))
                .write(cost::BY_TIME, posting.times(credits))
                .read(cost::JOBS, Units::whole(1))
                .write(cost::JOBS, Units::whole(2))
        },
    }],
    function,
};

/// Continues every settlement of the batch.
async fn settle_account(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let settlements = Settlements { ledger, clock: batch.clock };
    jobs::continue_jobs(&settlements, batch).await
}
