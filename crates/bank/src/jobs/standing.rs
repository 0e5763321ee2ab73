//! The jobs of standing orders (docs/decisions/payments.md).
//!
//! A change or the end of an order starts a job that cancels the payments of the replaced revision
//! and schedules those of the new one. A daily job schedules the payments of all orders that come
//! into reach.

use crate::{
    Bank, Payment,
    dispatch::DueEntry,
    model::standing::{EndedRevision, StandingEntry, StandingOrder, horizon},
};
use function::{Clock, Deadline, Error};
use futures::{StreamExt, TryStreamExt, stream};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    AccountId, Day, Random, RequestId, TimestampSeconds,
    bank::{DueSort, PaymentId, PaymentSort, StandingDueSort, StandingOrderId, Status},
};
use serde::{Deserialize, Serialize};
use table::{Condition, Error as Store, Key, Query};

/// Maximum number of payments that a step cancels.
const PAYMENTS: usize = 100;
/// Maximum number of orders on a page of the daily job.
const ORDERS: usize = 25;
/// Number of orders or payments that are changed concurrently.
const SIDE_BY_SIDE: usize = 8;

/// A change or the end of a standing order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StandingChange {
    pub(crate) account: AccountId,
    pub(crate) order: StandingOrderId,
    /// The new revision of the order, or the id of the request that ended it.
    pub(crate) id: RequestId,
    /// The replaced revision. `None` for a new order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<EndedRevision>,
}

/// Progress of the job of a change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct ChangeProgress {
    /// The first date whose payment is not yet cancelled. `None` before the first step.
    next: Option<Day>,
    /// The dates that the replaced revision pays although the change came before their time. The
    /// dispatch was faster than this job, or the owner has moved the payment to another time. The
    /// new revision leaves them out.
    paid: Vec<Day>,
    done: u64,
}

/// Executes the job of a change.
pub(crate) struct ChangeSteps<'a> {
    pub(crate) bank: &'a Bank,
    pub(crate) random: Random,
    pub(crate) clock: Clock,
    pub(crate) change: StandingChange,
}

impl JobRunner for ChangeSteps<'_> {
    type Progress = ChangeProgress;

    async fn step(
        &mut self,
        job: &Job,
        mut progress: ChangeProgress,
        _: Deadline,
    ) -> Result<Step<ChangeProgress>, Error> {
        let now = self.clock.now()?.second();
        if let Some(ended) = &self.change.ended {
            let first = progress.next.or_else(|| ended.recurrence.since(ended.since));
            let (dates, rest) = first.map(|first| ended.page(first)).unwrap_or_default();
            let (cancelled, paid) = self.cancel(ended, &dates, (job.started_at, now)).await?;
            progress.done += cancelled;
            progress.paid.extend(paid);
            progress.next = rest;
            if rest.is_some() {
                return Ok(Step { done: progress.done, progress, next: Next::Continue });
            }
        }
        let StandingChange { account, order, id, .. } = &self.change;
        let stored = self.bank.payments.get::<StandingOrder>(&StandingOrder::key_of(account, order)).await?;
        // A later change or the end of the order has its own job.
        if let Some(order) = stored.filter(|order| order.revision == *id) {
            // A killed run may have scheduled the payments already. They count once.
            let first = order.recurrence.since(order.changed_at).map(|first| first.max(now.day()));
            let dates = first.map(|first| order.recurrence.dates(first, horizon(now)).0).unwrap_or_default();
            let count = dates.iter().filter(|date| !progress.paid.contains(date)).count();
            self.bank.start_order(order, &progress.paid, now, &self.random).await?;
            progress.done += u64::try_from(count).unwrap_or(u64::MAX);
        }
        Ok(Step { done: progress.done, progress, next: Next::End })
    }
}

impl EndedRevision {
    /// Returns the next dates of the revision, and the first one after them.
    fn page(&self, first: Day) -> (Vec<Day>, Option<Day>) {
        let (mut dates, mut rest) = (Vec::new(), Some(first));
        while let Some(date) = rest.filter(|date| self.until.is_none_or(|until| *date < until)) {
            if dates.len() == PAYMENTS {
                return (dates, Some(date));
            }
            dates.push(date);
            rest = Some(date.next()).filter(|next| *next > date).and_then(|next| self.recurrence.on_or_after(next));
        }
        (dates, None)
    }
}

