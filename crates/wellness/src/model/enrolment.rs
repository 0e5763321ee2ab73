//! Who takes part in an activity (docs/decisions/wellness-enrolment.md).

use crate::{Activity, Employee, Filters, LastChange, Registration, Wellness};
use function::{Error, Whole};
use jobs::Job;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{ActivityType, JobId, PlanTime, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Change, Condition, Key, Value};

use super::{
    job::{Task, job_key},
    registration::{Absence, Progress},
    ticket::MAX_CAPACITY,
};

/// How employees come to take part. The default is `automatic` for a challenge and `open` for an
/// event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Enrolment {
    /// The service enrols every eligible employee. This is the default of a challenge.
    Automatic,
    /// Employees sign up. This is the default of an event.
    Open,
    /// Nobody is enrolled.
    Closed,
}

/// The number of seats of an activity that takes sign-ups.
pub(crate) type Capacity = Whole<1, MAX_CAPACITY>;

impl Enrolment {
    /// Returns the enrolment of an activity that does not state one.
    pub(crate) fn of_type(activity_type: ActivityType) -> Self {
        match activity_type {
            ActivityType::Challenge => Self::Automatic,
            ActivityType::Event => Self::Open,
        }
    }

    /// Returns the stored value, which is absent for the default. Most activities therefore store
    /// nothing in the narrow index.
    pub(crate) fn stored(self, activity_type: ActivityType) -> Option<Self> {
        (self != Self::of_type(activity_type)).then_some(self)
    }
}

/// The attributes of an activity that decide who takes part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) status: Status,
    pub(crate) enrolment: Enrolment,
    pub(crate) end: PlanTime,
    pub(crate) filters: &'a Filters,
}

impl Offer<'_> {
    /// Whether the activity is active and has not ended.
    pub(crate) fn is_running(&self, at: TimestampSeconds) -> bool {
        self.status == Status::Active && !self.end.is_over(at)
    }

    pub(crate) fn admits(&self, employee: &Employee) -> bool {
        self.filters.admit(employee.candidate())
    }

    /// Whether the service enrols the employee.
    pub(crate) fn enrols(&self, employee: &Employee, at: TimestampSeconds) -> bool {
        self.enrolment == Enrolment::Automatic && self.is_running(at) && self.admits(employee)
    }

    /// Whether the service withdraws the employee, unless the employee has already done something.
    pub(crate) fn excludes(&self, employee: &Employee, at: TimestampSeconds) -> bool {
        self.enrolment != Enrolment::Closed && self.is_running(at) && !self.admits(employee)
    }
}

impl Activity {
    /// How employees come to take part.
    pub fn enrolment(&self) -> Enrolment {
        self.enrolment.unwrap_or(Enrolment::of_type(self.activity_type))
    }

    /// Requires an activity with a capacity to take sign-ups. Nobody waits for automatic enrolment.
    pub(crate) fn must_take_sign_ups_if_limited(&self) -> Result<(), Error> {
        if self.capacity.is_some() && self.enrolment() == Enrolment::Automatic {
            return Err(Error::invalid("/body/capacity", "requires an enrolment that is open or closed"));
        }
        Ok(())
    }

    pub(crate) fn offer(&self) -> Offer<'_> {
        Offer { status: self.status, enrolment: self.enrolment(), end: self.end(), filters: &self.filters }
    }

    /// Returns the job that enrols the employees, if the activity enrols them by itself.
    pub(crate) fn first_enrolment(&self, run: RequestId, now: TimestampSeconds) -> Result<Option<Job>, Error> {
        let enrols = self.enrolment() == Enrolment::Automatic && self.offer().is_running(now);
        enrols.then(|| self.enrolling(run, now)).transpose()
    }

    /// Returns the job that enrols and withdraws employees after a change of the activity. `None`
    /// if the change concerns nobody.
    pub(crate) fn next_enrolment(
        &self,
        old: &Self,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<Option<Job>, Error> {
        let changes = (self.status, self.end(), self.enrolment()) != (old.status, old.end(), old.enrolment());
        let is_other = self.filters != old.filters;
        let concerns = match self.enrolment() {
            Enrolment::Automatic => changes || is_other,
            Enrolment::Open => is_other || (changes && self.status != old.status),
            Enrolment::Closed => false,
        };
        (concerns && self.offer().is_running(now)).then(|| self.enrolling(run, now)).transpose()
    }

    /// Creates the enrolment job. It overwrites a running job of the activity. No employee is lost,
    /// because the new job reads the activity and all employees.
    fn enrolling(&self, run: RequestId, now: TimestampSeconds) -> Result<Job, Error> {
        let id = JobId::Enrolment(self.id().clone());
        Job::new(&job_key(&self.company, &id), &id, &run, &Task::Enrol, now)
    }
}

