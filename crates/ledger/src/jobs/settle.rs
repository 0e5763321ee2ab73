//! The job that settles an account with grouped posting
//! ([decision](../../../../docs/decisions/ledger-throughput.md)).

use crate::{Account, InboxItem, Ledger, Leg, post::is_stale};
use function::{Clock, Deadline, Error};
use futures::future::try_join_all;
use jobs::{Job, JobRunner, JobService, Jobs, Next, Run, Step};
use keys::{
    AccountId, KeyRange, TimestampMillis, TimestampSeconds,
    ledger::{InboxPartition, InboxSort, Metadata, SettlementPartition},
};
use serde::{Deserialize, Serialize};
use std::{fmt::Display, time::Duration};
use table::{Change, Error as Store, Key, MAX_CHANGES, Query, Refused, optimistically};
use tokio::time::sleep;

/// Maximum number of credits that one transaction settles. Each credit needs an action for its
/// inbox item and one for its posting. The account needs one action.
pub(crate) const MAX_SETTLED: usize = (MAX_CHANGES - 1) / 2;

/// The task of a settlement job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Settlement {
    #[serde(rename = "AccountID")]
    account: AccountId,
}

impl jobs::Task for Settlement {
    fn kind(&self) -> &'static str {
        "settlement"
    }
}

/// The progress of a settlement job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Progress {
    /// Number of posted credits.
    posted: u64,
    /// Number of inbox items that the last step could not settle.
    skipped: u64,
}

/// The settlement jobs of one invocation.
pub(crate) struct Settlements {
    pub(crate) ledger: Ledger,
    pub(crate) clock: Clock,
}

impl JobService for Settlements {
    const SIDE_BY_SIDE: usize = 8;

    fn jobs(&self) -> &Jobs {
        &self.ledger.jobs
    }

    async fn run(&self, run: &mut Run<'_>) -> Result<(), Error> {
        run.steps(Settler { ledger: &self.ledger, clock: self.clock }).await
    }
}

struct Settler<'a> {
    ledger: &'a Ledger,
    clock: Clock,
}

impl JobRunner for Settler<'_> {
    type Progress = Progress;

    /// Settles every credit that is in the inbox when its shard is read. A later credit starts or
    /// wakes the job, so an empty inbox ends the job.
    async fn step(&mut self, job: &Job, progress: Progress, stop: Deadline) -> Result<Step<Progress>, Error> {
        let account = job.task::<Settlement>()?.account;
        let pass = Box::pin(self.ledger.settle(&account, self.clock, stop)).await?;
        let posted = progress.posted + pass.posted;
        let next = if pass.left { Next::Continue } else { Next::End };
        Ok(Step { progress: Progress { posted, skipped: pass.skipped }, done: posted, next })
    }

    fn skipped(progress: &Progress) -> u64 {
        progress.skipped
    }
}

/// The result of a pass through an inbox.
#[derive(Debug, Default)]
struct Pass {
    posted: u64,
    /// Number of items that cannot be settled: unreadable items, and items that no transaction has
    /// put. The reconciliation reports them.
    skipped: u64,
    /// Whether the time was up before the end of the inbox.
    left: bool,
}

impl Ledger {
    /// Starts the settlement of the account, or wakes the running one. Call this function after the
    /// inbox item is visible. `by` must be different in each call.
    ///
    /// A running job that is woken does not end before another step. No credit is therefore left in
    /// the inbox.
    pub(crate) async fn start_settlement(
        &self,
        account: &AccountId,
        by: &impl Display,
        now: TimestampSeconds,
    ) -> Result<(), Error> {
        let key = Key::new(&SettlementPartition(account.clone()), &Metadata);
        let job = Job::new(&key, account, by, &Settlement { account: account.clone() }, now)?;
        optimistically(|| Box::pin(self.start_or_wake(&job, by)), is_stale).await
    }

