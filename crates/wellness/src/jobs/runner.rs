//! How a job goes through what it changes: page by page, in passes, and every step written down before the next.
//!
//! A page is first written into the job and then changed. A run that died in it finds it there, does what is left of it, and
//! counts all of it: nothing is counted twice and nothing is left out. Whoever writes a step must have seen the last, so that
//! two runs at once do no harm either. What was written calls the function again, so that a run may stop behind every step.

use crate::{Job, JobProgress, State, Wellness, model::job::Hold};
use function::{Deadline, Error};
use futures::{StreamExt, stream::FuturesUnordered};
use keys::KeyRange;
use table::{Change, Condition, Item, Key, Page, Value};

/// Things that a page has at most, and entries that are looked at in one call.
pub(crate) const PAGE: usize = 50;
/// Changes that are under way at once.
const SIDE_BY_SIDE: usize = 16;

/// A kind of job: what it goes through, and what it does with each thing there.
pub(crate) trait JobRunner: Sync {
    /// What it changes.
    type Thing: Item + Send + Sync;

    /// Passes, one after the other, that must find nothing before the job has ended.
    const QUIET: u8;

    /// Reads what may have changed since the last page.
    fn refresh(&mut self) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Whether a thing that another changed meanwhile may be changed by what was read before.
    ///
    /// # Errors
    /// It may not: the page is gone through again, from what is read then.
    fn may_repeat(&self) -> Result<(), Error> {
        Ok(())
    }

    /// What a pass goes through, one after the other.
    fn ranges(&self) -> Vec<KeyRange>;

    /// What is to be changed among the first [`PAGE`] things of the range, strongly consistent.
    fn look(&self, range: &KeyRange) -> impl Future<Output = Result<Page<Self::Thing>, Error>> + Send;

    /// Names a thing within the job.
    fn id(thing: &Self::Thing) -> String;

    /// The key of the thing of that name.
    ///
    /// # Errors
    /// It is no name.
    fn key(&self, id: &str) -> Result<Key, Error>;

    /// What is to be done with a thing of a page as it is now, none where it is gone.
    fn standing(&self, thing: Option<&Self::Thing>) -> ItemState;

    /// Changes the thing. The first of the changes is refused where the thing is not as it was read.
    fn changes(&self, thing: &Self::Thing) -> Result<Vec<Change>, Error>;
}

/// Where a thing of a page stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ItemState {
    /// It is to be changed.
    Due,
    /// It was changed, by whoever was at this page before.
    Done,
    /// It is none of the job's any more.
    Out,
}

/// The things of a page as they were read.
type Known<T> = Vec<Option<T>>;

impl Wellness {
    /// Goes on with the job until it has ended, another run is at it, or the time has come to stop.
    ///
    /// # Errors
    /// A call failed. Nothing is lost: the next run begins with the same page.
    pub(crate) async fn walk<W: JobRunner>(&self, mut walk: W, mut job: Job, stop: Deadline) -> Result<(), Error> {
        let mut known = None;
        loop {
            walk.refresh().await?;
            let page = match known.take() {
                Some(page) => page,
                None => self.page(&walk, &job.progress.page).await?,
            };
            let mut next = job.progress.clone();
            next.done += self.change(&walk, page).await?;
            known = Some(self.look(&walk, &mut next, stop).await?);
            let pass = next.pass(walk.ranges().len(), W::QUIET);
            match self.write(job, next, pass == Pass::Last).await? {
                // A pass that is to see again that there is nothing waits for the call: what moved meanwhile, and the index,
                // have their time.
                Some(written) if pass != Pass::Quiet && !stop.has_passed() => job = written,
                _ => return Ok(()),
            }
        }
    }

    /// The things of a page of before.
    async fn page<W: JobRunner>(&self, walk: &W, ids: &[String]) -> Result<Known<W::Thing>, Error> {
        let keys = ids.iter().map(|id| walk.key(id)).collect::<Result<Vec<_>, _>>()?;
        let mut found = self.table.get_all::<W::Thing>(&keys, true).await?;
        Ok(keys.iter().map(|key| found.remove(key)).collect())
    }

    /// Changes the things of a page, several at once; how many of them are as they should be.
    ///
    /// Whatever stops it, the changes under way are ended: only no new one is begun.
    async fn change<W: JobRunner>(&self, walk: &W, page: Known<W::Thing>) -> Result<u64, Error> {
        let mut waiting = page.into_iter();
        let mut under_way: FuturesUnordered<_> =
            waiting.by_ref().take(SIDE_BY_SIDE).map(|thing| self.change_one(walk, thing)).collect();
        let mut changed = Ok(0);
        while let Some(done) = under_way.next().await {
            changed = changed.and_then(|sum| done.map(|done| sum + u64::from(done)));
            if changed.is_ok() {
                under_way.extend(waiting.next().map(|thing| self.change_one(walk, thing)));
            }
        }
        changed
    }

