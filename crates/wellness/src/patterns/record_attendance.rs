//! W26: records who attended an activity (docs/requirements/wellness.md#attendance).

use crate::{
    DOMAIN, Registration, Reward, Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger, optimistically};
use futures::future::{join_all, try_join};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, CompanyId, ShownStatus, UserId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use table::{
    Condition,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W26",
    name: "record-attendance",
    trigger: Trigger::Http(&[Route {
        method: "POST",
        path: "/wellness/companies/{companyId}/activities/{activityId}/attendance",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Record who attended an activity",
        problems: &[Problem::NotFound, Problem::ActivityNotOpen],
    }]),
    calls: &[Calls::new("", |case| {
        let times = case.items;
        let registration = write(case.registration).times(times);
        Cost::default()
            .read(cost::ACTIVITIES, case.activity_read() + read(case.rewards))
            .read(cost::ACTIVITIES, read(case.registration).times(times))
            .write(cost::ACTIVITIES, registration)
            .write(cost::REGISTRATIONS, registration)
    })],
    contract: function::contract(&record_attendance),
    function: || function::http(record_attendance, Wellness::warm_by_get),
};

/// Maximum number of employees of a request.
const MAX_USERS: usize = 25;

/// The employees who attended.
#[derive(Debug, Clone, Input)]
pub struct RecordAttendanceInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    #[input(body = "userIds")]
    users: Users,
    /// Whether to record or to remove the attendance.
    #[input(body, default = true)]
    attended: bool,
}

/// 1 to 25 different employees.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "Vec<UserId>")]
#[schemars(inline, !try_from)]
struct Users(#[schemars(length(min = 1, max = 25), extend("uniqueItems" = true))] Vec<UserId>);

impl TryFrom<Vec<UserId>> for Users {
    type Error = &'static str;

    fn try_from(users: Vec<UserId>) -> Result<Self, Self::Error> {
        let is_distinct = users.iter().collect::<BTreeSet<_>>().len() == users.len();
        let is_one = is_distinct && (1..=MAX_USERS).contains(&users.len());
        is_one.then_some(Self(users)).ok_or("must have 1 to 25 different user ids")
    }
}

/// The outcome for each employee, in the order of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttendanceBody {
    #[schemars(length(min = 1, max = MAX_USERS))]
    items: Vec<Attendee>,
}

/// The outcome for one employee.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Attendee {
    user_id: UserId,
    outcome: Outcome,
    /// The points of the registration. Absent if nothing was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = u32::MAX))]
    earned_points: Option<u32>,
}

/// Whether the attendance was recorded. It is `skipped` if the registration is unreadable.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Recorded,
    /// The employee has no registration, waits, or has left.
    NotEnrolled,
    /// The registration is unreadable.
    Skipped,
}

/// Records the attendance of employees, and awards the rewards for it. With `attended` set to
/// false, removes an attendance that was recorded by mistake. The awards stay.
///
/// A repeated request awards only rewards that were added since. If the response is an error, a
/// retry completes the request.
///
/// # Errors
/// - 404 if the activity does not exist.
/// - 409 if the activity is a draft, is cancelled or has not started.
pub async fn record_attendance(
    wellness: Wellness,
    request: Request<RecordAttendanceInput>,
) -> Result<Json<AttendanceBody>, Error> {
    let RecordAttendanceInput { company, activity, users: Users(users), attended } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let (found, rewards) = try_join(wellness.activity(company, activity), wellness.rewards(activity)).await?;
    let reason = match found.shown_status(request.now) {
        ShownStatus::Cancelled => Some("was cancelled"),
        ShownStatus::Draft => Some("is not published yet"),
        _ if found.start_date.second() > request.now => Some("has not started"),
        ShownStatus::Active | ShownStatus::Completed => None,
    };
    if let Some(reason) = reason {
        return Err(Error::Conflict(Problem::ActivityNotOpen, format!("The activity {reason}.")));
    }
    let attend = Attend { wellness: &wellness, rewards: &rewards, attended: *attended, now: request.now };
    let each = users.iter().map(|user| optimistically(|| attend.attempt(company, activity, user)));
    let items = Box::pin(join_all(each)).await.into_iter().collect::<Result<_, _>>()?;
    Ok(Json(AttendanceBody { items }))
}

/// The recording of an attendance.
struct Attend<'a> {
    wellness: &'a Wellness,
    rewards: &'a [Reward],
    attended: bool,
    now: TimestampSeconds,
}

impl Attend<'_> {
    async fn attempt(&self, company: &CompanyId, activity: &ActivityId, user: &UserId) -> Result<Attendee, Error> {
        let outcome = |outcome, earned_points| Attendee { user_id: user.clone(), outcome, earned_points };
        let table = &self.wellness.table;
        let old = match table.get::<Registration>(&Registration::key_of(activity, user)).await {
            Err(table::Error::Unreadable(..)) => return Ok(outcome(Outcome::Skipped, None)),
            old => old?.filter(|old| old.company == *company && old.absence.is_none()),
        };
        let Some(old) = old else { return Ok(outcome(Outcome::NotEnrolled, None)) };
        let change = table.update(old.key()).only_if(Condition::is(Registration::COMPANY, company));
        let change = change.only_if(Condition::missing(Registration::ABSENCE));
        let (attended_at, change) = match (old.attended_at, self.attended) {
            (Some(at), true) => (Some(at), change),
            (None, true) => (Some(self.now), change.set(Registration::ATTENDED_AT, &self.now)),
            (_, false) => (None, change.remove(Registration::ATTENDED_AT)),
        };
        let is_same = attended_at == old.attended_at;
        let new = Registration { attended_at, ..old };
        let due = new.due(self.rewards, self.now);
        if is_same && due.is_empty() {
            return Ok(outcome(Outcome::Recorded, Some(new.earned_points)));
        }
        let change = new.awarding(change, &due)?;
        let new = self.wellness.dynamo.update_as_read::<Registration>(change).await?;
        Ok(outcome(Outcome::Recorded, Some(new.earned_points)))
    }
}
