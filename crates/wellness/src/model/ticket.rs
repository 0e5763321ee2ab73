//! The seats and the waiting list of an activity (docs/decisions/wellness-seats.md).

use super::{
    job::{Task, job_key},
    registration::Absence,
};
use crate::{Registration, Wellness};
use function::Error;
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, CompanyId, JobId, TicketSort, TicketsSort, UserId},
};
use serde::{Deserialize, Serialize};
use table::{Attribute, Attributes, Change, Condition, Item, Key, Query, Value};

/// Highest capacity of an activity. The job that gives away seats reads all tickets.
pub(crate) const MAX_CAPACITY: i64 = 10_000;

/// The counter of an activity's tickets. Each sign-up takes the next number with an unconditional
/// update, so sign-ups never conflict.
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
    /// Tickets up to this number have a seat. Absent until the job writes it: it is the capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<u64>,
    /// Number of given-up tickets above the limit.
    #[serde(default)]
    pub(crate) gone: u64,
}

impl Item for Tickets {
    const TYPE: &'static str = "Tickets";
}

impl Tickets {
    pub(crate) fn key_of(activity: &ActivityId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &TicketsSort)
    }

    /// The last ticket with a seat.
    pub(crate) fn limit(&self, capacity: Option<u32>) -> u64 {
        self.limit.unwrap_or_else(|| capacity.map_or(TicketSort::MAX, u64::from))
    }
}

/// A ticket. A ticket without a user has been given up, and its number is never used again.
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
}

impl Item for Ticket {
    const TYPE: &'static str = "Ticket";
}

impl Ticket {
    pub(crate) fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }
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

fn number(ticket: i64) -> Result<TicketSort, Error> {
    let number = u64::try_from(ticket).ok().and_then(TicketSort::new);
    number.ok_or_else(|| Error::Internal("a registration has an invalid ticket".to_owned()))
}

impl Wellness {
    /// Takes the next ticket of an activity. If the response is lost, the ticket stays without a
    /// holder, and the job gives its seat away after a minute.
    pub(crate) async fn take_ticket(&self, activity: &ActivityId, now: TimestampSeconds) -> Result<Tickets, Error> {
        let take = self.table.upsert(Tickets::key_of(activity)).add(Tickets::ISSUED, 1);
        let take = take.set(Tickets::ISSUED_AT, &now).set(Attribute::TYPE, &Tickets::TYPE);
        Ok(self.dynamo.update_as_read(take).await?)
    }

    pub(crate) async fn tickets(&self, activity: &ActivityId) -> Result<Option<Tickets>, Error> {
        Ok(self.table.get::<Tickets>(&Tickets::key_of(activity)).await?)
    }

    /// Returns the place on the waiting list of the holder of a ticket.
    pub(crate) async fn waiting_place(&self, registration: &Registration, limit: u64) -> Result<Option<u64>, Error> {
        let Some(ticket) = registration.ticket else { return Ok(None) };
        let range = TicketSort::through(number(ticket)?.number());
        let query =
            Query::new(&registration.partition, &range).only_if(Condition::is(Ticket::WAITING, Value::of(&true)?));
        let waiting = self.table.query_all::<Ticket>(&query).await?;
        let before = waiting.items.iter().filter(|other| other.sort.number() > limit).count() + waiting.skipped;
        Ok(Some(u64::try_from(before).unwrap_or(u64::MAX).max(1)))
    }

    /// Returns the changes that give a seat to the holder of a ticket.
    pub(crate) fn seat(&self, ticket: &Ticket, user: &UserId) -> Result<Vec<Change>, Error> {
        let waits = Condition::is(Registration::ABSENCE, Value::of(&Absence::Waiting)?);
        let registration = self.table.update(Registration::key_of(&ticket.partition.0, user)).only_if(waits);
        let number = i64::try_from(ticket.sort.number()).unwrap_or(i64::MAX);
        let registration = registration.only_if(Condition::is(Registration::TICKET, number));
        let waits = Condition::is(Ticket::WAITING, Value::of(&true)?);
        let ticket = self.table.update(ticket.key()).only_if(waits).remove(Ticket::WAITING);
        Ok(vec![ticket, registration.remove(Registration::ABSENCE)])
    }

    /// Returns the changes that give up a ticket, and that put the job for its seat.
    pub(crate) fn giving_up(
        &self,
        registration: &Registration,
        ticket: i64,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<[Change; 2], Error> {
        let key = Key::new(&registration.partition, &number(ticket)?);
        let is_own = Condition::is(Ticket::USER_ID, &registration.sort.0);
        let ticket = self.table.update(key).only_if(is_own).remove(Ticket::USER_ID).remove(Ticket::WAITING);
        let job = seating(&registration.company, &registration.partition.0, run, now)?;
        Ok([ticket, self.jobs.table().put(&job)?])
    }
}
