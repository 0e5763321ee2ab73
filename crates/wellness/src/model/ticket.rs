//! The seats and the waiting list of an activity (docs/decisions/wellness-seats.md).

use super::{
    job::{Task, job_key},
    registration::Absence,
};
use crate::{Activity, Registration, Wellness};
use function::Error;
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, CompanyId, DrawnEntry, JobId, TicketSort, TicketsSort, UserId},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use table::{Attributes, Change, Condition, Item, Key, Query, Value};

/// Highest capacity of an activity. The job that gives away seats reads as many tickets.
pub(crate) const MAX_CAPACITY: i64 = 10_000;
/// Maximum number of sign-ups in progress. It bounds the size of the counter to about 14 KB.
const MAX_DRAWN: i64 = 1_000;
/// Number of tickets on the waiting list that are counted for a place.
const COUNTED: usize = 1_000;
/// Retention of a ticket that nobody may use any more. Late attempts of a sign-up end within
/// minutes. Then TTL deletes the ticket.
const DAYS_KEPT: i64 = 7;

/// The counter of an activity's tickets. Each sign-up takes the next number with one update, so
/// sign-ups never conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Tickets {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub(crate) partition: ActivityPartition,
    /// Sort key: `Tickets`.
    #[serde(rename = "SK")]
    pub(crate) sort: TicketsSort,
    /// Number of tickets taken.
    pub(crate) issued: u64,
    /// Time of the last ticket.
    pub(crate) issued_at: TimestampSeconds,
    /// Capacity of the activity. Absent if it has no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<u32>,
    /// Tickets up to this number have a seat.
    pub(crate) limit: u64,
    /// Number of changes of the capacity and of the limit.
    pub(crate) round: i64,
    /// The job has given seats to all tickets up to this number.
    pub(crate) seated: u64,
    /// The tickets of sign-ups in progress. A repeated sign-up finds its ticket here.
    pub(crate) drawn: BTreeMap<DrawnEntry, u64>,
}

impl Item for Tickets {
    const TYPE: &'static str = "Tickets";
}

impl Tickets {
    /// Creates the counter of an activity without sign-ups.
    fn new(activity: &Activity, now: TimestampSeconds) -> Self {
        Self {
            partition: ActivityPartition(activity.id().clone()),
            sort: TicketsSort,
            issued: 0,
            issued_at: now,
            capacity: activity.capacity,
            limit: activity.capacity.map_or(TicketSort::MAX, u64::from),
            round: 0,
            seated: 0,
            drawn: BTreeMap::new(),
        }
    }

    pub(crate) fn key_of(activity: &ActivityId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &TicketsSort)
    }

    /// Returns the limit after a change of the capacity. Free seats follow the capacity at once. A
    /// limit without free seats stays: the job raises it, and a lower capacity takes no seat away.
    fn limit_for(&self, capacity: Option<u32>) -> u64 {
        if self.limit <= self.issued {
            return self.limit;
        }
        let limit = match (self.capacity.map(u64::from), capacity.map(u64::from)) {
            (Some(old), Some(new)) => (self.limit + new).saturating_sub(old),
            (None, Some(new)) => new,
            (_, None) => TicketSort::MAX,
        };
        limit.clamp(self.issued, TicketSort::MAX)
    }

    /// Returns the condition that the capacity and the limit are the ones of the counter.
    pub(crate) fn same_round(&self) -> Condition {
        Condition::is(Self::ROUND, self.round)
    }

    /// Whether another sign-up in progress may need a seat.
    pub(crate) fn awaits_another(&self, own: TicketSort) -> bool {
        self.drawn.values().any(|number| *number <= self.limit && *number != own.number())
    }
}

/// A ticket. Nobody can use a ticket without a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Ticket {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub(crate) partition: ActivityPartition,
    /// Sort key: `Ticket#<number>`.
    #[serde(rename = "SK")]
    pub(crate) sort: TicketSort,
    /// The holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_id: Option<UserId>,
    /// Present if the holder waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waiting: Option<bool>,
    /// The time of the sign-up.
    pub(crate) at: TimestampSeconds,
    /// TTL attribute: a Unix time in seconds. Present if the ticket has no holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<i64>,
}

impl Item for Ticket {
    const TYPE: &'static str = "Ticket";
}

impl Ticket {
    /// Creates a ticket that nobody can use.
    pub(crate) fn void(activity: &ActivityId, sort: TicketSort, at: TimestampSeconds, now: TimestampSeconds) -> Self {
        let partition = ActivityPartition(activity.clone());
        Self { partition, sort, user_id: None, waiting: None, at, expires_at: Some(expiry(now)) }
    }
}

fn expiry(now: TimestampSeconds) -> i64 {
    now.plus_days(DAYS_KEPT).instant().as_second()
}

/// Creates the job that gives the free seats of an activity to those who wait.
pub(crate) fn seating(
    company: &CompanyId,
    activity: &ActivityId,
    run: RequestId,
    now: TimestampSeconds,
) -> Result<Job, Error> {
    let id = JobId::Seats(activity.clone());
    Job::new(&job_key(company, &id), &id, &run, &Task::Seat, now)
}