impl Wellness {
    /// Marks an employee as newly placed, so that W11 (register-new-employee) enrols the employee
    /// once more.
    ///
    /// # Errors
    /// [`table::Error::Refused`] if the employee has changed in the meantime.
    pub(crate) async fn enrol_again(&self, employee: &Employee) -> Result<(), Error> {
        let touched = self.table.update(Key::new(&employee.partition, &employee.sort));
        let touched = touched
            .set(Employee::LAST_CHANGE, Value::of(&LastChange::Placement)?)
            .set(Employee::VERSION, employee.version.saturating_add(1));
        let unchanged = Condition::is(Employee::VERSION, employee.version);
        Ok(self.dynamo.write(touched.only_if(unchanged)).await?)
    }

    /// Returns the change that withdraws an employee who has done nothing yet. DynamoDB refuses it
    /// unless [`Registration::is_untouched`] holds, or if the employee has left in the meantime.
    pub(crate) fn withdrawing(&self, registration: &Registration) -> Result<Change, Error> {
        let delete = self.table.delete(registration.key());
        let delete = delete.only_if(Condition::is(Registration::PROGRESS, Value::of(&Progress::NONE)?));
        let delete = delete.only_if(Condition::is(Registration::EARNED_POINTS, 0));
        let delete = delete.only_if(Condition::is(Registration::PROGRESS_TEXT, &""));
        let delete = delete.only_if(Condition::missing(Registration::ATTENDED_AT));
        let delete = delete.only_if(Condition::missing(Registration::DATA));
        // The registration of an employee who has left stays, so that nothing enrols the employee
        // again.
        Ok(delete.only_if(registration.same_absence()?))
    }

    /// Returns the changes that delete a registration: its deletion, which requires the same ticket
    /// as before, and the changes that give up the ticket.
    pub(crate) fn with_ticket(
        &self,
        ending: Change,
        registration: &Registration,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<Vec<Change>, Error> {
        let Some(ticket) = registration.ticket else {
            return Ok(vec![ending.only_if(Condition::missing(Registration::TICKET))]);
        };
        let ending = ending.only_if(Condition::is(Registration::TICKET, ticket));
        let job = self.jobs.table().put(&registration.seating(run, now)?)?;
        Ok(vec![ending, self.voiding(registration, ticket, now)?, job])
    }

    /// Returns the changes that mark a registration as withdrawn. Progress and points stay. The
    /// registration remembers its ticket, which is deleted.
    pub(crate) fn marking_left(
        &self,
        registration: &Registration,
        run: RequestId,
        now: TimestampSeconds,
    ) -> Result<Vec<Change>, Error> {
        let absence = Value::of(&Absence::Withdrawn)?;
        let left = self.table.update(registration.key()).set(Registration::ABSENCE, absence);
        let left = left.only_if(registration.same_absence()?);
        let Some(ticket) = registration.ticket else {
            return Ok(vec![left.only_if(Condition::missing(Registration::TICKET))]);
        };
        let left = left.only_if(Condition::is(Registration::TICKET, ticket));
        let left = left.remove(Registration::TICKET).set(Registration::LAST_TICKET, ticket);
        let job = self.jobs.table().put(&registration.seating(run, now)?)?;
        Ok(vec![left, self.dropping(registration, ticket)?, job])
    }

    /// Withdraws the employee, unless the employee has done something, has left or was put in by an
    /// administrator. A ticket is given up in the same transaction. Returns whether the
    /// registration is gone.
    pub(crate) async fn withdraw(&self, registration: &Registration, now: TimestampSeconds) -> Result<bool, Error> {
        let run = RequestId::new(now.instant(), self.dynamo.random());
        let mut current = registration.clone();
        loop {
            if current.assigned.is_some() || current.absence == Some(Absence::Withdrawn) || !current.is_untouched() {
                return Ok(false);
            }
            let ending = self.withdrawing(&current)?.only_if(Condition::missing(Registration::ASSIGNED));
            match self.dynamo.apply(self.with_ticket(ending, &current, run, now)?).await {
                Ok(()) => return Ok(true),
                Err(table::Error::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
            let Some(found) = self.table.get::<Registration>(&current.key()).await? else { return Ok(true) };
            // A job may have given a seat to a waiting employee.
            if current.absence != Some(Absence::Waiting) || found.absence.is_some() {
                return Ok(false);
            }
            current = found;
        }
    }
}
