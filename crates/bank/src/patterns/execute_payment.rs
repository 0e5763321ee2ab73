//! B11: executes dispatched payments with the transaction service. The stream of
//! `PaymentScheduler` invokes this function with the payments that were handed over
//! (docs/requirements/bank.md#execute-payments, docs/decisions/execution.md).

use crate::{
    Bank,
    cost::{self, Calls, Named, Pattern},
    execution::Run,
    service::Service,
};
use function::{App, Batch, Clients, Error, SettingsReader, Trigger};
use std::{collections::BTreeSet, num::NonZeroUsize};
use table::cost::Cost;

/// Declares the access pattern's stream, key conditions and costs.
pub const PATTERN: Pattern = Pattern {
    id: "B11",
    name: "execute-payment",
    trigger: Trigger::Stream("PaymentScheduler"),
    calls: &[
        Calls::new("", |case| settled(case).write(cost::PAYMENTS, case.items)),
        Calls::new(", rejected", settled),
        Calls::new(", no outcome", |case| {
            let cost = reads(case).write(cost::PAYMENTS, table::cost::write(case.item).times(case.items));
            match case.projection {
                table::Projection::KeysOnly => cost,
                table::Projection::All => cost.write(cost::DUE_PAYMENTS, case.index_write().times(case.items)),
            }
        }),
    ],
    contract: |_| {},
    function: || function::stream(execute_payment, Executor::warm_up),
};

fn reads(case: &Named) -> Cost {
    Cost::default()
        .read(cost::PAYMENTS, table::cost::read(0))
        .read(cost::PAYMENTS, table::cost::read(case.item).times(case.items))
}

fn settled(case: &Named) -> Cost {
    reads(case)
        .write(cost::PAYMENTS, table::cost::write(case.item).times(case.items))
        .write(cost::DUE_PAYMENTS, case.index_write().times(2 * case.items))
}

/// The bank with its transaction service.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    pub(crate) bank: Bank,
    pub(crate) service: Service,
    /// Maximum number of concurrent calls of an invocation to the service.
    pub(crate) concurrency: NonZeroUsize,
    /// Maximum number of attempts without an outcome, until an operator decides.
    pub(crate) max_attempts: u8,
}

/// Largest maximum of attempts. A payment has room for two digits.
const MOST_ATTEMPTS: u8 = 99;

impl App for Executor {
    fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Option<Self> {
        let (bank, service) = (Bank::start(settings, clients), Service::start(settings, clients));
        let (concurrency, attempts) = (settings.get("EXECUTION_CONCURRENCY"), settings.get("MAX_ATTEMPTS"));
        let max_attempts = match attempts? {
            attempts @ 1..=MOST_ATTEMPTS => Some(attempts),
            _ => settings.fault(format!("MAX_ATTEMPTS must be between 1 and {MOST_ATTEMPTS}")),
        };
        Some(Self { bank: bank?, service: service?, concurrency: concurrency?, max_attempts: max_attempts? })
    }
}

impl Executor {
    async fn warm_up(self) {
        futures::join!(self.bank.warm_by_batch_get(), self.service.warm_up());
    }
}

/// Executes the payments of the batch. Returns the sequence numbers of the records to retry: those
/// of payments that were not attempted, or whose outcome could not be written.
async fn execute_payment(executor: Executor, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let mut run = Run::new(&executor, &batch);
    if let Err(error) = run.execute().await {
        tracing::warn!(%error, "the payments of a batch cannot be read");
        run.retry_all();
    }
    Ok(run.report())
}
