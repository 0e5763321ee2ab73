//! W21: an employee joins an activity, or is put into it
//! (docs/requirements/wellness.md#join-and-leave-activities).

use crate::{
    Activity, DOMAIN, Employee, Enrolment, Group, Registration, RegistrationBody, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        access::{OfUser, sees},
        registration::Absence,
        ticket::{Drawn, Ticket, count},
    },
};
use function::{Caller, Error, Input, Problem, Put, Request, Route, Trigger, optimistically};
use futures::future::try_join;
use keys::{
    RequestId, TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityId, ActivityPartition, DrawnEntry, EmployeeKey, GroupId, Status, TicketSort,
    },
};
use table::{
    Change, Condition, Value,
    cost::{Cost, Term, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W21",
    name: "join-activity",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/users/{userId}/registrations/{activityId}",
        scopes: &["wellness:write", "wellness:admin", "wellness:operate"],
        summary: "Join an activity, or put an employee into it",
        problems: &[Problem::NotFound, Problem::ActivityNotOpen, Problem::EnrolmentClosed, Problem::NotEligible],
    }]),
    calls: &[
        Calls::new("", join_cost),
        Calls::new(", first", |case| {
            join_cost(case).write(cost::ACTIVITIES, (Term::whole(1) + write(case.activity)).times(2))
        }),
        Calls::new(", waiting", |case| join_cost(case).read(cost::ACTIVITIES, 2)),
        Calls::new(", automatic enrolment", |case| {
            let registration = write(case.registration);
            reads(case).write(cost::ACTIVITIES, registration).write(cost::REGISTRATIONS, registration)
        }),
        Calls::new(", another group", |case| {
            let registration = write(case.registration);
            Cost::default()
                .read(cost::ACTIVITIES, case.activity_read() + 2)
                .write(cost::ACTIVITIES, registration)
                .write(cost::REGISTRATIONS, registration)
        }),
    ],
    contract: function::contract(&join_activity),
    function: || function::http(join_activity, Wellness::warm_by_get),
};

fn reads(case: &Named) -> Cost {
    let both = case.activity_read() + read(case.employee);
    Cost::default().read(cost::ACTIVITIES, both.times(2) + 1)
}

fn join_cost(case: &Named) -> Cost {
    let registration = write(case.registration);
    reads(case).write(cost::ACTIVITIES, (registration + 1).times(2) + 2).write(cost::REGISTRATIONS, registration)
}

/// The employee and the activity.
#[derive(Debug, Clone, Input)]
pub struct JoinActivityInput {
    #[input(part)]
    pub(crate) of: OfUser,
    #[input(path = "activityId")]
    pub(crate) activity: ActivityId,
}

/// The employee, the activity and the group.
#[derive(Debug, Clone, Input)]
pub struct GroupSignUp {
    #[input(part)]
    sign_up: JoinActivityInput,
    /// A group of the activity. The employee joins it.
    #[input(body = "groupId")]
    group: Option<GroupId>,
}

/// Registers an employee for an activity, or puts the employee on the waiting list. A repeated
/// request returns the registration. With a group, the request also puts the employee into the
/// group, or moves the employee to it.
///
/// Employees join active activities that have not ended and whose filters admit them. An
/// administrator may put any employee of the company into an active activity.
///
/// # Errors
/// - 400 if the input is invalid, the activity has no such group, or an operator does not name the
///   company.
/// - 403 if the caller is another user or belongs to another company.
/// - 404 if the activity or the employee does not exist.
/// - 409 if the activity is not active, takes no sign-ups, or excludes the employee.
pub async fn join_activity(wellness: Wellness, request: Request<GroupSignUp>) -> Result<Put<RegistrationBody>, Error> {
    let GroupSignUp { sign_up: JoinActivityInput { of, activity }, group } = &request.input;
    let of = of.of(&request.caller)?;
    let (caller, now, run) = (&request.caller, request.now, request.id);
    let join = Join { wellness: &wellness, caller, of: &of, activity, group: group.as_ref(), now, run };
    optimistically(|| join.attempt()).await
}

/// A request to join.
struct Join<'a> {
    wellness: &'a Wellness,
    caller: &'a Caller,
    of: &'a EmployeeKey,
    activity: &'a ActivityId,
    group: Option<&'a GroupId>,
    now: TimestampSeconds,
    run: RequestId,
}

