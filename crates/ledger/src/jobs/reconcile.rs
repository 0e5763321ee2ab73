//! The steps of a reconciliation ([decision](../../../../docs/decisions/ledger-reconciliation.md)).
//! Each step checks a page of transactions or accounts, and stores its findings.

use crate::{
    Ledger,
    jobs::{
        check_accounts::AccountsPage,
        check_transactions::{Known, TransactionsPage},
    },
    model::{
        accounts_progress::AccountsProgress,
        reconciliation::{Fault, Finding, MAX_KEPT, Phase, Progress, Reconciliation},
    },
};
use function::{Clock, Deadline, Error};
use futures::{StreamExt, TryStreamExt, future::ready, stream};
use jobs::{Job, JobRunner, Next, Step};
use keys::ledger::ReconciliationId;
use std::collections::HashSet;

/// Maximum number of findings that are written concurrently.
const WRITES: usize = 8;

/// Executes the steps of one run.
pub(crate) struct Steps<'a> {
    ledger: &'a Ledger,
    clock: Clock,
    known: Known,
}

impl<'a> Steps<'a> {
    pub(crate) fn of(ledger: &'a Ledger, clock: Clock) -> Self {
        Self { ledger, clock, known: Known::default() }
    }
}

impl JobRunner for Steps<'_> {
    type Progress = Progress;

    async fn step(&mut self, job: &Job, mut progress: Progress, stop: Deadline) -> Result<Step<Progress>, Error> {
        let (ledger, of) = (self.ledger, Reconciliation::of(job)?);
        let (faults, phase) = match progress.phase {
            Phase::Transactions(behind) => {
                let TransactionsPage { transactions, faults, next } =
                    ledger.check_transactions(of.window, behind, &mut self.known).await?;
                progress.transactions += u64::try_from(transactions).unwrap_or(u64::MAX);
                let accounts = || Phase::Accounts(AccountsProgress::default());
                (faults, next.map_or_else(accounts, |next| Phase::Transactions(Some(next))))
            }
            Phase::Accounts(at) => {
                let AccountsPage { accounts, faults, at } =
                    Box::pin(ledger.check_accounts(&of, at, &self.known, self.clock.now()?)).await?;
                progress.accounts += u64::try_from(accounts).unwrap_or(u64::MAX);
                (faults, if at.is_over() { Phase::Totals(Box::default()) } else { Phase::Accounts(at) })
            }
            Phase::Totals(mut at) => {
                let faults = Box::pin(ledger.check_totals(&of, &mut at, stop)).await?;
                (faults, Phase::Totals(at))
            }
        };
        progress.phase = phase;
        progress.discrepancies += ledger.keep(&of, faults, progress.discrepancies).await?;
        let next = if progress.is_over(of.window) { Next::End } else { Next::Continue };
        if next == Next::End {
            // Before the job ends: a killed run repeats this step, and reports again.
            report(&of.id, &progress);
        }
        Ok(Step { done: progress.transactions + progress.accounts, progress, next })
    }
}

impl Ledger {
    /// Stores the findings of a step. Returns the number of findings that no earlier step has
    /// counted.
    async fn keep(&self, of: &Reconciliation, mut faults: Vec<Fault>, kept: u64) -> Result<u64, Error> {
        // Several checks of a step can find the same unreadable item.
        let mut subjects = HashSet::new();
        faults.retain(|fault| subjects.insert(fault.subject.clone()));
        let room = MAX_KEPT.saturating_sub(kept);
        let rest = faults.split_off(faults.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
        let kept = stream::iter(faults).map(|fault| self.keep_one(of, fault)).buffer_unordered(WRITES);
        let new = kept.try_fold(0, |sum, is_new| ready(Ok(sum + u64::from(is_new)))).await?;
        Ok(new + u64::try_from(rest.len()).unwrap_or(u64::MAX))
    }

    /// Stores a finding. Returns `false` if an earlier step already stored and counted the finding.
    /// Returns `true` if a previous attempt of the same step stored the finding, because that
    /// attempt may not have counted it.
    async fn keep_one(&self, of: &Reconciliation, fault: Fault) -> Result<bool, Error> {
        match self.books.dynamo.write(self.jobs.table().put_new(&Finding::new(of, fault))?).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(refused)) => {
                // An unreadable finding remains as it is. It was stored by this step or before.
                let kept = refused.found::<Finding>(0).ok().flatten();
                Ok(kept.is_some_and(|kept| kept.step == of.step))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Logs a finished reconciliation, and emits the metrics that alarms use.
fn report(reconciliation: &ReconciliationId, progress: &Progress) {
    let Progress { transactions, accounts, discrepancies, .. } = *progress;
    function::count("Reconciliations", 1);
    function::count("Discrepancies", discrepancies);
    if discrepancies > 0 {
        tracing::error!(%reconciliation, discrepancies, "the reconciliation found discrepancies");
    } else {
        tracing::info!(%reconciliation, transactions, accounts, "the reconciliation found no discrepancies");
    }
}
