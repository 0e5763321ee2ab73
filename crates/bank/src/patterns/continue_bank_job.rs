//! B19: runs the jobs of the bank. The stream of the `BankJobs` table invokes this function when a
//! job starts, and again after each step (docs/decisions/jobs.md).

use crate::{
    Bank,
    cost::{self, Calls, Pattern},
    jobs::{Task, dispatch},
    patterns::dispatch_due_payments,
};
use function::{Batch, Error, Function, Trigger};
use jobs::{JobService, Jobs, Run};
use keys::Random;
use std::collections::BTreeSet;
use table::{Units, cost::read};

/// Entry point of the Lambda.
#[must_use]
pub fn function() -> Function {
    function::stream(continue_bank_job, Bank::warm_by_job)
}

/// Declares the access pattern's stream, key conditions and costs.
pub const PATTERN: Pattern = Pattern {
    id: "B19",
    name: "continue-bank-job",
    trigger: Trigger::Stream("BankJobs"),
    calls: &[Calls {
        variant: ", dispatch",
        condition: "as B10 dispatch-due-payments, in steps of five seconds",
        formula: "as B10 dispatch-due-payments for each step. Per invocation ⌈job⌉ R and ⌈job⌉ W, and ⌈job⌉ W for each step",
        cost: |case| {
            let jobs = (read(0), Units::whole(2));
            (dispatch_due_payments::PATTERN.calls[0].cost)(case).read(cost::JOBS, jobs.0).write(cost::JOBS, jobs.1)
        },
    }],
    function,
};

/// The bank with the random source of an invocation.
struct Service {
    bank: Bank,
    random: Random,
}

/// Continues the jobs in the batch.
async fn continue_bank_job(bank: Bank, batch: Batch) -> Result<BTreeSet<String>, Error> {
    let random = batch.random.clone();
    jobs::continue_jobs(&Service { bank, random }, batch).await
}

impl JobService for Service {
    const SIDE_BY_SIDE: usize = 4;

    fn jobs(&self) -> &Jobs {
        &self.bank.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        match run.job().task::<Task>()? {
            Task::Dispatch => {
                run.steps(dispatch::Steps { bank: &self.bank, random: self.random.clone() }).await?;
            }
        }
        Ok(())
    }
}
