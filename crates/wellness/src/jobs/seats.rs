use crate::{
    Wellness,
    model::ticket::{Ticket, Tickets, count},
};
use function::{Clock, Deadline, Error};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, TicketSort},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};
use table::{Change, Key, Query};
use tokio::time::sleep;

/// Age in seconds after which a ticket without a registration is free. The sign-up has crashed.
const LOST: i64 = 60;
/// Number of tickets that a step counts.
const PAGE: usize = 1_000;
/// Number of tickets to which a step gives seats, one after the other.
const SEATS: usize = 100;
/// Pause of a run that waits. Other jobs of the same stream shard wait as long.
const PAUSE: Duration = Duration::from_secs(1);

/// Gives the free seats of an activity to those who wait (docs/decisions/wellness-seats.md).
///
/// The job counts the tickets that are held or in progress, and raises the limit so that the
/// tickets up to it never need more seats than the capacity. Then it gives a seat to each waiting
/// ticket up to the limit. It waits for the sign-ups in progress, and frees the tickets of those
/// that have crashed.
pub(crate) struct Seats<'a> {
    wellness: &'a Wellness,
    activity: ActivityId,
    clock: Clock,
}

/// The progress of the job.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct SeatsProgress {
    /// The last ticket that was counted.
    after: u64,
    /// Number of tickets up to that one that are held or in progress.
    live: u64,
    /// The capacity during the count.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
    /// The last ticket that was taken when the count ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<u64>,
    /// Whether a counted sign-up was in progress. It may have given up its ticket since.
    unsure: bool,
    /// Number of unreadable tickets, which keep their seats.
    skipped: u64,
}

impl<'a> Seats<'a> {
    pub(crate) fn new(wellness: &'a Wellness, activity: ActivityId, clock: Clock) -> Self {
        Self { wellness, activity, clock }
    }

    /// Ends the sign-ups in progress whose ticket is stored, or has been lost. Returns the tickets
    /// of the others.
    async fn resolve(&self, counter: &Tickets) -> Result<BTreeSet<u64>, Error> {
        let drawn = counter.drawn.iter().filter_map(|(entry, number)| Some((TicketSort::new(*number)?, *entry)));
        let drawn: BTreeSet<_> = drawn.collect();
        let mut left: BTreeSet<u64> = drawn.iter().skip(SEATS).map(|(sort, _)| sort.number()).collect();
        let keys: Vec<_> = drawn.iter().take(SEATS).map(|(sort, _)| Key::new(&counter.partition, sort)).collect();
        let found = self.wellness.table.get_all::<Ticket>(&keys, true).await?;
        let mut is_lost = true;
        for ((sort, entry), key) in drawn.iter().zip(&keys) {
            if let Some(ticket) = found.items.get(key) {
                if sort.number() <= counter.limit {
                    self.seat(ticket).await?;
                }
            } else if !found.unreadable.contains(key) {
                // Higher tickets are not older.
                is_lost = is_lost && self.free(counter, *sort).await?;
                if !is_lost {
                    left.insert(sort.number());
                    continue;
                }
            }
            self.wellness.forget_draw(&self.activity, *entry, *sort).await?;
        }
        Ok(left)
    }

