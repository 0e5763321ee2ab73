//! Moves settled payments to the history (docs/decisions/archive.md).

use crate::{Bank, Payment, Transaction};
use function::{Deadline, Error, is_zero};
use futures::{StreamExt, stream::FuturesUnordered};
use keys::{Day, KeyRange, TimestampSeconds};
use serde::Serialize;
use table::Key;

/// Maximum number of payments that one query returns.
const PAGE: usize = 100;
/// Number of payments that are moved concurrently. At about 10 ms per payment, a run moves 1,600
/// payments per second.
const SIDE_BY_SIDE: usize = 16;

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// Last day whose payments the run archives.
    pub until: Day,
    /// Number of payments that this run moved.
    pub moved: u64,
    /// Whether settled payments remain for the next run.
    pub left: bool,
    /// Number of payments that cannot be read. They remain, and the log contains their keys.
    #[serde(skip_serializing_if = "is_zero")]
    pub skipped: usize,
}

/// Result of moving payments.
#[derive(Debug, Default)]
pub(crate) struct Moves {
    pub(crate) moved: u64,
    /// Keys of payments that no run can move. The log contains the reasons.
    pub(crate) stuck: Vec<Key>,
    /// Number of payments that cannot be read.
    pub(crate) skipped: usize,
}

/// Result of moving one payment.
enum Outcome {
    Moved,
    MovedBefore,
    Stuck(&'static str, Key),
}

impl Moves {
    fn note(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Moved => self.moved += 1,
            Outcome::MovedBefore => {}
            Outcome::Stuck(reason, key) => {
                let (partition, sort) = (key.partition(), key.sort());
                tracing::error!(reason, partition, sort, "cannot archive a settled payment");
                function::count("UnreadableItems", 1);
                self.stuck.push(key);
            }
        }
    }

    pub(crate) fn archived(&self, until: Day, left: bool) -> Archived {
        Archived { until, moved: self.moved, left, skipped: self.skipped }
    }
}

impl Bank {
    /// Moves the payments of the range. Returns `false` if the time is up or DynamoDB throttles.
    pub(crate) async fn archive_all(
        &self,
        range: &KeyRange,
        now: TimestampSeconds,
        stop: Deadline,
        moves: &mut Moves,
    ) -> Result<bool, Error> {
        let mut rest = range.clone();
        while !stop.has_passed() {
            match self.archive_page(&rest, now, moves).await {
                Ok(Some(position)) => rest = range.after(&position),
                Ok(None) => return Ok(true),
                Err(Error::Table(table::Error::Throttled | table::Error::Contended { .. })) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Moves the payments on the first page of the range. Returns the position of the next page, if
    /// any, or the first error.
    pub(crate) async fn archive_page(
        &self,
        range: &KeyRange,
        now: TimestampSeconds,
        moves: &mut Moves,
    ) -> Result<Option<String>, Error> {
        let page = self.payments.sharded_page::<Payment>(&self.due, range, PAGE).await?;
        moves.skipped += page.skipped;
        let mut next = Ok(page.next);
        let mut waiting = page.items.into_iter();
        let mut under_way: FuturesUnordered<_> =
            waiting.by_ref().take(SIDE_BY_SIDE).map(|payment| self.archive(payment, now)).collect();
        // After an error, no new move starts. The moves in progress are finished and counted.
        while let Some(outcome) = under_way.next().await {
            match outcome {
                Ok(outcome) => moves.note(outcome),
                Err(error) => next = next.and(Err(error)),
            }
            if next.is_ok() {
                under_way.extend(waiting.next().map(|payment| self.archive(payment, now)));
            }
        }
        next
    }

    async fn archive(&self, payment: Payment, now: TimestampSeconds) -> Result<Outcome, Error> {
        let key = payment.key();
        let delete = self.payments.delete(key.clone()).only_if(table::Condition::is(Payment::DUE, &payment.due));
        let Some(transaction) = Transaction::archived(payment, now) else {
            return Ok(Outcome::Stuck("the payment has no transaction id", key));
        };
        match self.dynamo.transact(vec![delete, self.transactions.put_new(&transaction)?]).await {
            Ok(()) => Ok(Outcome::Moved),
            Err(table::Error::Refused(refused)) if refused.at(0) => Ok(Outcome::MovedBefore),
            Err(table::Error::Refused(_)) => Ok(Outcome::Stuck("the history already contains the payment", key)),
            Err(error) => Err(error.into()),
        }
    }
}
