//! B5: moves processed payments to the history, at the end of the day.

use crate::{
    Bank, Payment, Transaction,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Scheduled, Trigger};
use futures::{StreamExt, stream::FuturesUnordered};
use keys::{
    Day, KeyRange, TimestampSeconds,
    bank::{DueSort, Status},
};
use serde::Serialize;
use std::time::Duration;
use table::Units;

/// Payments that are looked up at once.
const PAGE: usize = 100;
/// Payments that are moved at once: at some 10 ms each, 1,600 a second.
const SIDE_BY_SIDE: usize = 16;
/// Time that is kept back for the page under way, at most.
const RESERVE: Duration = Duration::from_secs(10);

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::scheduled(archive_processed_payments, Bank::warm_by_due_payments)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "B5",
    name: "archive-processed-payments",
    trigger: Trigger::Schedule("cron(0/15 * * * ? *)"),
    calls: &[Calls {
        variant: "",
        condition: "GSI1, every shard: PROCESSED# up to the day's end; a payment each: delete there and put here in one transaction",
        formula: "a page as B3, and a payment: 2 × ⌈item⌉ W here and there; GSI1 ⌈entry⌉ W here and there (ALL: ⌈item⌉ W); GSI2 1 W",
        cost: |case| {
            let twice = table::cost::write(case.item).times(2 * case.count());
            case.sharded_page(cost::PAYMENTS, cost::DUE_PAYMENTS)
                .write(cost::PAYMENTS, twice)
                .write(cost::DUE_PAYMENTS, case.index_write().times(case.count()))
                .write(cost::TRANSACTIONS, twice)
                .write(cost::DUE_TRANSACTIONS, case.index_write().times(case.count()))
                .write(cost::BY_TRANSACTION, Units::whole(case.count()))
        },
    }],
    function,
};

/// What somebody asks for by hand; the schedule asks for nothing.
#[derive(Debug, Clone, Copy)]
pub struct Until {
    date: Option<Day>,
}

impl Input for Until {
    fn read(fields: &mut Fields) -> Option<Self> {
        Some(Self { date: fields.body_if_any("date") })
    }
}

/// What a run did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// Up to the end of this day.
    pub until: Day,
    /// Payments that this run moved.
    pub moved: u64,
    /// Whether the run ended before everything was moved: the next goes on.
    pub left: bool,
}

/// Moves every PROCESSED payment up to the end of a day, by default the last that is over, each in
/// one transaction: it is never in both tables and never in neither.
///
/// A run that nears its deadline stops and says so. Nothing has to be remembered: what is left is
/// still PROCESSED, and the next run of the schedule finds it.
///
/// # Errors
/// 400 for a faulty event; else DynamoDB stayed out of reach or would not take a call, which somebody should hear of.
pub async fn archive_processed_payments(bank: Bank, run: Scheduled<Until>) -> Result<Archived, Error> {
    let until = run.input.date.unwrap_or_else(|| run.now.day().before());
    let everything = DueSort::due_until(until, Status::Processed);
    let stop = run.deadline.with_reserve(RESERVE);
    let mut tally = Tally::default();
    let mut rest = everything.clone();
    while !stop.has_passed() {
        match bank.archive_page(&rest, run.now, &mut tally).await {
            Ok(Some(position)) => rest = everything.after(&position),
            Ok(None) => return Ok(Archived { until, moved: tally.moved, left: tally.stuck }),
            Err(Error::Table(table::Error::Throttled | table::Error::Contended { .. })) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Archived { until, moved: tally.moved, left: true })
}

#[derive(Debug, Default)]
struct Tally {
    moved: u64,
    /// Some payment can't be moved, now or later: the log says why.
    stuck: bool,
}

/// What became of one payment.
enum Outcome {
    Moved,
    MovedBefore,
    Stuck(&'static str),
}

impl Tally {
    fn note(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Moved => self.moved += 1,
            Outcome::MovedBefore => {}
            Outcome::Stuck(reason) => {
                self.stuck = true;
                tracing::error!(reason, "a processed payment can't be archived");
            }
        }
    }
}

impl Bank {
    /// Moves the first payments of the range; the position behind them, or what stopped it.
    async fn archive_page(
        &self,
        range: &KeyRange,
        now: TimestampSeconds,
        tally: &mut Tally,
    ) -> Result<Option<String>, Error> {
        let page = self.payments.sharded_page::<Payment>(&self.due, range, PAGE).await?;
        let mut next = Ok(page.next);
        let mut waiting = page.items.into_iter();
        let mut under_way: FuturesUnordered<_> =
            waiting.by_ref().take(SIDE_BY_SIDE).map(|payment| self.archive(payment, now)).collect();
        // Whatever stops it, the moves under way are ended and counted: only no new one is begun.
        while let Some(outcome) = under_way.next().await {
            match outcome {
                Ok(outcome) => tally.note(&outcome),
                Err(error) => next = next.and(Err(error)),
            }
            if next.is_ok() {
                under_way.extend(waiting.next().map(|payment| self.archive(payment, now)));
            }
        }
        next
    }

    async fn archive(&self, payment: Payment, now: TimestampSeconds) -> Result<Outcome, Error> {
        let delete = self.payments.delete(payment.key()).only_if(table::Condition::is(Payment::DUE, &payment.due));
        let Some(transaction) = Transaction::archived(payment, now) else {
            return Ok(Outcome::Stuck("it has no transaction id"));
        };
        match self.dynamo.transact(vec![delete, self.transactions.put_new(&transaction)?]).await {
            Ok(()) => Ok(Outcome::Moved),
            Err(table::Error::Refused(refused)) if refused.at(0) => Ok(Outcome::MovedBefore),
            Err(table::Error::Refused(_)) => Ok(Outcome::Stuck("the history has it already")),
            Err(error) => Err(error.into()),
        }
    }
}
