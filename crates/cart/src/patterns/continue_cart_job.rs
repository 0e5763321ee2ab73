//! C14: runs the jobs of the cart. The stream of the `CartJobs` table invokes this function when a
//! job starts, and again after each step (docs/decisions/jobs.md).

use crate::{
    Cart, MAX_MOVED_AT_ONCE, Task,
    cost::{self, Calls, Pattern},
    jobs::MoveItems,
};
use function::{Batch, Error, Trigger};
use jobs::{JobService, Jobs, Run};
use std::collections::BTreeSet;
use table::cost::{Cost, Term, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "C14",
    name: "continue-cart-job",
    trigger: Trigger::Stream("CartJobs"),
    calls: &[Calls::new("", |case| {
        let steps = case.cart_items.div_ceil(MAX_MOVED_AT_ONCE);
        Cost::default()
            .read(cost::CART, read(case.order) + read(case.lines))
            .write(cost::CART, case.moved().times(2 * case.cart_items))
            .write(cost::CART, write(case.order).times(2 * steps))
            .write(cost::CART, (write(case.order) + case.contents_write()).times(2))
            .write(cost::BY_SKU, case.cart_item_write().times(2 * case.cart_items))
            .read(cost::JOBS, read(0))
            .write(cost::JOBS, Term::whole(steps + 2))
    })],
    contract: |_| {},
    function: || function::stream(continue_cart_job, Cart::warm_by_job),
};

/// Continues the jobs in the batch.
async fn continue_cart_job(cart: Cart, batch: Batch) -> Result<BTreeSet<String>, Error> {
    jobs::continue_jobs(&cart, batch).await
}

impl JobService for Cart {
    const SIDE_BY_SIDE: usize = 4;

    fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        let task = run.job().task::<Task>()?;
        run.steps(MoveItems::new(self, task)).await
    }
}
