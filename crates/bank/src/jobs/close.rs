//! The steps of the close of a day (docs/decisions/close.md).
//!
//! 1. Move the settled payments of the day to the history.
//! 2. List every payment of the day that is still in `PaymentScheduler` as open.
//! 3. Wait until the index of the history shows the payments that have just been moved.
//! 4. Count and sum the payments of the day in the history that are not listed as open.
//! 5. Put the certificate.
//!
//! If the ledger executes the payments, steps 2 and 4 compare each payment with its transaction in
//! the ledger.

use crate::{
    Bank, Transaction,
    archive::Moves,
    dispatch::DueEntry,
    jobs::{Task, postings::Postings},
    model::day::{Certificate, Counts, Discrepancy, Finding, Kind, MAX_KEPT, OpenPayment, Tally, money_of},
    service::LedgerService,
};
use function::{Clock, Deadline, Error};
use futures::{StreamExt, TryStreamExt, future::try_join_all, stream};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    AccountId, Day, KeyRange, Shard, TimestampMillis, TimestampSeconds,
    bank::{CertificateSort, CloseNumber, DayPartition, DueSort, OpenSort, PaymentId, PaymentSort, Status},
};
use serde::{Deserialize, Serialize};
use std::{collections::HashSet, time::Duration};
use table::{Item, Key, MergedPage, MergedQuery, Projection, Query};

/// Maximum number of payments on a page.
pub(crate) const PAGE: usize = 100;
/// Maximum number of pages of a shard that a step counts.
const PAGES: usize = 50;
/// Maximum number of items that are written concurrently.
const WRITES: usize = 16;
/// Order in which the open payments are listed. A payment moves to a later status only. A payment
/// that moves while the list is made is therefore found under one of the statuses.
const LIFE: [Status; 5] = [Status::Scheduled, Status::Pending, Status::Cancelled, Status::Failed, Status::Processed];

/// The close of a day that a step belongs to.
#[derive(Debug, Clone, Copy)]
struct Close<'a> {
    day: Day,
    number: CloseNumber,
    step: i64,
    started_at: TimestampSeconds,
    ledger: Option<&'a LedgerService>,
}

impl<'a> Close<'a> {
    fn of(job: &Job, ledger: Option<&'a LedgerService>) -> Result<Self, Error> {
        let Task::Close { day, number, .. } = job.task()? else {
            return Err(Error::Internal("the job is not a close".to_owned()));
        };
        Ok(Self { day, number, step: job.step, started_at: job.started_at, ledger })
    }

    fn partition(&self) -> DayPartition {
        DayPartition(self.day)
    }
}

/// Progress of a close.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Progress {
    /// Number of open payments by status.
    pub(crate) open: Counts,
    /// The payments that were counted so far.
    settled: Tally,
    /// Transactions of the counted payments in the ledger, by the status of their payment.
    #[serde(skip_serializing_if = "Option::is_none")]
    ledger: Option<Tally>,
    /// Number of discrepancies. At most [`MAX_KEPT`] are stored.
    pub(crate) discrepancies: u64,
    phase: Phase,
}

/// Phase of a close.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
enum Phase {
    #[default]
    Move,
    /// Reading the next page of open payments.
    List(Place),
    /// Storing a page of open payments. The page was written to the job before. A delayed run of
    /// the job can therefore only store the same open payments again.
    Keep(Vec<Entry>, Place),
    /// Waiting until this time for the index.
    Wait(TimestampMillis),
    Count(Vec<Walk>),
    Certify,
}

/// Position in the list of open payments.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Place {
    /// Index of the status in [`LIFE`].
    life: usize,
    /// Last index sort key that was read.
    after: Option<String>,
}

/// Payment on a page of open payments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    account: AccountId,
    payment: PaymentId,
    status: Status,
}

impl Entry {
    /// Converts an index entry. A payment that is settled by now was still open when the settled
    /// payments were moved. It is listed with the status that it had before.
    fn of(entry: &DueEntry) -> Self {
        let status = match entry.due.status {
            settled if Status::SETTLED.contains(&settled) => settled.predecessor().unwrap_or(settled),
            open => open,
        };
        Self { account: entry.account.clone(), payment: entry.due.payment, status }
    }

    fn key(&self) -> Key {
        Key::new(&self.account, &PaymentSort(self.payment))
    }
}

/// Progress of counting one shard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Walk {
    shard: Shard,
    /// Index of the status in [`Status::SETTLED`].
    status: usize,
    /// Last index sort key that was counted.
    after: Option<String>,
}

/// Payments that a step counted.
#[derive(Debug, Default)]
struct Counted {
    settled: Tally,
    ledger: Tally,
    findings: Vec<Finding>,
}