    async fn start_or_wake(&self, job: &Job, by: &impl Display) -> Result<(), Error> {
        let refused = match self.books.dynamo.write(self.jobs.table().put(job)?.only_if(Job::is_not_running())).await {
            Err(Store::Refused(refused)) => refused,
            started => return Ok(started?),
        };
        match refused.found::<Job>(0) {
            Ok(Some(running)) => match self.jobs.nudging(&running, by) {
                Some(nudge) => Ok(self.books.dynamo.write(nudge).await?),
                None => Err(Error::stale()),
            },
            Ok(None) => Err(Error::stale()),
            // The stream has also passed this job to the settlement, which marks it as failed. The
            // next call then replaces it.
            Err(Store::Unreadable(..)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Settles the inbox of the account, one page of each shard after the other.
    async fn settle(&self, account: &AccountId, clock: Clock, stop: Deadline) -> Result<Pass, Error> {
        let mut shards: Vec<_> = InboxPartition::all(account).map(|shard| (shard, Some(InboxSort::all()))).collect();
        let mut pass = Pass::default();
        while shards.iter().any(|(_, rest)| rest.is_some()) {
            let pages = try_join_all(shards.iter().map(|(shard, rest)| self.inbox_page(shard, rest.as_ref()))).await?;
            let mut items = Vec::new();
            for ((_, rest), page) in shards.iter_mut().zip(pages) {
                *rest = page.rest;
                pass.skipped += page.unreadable;
                items.extend(page.items);
            }
            for some in items.chunks(MAX_SETTLED) {
                let posted = self.settle_some(account, some, clock).await?;
                pass.posted += count(posted);
                pass.skipped += count(some.len().saturating_sub(posted));
                if stop.has_passed() {
                    pass.left = true;
                    return Ok(pass);
                }
            }
        }
        Ok(pass)
    }

    async fn inbox_page(&self, shard: &InboxPartition, rest: Option<&KeyRange>) -> Result<InboxPage, Error> {
        let Some(range) = rest else { return Ok(InboxPage::default()) };
        let query = Query::new(shard, range).consistent();
        let (page, unreadable) = self.books.table.page_with_unreadable::<InboxItem>(&query, MAX_SETTLED).await?;
        let rest = page.next.map(|position| range.after(&position));
        Ok(InboxPage { items: page.items, unreadable: count(unreadable.len()), rest })
    }

    /// Settles the items in one transaction. Returns the number of settled items. Another attempt
    /// after a conflict leaves out the items that another run has settled, and those that already
    /// have a posting.
    async fn settle_some(&self, account: &AccountId, items: &[InboxItem], clock: Clock) -> Result<usize, Error> {
        let mut open = items.to_vec();
        for _ in 0..MAX_ATTEMPTS {
            let now = clock.now()?;
            let Some(account) = self.books.table.get::<Account>(&Account::key_of(account)).await? else { return Ok(0) };
            let plan = SettlementPlan::new(account, &open, now)?;
            if plan.postings.is_empty() {
                return Ok(0);
            }
            match self.books.dynamo.transact_once(plan.changes(self)?).await {
                Ok(()) => return Ok(plan.postings.len()),
                Err(Store::Refused(refused)) => open = plan.without(&refused),
                Err(Store::Contended { throttled: false }) => {}
                Err(error) => return Err(error.into()),
            }
            sleep(PAUSE).await;
        }
        Err(Store::Contended { throttled: false }.into())
    }
}

/// Pause after a conflict with a debit of the account.
const PAUSE: Duration = Duration::from_millis(20);
/// Maximum number of attempts to settle a chunk. Then the run ends, and another run repeats the
/// step.
const MAX_ATTEMPTS: usize = 20;

fn count(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// A page of one shard.
#[derive(Debug, Default)]
struct InboxPage {
    items: Vec<InboxItem>,
    unreadable: u64,
    /// The rest of the shard, if any.
    rest: Option<KeyRange>,
}

/// The postings of one transaction, and the account after them.
struct SettlementPlan {
    account: Account,
    postings: Vec<(InboxItem, crate::SettledLeg)>,
}

impl SettlementPlan {
    /// Posts the items to the account, all with the same time. Leaves out an item that no
    /// transaction has put, and an item that makes the balance too large.
    fn new(mut account: Account, items: &[InboxItem], now: TimestampMillis) -> Result<Self, Error> {
        let at = account.last_at().map_or(now, |last| now.max(last.next()));
        let mut legs: Vec<(&InboxItem, Leg)> =
            items.iter().filter_map(|item| Some((item, item.leg(&account)?))).collect();
        // Postings with the same time sort by the leg.
        legs.sort_by(|(_, one), (_, other)| one.id.cmp(&other.id));
        let mut postings = Vec::with_capacity(legs.len());
        for (item, leg) in legs {
            let amount = leg.posting().map(|posting| posting.change());
            let balance = account.readable_balance()?;
            let Some(after) = amount.and_then(|amount| balance.checked_add(amount)) else { continue };
            let posting = leg.settled(&account, after, at);
            account.take(&posting.0);
            postings.push((item.clone(), posting));
        }
        Ok(Self { account, postings })
    }

    /// Returns the writes: the account, then the posting and the inbox item of each credit.
    fn changes(&self, ledger: &Ledger) -> Result<Vec<Change>, Error> {
        let table = &ledger.books.table;
        let mut changes = vec![self.account.posted(table)?];
        for (item, posting) in &self.postings {
            changes.push(table.put_new(posting)?);
            changes.push(item.taken(table));
        }
        Ok(changes)
    }

    /// Returns the items whose writes were not refused.
    fn without(self, refused: &Refused) -> Vec<InboxItem> {
        let is_refused = |number: usize| refused.at(2 * number + 1) || refused.at(2 * number + 2);
        let kept = self.postings.into_iter().enumerate().filter(|(number, _)| !is_refused(*number));
        kept.map(|(_, (item, _))| item).collect()
    }
}