impl ChangeSteps<'_> {
    /// Cancels the payments of these dates that are still `SCHEDULED`. Returns their number,
    /// including those that an earlier run has cancelled, and the dates after the change whose
    /// payments can no longer be cancelled.
    async fn cancel(
        &self,
        ended: &EndedRevision,
        dates: &[Day],
        (changed_at, now): (TimestampSeconds, TimestampSeconds),
    ) -> Result<(u64, Vec<Day>), Error> {
        let StandingChange { account, order, .. } = &self.change;
        let id = |date: &Day| PaymentId::standing(ended.recurrence.time_on(*date), account, order, &ended.revision);
        let key = |payment: &PaymentId| Key::new(account, &PaymentSort(*payment));
        let ids: Vec<PaymentId> = dates.iter().map(id).collect();
        if ids.is_empty() {
            return Ok((0, Vec::new()));
        }
        // The keys are sufficient, so that data that cannot be read does not stop the end of an
        // order. The reads are consistent, because no later run looks at these payments again.
        let (bank, attributes) = (self.bank, DueEntry::ATTRIBUTES);
        let keys: Vec<Key> = ids.iter().map(key).collect();
        let mut found = bank.payments.get_all_attributes::<DueEntry>(&keys, true, attributes).await?.items;
        let missing: Vec<PaymentId> = ids.iter().filter(|id| !found.contains_key(&key(id))).copied().collect();
        let moved = bank.moved(account, &missing).await?;
        // A payment of a past day may have been archived. A day after the change is over only if
        // the job runs late.
        let is_archived = |id: &&PaymentId| {
            let day = id.time().day();
            day >= changed_at.day() && day < now.day() && !moved.contains(*id)
        };
        let archived: Vec<Key> = missing.iter().filter(is_archived).map(key).collect();
        if !archived.is_empty() {
            found.extend(bank.transactions.get_all_attributes::<DueEntry>(&archived, true, attributes).await?.items);
        }
        let outcomes = stream::iter(found.into_values()).map(|entry| self.cancel_one(entry.due, now));
        let mut outcomes: Vec<_> = outcomes.buffer_unordered(SIDE_BY_SIDE).try_collect().await?;
        outcomes.extend(moved.into_iter().map(|id| Outcome::Stands(id.time())));
        let cancelled = outcomes.iter().filter(|outcome| **outcome == Outcome::Cancelled).count();
        let paid = outcomes.iter().filter_map(|outcome| match outcome {
            Outcome::Stands(time) if *time >= changed_at => Some(time.day()),
            _ => None,
        });
        Ok((u64::try_from(cancelled).unwrap_or(u64::MAX), paid.collect()))
    }

    /// Cancels a payment. It races with the dispatch, and exactly one succeeds.
    async fn cancel_one(&self, due: DueSort, now: TimestampSeconds) -> Result<Outcome, Error> {
        let payment = due.payment;
        let outcome_of = |status| match status {
            Status::Scheduled | Status::Cancelled => Outcome::CancelledBefore,
            Status::Pending | Status::Processed | Status::Failed => Outcome::Stands(payment.time()),
        };
        // An earlier run may have cancelled it, so a cancelled payment is written to as well. The
        // write is refused, and returns who has cancelled it.
        if !matches!(due.status, Status::Scheduled | Status::Cancelled) {
            return Ok(outcome_of(due.status));
        }
        let sort = |status| DueSort { status, payment };
        let key = Key::new(&self.change.account, &PaymentSort(payment));
        let update = Payment::update(&self.bank.payments, key).set(Payment::DUE, &sort(Status::Cancelled));
        let update = update.set(Payment::MOVED_BY, &self.change.id).set(Payment::SETTLED_AT, &now);
        match self.bank.dynamo.write(update.only_if(Condition::is(Payment::DUE, &sort(Status::Scheduled)))).await {
            Ok(()) => Ok(Outcome::Cancelled),
            Err(Store::Refused(refused)) => match refused.found::<Payment>(0) {
                Ok(Some(found)) if found.moved_by == Some(self.change.id) => Ok(Outcome::Cancelled),
                Ok(Some(found)) => Ok(outcome_of(found.due.status)),
                Ok(None) if !self.bank.moved(&self.change.account, &[payment]).await?.is_empty() => {
                    Ok(Outcome::Stands(payment.time()))
                }
                // Archived meanwhile, or unreadable. The status before it was read is not final.
                Ok(None) | Err(_) => Ok(outcome_of(due.status)),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// What became of a payment of the replaced revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// This job has cancelled it.
    Cancelled,
    /// It was cancelled before.
    CancelledBefore,
    /// The payment of this time was dispatched, or its owner has moved it to another time.
    Stands(TimestampSeconds),
}

/// Progress of the daily job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct DailyProgress {
    /// Number of shards that are complete.
    shards: usize,
    /// Last index sort key of the present shard that was read.
    after: Option<String>,
    /// Number of scheduled payments.
    done: u64,
    /// Number of orders whose payments cannot be scheduled. The log contains their keys.
    skipped: u64,
}

/// Executes the daily job. Each step works through one page of one shard.
pub(crate) struct DailySteps<'a> {
    pub(crate) bank: &'a Bank,
    pub(crate) random: Random,
    pub(crate) clock: Clock,
}