impl Join<'_> {
    async fn attempt(&self) -> Result<Put<RegistrationBody>, Error> {
        let table = &self.wellness.table;
        let found = self.wellness.activity(&self.of.company, self.activity).await?;
        if !sees(self.caller, found.status) {
            return Err(Error::NotFound("activity"));
        }
        let old = table.get::<Registration>(&Registration::key_of(self.activity, &self.of.user)).await?;
        if let Some(old) = old.as_ref().filter(|old| old.absence != Some(Absence::Withdrawn)) {
            let old = self.moved(&found, old.clone()).await?;
            let body = self.queued(old).await?.ok_or_else(Error::stale)?;
            return Ok(Put { is_new: false, body });
        }
        let employee = table.get::<Employee>(&Employee::key_of(self.of)).await?.ok_or(Error::NotFound("employee"))?;
        self.must_admit(&found, &employee)?;
        self.must_have_group().await?;
        let new = self.registration(&found, old.as_ref());
        if found.enrolment() == Enrolment::Automatic {
            self.wellness.dynamo.write(self.put(&new, old.as_ref())?).await?;
            let new = self.settle(new).await?;
            return Ok(Put { is_new: true, body: new.body(self.now) });
        }
        self.take_seat(&found, new, old.as_ref()).await
    }

    async fn must_have_group(&self) -> Result<(), Error> {
        let Some(group) = self.group else { return Ok(()) };
        let found = self.wellness.table.get::<Group>(&Group::key_of(self.activity, group)).await?;
        found.map(drop).ok_or_else(|| Error::invalid("/body/groupId", "is no group of the activity"))
    }

    /// Moves a registered employee to the group.
    async fn moved(&self, activity: &Activity, old: Registration) -> Result<Registration, Error> {
        let Some(group) = self.group.filter(|group| old.group.as_ref() != Some(*group)) else { return Ok(old) };
        self.must_run(activity)?;
        self.must_have_group().await?;
        let update = self.wellness.table.update(old.key()).set(Registration::GROUP, group);
        self.wellness.dynamo.write(update.only_if(old.same_absence()?)).await?;
        Ok(Registration { group: Some(group.clone()), ..old })
    }

    /// Requires an active activity that has not ended. An administrator may change it later.
    fn must_run(&self, activity: &Activity) -> Result<(), Error> {
        let is_running = activity.offer().is_running(self.now) || self.caller.administers(DOMAIN);
        if activity.status == Status::Active && is_running {
            return Ok(());
        }
        Err(Error::Conflict(Problem::ActivityNotOpen, "The activity is not active, or has ended.".to_owned()))
    }

    fn must_admit(&self, activity: &Activity, employee: &Employee) -> Result<(), Error> {
        let conflict = |problem, detail: &str| Err(Error::Conflict(problem, detail.to_owned()));
        let administers = self.caller.administers(DOMAIN);
        self.must_run(activity)?;
        if !administers && activity.enrolment() == Enrolment::Closed {
            return conflict(Problem::EnrolmentClosed, "Only an administrator can put employees into the activity.");
        }
        if !administers && !activity.offer().admits(employee) {
            return conflict(Problem::NotEligible, "The filters of the activity exclude the employee.");
        }
        Ok(())
    }

    /// Returns the new registration. An employee who comes back keeps the progress and the points.
    fn registration(&self, activity: &Activity, old: Option<&Registration>) -> Registration {
        let (company, user) = (self.of.company.clone(), self.of.user.clone());
        let new = Registration::new(company, self.activity.clone(), activity.end(), user, self.now);
        let assigned = self.caller.administers(DOMAIN).then_some(true);
        let group = self.group.cloned();
        match old.cloned() {
            Some(old) => {
                let (end, group) = (new.end, group.or_else(|| old.group.clone()));
                Registration { end, registered_at: self.now, absence: None, ticket: None, assigned, group, ..old }
            }
            None => Registration { assigned, group, ..new },
        }
    }

    /// Returns the put of the registration, which fails if somebody has changed it. After a leave,
    /// a late sign-up cannot use the ticket of that registration again.
    fn put(&self, new: &Registration, old: Option<&Registration>) -> Result<Change, Error> {
        if old.is_none() {
            return Ok(self.wellness.table.put_new(new)?);
        }
        let has_left = Condition::is(Registration::ABSENCE, Value::of(&Absence::Withdrawn)?);
        let put = self.wellness.table.replace(new)?.only_if(has_left);
        Ok(match new.ticket {
            Some(ticket) => put.only_if(Condition::missing_or_under(Registration::LAST_TICKET, ticket)),
            None => put,
        })
    }

    /// Takes the next ticket, and puts the registration under it.
    async fn take_seat(
        &self,
        activity: &Activity,
        mut new: Registration,
        old: Option<&Registration>,
    ) -> Result<Put<RegistrationBody>, Error> {
        let user = &self.of.user;
        let Drawn { sort, waits } = self.wellness.draw_ticket(activity, user, self.run, self.now).await?;
        let number = count(sort.number());
        new.ticket = Some(number);
        new.absence = waits.then_some(Absence::Waiting);
        let (partition, user_id) = (ActivityPartition(self.activity.clone()), Some(user.clone()));
        let waiting = waits.then_some(true);
        let ticket = Ticket { partition, sort, user_id, waiting, at: self.now, expires_at: None };
        let changes = vec![self.put(&new, old)?, self.wellness.table.put_new(&ticket)?];
        match self.wellness.dynamo.transact(changes).await {
            Ok(()) => {}
            Err(table::Error::Refused(refused)) => {
                // The next attempt reads everything again, and must not get this ticket.
                let is_void = refused.found::<Ticket>(1)?.is_some_and(|found| found.user_id.is_none());
                if is_void {
                    self.wellness.jobs.start_again(new.seating(self.run, self.now)?, &self.run).await?;
                }
                if refused.at(1) || old.is_some_and(|old| old.last_ticket >= new.ticket) {
                    self.forget(sort).await?;
                } else {
                    // The employee has signed up since the registration was read.
                    self.wellness.give_back(&new, sort, self.run, self.now).await?;
                }
                return Err(Error::stale());
            }
            Err(error) => return Err(error.into()),
        }
        if !waits {
            let (new, ()) = try_join(self.settle(new), self.forget(sort)).await?;
            return Ok(Put { is_new: true, body: new.body(self.now) });
        }
        let new = self.settle(new).await?;
        let seated = Registration { absence: None, ..new.clone() };
        // Without a body, the job was faster.
        let body = self.queued(new).await?.unwrap_or_else(|| seated.body(self.now));
        // The sign-up ends here: until then, the job looks after its ticket.
        self.forget(sort).await?;
        Ok(Put { is_new: true, body })
    }

    async fn forget(&self, ticket: TicketSort) -> Result<(), Error> {
        self.wellness.forget_draw(self.activity, DrawnEntry::of(&self.of.user), ticket).await
    }

    /// Reads the activity and the employee again after the registration was put. Both may have
    /// changed after they were read, and the jobs of these changes may have missed the
    /// registration.
    ///
    /// # Errors
    /// [`Error::stale`] if the activity now excludes the employee, who was withdrawn. The next
    /// attempt says so.
    async fn settle(&self, new: Registration) -> Result<Registration, Error> {
        let table = &self.wellness.table;
        let employee = async { Ok(table.get::<Employee>(&Employee::key_of(self.of)).await?) };
        let (activity, employee) = try_join(self.wellness.activity(&self.of.company, self.activity), employee).await?;
        if let Some(employee) = employee
            && activity.offer().excludes(&employee, self.now)
            // Otherwise, the employee has used the registration or has left again since then.
            && self.wellness.withdraw(&new, self.now).await?
        {
            return Err(Error::stale());
        }
        let end = ActivityEndDateSort(activity.end());
        if end == new.end {
            return Ok(new);
        }
        let update = table.update(new.key()).set(Registration::END, &end);
        match self.wellness.dynamo.write(update.only_if(Condition::is(Registration::END, &new.end))).await {
            // If the condition fails, a job was faster.
            Ok(()) | Err(table::Error::Refused(_)) => Ok(Registration { end, ..new }),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the registration with its place on the waiting list, or with the seat that became
    /// free for it. Returns `None` if the registration has changed.
    async fn queued(&self, registration: Registration) -> Result<Option<RegistrationBody>, Error> {
        let ticket = registration.ticket_sort()?.filter(|_| registration.absence == Some(Absence::Waiting));
        let Some(ticket) = ticket else { return Ok(Some(registration.body(self.now))) };
        let counter = self.wellness.tickets(self.activity).await?.ok_or_else(Error::stale)?;
        if ticket.number() <= counter.limit {
            let seat = self.wellness.seat(&registration.partition, ticket, &self.of.user)?;
            return match self.wellness.dynamo.transact(seat).await {
                Ok(()) => Ok(Some(Registration { absence: None, ..registration }.body(self.now))),
                Err(table::Error::Refused(_)) => Ok(None),
                Err(error) => Err(error.into()),
            };
        }
        if counter.awaits_another(ticket) {
            // If that sign-up has crashed, the job gives its seat away.
            self.wellness.jobs.start_again(registration.seating(self.run, self.now)?, &self.run).await?;
        }
        let place = self.wellness.waiting_place(&counter, ticket).await?;
        Ok(Some(registration.body(self.now).at(Some(place))))
    }
}
