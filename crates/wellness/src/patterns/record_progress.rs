//! W12: records a user's progress in a challenge
//! (docs/requirements/wellness.md#pattern-3-list-registrations-of-a-user).
//!
//! docs/decisions/wellness-progress.md explains why progress never decreases.
//! docs/decisions/wellness-visibility.md explains who may set points.

use crate::{
    Activity, DOMAIN, Progress, Registration, RegistrationBody, Wellness,
    cost::{self, Calls, Case, Pattern},
    model::{access::OfUser, object::JsonObject, registration::Absence},
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
    progress: Progress,
    text: Option<ProgressText>,
    points: Option<u32>,
    data: Option<JsonObject>,
    correction: bool,
}

impl Input for Report {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (of, activity) = (OfUser::read(fields), fields.path("activityId"));
        let (progress, text) = (fields.body("progress"), fields.body_if_any("progressText"));
        let (points, data) = (fields.body_if_any("earnedPoints"), fields.body_if_any("data"));
        let correction = fields.body_if_any("correction").unwrap_or_default();
        Some(Self { of: of?, activity: activity?, progress: progress?, text, points, data, correction })
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

/// Records the progress in percent, the earned points, a progress text and metadata.
///
/// Only a correction can lower the stored progress or points, even if several reports arrive
/// concurrently. A report that repeats the stored values succeeds, because it may be a retry.
///
/// Only administrators and operators set points and correct, and they may do so at any time.
/// Employees report while the activity is active and has not ended.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 403 if the caller is another user or belongs to another company, or if an employee sets points
///   or corrects.
/// - 404 if the registration does not exist.
/// - 409 if the reported progress or points are lower than the stored ones.
/// - 409 if the caller is an employee and the activity is not active or has ended.
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
    if !administers {
        wellness.must_take_reports(&report.activity, &of, request.now).await?;
    }
    let change = report.change(&wellness.table, &of.user)?;
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
    /// Requires the activity to be active and not to have ended.
    ///
    /// The update that follows does not check the activity again. A transaction would consume more
    /// write units, and thousands of reports would contend for the activity.
    async fn must_take_reports(
        &self,
        activity: &ActivityId,
        of: &EmployeeKey,
        now: TimestampSeconds,
    ) -> Result<(), Error> {
        let found = self.table.get::<Activity>(&Activity::key_of(activity)).await?;
        let found = found.filter(|found| found.company == of.company).ok_or(Error::NotFound("registration"))?;
        let reason = match found.status {
            Status::Active if found.end().second() >= now => return Ok(()),
            Status::Active => "has ended",
            Status::Completed => "is completed",
            Status::Cancelled => "was cancelled",
            Status::Draft => "is not published yet",
        };
        // Only registered employees learn that the activity exists.
        let registration = self.table.get::<Registration>(&Registration::key_of(activity, &of.user)).await?;
        registration.ok_or(Error::NotFound("registration"))?;
        let detail = format!("The activity {reason}. Only an administrator can change the progress.");
        Err(Error::Conflict(Problem::ActivityNotOpen, detail))
    }
}

impl Report {
    fn change(&self, table: &Table, user: &UserId) -> Result<Change, Error> {
        let progress = Value::of(&self.progress)?;
        let points = self.points.map(|points| Value::from(i64::from(points)));
        let mut change = table.update(Registration::key_of(&self.activity, user));
        for (attribute, reported) in [(Registration::PROGRESS, Some(progress)), (Registration::EARNED_POINTS, points)] {
            let Some(reported) = reported else { continue };
            if !self.correction {
                change = change.only_if(Condition::at_most(attribute, reported.clone()));
            }
            change = change.set(attribute, reported);
        }
        if let Some(ProgressText(text)) = &self.text {
            change = change.set(Registration::PROGRESS_TEXT, text);
        }
        if let Some(JsonObject(data)) = &self.data {
            change = change.set(Registration::DATA, Value::of(data)?);
        }
        Ok(change)
    }
}