impl JobRunner for DailySteps<'_> {
    type Progress = DailyProgress;

    async fn step(&mut self, _: &Job, mut progress: DailyProgress, _: Deadline) -> Result<Step<DailyProgress>, Error> {
        let now = self.clock.now()?.second();
        let Some(shard) = self.bank.due.shards.read().nth(progress.shards) else {
            return Ok(Step { done: progress.done, progress, next: Next::End });
        };
        let whole = StandingDueSort::until(horizon(now));
        let range = progress.after.as_ref().map_or_else(|| whole.clone(), |after| whole.after(after));
        let query = Query::new(&shard, &range).on(&self.bank.due.index);
        let page = self.bank.payments.page::<StandingEntry>(&query, ORDERS).await?;
        progress.skipped += u64::try_from(page.skipped).unwrap_or(u64::MAX);
        let outcomes = stream::iter(page.items).map(|entry| self.schedule(entry, now)).buffer_unordered(SIDE_BY_SIDE);
        for outcome in outcomes.try_collect::<Vec<_>>().await? {
            match outcome {
                Some(scheduled) => progress.done += scheduled,
                None => progress.skipped += 1,
            }
        }
        progress.shards += usize::from(page.next.is_none());
        progress.after = page.next;
        Ok(Step { done: progress.done, progress, next: Next::Continue })
    }

    fn skipped(progress: &DailyProgress) -> u64 {
        progress.skipped
    }
}

impl DailySteps<'_> {
    /// Schedules the payments of one order. Returns `None` if that fails because of the order
    /// itself: it must not stop the others. Its entry stays, so the next day tries again.
    ///
    /// # Errors
    /// DynamoDB was unreachable or throttled the call. Another run repeats the page.
    async fn schedule(&self, entry: StandingEntry, now: TimestampSeconds) -> Result<Option<u64>, Error> {
        let key = Key::new(&entry.account, &entry.sort);
        let scheduled = match self.bank.payments.get::<StandingOrder>(&key).await {
            Ok(Some(order)) => self.bank.schedule_payments(order, now, &self.random).await,
            Ok(None) => Ok(0),
            Err(error) => Err(error.into()),
        };
        match scheduled {
            Ok(scheduled) => Ok(Some(scheduled)),
            Err(error) if error.is_outage() => Err(error),
            Err(error) => {
                let (partition, sort) = (key.partition(), key.sort());
                tracing::error!(partition, sort, %error, "cannot schedule the payments of a standing order");
                if !matches!(error, Error::Table(Store::Unreadable(..))) {
                    function::count("Defects", 1);
                }
                Ok(None)
            }
        }
    }
}

impl Bank {
    /// Schedules the first payments of a new or changed order. If the order replaces a revision,
    /// all payments of that revision are cancelled or dispatched by now.
    async fn start_order(
        &self,
        order: StandingOrder,
        paid: &[Day],
        now: TimestampSeconds,
        random: &Random,
    ) -> Result<u64, Error> {
        if order.replaces.is_none() {
            return self.schedule_payments(order, now, random).await;
        }
        let first = order.recurrence.since(order.changed_at);
        self.advance_order(order, (first, paid), now, random).await
    }

    /// Schedules the payments of an order that have come into reach. Returns their number.
    async fn schedule_payments(
        &self,
        order: StandingOrder,
        now: TimestampSeconds,
        random: &Random,
    ) -> Result<u64, Error> {
        match order.due.as_ref().map(|due| due.day) {
            Some(day) if day <= horizon(now) => self.advance_order(order, (Some(day), &[]), now, random).await,
            _ => Ok(0),
        }
    }

    /// Schedules the payments from a date to the last date in reach, except on the dates that are
    /// paid. Returns their number.
    ///
    /// One transaction puts the payments and advances the order to the next date. Therefore each
    /// payment is put once, and none is put after a change or the end of the order. An order has at
    /// most 14 payments in this time.
    async fn advance_order(
        &self,
        order: StandingOrder,
        (first, paid): (Option<Day>, &[Day]),
        now: TimestampSeconds,
        random: &Random,
    ) -> Result<u64, Error> {
        // As for a request, no payment is on a past day. The job may run late.
        let dates = |first: Day| order.recurrence.dates(first.max(now.day()), horizon(now));
        let (mut dates, next) = first.map(dates).unwrap_or_default();
        dates.retain(|date| !paid.contains(date));
        let advance = self.payments.update(order.key()).only_if_all(order.is_unchanged()?);
        let advance = if order.replaces.is_some() { advance.remove(StandingOrder::REPLACES) } else { advance };
        let shard = order.shard.unwrap_or_else(|| self.due.shards.pick(random));
        let advance = match next {
            Some(next) => advance.set(StandingOrder::DUE, &order.entry(next)).set(StandingOrder::SHARD, &shard),
            None => advance.remove(StandingOrder::DUE).remove(StandingOrder::SHARD),
        };
        let mut changes = vec![advance];
        for date in &dates {
            changes.push(self.payments.put_new(&order.payment(*date, self.due.shards.pick(random), now))?);
        }
        match self.dynamo.apply(changes).await {
            Ok(()) => Ok(u64::try_from(dates.len()).unwrap_or(u64::MAX)),
            // Another run has scheduled the payments, or the order has changed.
            Err(Store::Refused(refused)) if refused.at(0) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
