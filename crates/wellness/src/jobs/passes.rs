//! Passes over the items that a job must change (docs/decisions/wellness-jobs.md).
//!
//! A job repeats its pass until two passes in a row find nothing to change. A single pass can miss
//! an item whose sort key changes during the pass, or whose index entry is outdated. A request can
//! also read the state before the job, and write an item after the pass. The last pass therefore
//! waits `IndexLagSeconds`: by then, indexes show all items, and all such requests have ended.

use crate::Wellness;
use function::{Clock, Deadline, Error, is_zero};
use jobs::{Job, JobRunner, Next, PagedItems, Step};
use keys::{KeyRange, TimestampMillis};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use table::Page;

/// The items that a job finds and changes in passes.
pub(crate) trait PassItems: PagedItems + Send {
    /// Reads values that may have changed since the previous step.
    fn refresh(&mut self) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// The key ranges of a pass, in order.
    fn ranges(&self) -> Vec<KeyRange>;

    /// Looks at the first [`PAGE`](jobs::PAGE) items of the range, and returns those that must
    /// change. The returned items are read with strong consistency. Unreadable items are counted.
    fn look(&self, range: &KeyRange) -> impl Future<Output = Result<Page<Self::Thing>, Error>> + Send;
}

/// Runs a job in passes.
pub(crate) struct Passes<'a, P: PassItems> {
    wellness: &'a Wellness,
    items: P,
    clock: Clock,
    /// The items of the current page, if this run has already read them.
    known: Option<Vec<Option<P::Thing>>>,
}

/// The progress of a job: the position in the pass, and the current page.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct PassProgress {
    /// Index of the current range of the pass.
    range: usize,
    /// The sort key after which the next page of the range starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
    /// Ids of the items that the next step changes.
    page: Vec<String>,
    /// Whether the current pass has found an item to change.
    found: bool,
    /// Number of consecutive passes that found nothing.
    quiet: u8,
    /// The time of the last pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_at: Option<TimestampMillis>,
    /// Number of unreadable items in the current pass.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
    /// Number of unreadable items in the previous pass.
    #[serde(skip_serializing_if = "is_zero")]
    skipped_before: usize,
}

impl<'a, P: PassItems> Passes<'a, P> {
    pub(crate) fn new(wellness: &'a Wellness, items: P, clock: Clock) -> Self {
        Self { wellness, items, clock, known: None }
    }

    /// Reads pages until a page has items to change, the pass ends, or the deadline is reached.
    async fn look(&self, at: &mut PassProgress, stop: Deadline) -> Result<Vec<Option<P::Thing>>, Error> {
        at.page.clear();
        while let Some(range) = self.items.ranges().get(at.range) {
            let rest = at.after.as_ref().map_or_else(|| range.clone(), |position| range.after(position));
            let Page { items, next, skipped } = self.items.look(&rest).await?;
            at.skipped += skipped;
            at.range += usize::from(next.is_none());
            at.after = next;
            at.page = items.iter().map(P::id).collect();
            at.found |= !at.page.is_empty();
            if !at.page.is_empty() || stop.has_passed() {
                return Ok(items.into_iter().map(Some).collect());
            }
        }
        Ok(Vec::new())
    }
}

impl<P: PassItems> JobRunner for Passes<'_, P> {
    type Progress = PassProgress;

    async fn step(&mut self, job: &Job, at: PassProgress, stop: Deadline) -> Result<Step<PassProgress>, Error> {
        let Wellness { dynamo, table, index_lag_seconds, .. } = self.wellness;
        if let Some(time) = at.next_at
            && !self.clock.wait_until(time, stop).await?
        {
            return Ok(Step { progress: at, done: job.done, next: Next::Wait });
        }
        self.items.refresh().await?;
        let page = match self.known.take() {
            Some(page) => page,
            None => self.items.read(table, &at.page).await?,
        };
        let done = job.done + self.items.apply(dynamo, page).await?;
        let mut progress = PassProgress { next_at: None, ..at };
        self.known = Some(self.look(&mut progress, stop).await?);
        let next = progress.end_pass(self.items.ranges().len());
        if matches!(next, Next::Wait) {
            let lag = Duration::from_secs(index_lag_seconds.unwrap_or_default().into());
            progress.next_at = Some(self.clock.after(lag)?);
        }
        Ok(Step { progress, done, next })
    }

    /// Every pass skips the same items. The counts of two passes are therefore not added.
    fn skipped(progress: &PassProgress) -> u64 {
        u64::try_from(progress.skipped.max(progress.skipped_before)).unwrap_or(u64::MAX)
    }
}

impl PassProgress {
    /// Returns the next action. After the last range of a pass, either another pass starts or the
    /// job ends.
    fn end_pass(&mut self, ranges: usize) -> Next {
        if self.range < ranges || !self.page.is_empty() {
            return Next::Continue;
        }
        let quiet = if self.found { 0 } else { self.quiet.saturating_add(1) };
        *self = Self { quiet, skipped_before: self.skipped, ..Self::default() };
        match quiet {
            0 => Next::Continue,
            1 => Next::Wait,
            _ => Next::End,
        }
    }
}