    /// Changes one thing; whether it is as it should be. Again with what is there where others got in between.
    async fn change_one<W: JobRunner>(&self, walk: &W, mut thing: Option<W::Thing>) -> Result<bool, Error> {
        loop {
            let due = match (walk.standing(thing.as_ref()), &thing) {
                (ItemState::Due, Some(due)) => due,
                (standing, _) => return Ok(standing == ItemState::Done),
            };
            let mut changes = walk.changes(due)?;
            let done = match (changes.pop(), changes.is_empty()) {
                (Some(only), true) => self.dynamo.write(only).await,
                (Some(last), false) => self.dynamo.transact(changes.into_iter().chain([last]).collect()).await,
                (None, _) => Ok(()),
            };
            match done {
                Ok(()) => return Ok(true),
                Err(table::Error::Refused(refused)) => {
                    thing = refused.found(0)?;
                    if walk.standing(thing.as_ref()) == ItemState::Due {
                        walk.may_repeat()?;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Looks for the next page, to the end of the pass or until the time has come to stop.
    async fn look<W: JobRunner>(
        &self,
        walk: &W,
        at: &mut JobProgress,
        stop: Deadline,
    ) -> Result<Known<W::Thing>, Error> {
        at.page.clear();
        while let Some(range) = walk.ranges().get(at.range) {
            let rest = at.after.as_ref().map_or_else(|| range.clone(), |position| range.after(position));
            let Page { items, next } = walk.look(&rest).await?;
            at.range += usize::from(next.is_none());
            at.after = next;
            at.page = items.iter().map(W::id).collect();
            at.found |= !at.page.is_empty();
            if !at.page.is_empty() || stop.has_passed() {
                return Ok(items.into_iter().map(Some).collect());
            }
        }
        Ok(Vec::new())
    }

    /// Writes a step; the job as it is by then, none where another run wrote it, or it was the last.
    async fn write(&self, job: Job, progress: JobProgress, is_last: bool) -> Result<Option<Job>, Error> {
        let Some(run) = job.run else { return Ok(None) };
        let update = self.table.update(Job::key_of(job.company(), job.id())).set(Job::PROGRESS, Value::of(&progress)?);
        let update = update.only_if(Condition::is(Job::RUN, &run)).only_if(Condition::is(Job::STEP, job.step));
        if is_last {
            return self.end(&job, update).await.map(|()| None);
        }
        match self.dynamo.write(update.set(Job::STEP, job.step + 1)).await {
            Ok(()) => Ok(Some(Job { step: job.step + 1, progress, ..job })),
            Err(table::Error::Refused(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends the job, and with it what it holds. Where another run has ended it, or started it again, nothing is left to do.
    async fn end(&self, job: &Job, update: Change) -> Result<(), Error> {
        let update = update.set(Job::STATE, Value::of(&State::Done)?).remove(Job::RUN);
        if let Some((target, run)) = job.holds().zip(job.run) {
            let release =
                self.table.delete(Hold::key_of(job.company(), &target)).only_if(Condition::is(Hold::RUN, &run));
            match self.dynamo.transact(vec![update.clone(), release]).await {
                // What it held has expired; the job itself is as it was.
                Err(table::Error::Refused(refused)) if !refused.at(0) => {}
                Err(table::Error::Refused(_)) => return Ok(()),
                done => return Ok(done?),
            }
        }
        match self.dynamo.write(update).await {
            Err(table::Error::Refused(_)) => Ok(()),
            done => Ok(done?),
        }
    }
}

/// How a step leaves its pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Under way, or the next has begun because things were found in this one.
    UnderWay,
    /// At its end, and it found nothing: another is to see that.
    Quiet,
    /// At the end of all.
    Last,
}

impl JobProgress {
    /// Ends the pass that has gone through its ranges, and begins the next.
    fn pass(&mut self, ranges: usize, needed: u8) -> Pass {
        if self.range < ranges || !self.page.is_empty() {
            return Pass::UnderWay;
        }
        let quiet = if self.found { 0 } else { self.quiet.saturating_add(1) };
        *self = Self { done: self.done, total: self.total, quiet, ..Self::default() };
        match quiet {
            _ if quiet >= needed => Pass::Last,
            0 => Pass::UnderWay,
            _ => Pass::Quiet,
        }
    }
}
