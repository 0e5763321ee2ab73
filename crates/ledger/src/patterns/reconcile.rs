//! L8: goes on with reconciliations, called by the stream for each step that is written of their progress.

use crate::{
    Ledger, Progress, Reconciliation, State,
    cost::{self, Calls, Case, Pattern},
    jobs::{
        check_accounts::AccountsPage,
        check_transactions::{Known, TransactionsPage},
    },
    model::{
        accounts_progress::AccountsProgress,
        reconciliation::{Fault, Finding, MAX_KEPT, Phase},
    },
};
use function::{Batch, Deadline, Error, Function, Record, Trigger};
use futures::{StreamExt, TryStreamExt, future::ready, stream};
use keys::ledger::{ReconciliationId, ReconciliationPartition};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use table::{
    Condition, Units, Value,
    cost::{Cost, read, read_eventually},
};

/// Time that is kept back for the step under way, at most.
const RESERVE: Duration = Duration::from_secs(20);
/// Reconciliations that are gone on with at once.
const SIDE_BY_SIDE: usize = 2;
/// Findings that are written at once.
const WRITES: usize = 8;

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(reconcile, Ledger::warm_by_reconciliation)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "L8",
    name: "reconcile",
    trigger: Trigger::Stream("Reconciliations"),
    calls: &[Calls {
        variant: "",
        condition: "500 transactions at a time: GSI1PK = STATUS#completed, GSI1SK between CREATED#from and CREATED#to, and their legs in batches; then 50 accounts at a time: GSI2PK = ACCOUNTS, the accounts and their last legs in batches, strongly; of each GSI1PK = ACCOUNT#<id>, GSI1SK between LEG#from and LEG#to, newest first, and the one before; and in batches the headers that this run has not read",
        formula: "the transactions: GSI1 ½ ⌈Σ headers⌉ R, and ½ ⌈leg⌉ R a leg; an account: GSI2 ½ ⌈Σ keys⌉ R, ⌈account⌉ + ⌈leg⌉ R, GSI1 ½ ⌈Σ legs⌉ R, and ½ ⌈leg⌉ R for the one before; ½ ⌈header⌉ R a leg whose transaction this run has not read: after 100,000, or where the run before ended. The job: 1 W a step, and 1 R a call, two at least. In the table a window of so many transactions, all between the same accounts, in one call",
        cost: |case| {
            let (transactions, accounts) = (Case::count(case.items), Case::count(case.legs));
            let leg = read_eventually(case.leg);
            Cost::default()
                .read(cost::BY_TIME, case.listed(case.of_status) + (case.listed(case.leg) + leg).times(accounts))
                .read(cost::BY_KEY, read_eventually(KEYS * case.legs))
                .read(cost::LEDGER, leg.times(transactions * accounts))
                .read(cost::LEDGER, (read(case.account) + read(case.leg)).times(accounts))
                .read(cost::RECONCILIATIONS, Units::whole(1))
                .write(cost::RECONCILIATIONS, Units::whole(2))
        },
    }],
    function,
};

/// What the keys of an account weigh, by which all accounts are listed.
const KEYS: usize = 200;

/// Goes on with every reconciliation of the batch; answers the changes that must come again.
///
/// What can't be read is logged and left out: it would hold up the others. Its reconciliation stays where it is, and the alarm
/// tells that none was done.
async fn reconcile(ledger: Ledger, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let stop = batch.deadline.with_reserve(RESERVE);
    let runs = reconciliations(&batch.records).into_iter().map(|(id, sequence_numbers)| {
        let ledger = &ledger;
        async move {
            match Box::pin(ledger.go_on(&id, stop)).await {
                Ok(()) => Vec::new(),
                Err(Error::Table(error @ table::Error::Unreadable(..))) => {
                    tracing::error!(reconciliation = %id, %error, "a reconciliation can't go on");
                    Vec::new()
                }
                Err(error) => {
                    tracing::warn!(reconciliation = %id, %error, "a reconciliation goes on later");
                    sequence_numbers
                }
            }
        }
    });
    Ok(stream::iter(runs).buffer_unordered(SIDE_BY_SIDE).concat().await.into_iter().collect())
}

