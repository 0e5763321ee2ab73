//! W12: records a user's progress in a challenge
//! (docs/requirements/wellness.md#pattern-3-list-registrations-of-a-user).
//!
//! docs/decisions/wellness-progress.md explains why progress never decreases.
//! docs/decisions/wellness-visibility.md explains who may set points.

use crate::{
    Activity, DOMAIN, Progress, Registration, RegistrationBody, Wellness,
    cost::{self, Calls, Case, Pattern},
    model::{
        access::OfUser,
        object::JsonObject,
        parts::{Amount, AmountBody, Goal},
        registration::Absence,
    },
};
use function::{BoundedText, Error, Fields, Function, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, EmployeeKey, Status, UserId},
};
use serde::Deserialize;
use table::{
    Change, Condition, Table, Value,
    cost::{Cost, read, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(record_progress, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W12",
    name: "record-progress",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/wellness/users/{userId}/registrations/{activityId}",
        scopes: &["wellness:write", "wellness:admin", "wellness:operate"],
    }]),
    calls: &[
        Calls {
            variant: "",
            condition: "get SK = Program, and SK = Registration#UserId-…, strongly consistent. Then update SK = Registration#UserId-… if CompanyId is the company and the stored Progress is not greater than the reported one",
            formula: "⌈activity⌉ R; ⌈registration⌉ R and W; GSI3 ⌈registration⌉ W",
            cost: |case| update_cost(case).read(cost::ACTIVITIES, case.activity_read()),
        },
        Calls {
            variant: ", value",
            condition: "get SK = Program, SK = Program#GoalPrimary and SK = Registration#UserId-…, strongly consistent. Then as for a percentage, also for an administrator",
            formula: "⌈activity⌉ + ⌈goal⌉ R; ⌈registration⌉ R and W; GSI3 ⌈registration⌉ W",
            cost: |case| {
                let goal = read(case.part);
                update_cost(case).read(cost::ACTIVITIES, case.activity_read() + goal)
            },
        },
        Calls {
            variant: ", administrator",
            condition: "get SK = Registration#UserId-…, strongly consistent. Then update it if CompanyId is the company and, unless it is a correction, the stored Progress and EarnedPoints are not greater than the reported ones",
            formula: "⌈registration⌉ R and W; GSI3 ⌈registration⌉ W",
            cost: update_cost,
        },
    ],
    function,
};

fn update_cost(case: &Case) -> Cost {
    let registration = write(case.registration);
    let cost = Cost::default().read(cost::ACTIVITIES, read(case.registration));
    cost.write(cost::ACTIVITIES, registration).write(cost::REGISTRATIONS, registration)
}

/// Maximum size of a registration's `data`, in bytes.
const MAX_DATA: usize = 2 * 1024;

/// A progress report. Omitted fields keep their stored values.
#[derive(Debug, Clone)]
pub struct Report {
    of: OfUser,
    activity: ActivityId,
    reached: Reported,
    text: Option<ProgressText>,
    points: Option<u32>,
    data: Option<JsonObject>,
    correction: bool,
}

/// How far the user is.
#[derive(Debug, Clone, Copy)]
enum Reported {
    /// In percent of the goal.
    Percent(Progress),
    /// In the units of the goal.
    Value(Amount),
}

impl Input for Report {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (of, activity) = (OfUser::read(fields), fields.path("activityId"));
        let reached = if fields.has_body("value") {
            let value = fields.body("value").map(|AmountBody(value)| Reported::Value(value));
            match fields.body_if_any::<Progress>("progress") {
                Some(_) => fields.fault("/body/progress", "must be absent, because value is present"),
                None => value,
            }
        } else {
            fields.body("progress").map(Reported::Percent)
        };
        let text = fields.body_if_any("progressText");
        let (points, data) = (fields.body_if_any("earnedPoints"), fields.body_if_any("data"));
        let correction = fields.body_if_any("correction").unwrap_or_default();
        Some(Self { of: of?, activity: activity?, reached: reached?, text, points, data, correction })
    }
}

/// Progress as text: empty, or at most 200 visible characters and spaces.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct ProgressText(String);

impl TryFrom<String> for ProgressText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() || text.parse::<BoundedText<200>>().is_ok() {
            return Ok(Self(text));
        }
        Err("must have at most 200 visible characters or spaces")
    }
}