/// Executes the steps of a close.
pub(crate) struct Steps<'a> {
    pub(crate) bank: &'a Bank,
    /// The ledger, if it executes the payments.
    pub(crate) ledger: Option<&'a LedgerService>,
    pub(crate) clock: Clock,
    /// Time after which the index of the history shows every payment.
    pub(crate) index_lag: Duration,
}

impl JobRunner for Steps<'_> {
    type Progress = Progress;

    async fn step(&mut self, job: &Job, mut progress: Progress, stop: Deadline) -> Result<Step<Progress>, Error> {
        let (bank, close) = (self.bank, Close::of(job, self.ledger)?);
        let mut next = Next::Continue;
        progress.phase = match std::mem::take(&mut progress.phase) {
            Phase::Move => bank.move_settled(&close, &mut progress, stop).await?,
            Phase::List(place) => self.list_open(&close, &mut progress, place).await?,
            Phase::Keep(page, place) => {
                bank.keep_open(&close, &mut progress, page).await?;
                self.list_open(&close, &mut progress, place).await?
            }
            Phase::Wait(until) if self.clock.wait_until(until, stop).await? => {
                let walk = |shard| Walk { shard, status: 0, after: None };
                let walks = bank.due.shards.read().map(walk).collect();
                bank.count_settled(&close, &mut progress, walks, stop).await?
            }
            Phase::Wait(until) => Phase::Wait(until),
            Phase::Count(walks) => bank.count_settled(&close, &mut progress, walks, stop).await?,
            Phase::Certify => {
                bank.certify(&close, &mut progress).await?;
                // Before the job ends: a killed run repeats this step, and reports again.
                report(job, &progress);
                next = Next::End;
                Phase::Certify
            }
        };
        let done = progress.settled.count() + progress.open.values().sum::<u64>();
        Ok(Step { progress, done, next })
    }
}

impl Steps<'_> {
    /// Reads the next page of open payments. After the last page, the close waits for the index.
    async fn list_open(&self, close: &Close<'_>, progress: &mut Progress, place: Place) -> Result<Phase, Error> {
        if let Some(page) = self.bank.list_open(close, progress, place).await? {
            return Ok(page);
        }
        Ok(Phase::Wait(self.clock.after(self.index_lag)?))
    }
}

impl Bank {
    /// Moves the settled payments of the day to the history.
    async fn move_settled(&self, close: &Close<'_>, progress: &mut Progress, stop: Deadline) -> Result<Phase, Error> {
        let mut moves = Moves::default();
        for status in Status::SETTLED {
            let whole = DueSort::due_on(close.day, status);
            let mut rest = Some(whole.clone());
            while let Some(range) = rest {
                if stop.has_passed() {
                    return Ok(Phase::Move);
                }
                let next = self.archive_page(&range, close.started_at, &mut moves).await?;
                rest = next.map(|position| whole.after(&position));
            }
        }
        let stuck = moves.stuck.iter().map(|key| Finding::new(Kind::NotArchived, key)).collect();
        self.keep_findings(close, progress, stuck).await?;
        Ok(Phase::List(Place::default()))
    }

    /// Reads the next page of payments of the day that are still in `PaymentScheduler`. `None`
    /// after the last page.
    async fn list_open(
        &self,
        close: &Close<'_>,
        progress: &mut Progress,
        mut place: Place,
    ) -> Result<Option<Phase>, Error> {
        let partitions: Vec<String> = self.due.shards.read().map(|shard| shard.to_string()).collect();
        while let Some(status) = LIFE.get(place.life) {
            let whole = DueSort::due_on(close.day, *status);
            let range = place.after.as_ref().map_or_else(|| whole.clone(), |after| whole.after(after));
            let list = MergedQuery {
                index: &self.due.index,
                // The entries are sufficient.
                projection: Projection::All,
                partitions: partitions.clone(),
                range: &range,
                behind: None,
            };
            let (page, unreadable) = self.payments.merged_page::<DueEntry>(list, PAGE, |_| true).await?;
            let MergedPage { items, next, .. } = page;
            let findings = unreadable.iter().map(|key| Finding::new(Kind::UnreadableItem, key)).collect();
            self.keep_findings(close, progress, findings).await?;
            place = match next {
                Some(position) => Place { life: place.life, after: Some(position.sort) },
                None => Place { life: place.life + 1, after: None },
            };
            let there = self.still_there(items).await?;
            if !there.is_empty() {
                return Ok(Some(Phase::Keep(there.iter().map(Entry::of).collect(), place)));
            }
        }
        Ok(None)
    }

