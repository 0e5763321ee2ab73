//! The sweep that dispatches due payments (docs/decisions/dispatch.md).

use crate::{Bank, Payment, model::payment::Execution};
use function::{Deadline, Error, is_zero};
use futures::{
    StreamExt, TryStreamExt,
    future::{OptionFuture, join, ready, try_join_all},
    stream,
};
use keys::{
    AccountId, KeyRange, RequestId, Shard, TimestampSeconds,
    bank::{DueSort, PaymentSort, Status},
};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;
use table::{Attributes, Change, Condition, Error as Store, Item, Key, Page, Query, Value};

/// Maximum number of index entries that one query returns.
const PAGE: usize = 100;
/// Number of payments of a shard that are changed concurrently.
const SIDE_BY_SIDE: usize = 16;
/// Time in seconds after which a payment that was handed to the executor is handed over again. It
/// exceeds the delay of the stream under load, so that the executor receives few payments twice.
const LEASE: i64 = 60 * 60;

/// Entry of the due index: the keys of a payment.
#[derive(Debug, Clone, Serialize, Deserialize, Attributes)]
pub(crate) struct DueEntry {
    #[serde(rename = "PK")]
    pub(crate) account: AccountId,
    #[serde(rename = "SK")]
    sort: PaymentSort,
    #[serde(rename = "GSI1SK")]
    pub(crate) due: DueSort,
}

impl Item for DueEntry {
    const TYPE: &'static str = "Payment";
}

impl DueEntry {
    fn key(&self) -> Key {
        Key::new(&self.account, &self.sort)
    }

    fn with(&self, status: Status) -> DueSort {
        DueSort { status, payment: self.sort.0 }
    }
}

/// The attributes of a `PENDING` payment that decide whether its next attempt is due. A sweep reads
/// no others, because it may read a million payments of 8 KB.
#[derive(Debug, Clone, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
struct PendingPayment {
    #[serde(rename = "PK")]
    account: AccountId,
    #[serde(rename = "SK")]
    sort: PaymentSort,
    #[serde(rename = "GSI1SK")]
    due: DueSort,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<Execution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_attempt_at: Option<TimestampSeconds>,
}

impl Item for PendingPayment {
    const TYPE: &'static str = Payment::TYPE;
}

/// Result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispatched {
    /// Number of payments that changed from `SCHEDULED` to `PENDING`.
    pub claimed: u64,
    /// Number of `PENDING` payments that were handed to the executor again.
    pub retried: u64,
    /// Number of index entries and payments that cannot be read. The log contains their keys.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub skipped: usize,
    /// Whether the sweep stopped before its end, because its time was up or DynamoDB throttled it.
    pub left: bool,
    /// Whether the sweep stopped because dispatching is disabled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
}

impl AddAssign for Dispatched {
    fn add_assign(&mut self, other: Self) {
        self.claimed += other.claimed;
        self.retried += other.retried;
        self.skipped += other.skipped;
        self.left |= other.left;
        self.disabled |= other.disabled;
    }
}

/// A sweep over all shards. It stores no progress: a payment that it has claimed no longer has the
/// status `SCHEDULED`, so the next sweep continues where this one stopped.
pub(crate) struct Sweep<'a> {
    bank: &'a Bank,
    now: TimestampSeconds,
    stop: Deadline,
    /// Written to the claimed payments, so that a repeated call recognizes its own claim.
    run: RequestId,
    /// Payments that were handed over until this time are due again.
    handed_until: TimestampSeconds,
}

/// One of the two kinds of work of a sweep.
#[derive(Clone, Copy)]
enum Work {
    Claim,
    Retry,
}

impl Bank {
    /// Claims all `SCHEDULED` payments that are due at `now`, and hands all `PENDING` payments
    /// whose next attempt is due to the executor again.
    pub(crate) async fn sweep(
        &self,
        now: TimestampSeconds,
        stop: Deadline,
        run: RequestId,
    ) -> Result<Dispatched, Error> {
        let switch = self.switch().await?;
        if switch.as_ref().is_some_and(|switch| !switch.enabled) {
            return Ok(Dispatched { disabled: true, ..Dispatched::default() });
        }
        // While dispatching was disabled, the executor passed over the payments that it received.
        let handed_until = switch.map_or(TimestampSeconds::MIN, |switch| switch.changed_at);
        let sweep = Sweep { bank: self, now, stop, run, handed_until };
        let mut works = vec![Work::Claim];
        if self.payer.is_inside() {
            works.push(Work::Retry);
        }
        let shards = works.iter().flat_map(|work| self.due.shards.read().map(|shard| (*work, shard)));
        let numbers = try_join_all(shards.map(|(work, shard)| sweep.shard(work, shard))).await?;
        let mut total = Dispatched::default();
        for part in numbers {
            total += part;
        }
        Ok(total)
    }
}

