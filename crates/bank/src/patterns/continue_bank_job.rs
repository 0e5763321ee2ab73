//! B19: runs the jobs of the bank. The stream of the `BankJobs` table invokes this function when a
//! job starts, and again after each step (docs/decisions/jobs.md).

use crate::{
    Bank,
    cost::{self, Calls, Pattern},
    jobs::{Task, close, dispatch},
    patterns::{archive_settled_payments, dispatch_due_payments},
};
use function::{Batch, Error, Function, Trigger};
use jobs::{JobService, Jobs, Run};
use keys::{Random, bank::Status};
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
    calls: &[
        Calls {
            variant: ", dispatch",
            condition: "as B10 dispatch-due-payments, in steps of five seconds",
            formula: "as B10 dispatch-due-payments for each step. Per invocation ⌈job⌉ R and ⌈job⌉ W, and ⌈job⌉ W for each step",
            cost: |case| {
                let jobs = (read(0), Units::whole(2));
                (dispatch_due_payments::PATTERN.calls[0].cost)(case).read(cost::JOBS, jobs.0).write(cost::JOBS, jobs.1)
            },
        },
        Calls {
            variant: ", close",
            condition: "move the settled payments of the day, as B5. For each status: GSI1 of PaymentScheduler, query each shard; for each page get the payments, and put an item for each open payment: PK = DAY#<date>, SK = OPEN#<number>#<time>#<payment id>. For each of CANCELLED, FAILED and PROCESSED: GSI1 of TransactionHistory, query each shard, and get the payments; if payments are open, query SK between two open payments for each page, strongly consistent. Put SK = CERTIFICATE#<number>",
            formula: "as B5 for the settled payments. Per settled payment GSI1 ½ ⌈entry⌉ R and ½ ⌈item⌉ R in TransactionHistory (ALL: GSI1 ½ ⌈item⌉ R). Per open payment GSI1 ½ ⌈entry⌉ R, ½ ⌈item⌉ R and 1 W. Per page of 100 settled payments 1 R if payments are open. GSI1 at least ½ R for each query: 8 in each shard. Per invocation ⌈job⌉ R and ⌈job⌉ W, per step ⌈job⌉ W, for the certificate 1 W",
            cost: |case| {
                let counted = Status::SETTLED.len() * case.shards;
                (archive_settled_payments::PATTERN.calls[0].cost)(case)
                    .read(cost::DUE_PAYMENTS, case.empty_shards().times(5))
                    .read(cost::DUE_TRANSACTIONS, case.queried(counted))
                    .read(cost::TRANSACTIONS, case.fetched())
                    .read(cost::JOBS, read(0))
                    .write(cost::JOBS, Units::whole(6))
            },
        },
    ],
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
            Task::Close { .. } => {
                if let Some(progress) = run.steps(close::Steps { bank: &self.bank }).await? {
                    close::report(run.job(), &progress);
                }
            }
        }
        Ok(())
    }
}
