//! B19: runs the jobs of the bank. The stream of the `BankJobs` table invokes this function when a
//! job starts, and again after each step (docs/decisions/jobs.md). It also publishes events
//! (docs/decisions/events.md).

use crate::{
    Bank, Fact,
    cost::{self, Calls, Pattern},
    jobs::{Task, close, dispatch, import, standing},
    patterns::{archive_settled_payments, dispatch_due_payments},
    service,
};
use function::{App, Batch, Clients, Error, SettingsReader, Trigger};
use futures::future::join;
use jobs::{JobService, Jobs, Run};
use keys::{Random, bank::Status};
use std::{collections::BTreeSet, time::Duration};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "B19",
    name: "continue-bank-job",
    trigger: Trigger::Stream("BankJobs"),
    calls: &[
        Calls::new(", dispatch", |case| {
            let jobs = (read(0), 2);
            (dispatch_due_payments::PATTERN.calls[0].cost)(case).read(cost::JOBS, jobs.0).write(cost::JOBS, jobs.1)
        }),
        Calls::new(", import", |case| {
            let lines = case.items;
            let payments = (write(case.item) + 1).times(lines);
            let jobs = (read(0), 4);
            Cost::default()
                .write(cost::PAYMENTS, payments)
                .write(cost::DUE_PAYMENTS, case.index_write().times(lines))
                .read(cost::JOBS, jobs.0)
                .write(cost::JOBS, jobs.1)
                .write(cost::IMPORTS, jobs.1)
        }),
        Calls::new(", standing order", |case| {
            let (payments, order) = (write(case.item).times(case.items), write(case.item));
            Cost::default()
                .read(cost::PAYMENTS, read(case.item))
                .write(cost::PAYMENTS, (payments + order).times(2))
                .write(cost::DUE_PAYMENTS, case.index_write().times(2 + case.items))
                .read(cost::JOBS, read(0))
                .write(cost::JOBS, 2)
        }),
        Calls::new(", close", |case| {
            let counted = Status::SETTLED.len() * case.shards;
            (archive_settled_payments::PATTERN.calls[0].cost)(case)
                .read(cost::DUE_PAYMENTS, case.empty_shards().times(5))
                .read(cost::DUE_TRANSACTIONS, case.queried(counted))
                .read(cost::TRANSACTIONS, case.fetched())
                .read(cost::JOBS, read(0))
                .write(cost::JOBS, 6)
        }),
    ],
    contract: |_| {},
    function: || function::stream(continue_bank_job, Worker::warm_up),
};

/// The bank with the ledger that the close compares it with.
#[derive(Debug, Clone)]
struct Worker {
    bank: Bank,
    service: service::Service,
    /// Time after which the indexes show every change.
    index_lag: Duration,
}

impl App for Worker {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let (bank, service) = (Bank::start(settings, clients), service::Service::start_ledger(settings, clients));
        let index_lag = settings.get("INDEX_LAG_SECONDS").map(|seconds: u32| Duration::from_secs(seconds.into()));
        Some(Self { bank: bank?, service: service?, index_lag: index_lag? })
    }
}

impl Worker {
    async fn warm_up(self) {
        self.bank.warm_by_job().await;
    }
}

/// The worker with the random source of an invocation.
struct Service {
    worker: Worker,
    random: Random,
}

/// Continues the jobs in the batch, and publishes the ends of imports and the closes of days.
async fn continue_bank_job(worker: Worker, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let (random, bus) = (batch.random.clone(), worker.bank.bus.clone());
    let (records, deadline) = (batch.records.clone(), batch.deadline);
    let published = bus.publish_or_keep(&records, deadline, Fact::of);
    let (failed, unpublished) =
        Box::pin(join(jobs::continue_jobs(&Service { worker, random }, batch), published)).await;
    Ok(failed?.into_iter().chain(unpublished).collect())
}

impl JobService for Service {
    const SIDE_BY_SIDE: usize = 4;
    // Operators start these jobs, so no tenant waits for them. Short runs would slow down imports.
    const STEPS: Duration = Duration::from_secs(20);

    fn jobs(&self) -> &Jobs {
        &self.worker.bank.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        let Worker { bank, service, index_lag } = &self.worker;
        match run.job().task::<Task>()? {
            Task::Dispatch => {
                run.steps(dispatch::Steps { bank, random: self.random.clone() }).await?;
            }
            Task::Import(file) => {
                let clock = run.clock();
                run.steps(import::Steps::new(bank, self.random.clone(), clock, file)).await?;
            }
            Task::StandingOrder(change) => {
                let (clock, random) = (run.clock(), self.random.clone());
                run.steps(standing::ChangeSteps { bank, random, clock, change: *change }).await?;
            }
            Task::StandingOrders => {
                let (clock, random) = (run.clock(), self.random.clone());
                run.steps(standing::DailySteps { bank, random, clock }).await?;
            }
            Task::Close { .. } => {
                let (clock, index_lag) = (run.clock(), *index_lag);
                run.steps(close::Steps { bank, ledger: service.ledger(), clock, index_lag }).await?;
            }
        }
        Ok(())
    }
}