impl Registration {
    /// Creates the job for the seat of this registration.
    pub(crate) fn seating(&self, run: RequestId, now: TimestampSeconds) -> Result<Job, Error> {
        seating(&self.company, &self.partition.0, run, now)
    }

    /// Returns the key of the ticket, if the employee signed up.
    pub(crate) fn ticket_sort(&self) -> Result<Option<TicketSort>, Error> {
        self.ticket.map(number).transpose()
    }
}

fn number(ticket: i64) -> Result<TicketSort, Error> {
    let number = u64::try_from(ticket).ok().and_then(TicketSort::new);
    number.ok_or_else(|| Error::Internal("a registration has an invalid ticket".to_owned()))
}

/// Converts a number of tickets for DynamoDB.
pub(crate) fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A drawn ticket.
pub(crate) struct Drawn {
    pub(crate) sort: TicketSort,
    pub(crate) waits: bool,
}

impl Wellness {
    /// Takes the next ticket for the employee, or returns the one of the employee's sign-up in
    /// progress. An employee therefore never holds two tickets, however often the request is
    /// repeated.
    ///
    /// # Errors
    /// [`Error::stale`] if too many sign-ups are in progress. Their lost tickets are looked for.
    pub(crate) async fn draw_ticket(
        &self,
        activity: &Activity,
        user: &UserId,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<Drawn, Error> {
        let entry = DrawnEntry::of(user);
        let draw = self.table.update(Tickets::key_of(activity.id())).add(Tickets::ISSUED, 1);
        let draw = draw.set(Tickets::ISSUED_AT, &now).set_entry_to_sum(Tickets::DRAWN, &entry, Tickets::ISSUED, 1);
        let draw = draw.only_if(Condition::entry_missing(Tickets::DRAWN, &entry));
        let draw = draw.only_if(Condition::fewer_entries(Tickets::DRAWN, MAX_DRAWN));
        for _ in 0..2 {
            let counter = match self.dynamo.update_as_read::<Tickets>(draw.clone()).await {
                Ok(counter) => counter,
                Err(table::Error::Refused(refused)) => {
                    let Some(counter) = refused.found::<Tickets>(0)? else {
                        self.open_counter(activity, now).await?;
                        continue;
                    };
                    counter
                }
                Err(error) => return Err(error.into()),
            };
            let Some(number) = counter.drawn.get(&entry) else {
                let job = seating(&activity.company, activity.id(), run, now)?;
                self.jobs.start_again(job, &run).await?;
                return Err(Error::stale());
            };
            let sort = TicketSort::new(*number).ok_or_else(|| Error::Internal("no tickets are left".to_owned()))?;
            return Ok(Drawn { sort, waits: *number > counter.limit });
        }
        Err(Error::stale())
    }

    /// Creates the counter, unless another sign-up has created it. A change of the capacity writes
    /// the counter, too, so the counter must begin with the current capacity.
    async fn open_counter(&self, activity: &Activity, now: TimestampSeconds) -> Result<(), Error> {
        let counter = self.table.put_new(&Tickets::new(activity, now))?;
        let same = match activity.capacity {
            Some(seats) => Condition::is(Activity::CAPACITY, i64::from(seats)),
            None => Condition::missing(Activity::CAPACITY),
        };
        let changes = vec![counter, self.table.check(Activity::key_of(activity.id()), same)];
        match self.dynamo.transact(changes).await {
            Err(table::Error::Refused(refused)) if refused.at(1) => Err(Error::stale()),
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a sign-up from those in progress. Its ticket must be stored, or have been given up.
    pub(crate) async fn forget_draw(
        &self,
        activity: &ActivityId,
        entry: DrawnEntry,
        ticket: TicketSort,
    ) -> Result<(), Error> {
        match self.dynamo.write(self.forgetting(activity, entry, ticket)).await {
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn forgetting(&self, activity: &ActivityId, entry: DrawnEntry, ticket: TicketSort) -> Change {
        let forget = self.table.update(Tickets::key_of(activity)).remove_entry(Tickets::DRAWN, &entry);
        forget.only_if(Condition::entry_is(Tickets::DRAWN, &entry, count(ticket.number())))
    }

    /// Gives a ticket back that was taken for an employee who has signed up in the meantime. If it
    /// is still the last one, the next sign-up takes its number. Otherwise, it becomes void.
    pub(crate) async fn give_back(
        &self,
        registration: &Registration,
        ticket: TicketSort,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<(), Error> {
        let activity = &registration.partition.0;
        let entry = DrawnEntry::of(&registration.sort.0);
        let forget = self.forgetting(activity, entry, ticket);
        let is_last = Condition::is(Tickets::ISSUED, count(ticket.number()));
        let back = forget.clone().only_if(is_last).set(Tickets::ISSUED, count(ticket.number() - 1));
        match self.dynamo.write(back).await {
            Err(table::Error::Refused(refused)) => {
                // Otherwise, an equal request has given it back. A third one may take it again now.
                let counter = refused.found::<Tickets>(0)?;
                if counter.is_none_or(|counter| counter.drawn.get(&entry) != Some(&ticket.number())) {
                    return Ok(());
                }
            }
            done => return Ok(done?),
        }
        let void = self.table.put_new(&Ticket::void(activity, ticket, now, now))?;
        let changes = vec![void, forget, self.jobs.table().put(&registration.seating(run, now)?)?];
        match self.dynamo.transact(changes).await {
            // An equal request has given it back.
            Ok(()) | Err(table::Error::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the change of the counter for a new capacity. It is in the same transaction as the
    /// change of the activity, so no sign-up after the response uses the old capacity.
    pub(crate) async fn resizing(&self, activity: &ActivityId, capacity: Option<u32>) -> Result<Change, Error> {
        let Some(counter) = self.tickets(activity).await? else {
            return Ok(self.table.absent(Tickets::key_of(activity)));
        };
        let change = self.table.update(Tickets::key_of(activity)).only_if(counter.same_round());
        let change = change.add(Tickets::ROUND, 1);
        let change = match capacity {
            Some(seats) => change.set(Tickets::CAPACITY, i64::from(seats)),
            None => change.remove(Tickets::CAPACITY),
        };
        let limit = counter.limit_for(capacity);
        if limit == counter.limit {
            return Ok(change);
        }
        // Otherwise, a concurrent sign-up may have taken a ticket above the new limit.
        let change = change.only_if(Condition::is(Tickets::ISSUED, count(counter.issued)));
        Ok(change.set(Tickets::LIMIT, count(limit)))
    }

    pub(crate) async fn tickets(&self, activity: &ActivityId) -> Result<Option<Tickets>, Error> {
        Ok(self.table.get::<Tickets>(&Tickets::key_of(activity)).await?)
    }

    /// Returns the place of a ticket on the waiting list. It is exact if fewer than [`COUNTED`]
    /// tickets are before it, and otherwise too high by the number of those who have left.
    pub(crate) async fn waiting_place(&self, counter: &Tickets, ticket: TicketSort) -> Result<u64, Error> {
        let range = TicketSort::after(counter.limit, ticket.number());
        let waiting = self.table.page::<Ticket>(&Query::new(&counter.partition, &range).consistent(), COUNTED).await?;
        let last = match &waiting.next {
            Some(position) => position.parse().map_or(ticket, |last: TicketSort| last),
            None => ticket,
        };
        let stored = waiting.items.iter().filter(|other| other.waiting.is_some()).map(|other| other.sort.number());
        let in_progress = counter.drawn.values().copied();
        let in_progress = in_progress.filter(|number| (counter.limit + 1..=last.number()).contains(number));
        let places = stored.chain(in_progress).collect::<BTreeSet<_>>().len() + waiting.skipped;
        let places = u64::try_from(places).unwrap_or(u64::MAX).max(1);
        Ok(places.saturating_add(ticket.number() - last.number()))
    }

    /// Returns the changes that give a seat to the holder of a ticket.
    pub(crate) fn seat(
        &self,
        partition: &ActivityPartition,
        ticket: TicketSort,
        user: &UserId,
    ) -> Result<Vec<Change>, Error> {
        let waits = Condition::is(Registration::ABSENCE, Value::of(&Absence::Waiting)?);
        let registration = self.table.update(Registration::key_of(&partition.0, user)).only_if(waits);
        let registration = registration.only_if(Condition::is(Registration::TICKET, count(ticket.number())));
        let waits = Condition::is(Ticket::WAITING, Value::of(&true)?);
        let ticket = self.table.update(Key::new(partition, &ticket)).only_if(waits).remove(Ticket::WAITING);
        Ok(vec![ticket, registration.remove(Registration::ABSENCE)])
    }

    /// Returns the change that makes a ticket void, so that no late attempt of its sign-up can use
    /// it after its registration was deleted.
    pub(crate) fn voiding(
        &self,
        registration: &Registration,
        ticket: i64,
        now: TimestampSeconds,
    ) -> Result<Change, Error> {
        let void = self.table.update(Key::new(&registration.partition, &number(ticket)?));
        let void = void.remove(Ticket::USER_ID).remove(Ticket::WAITING).set(Ticket::EXPIRES_AT, expiry(now));
        Ok(void.only_if(Condition::is(Ticket::USER_ID, &registration.sort.0)))
    }

    /// Returns the change that deletes a ticket. [`Registration::last_ticket`] keeps a late attempt
    /// of its sign-up from using it.
    pub(crate) fn dropping(&self, registration: &Registration, ticket: i64) -> Result<Change, Error> {
        let ticket = self.table.delete(Key::new(&registration.partition, &number(ticket)?));
        Ok(ticket.only_if(Condition::is(Ticket::USER_ID, &registration.sort.0)))
    }
}