/// The reconciliations that the changes are of, each once, and the sequence numbers of the changes.
fn reconciliations(records: &[Record]) -> BTreeMap<ReconciliationId, Vec<String>> {
    let mut reconciliations = BTreeMap::<_, Vec<_>>::new();
    for record in records {
        let key = record.partition_key().unwrap_or_default();
        let sequence_number = record.sequence_number().to_owned();
        if let Ok(ReconciliationPartition(id)) = key.parse() {
            reconciliations.entry(id).or_default().push(sequence_number);
        } else {
            tracing::error!(sequence_number, "a change of a reconciliation can't be read");
        }
    }
    reconciliations
}

impl Ledger {
    /// Goes on with the reconciliation until it is done, another run is at it, or the time has come to stop: what was written
    /// calls the function again.
    async fn go_on(&self, id: &ReconciliationId, stop: Deadline) -> Result<(), Error> {
        let mut at = self.reconciliations.get::<Reconciliation>(&Reconciliation::key_of(id)).await?;
        let mut known = Known::default();
        while let Some(running) = at.filter(|at| at.state == State::Running) {
            at = Box::pin(self.step(running, &mut known)).await?.filter(|_| !stop.has_passed());
        }
        Ok(())
    }

    /// Does one step and writes it; the reconciliation as it is by then, none where another run wrote the step.
    async fn step(&self, of: Reconciliation, known: &mut Known) -> Result<Option<Reconciliation>, Error> {
        let mut progress = of.progress.clone();
        let (faults, phase) = match progress.phase {
            Phase::Transactions(behind) => {
                let TransactionsPage { transactions, faults, next } =
                    self.check_transactions(of.window, behind, known).await?;
                progress.transactions += Case::count(transactions);
                let accounts = || Phase::Accounts(AccountsProgress::default());
                (faults, next.map_or_else(accounts, |next| Phase::Transactions(Some(next))))
            }
            Phase::Accounts(at) => {
                let AccountsPage { accounts, faults, at } = Box::pin(self.check_accounts(&of, at, known)).await?;
                progress.accounts += Case::count(accounts);
                (faults, Phase::Accounts(at))
            }
        };
        progress.phase = phase;
        progress.discrepancies += self.keep(&of, faults).await?;
        self.write(of, progress).await
    }

    /// Keeps what was found; how much of it no earlier step has found.
    async fn keep(&self, of: &Reconciliation, mut faults: Vec<Fault>) -> Result<u64, Error> {
        let room = MAX_KEPT.saturating_sub(of.progress.discrepancies);
        let rest = faults.split_off(faults.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
        let kept = stream::iter(faults).map(|fault| self.keep_one(of, fault)).buffer_unordered(WRITES);
        let new = kept.try_fold(0, |sum, is_new| ready(Ok(sum + u64::from(is_new)))).await?;
        Ok(new + Case::count(rest.len()))
    }

    /// Whether no earlier step has found it. A run that died in this very step may have kept it.
    async fn keep_one(&self, of: &Reconciliation, fault: Fault) -> Result<bool, Error> {
        match self.dynamo.write(self.reconciliations.put_new(&Finding::new(of, fault))?).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(refused)) => {
                Ok(refused.found::<Finding>(0)?.is_some_and(|kept| kept.step == of.step))
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn write(&self, mut of: Reconciliation, progress: Progress) -> Result<Option<Reconciliation>, Error> {
        let state = if progress.is_over() { State::Done } else { State::Running };
        let update = self
            .reconciliations
            .update(Reconciliation::key_of(&of.id))
            .set(Reconciliation::PROGRESS, Value::of(&progress)?);
        let update = update.set(Reconciliation::STATE, Value::of(&state)?).set(Reconciliation::STEP, of.step + 1);
        match self.dynamo.write(update.only_if(Condition::is(Reconciliation::STEP, of.step))).await {
            Ok(()) => {
                (of.state, of.step, of.progress) = (state, of.step + 1, progress);
                of.tell();
                Ok(Some(of))
            }
            Err(table::Error::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Progress {
    fn is_over(&self) -> bool {
        matches!(&self.phase, Phase::Accounts(accounts) if accounts.is_over())
    }
}

impl Reconciliation {
    /// Tells what came of it once it is done: the alarms hear of it.
    fn tell(&self) {
        if self.state != State::Done {
            return;
        }
        let Progress { transactions, accounts, discrepancies, .. } = self.progress;
        function::count("Reconciliations", 1);
        function::count("Discrepancies", discrepancies);
        if discrepancies > 0 {
            tracing::error!(reconciliation = %self.id, discrepancies, "the books do not agree");
        } else {
            tracing::info!(reconciliation = %self.id, transactions, accounts, "the books agree");
        }
    }
}