    /// Leaves out settled payments that were moved to the history. The index may still show a
    /// payment that this job has just moved. The count includes it. The choice is made before the
    /// page becomes part of the job's progress, so every run of the step puts the same items.
    async fn still_there(&self, mut entries: Vec<DueEntry>) -> Result<Vec<DueEntry>, Error> {
        let is_settled = |entry: &DueEntry| Status::SETTLED.contains(&entry.due.status);
        let settled: Vec<Key> =
            entries.iter().filter(|entry| is_settled(entry)).map(|entry| Entry::of(entry).key()).collect();
        if !settled.is_empty() {
            let found = self.payments.get_all::<crate::Payment>(&settled, true).await?;
            let is_there = |key: &Key| found.items.contains_key(key) || found.unreadable.contains(key);
            entries.retain(|entry| !is_settled(entry) || is_there(&Entry::of(entry).key()));
        }
        Ok(entries)
    }

    /// Stores a page of open payments. Reports those that cannot be read.
    async fn keep_open(&self, close: &Close<'_>, progress: &mut Progress, page: Vec<Entry>) -> Result<(), Error> {
        let postings = Postings::read(close.ledger, page.iter().map(|entry| entry.payment)).await?;
        let keys: Vec<Key> = page.iter().map(Entry::key).collect();
        // The payments are read after the ledger: a payment that is still open was not processed
        // when the ledger was read.
        let found = self.payments.get_all::<crate::Payment>(&keys, close.ledger.is_some()).await?;
        let mut findings: Vec<Finding> =
            found.unreadable.iter().map(|key| Finding::new(Kind::UnreadableItem, key)).collect();
        let open = found.items.values().filter(|payment| !Status::SETTLED.contains(&payment.due.status));
        findings.extend(open.filter_map(|payment| postings.of_open(payment, close.started_at)));
        let puts = page.into_iter().map(|Entry { account, payment, status }| async move {
            let sort = OpenSort { number: close.number, payment };
            let open = OpenPayment { partition: close.partition(), sort, account, status, step: close.step };
            let is_new = self.put_once(&open, |stored: &OpenPayment| stored.step == close.step).await?;
            Ok::<_, Error>((status, is_new))
        });
        let kept: Vec<_> = stream::iter(puts).buffer_unordered(WRITES).try_collect().await?;
        for (status, is_new) in kept {
            *progress.open.entry(status).or_default() += u64::from(is_new);
        }
        self.keep_findings(close, progress, findings).await
    }

