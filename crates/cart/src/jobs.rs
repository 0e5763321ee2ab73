//! Job of the cart: moves the cart items of a large order (docs/decisions/cart-orders.md).

use crate::{Cart, MAX_MOVED_AT_ONCE, Order, model::order::Line};
use ::jobs::{Job, JobRunner, Next, Step};
use function::{Deadline, Error};
use keys::{
    AccountId, OrderId, RequestId, TimestampSeconds,
    cart::{JobId, JobPartition, JobSort, Status},
};
use serde::{Deserialize, Serialize};
use table::Key;

/// The task of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all_fields = "PascalCase")]
pub enum Task {
    /// Moves the cart items of an order to a status.
    MoveItems {
        /// Account that placed the order.
        account: AccountId,
        /// Order id.
        order: OrderId,
        /// Status of the cart items.
        to: Status,
    },
}

impl ::jobs::Task for Task {
    fn kind(&self) -> &'static str {
        match self {
            Self::MoveItems { .. } => "move-items",
        }
    }
}

impl Task {
    /// Moves the cart items of the order to its status.
    pub(crate) fn of(order: &Order) -> Self {
        let (account, to) = (order.account.clone(), order.status.of_cart_items());
        Self::MoveItems { account, order: order.id().clone(), to }
    }

    /// Creates the job of the task.
    pub(crate) fn job(&self, run: RequestId, now: TimestampSeconds) -> Result<Job, Error> {
        let Self::MoveItems { order, to, .. } = self;
        let id = JobId::of(order, *to);
        Job::new(&job_key(&id), &id, &run, self, now)
    }
}

/// Primary key of a job.
pub(crate) fn job_key(id: &JobId) -> Key {
    Key::new(&JobPartition(id.clone()), &JobSort)
}

/// Runner of [`Task::MoveItems`]. Each step moves the items of some lines in one transaction.
pub(crate) struct MoveItems<'a> {
    cart: &'a Cart,
    account: AccountId,
    order: OrderId,
    to: Status,
    /// The order and its lines, once a step has read them.
    read: Option<(Order, Vec<Line>)>,
}

impl<'a> MoveItems<'a> {
    pub(crate) fn new(cart: &'a Cart, task: Task) -> Self {
        let Task::MoveItems { account, order, to } = task;
        Self { cart, account, order, to, read: None }
    }
}

impl JobRunner for MoveItems<'_> {
    /// Number of lines whose items were moved.
    type Progress = usize;

    async fn step(&mut self, _: &Job, moved: usize, _: Deadline) -> Result<Step<usize>, Error> {
        let (cart, account) = (self.cart, &self.account);
        if self.read.is_none() {
            self.read = Some(cart.order_with_lines(account, &self.order).await?);
        }
        let Some((order, lines)) = &self.read else { return Err(Error::stale()) };
        // The move has ended, and only the last step of the job was not written.
        if !order.moving || order.status.of_cart_items() != self.to {
            let done = moved.try_into().unwrap_or(u64::MAX);
            return Ok(Step { progress: moved, done, next: Next::End });
        }
        let rest = lines.get(moved..).unwrap_or_default();
        let next = &rest[..rest.len().min(MAX_MOVED_AT_ONCE)];
        if next.is_empty() {
            cart.end_move(order).await?;
        } else {
            cart.move_lines(order, next).await?;
        }
        let progress = moved + next.len();
        let done = progress.try_into().unwrap_or(u64::MAX);
        Ok(Step { progress, done, next: if next.is_empty() { Next::End } else { Next::Continue } })
    }
}