    /// Frees a lost ticket, so that its sign-up cannot use it any more. Returns `false` if the
    /// sign-up may still be in progress.
    async fn free(&self, counter: &Tickets, sort: TicketSort) -> Result<bool, Error> {
        // The next ticket was taken later. Unlike the time of the last one, its time does not
        // change with each sign-up.
        let range = TicketSort::after(sort.number(), TicketSort::MAX);
        let later = self.wellness.table.page::<Ticket>(&Query::new(&counter.partition, &range).consistent(), 1).await?;
        let at = later.items.iter().map(|ticket| ticket.at).fold(counter.issued_at, TimestampSeconds::min);
        let now = self.clock.now()?.second();
        if now.instant().as_second() - at.instant().as_second() < LOST {
            return Ok(false);
        }
        let void = Ticket::void(&self.activity, sort, at, now);
        match self.wellness.dynamo.write(self.wellness.table.put_new(&void)?).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a seat to the holder of the ticket, unless the holder has one or has left.
    async fn seat(&self, ticket: &Ticket) -> Result<(), Error> {
        let Some(user) = ticket.user_id.as_ref().filter(|_| ticket.waiting.is_some()) else { return Ok(()) };
        match self.wellness.dynamo.transact(self.wellness.seat(&ticket.partition, ticket.sort, user)?).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives seats to the waiting tickets of the next page up to the limit. Returns whether more
    /// pages follow.
    async fn seat_page(&self, counter: &Tickets) -> Result<bool, Error> {
        let last = counter.limit.min(counter.issued);
        if counter.seated >= last {
            return Ok(false);
        }
        let range = TicketSort::after(counter.seated, last);
        let query = Query::new(&counter.partition, &range).consistent();
        let page = self.wellness.table.page::<Ticket>(&query, SEATS).await?;
        for ticket in &page.items {
            self.seat(ticket).await?;
        }
        let reached = page.next.as_deref().map_or(Ok(last), position)?;
        let is_written = self.write(counter, |update| update.set(Tickets::SEATED, count(reached))).await?;
        Ok(page.next.is_some() || !is_written)
    }

    /// Updates the counter. Returns `false` if the limit or the capacity has changed.
    async fn write(&self, counter: &Tickets, change: impl FnOnce(Change) -> Change) -> Result<bool, Error> {
        let update = self.wellness.table.update(Tickets::key_of(&self.activity)).only_if(counter.same_round());
        match self.wellness.dynamo.write(change(update)).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Counts the tickets of a page that are held or in progress. After the last page, raises the
    /// limit.
    ///
    /// The counter was read before the page. A ticket that is neither in progress there nor stored
    /// here has been given up, and stays so.
    async fn count(
        &self,
        counter: &Tickets,
        at: SeatsProgress,
        in_progress: &BTreeSet<u64>,
    ) -> Result<SeatsProgress, Error> {
        let Some(capacity) = counter.capacity else { return self.raise(counter, TicketSort::MAX, at).await };
        let start = SeatsProgress { capacity: counter.capacity, ..SeatsProgress::default() };
        let mut at = if at.capacity == counter.capacity { at } else { start };
        let partition = ActivityPartition(self.activity.clone());
        let range = TicketSort::after(at.after, counter.issued);
        let query = Query::new(&partition, &range).consistent();
        let (page, unreadable) = self.wellness.table.page_with_unreadable::<Ticket>(&query, PAGE).await?;
        let last = page.next.as_deref().map_or(Ok(counter.issued), position)?;
        let held = page.items.iter().filter(|ticket| ticket.user_id.is_some()).map(|ticket| ticket.sort.number());
        let unreadable = unreadable.iter().filter_map(|key| position(key.sort()).ok());
        let of_page = in_progress.iter().copied().filter(|number| (at.after + 1..=last).contains(number));
        let live: BTreeSet<u64> = held.chain(unreadable).chain(of_page).collect();
        at.skipped += u64::try_from(page.skipped).unwrap_or(u64::MAX);
        for number in live {
            at.live += 1;
            at.unsure |= in_progress.contains(&number);
            if at.live == u64::from(capacity) {
                return self.raise(counter, number, at).await;
            }
        }
        if page.next.is_some() {
            return Ok(SeatsProgress { after: last, ..at });
        }
        let free = u64::from(capacity).saturating_sub(at.live);
        self.raise(counter, counter.issued.saturating_add(free).min(TicketSort::MAX), at).await
    }

    /// Writes a higher limit. If the limit or the capacity has changed, the count starts again.
    async fn raise(&self, counter: &Tickets, limit: u64, at: SeatsProgress) -> Result<SeatsProgress, Error> {
        let ended = SeatsProgress { counted: Some(counter.issued), ..at };
        if limit <= counter.limit {
            return Ok(ended);
        }
        // Tickets above the old limit may wait.
        let seated = counter.seated.min(counter.limit);
        let raise = |update: Change| update.set(Tickets::LIMIT, count(limit)).set(Tickets::SEATED, count(seated));
        let is_written = self.write(counter, |update| raise(update).add(Tickets::ROUND, 1)).await?;
        Ok(if is_written { ended } else { SeatsProgress::default() })
    }
}

/// Returns the number of the ticket with this sort key.
fn position(sort: &str) -> Result<u64, Error> {
    let sort = sort.parse::<TicketSort>().map_err(|error| table::Error::unreadable("Ticket", &error))?;
    Ok(sort.number())
}

impl JobRunner for Seats<'_> {
    type Progress = SeatsProgress;

    async fn step(&mut self, job: &Job, at: SeatsProgress, _: Deadline) -> Result<Step<SeatsProgress>, Error> {
        let step = |progress, next| Ok(Step { progress, done: job.done, next });
        let Some(counter) = self.wellness.tickets(&self.activity).await? else { return step(at, Next::End) };
        let in_progress = self.resolve(&counter).await?;
        if self.seat_page(&counter).await? {
            return step(at, Next::Continue);
        }
        let Some(last) = at.counted else {
            return step(self.count(&counter, at, &in_progress).await?, Next::Continue);
        };
        if in_progress.first().is_some_and(|number| *number <= counter.limit.min(last)) {
            sleep(PAUSE).await;
            return step(SeatsProgress { unsure: true, ..at }, Next::Wait);
        }
        if at.unsure {
            return step(SeatsProgress::default(), Next::Continue);
        }
        step(at, Next::End)
    }

    fn skipped(progress: &SeatsProgress) -> u64 {
        progress.skipped
    }
}