    /// Puts an item unless it exists. Returns whether this step has put it, now or in an earlier
    /// attempt.
    async fn put_once<T: Item>(&self, item: &T, is_of_step: impl Fn(&T) -> bool) -> Result<bool, Error> {
        match self.dynamo.write(self.jobs.table().put_new(item)?).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(refused)) => {
                Ok(refused.found::<T>(0).ok().flatten().is_some_and(|found| is_of_step(&found)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Stores and counts the findings of a step.
    async fn keep_findings(
        &self,
        close: &Close<'_>,
        progress: &mut Progress,
        findings: Vec<Finding>,
    ) -> Result<(), Error> {
        for finding in findings {
            let discrepancy = Discrepancy::new(close.partition(), close.number, close.step, finding);
            let is_new = progress.discrepancies >= MAX_KEPT
                || self.put_once(&discrepancy, |stored: &Discrepancy| stored.step == close.step).await?;
            progress.discrepancies += u64::from(is_new);
        }
        Ok(())
    }

    /// Counts the next payments in the history, in all shards concurrently.
    async fn count_settled(
        &self,
        close: &Close<'_>,
        progress: &mut Progress,
        walks: Vec<Walk>,
        stop: Deadline,
    ) -> Result<Phase, Error> {
        let has_open = progress.open.values().any(|count| *count > 0);
        let walked = try_join_all(walks.into_iter().map(|walk| self.count_shard(close, walk, has_open, stop))).await?;
        let (mut rest, mut findings) = (Vec::new(), Vec::new());
        for (walk, counted) in walked {
            rest.extend(walk);
            progress.settled.merge(counted.settled);
            if close.ledger.is_some() {
                progress.ledger.get_or_insert_default().merge(counted.ledger);
            }
            findings.extend(counted.findings);
        }
        self.keep_findings(close, progress, findings).await?;
        Ok(if rest.is_empty() { Phase::Certify } else { Phase::Count(rest) })
    }

    /// Counts the next pages of one shard. Returns its new position, unless it is done.
    async fn count_shard(
        &self,
        close: &Close<'_>,
        mut walk: Walk,
        has_open: bool,
        stop: Deadline,
    ) -> Result<(Option<Walk>, Counted), Error> {
        let mut counted = Counted::default();
        let mut pages = 0;
        while let Some(status) = Status::SETTLED.get(walk.status) {
            if pages == PAGES || (pages > 0 && stop.has_passed()) {
                return Ok((Some(walk), counted));
            }
            pages += 1;
            let whole = DueSort::due_on(close.day, *status);
            let range = walk.after.as_ref().map_or_else(|| whole.clone(), |after| whole.after(after));
            let next = self.count_page(close, &walk.shard, *status, &range, has_open, &mut counted).await?;
            (walk.status, walk.after) = match next {
                Some(position) => (walk.status, Some(position)),
                None => (walk.status + 1, None),
            };
        }
        Ok((None, counted))
    }

    /// Counts a page of payments. Payments that are listed as open were archived after the list was
    /// made, and are passed over. Returns the position of the page.
    async fn count_page(
        &self,
        close: &Close<'_>,
        shard: &Shard,
        status: Status,
        range: &KeyRange,
        has_open: bool,
        counted: &mut Counted,
    ) -> Result<Option<String>, Error> {
        let list = MergedQuery {
            index: &self.due.index,
            projection: self.due.projection,
            partitions: vec![shard.to_string()],
            range,
            behind: None,
        };
        let (page, unreadable) = self.transactions.merged_page::<Transaction>(list, PAGE, |_| true).await?;
        let unread: Vec<(Option<PaymentId>, Key)> =
            unreadable.into_iter().map(|key| (key.sort().parse().ok().map(|PaymentSort(id)| id), key)).collect();
        let ids = page.items.iter().map(|item| item.sort.0).chain(unread.iter().filter_map(|(id, _)| *id));
        let open = if has_open { self.open_among(close, ids.collect()).await? } else { HashSet::new() };
        let counts = |payment: PaymentId| !open.contains(&payment);
        let settled: Vec<_> = page.items.into_iter().filter(|item| counts(item.sort.0)).collect();
        let unread: Vec<_> = unread.into_iter().filter(|(id, _)| id.is_none_or(counts)).collect();
        let ids = settled.iter().map(|item| item.sort.0).chain(unread.iter().filter_map(|(id, _)| *id));
        let postings = Postings::read(close.ledger, ids.collect::<Vec<_>>()).await?;
        for transaction in &settled {
            counted.settled.add(status, money_of(&transaction.data));
            postings.count(transaction.sort.0, status, &mut counted.ledger);
            counted.findings.extend(postings.of_settled(transaction, status));
        }
        for (id, key) in unread {
            counted.settled.add(status, None);
            if let Some(id) = id {
                postings.count(id, status, &mut counted.ledger);
            }
            counted.findings.push(Finding::new(Kind::UnreadableItem, &key));
        }
        Ok(page.next.map(|position| position.sort))
    }

    /// Returns the payments in the range of `payments` that are listed as open.
    async fn open_among(&self, close: &Close<'_>, payments: Vec<PaymentId>) -> Result<HashSet<PaymentId>, Error> {
        let (Some(first), Some(last)) = (payments.iter().min(), payments.iter().max()) else {
            return Ok(HashSet::new());
        };
        let whole = OpenSort::between(close.number, *first, *last);
        let (mut open, mut rest) = (HashSet::new(), Some(whole.clone()));
        while let Some(range) = rest {
            let query = Query::new(&close.partition(), &range).consistent();
            let page = self.jobs.table().page::<OpenPayment>(&query, 1_000).await?;
            rest = page.next.clone().map(|position| whole.after(&position));
            open.extend(page.complete()?.into_iter().map(|open| open.sort.payment));
        }
        Ok(open)
    }

    /// Puts the certificate, unless an earlier attempt of this step has put it.
    async fn certify(&self, close: &Close<'_>, progress: &mut Progress) -> Result<(), Error> {
        let (partition, sort) = (close.partition(), CertificateSort(close.number));
        let totals = progress.ledger.as_ref().and_then(|ledger| progress.settled.differs_from(ledger));
        let key = Key::new(&partition, &sort);
        let totals = totals.map(|(expected, actual)| Finding::differing(Kind::LedgerTotals, &key, expected, actual));
        self.keep_findings(close, progress, totals.into_iter().collect()).await?;
        let certificate = Certificate {
            partition,
            sort,
            settled: progress.settled.clone(),
            ledger: progress.ledger.clone(),
            open: progress.open.clone(),
            discrepancies: progress.discrepancies,
            closed_at: close.started_at,
        };
        match self.dynamo.write(self.jobs.table().put_new(&certificate)?).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Logs a closed day, and emits the metrics that alarms use.
fn report(job: &Job, progress: &Progress) {
    let (job, open, discrepancies) = (&job.id, progress.open.values().sum::<u64>(), progress.discrepancies);
    function::count("OpenPayments", open);
    function::count("Discrepancies", discrepancies);
    if open + discrepancies > 0 {
        tracing::error!(job, open, discrepancies, "a day was closed with open payments or discrepancies");
    } else {
        tracing::info!(job, "a day was closed");
    }
}
