//! W21: an employee leaves an activity (docs/requirements/wellness.md#join-and-leave-activities).

use crate::{
    DOMAIN, Registration, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::registration::Absence,
    patterns::join_activity::JoinActivityInput,
};
use function::{Error, NoContent, Problem, Request, Route, Trigger, optimistically};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "W21",
    name: "leave-activity",
    trigger: Trigger::Http(&[Route {
        method: "DELETE",
        path: "/wellness/users/{userId}/registrations/{activityId}",
        scopes: &["wellness:write", "wellness:admin", "wellness:operate"],
        summary: "Leave an activity",
        problems: &[Problem::NotFound, Problem::ActivityNotOpen],
    }]),
    calls: &[
        Calls::new("", |case| {
            let registration = write(case.registration);
            Cost::default()
                .read(cost::ACTIVITIES, read(case.registration))
                .write(cost::ACTIVITIES, (registration + 1).times(2))
                .write(cost::JOBS, write(case.job).times(2))
                .write(cost::REGISTRATIONS, registration)
        }),
        Calls::new(", automatic enrolment", |case: &Named| {
            let registration = write(case.registration);
            Cost::default()
                .read(cost::ACTIVITIES, read(case.registration))
                .write(cost::ACTIVITIES, registration)
                .write(cost::REGISTRATIONS, registration)
        }),
    ],
    contract: function::contract(&leave_activity),
    function: || function::http(leave_activity, Wellness::warm_by_get),
};

/// Withdraws an employee from an activity, and gives the seat to the first employee on the waiting
/// list. A repeated request succeeds. Progress and points stay with the registration.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 403 if the caller is another user or belongs to another company.
/// - 404 if the registration does not exist.
/// - 409 if the caller is an employee and the activity has ended.
pub async fn leave_activity(wellness: Wellness, request: Request<JoinActivityInput>) -> Result<NoContent, Error> {
    let JoinActivityInput { of, activity } = &request.input;
    let of = of.of(&request.caller)?;
    let administers = request.caller.administers(DOMAIN);
    optimistically(|| async {
        let found = wellness.table.get::<Registration>(&Registration::key_of(activity, &of.user)).await?;
        let found = found.filter(|found| found.company == of.company).ok_or(Error::NotFound("registration"))?;
        if found.absence == Some(Absence::Withdrawn) {
            return Ok(());
        }
        if !administers && found.end.0.is_over(request.now) {
            let detail = "The activity has ended.".to_owned();
            return Err(Error::Conflict(Problem::ActivityNotOpen, detail));
        }
        Ok(wellness.dynamo.apply(wellness.marking_left(&found, request.id, request.now)?).await?)
    })
    .await?;
    Ok(NoContent)
}