impl Sweep<'_> {
    /// Works through one shard. If DynamoDB throttles a call, the shard is left to the next sweep.
    async fn shard(&self, work: Work, shard: Shard) -> Result<Dispatched, Error> {
        let mut numbers = Dispatched::default();
        match self.pages(work, shard, &mut numbers).await {
            Err(Error::Table(Store::Throttled | Store::Contended { .. })) => numbers.left = true,
            ended => ended?,
        }
        Ok(numbers)
    }

    /// Works through the pages of one shard. Reads the next page, and whether dispatching is still
    /// enabled, while it changes the payments of the current page.
    async fn pages(&self, work: Work, shard: Shard, numbers: &mut Dispatched) -> Result<(), Error> {
        let status = match work {
            Work::Claim => Status::Scheduled,
            Work::Retry => Status::Pending,
        };
        let whole = DueSort::due_by(self.now, status);
        let mut page = self.page(shard, &whole).await?;
        loop {
            let rest = page.next.take().map(|position| whole.after(&position));
            let next = rest.as_ref().map(|rest| join(self.page(shard, rest), self.bank.is_dispatching()));
            let (done, next) = join(self.work(work, page), OptionFuture::from(next)).await;
            *numbers += done?;
            let Some((following, enabled)) = next else { return Ok(()) };
            numbers.disabled = !enabled?;
            numbers.left = self.stop.has_passed();
            if numbers.disabled || numbers.left {
                return Ok(());
            }
            page = following?;
        }
    }

    async fn page(&self, shard: Shard, range: &KeyRange) -> Result<Page<DueEntry>, Error> {
        let query = Query::new(&shard, range).on(&self.bank.due.index);
        Ok(self.bank.payments.page::<DueEntry>(&query, PAGE).await?)
    }

    async fn work(&self, work: Work, page: Page<DueEntry>) -> Result<Dispatched, Error> {
        let skipped = page.skipped;
        let mut numbers = match work {
            Work::Claim => {
                let changes = page.items.iter().map(|entry| self.claim(entry));
                Dispatched { claimed: self.apply(changes.collect::<Result<_, _>>()?).await?, ..Dispatched::default() }
            }
            Work::Retry => self.retry(&page.items).await?,
        };
        numbers.skipped += skipped;
        Ok(numbers)
    }

    /// The conditional move to `PENDING`. It races with a cancellation, and exactly one succeeds.
    fn claim(&self, entry: &DueEntry) -> Result<Change, Error> {
        let update = Payment::update(&self.bank.payments, entry.key()).set(Payment::DUE, &entry.with(Status::Pending));
        let update = update.set(Payment::DISPATCHED_AT, &self.now).set(Payment::MOVED_BY, &self.run);
        let update = if self.bank.payer.is_inside() { self.hand_over(update)? } else { update };
        Ok(update.only_if(Condition::is(Payment::DUE, &entry.with(Status::Scheduled))))
    }

    /// Hands the `PENDING` payments of the page whose next attempt is due to the executor again.
    async fn retry(&self, entries: &[DueEntry]) -> Result<Dispatched, Error> {
        let keys: Vec<Key> = entries.iter().map(DueEntry::key).collect();
        let attributes = PendingPayment::ATTRIBUTES;
        let found = self.bank.payments.get_all_attributes::<PendingPayment>(&keys, false, attributes).await?;
        let due = found.items.values().filter(|payment| self.is_due(payment));
        let changes = due.map(|payment| {
            let key = Key::new(&payment.account, &payment.sort);
            let update = Payment::update(&self.bank.payments, key).set(Payment::MOVED_BY, &self.run);
            let unchanged = payment.next_attempt_at.map(|at| Condition::is(Payment::NEXT_ATTEMPT_AT, &at));
            let pending = Condition::is(Payment::DUE, &payment.due);
            Ok::<_, Error>(self.hand_over(update)?.only_if(pending).only_if_all(unchanged))
        });
        let retried = self.apply(changes.collect::<Result<_, _>>()?).await?;
        Ok(Dispatched { retried, skipped: found.unreadable.len(), ..Dispatched::default() })
    }

    /// Whether the next attempt is due. An exhausted payment has no next attempt.
    fn is_due(&self, payment: &PendingPayment) -> bool {
        let was_handed_over = |at: TimestampSeconds| {
            payment.execution == Some(Execution::Due) && at.plus_seconds(-LEASE) <= self.handed_until
        };
        payment.due.status == Status::Pending
            && payment.next_attempt_at.is_some_and(|at| at <= self.now || was_handed_over(at))
    }

    /// Adds the attributes that make the event source mapping pass the change to the executor.
    fn hand_over(&self, update: Change) -> Result<Change, Error> {
        let update = update.set(Payment::EXECUTION, Value::of(&Execution::Due)?);
        Ok(update.set(Payment::NEXT_ATTEMPT_AT, &self.now.plus_seconds(LEASE)))
    }

    /// Executes the changes concurrently. Returns the number of changed payments. A payment that
    /// another writer has changed is not counted.
    async fn apply(&self, changes: Vec<Change>) -> Result<u64, Error> {
        let applied = stream::iter(changes).map(|change| self.apply_one(change)).buffer_unordered(SIDE_BY_SIDE);
        applied.try_fold(0, |sum, is_changed| ready(Ok(sum + u64::from(is_changed)))).await
    }

    async fn apply_one(&self, change: Change) -> Result<bool, Error> {
        match self.bank.dynamo.write(change).await {
            Ok(()) => Ok(true),
            // This run has already changed the payment: the response to the SDK's first attempt was
            // lost.
            Err(Store::Refused(refused)) => {
                let found = refused.found::<Payment>(0).ok().flatten();
                Ok(found.is_some_and(|found| found.moved_by == Some(self.run)))
            }
            Err(error) => Err(error.into()),
        }
    }
}