/// Records the progress, the earned points, a progress text and metadata.
///
/// The progress is a percentage, or a `value` in the units of the activity's goal: 404 of a goal
/// with the target 1000 is 40.4 percent, and its text is `404 / 1000 steps`. Digits after the
/// second decimal are dropped, so that 100 percent always means the whole goal.
///
/// Only a correction can lower the stored progress or points, even if several reports arrive
/// concurrently. A report that repeats the stored values succeeds, because it may be a retry.
///
/// Only administrators and operators set points and correct, and they may do so at any time.
/// Employees report while the activity is active, from its start date to its end date.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 403 if the caller is another user or belongs to another company, or if an employee sets points
///   or corrects.
/// - 404 if the registration does not exist.
/// - 409 if the reported progress or points are lower than the stored ones.
/// - 409 if the caller is an employee and the activity is not active, has not started or has ended.
/// - 409 if a value is reported, and the goal of the activity has no positive `target`.
/// - 413 if `data` is too large.
pub async fn record_progress(wellness: Wellness, request: Request<Report>) -> Result<Json<RegistrationBody>, Error> {
    let report = &request.input;
    let of = report.of.of(&request.caller)?;
    let administers = request.caller.administers(DOMAIN);
    if !administers && (report.points.is_some() || report.correction) {
        return Err(Error::Forbidden);
    }
    if report.data.as_ref().is_some_and(|JsonObject(data)| data.text().len() > MAX_DATA) {
        return Err(Error::TooLarge(format!("The data of a registration must not exceed {MAX_DATA} bytes.")));
    }
    if !administers || matches!(report.reached, Reported::Value(_)) {
        let activity = wellness.activity_of(&report.activity, &of).await?;
        if !administers {
            wellness.must_take_reports(&activity, &of, request.now).await?;
        }
    }
    let (progress, text) = match report.reached {
        Reported::Percent(progress) => (progress, None),
        Reported::Value(value) => wellness.in_percent(&report.activity, value).await?,
    };
    let change = report.change(&wellness.table, &of.user, progress, text.as_deref())?;
    let change = change.only_if(Condition::is(Registration::COMPANY, &of.company));
    let change = change.only_if(Condition::missing(Registration::ABSENCE));
    match wellness.dynamo.update::<Registration>(change).await {
        Err(table::Error::Refused(refused)) => {
            let found = refused.found::<Registration>(0)?;
            let found = found.filter(|found| found.company == of.company).ok_or(Error::NotFound("registration"))?;
            match found.absence {
                Some(Absence::Withdrawn) => return Err(Error::NotFound("registration")),
                Some(Absence::Waiting) => {
                    let detail = "The employee is on the waiting list.".to_owned();
                    return Err(Error::Conflict(Problem::ActivityNotOpen, detail));
                }
                None => {}
            }
            let detail = "The stored progress or points are higher. Only a correction can lower them.".to_owned();
            Err(Error::Conflict(Problem::ProgressBackwards, detail))
        }
        updated => Ok(Json(updated?.into())),
    }
}

impl Wellness {
    /// Returns the activity, if it belongs to the company of the user.
    async fn activity_of(&self, activity: &ActivityId, of: &EmployeeKey) -> Result<Activity, Error> {
        let found = self.table.get::<Activity>(&Activity::key_of(activity)).await?;
        found.filter(|found| found.company == of.company).ok_or(Error::NotFound("registration"))
    }

    /// Converts a value in the units of the activity's goal to a percentage and its text.
    async fn in_percent(&self, activity: &ActivityId, value: Amount) -> Result<(Progress, Option<String>), Error> {
        let goal = self.table.get::<Goal>(&Goal::key_of(activity)).await?;
        let reached = goal.and_then(|goal| goal.reached(value)).map(|(progress, text)| (progress, Some(text)));
        reached.ok_or_else(|| {
            let detail = "The goal of the activity has no positive target. Report progress in percent.".to_owned();
            Error::Conflict(Problem::GoalWithoutTarget, detail)
        })
    }

    /// Requires the activity to be active, to have started and not to have ended.
    ///
    /// The update that follows does not check the activity again. A transaction would consume more
    /// write units, and thousands of reports would contend for the activity.
    async fn must_take_reports(&self, found: &Activity, of: &EmployeeKey, now: TimestampSeconds) -> Result<(), Error> {
        let reason = match found.status {
            Status::Active if found.start_date.second() > now => "has not started",
            Status::Active if found.end().second() >= now => return Ok(()),
            Status::Active => "has ended",
            Status::Completed => "is completed",
            Status::Cancelled => "was cancelled",
            Status::Draft => "is not published yet",
        };
        // Only registered employees learn that the activity exists.
        let registration = self.table.get::<Registration>(&Registration::key_of(found.id(), &of.user)).await?;
        registration.ok_or(Error::NotFound("registration"))?;
        let detail = format!("The activity {reason}. Only an administrator can change the progress.");
        Err(Error::Conflict(Problem::ActivityNotOpen, detail))
    }
}

impl Report {
    fn change(&self, table: &Table, user: &UserId, progress: Progress, text: Option<&str>) -> Result<Change, Error> {
        let progress = Value::of(&progress)?;
        let points = self.points.map(|points| Value::from(i64::from(points)));
        let mut change = table.update(Registration::key_of(&self.activity, user));
        for (attribute, reported) in [(Registration::PROGRESS, Some(progress)), (Registration::EARNED_POINTS, points)] {
            let Some(reported) = reported else { continue };
            if !self.correction {
                change = change.only_if(Condition::at_most(attribute, reported.clone()));
            }
            change = change.set(attribute, reported);
        }
        if let Some(text) = self.text.as_ref().map(|ProgressText(text)| text.as_str()).or(text) {
            change = change.set(Registration::PROGRESS_TEXT, &text);
        }
        if let Some(JsonObject(data)) = &self.data {
            change = change.set(Registration::DATA, Value::of(data)?);
        }
        Ok(change)
    }
}
