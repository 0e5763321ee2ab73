use crate::{
    Activity, Wellness,
    model::ticket::{Ticket, Tickets},
};
use function::{Deadline, Error};
use jobs::{Job, JobRunner, Next, Step};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, TicketSort},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use table::{Condition, Query};

/// Age in seconds after which a ticket without a registration is free. The sign-up has crashed.
const LOST: i64 = 60;
/// Maximum number of attempts to write the limit while others sign up.
const ATTEMPTS: usize = 20;

/// Gives the free seats of an activity to those who wait (docs/decisions/wellness-seats.md).
///
/// A ticket that was given up is never used again. The limit therefore rises by one for each such
/// ticket below it, and tickets up to the limit never need more seats than the capacity.
pub(crate) struct Seats<'a> {
    wellness: &'a Wellness,
    activity: ActivityId,
}

/// The progress of the job: the number of unreadable tickets, which keep their seats.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct SeatsProgress {
    skipped: u64,
}

impl<'a> Seats<'a> {
    pub(crate) fn new(wellness: &'a Wellness, activity: ActivityId) -> Self {
        Self { wellness, activity }
    }

    /// Reads all tickets with strong consistency. Puts a given-up ticket in the place of each lost
    /// one, so that its sign-up cannot use it any more.
    async fn tickets(&self, counter: &Tickets, now: TimestampSeconds) -> Result<(BTreeMap<u64, Ticket>, u64), Error> {
        let range = TicketSort::all();
        let page = self
            .wellness
            .table
            .query_all::<Ticket>(&Query::new(&ActivityPartition(self.activity.clone()), &range))
            .await?;
        let mut tickets: BTreeMap<_, _> = page.items.into_iter().map(|one| (one.sort.number(), one)).collect();
        let skipped = u64::try_from(page.skipped).unwrap_or(u64::MAX);
        // An unreadable ticket has no number, so no missing ticket is certain to be lost.
        let missing = (1..=counter.issued).filter(|number| skipped == 0 && !tickets.contains_key(number));
        for sort in missing.filter_map(TicketSort::new).collect::<Vec<_>>() {
            let later = tickets.range(sort.number()..).map(|(_, ticket)| ticket.at);
            let issued = later.chain([counter.issued_at]).min().unwrap_or(counter.issued_at);
            if now.instant().as_second() - issued.instant().as_second() < LOST {
                continue;
            }
            let partition = ActivityPartition(self.activity.clone());
            let gone = Ticket { partition, sort, user_id: None, waiting: None, at: issued };
            match self.wellness.dynamo.write(self.wellness.table.put_new(&gone)?).await {
                Ok(()) => drop(tickets.insert(sort.number(), gone)),
                Err(table::Error::Refused(refused)) => {
                    tickets.extend(refused.found::<Ticket>(0)?.map(|found| (sort.number(), found)));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok((tickets, skipped))
    }

    /// Writes the limit. Returns it with the tickets, or `None` if the activity has no tickets.
    async fn limit(&self, now: TimestampSeconds) -> Result<Option<(u64, BTreeMap<u64, Ticket>, u64)>, Error> {
        for _ in 0..ATTEMPTS {
            let activity = self.wellness.table.get::<Activity>(&Activity::key_of(&self.activity)).await?;
            let counter = self.wellness.tickets(&self.activity).await?;
            let Some((activity, counter)) = activity.zip(counter) else { return Ok(None) };
            let (tickets, skipped) = self.tickets(&counter, now).await?;
            let limit = limit_of(&counter, activity.capacity, &tickets);
            if self.write(&counter, limit, &tickets).await? {
                return Ok(Some((limit, tickets, skipped)));
            }
        }
        Err(Error::stale())
    }

    async fn write(&self, counter: &Tickets, limit: u64, tickets: &BTreeMap<u64, Ticket>) -> Result<bool, Error> {
        let gone = tickets.range(limit.saturating_add(1)..).filter(|(_, ticket)| ticket.user_id.is_none()).count();
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let update = self.wellness.table.update(Tickets::key_of(&self.activity));
        let update =
            update.set(Tickets::LIMIT, number(limit)).set(Tickets::GONE, i64::try_from(gone).unwrap_or(i64::MAX));
        let update = match counter.limit {
            Some(old) if old <= limit => update.only_if(Condition::is(Tickets::LIMIT, number(old))),
            // Nobody may take a ticket that a lower limit excludes.
            old => {
                let same = old.map_or_else(
                    || Condition::missing(Tickets::LIMIT),
                    |old| Condition::is(Tickets::LIMIT, number(old)),
                );
                update.only_if(same).only_if(Condition::is(Tickets::ISSUED, number(counter.issued)))
            }
        };
        match self.wellness.dynamo.write(update).await {
            Ok(()) => Ok(true),
            Err(table::Error::Refused(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the last ticket with a seat, so that the tickets up to it that were not given up are as
/// many as the capacity. The limit never excludes a ticket that has a seat.
fn limit_of(counter: &Tickets, capacity: Option<u32>, tickets: &BTreeMap<u64, Ticket>) -> u64 {
    let Some(capacity) = capacity else { return TicketSort::MAX };
    let mut limit = u64::from(capacity);
    for (number, _) in tickets.iter().filter(|(_, ticket)| ticket.user_id.is_none()) {
        limit += u64::from(*number <= limit);
    }
    let seated = tickets.values().filter(|ticket| ticket.user_id.is_some() && ticket.waiting.is_none());
    let last = seated.map(|ticket| ticket.sort.number()).max().unwrap_or_default();
    let taken = counter.limit.map_or(last, |old| old.min(counter.issued));
    limit.max(taken).min(TicketSort::MAX)
}

impl JobRunner for Seats<'_> {
    type Progress = SeatsProgress;

    async fn step(&mut self, job: &Job, progress: SeatsProgress, _: Deadline) -> Result<Step<SeatsProgress>, Error> {
        let Some((limit, tickets, skipped)) = self.limit(job.started_at).await? else {
            return Ok(Step { progress, done: job.done, next: Next::End });
        };
        let waiting = tickets.range(..=limit).filter(|(_, ticket)| ticket.waiting.is_some());
        for (_, ticket) in waiting {
            let Some(user) = &ticket.user_id else { continue };
            match self.wellness.dynamo.transact(self.wellness.seat(ticket, user)?).await {
                // The holder has left, or has a seat already.
                Ok(()) | Err(table::Error::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Step { progress: SeatsProgress { skipped }, done: job.done, next: Next::End })
    }

    fn skipped(progress: &SeatsProgress) -> u64 {
        progress.skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use keys::wellness::TicketsSort;

    fn limit(capacity: Option<u32>, issued: u64, old: Option<u64>, gone: &[u64]) -> u64 {
        let partition = ActivityPartition("A".parse().expect("an id"));
        let at: TimestampSeconds = "2020-01-01T00:00:00Z".parse().expect("a time");
        let (sort, user) = (TicketsSort, "u".parse().expect("a user"));
        let counter = Tickets { partition: partition.clone(), sort, issued, issued_at: at, limit: old, gone: 0 };
        let first = old.unwrap_or_else(|| capacity.map_or(TicketSort::MAX, u64::from));
        let ticket = |number: u64| Ticket {
            partition: partition.clone(),
            sort: TicketSort::new(number).expect("a number"),
            user_id: (!gone.contains(&number)).then(|| keys::wellness::UserId::clone(&user)),
            waiting: (number > first).then_some(true),
            at,
        };
        limit_of(&counter, capacity, &(1..=issued).map(|number| (number, ticket(number))).collect())
    }

    #[test]
    fn a_ticket_that_was_given_up_frees_its_seat_once() {
        assert_eq!(limit(Some(3), 5, None, &[]), 3);
        assert_eq!(limit(Some(3), 5, None, &[2]), 4);
        assert_eq!(limit(Some(3), 5, Some(4), &[2]), 4);
        assert_eq!(limit(Some(3), 9, Some(3), &[1, 2, 3]), 6);
        assert_eq!(limit(Some(3), 9, Some(3), &[3, 4, 9]), 5, "a waiting ticket frees no seat until its turn");
        assert_eq!(limit(Some(3), 2, None, &[1]), 4);
    }

    #[test]
    fn a_lower_capacity_takes_no_seat_away() {
        assert_eq!(limit(Some(2), 5, Some(4), &[]), 4);
        assert_eq!(limit(Some(2), 3, Some(4), &[]), 3);
        assert_eq!(limit(Some(2), 1, Some(4), &[]), 2);
        assert_eq!(limit(Some(2), 5, Some(4), &[1, 2, 3]), 5);
        assert_eq!(limit(None, 5, Some(4), &[]), TicketSort::MAX);
    }
}
