//! W12: records a user's progress in a challenge
//! (docs/requirements/wellness.md#pattern-3-list-registrations-of-a-user).
//!
//! docs/decisions/wellness-progress.md explains why progress never decreases.

use crate::{
    DOMAIN, Progress, Registration, RegistrationBody, Wellness,
    cost::{self, Calls, Pattern},
    model::object::JsonObject,
};
use function::{BoundedText, Error, Fields, Function, Input, Json, Problem, Request, Route, Trigger};
use keys::wellness::{ActivityId, UserId};
use serde::Deserialize;
use table::{
    Change, Condition, Table, Value,
    cost::{Cost, write},
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
        scopes: &["wellness:write", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "update SK = Registration#UserId-… if the stored Progress and EarnedPoints are not greater than the reported ones",
        formula: "⌈registration⌉ W; GSI3 ⌈registration⌉ W",
        cost: |case| {
            Cost::default()
                .write(cost::ACTIVITIES, write(case.registration))
                .write(cost::REGISTRATIONS, write(case.registration))
        },
    }],
    function,
};

/// Maximum size of a registration's `data`, in bytes.
const MAX_DATA: usize = 2 * 1024;

/// A progress report. Omitted fields keep their stored values.
#[derive(Debug, Clone)]
pub struct Report {
    user: UserId,
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
        let (user, activity) = (fields.path("userId"), fields.path("activityId"));
        let (progress, text) = (fields.body("progress"), fields.body_if_any("progressText"));
        let (points, data) = (fields.body_if_any("earnedPoints"), fields.body_if_any("data"));
        let correction = fields.body_if_any("correction").unwrap_or_default();
        Some(Self { user: user?, activity: activity?, progress: progress?, text, points, data, correction })
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
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller is another user.
/// - 404 if the registration does not exist.
/// - 409 if the reported progress or points are lower than the stored ones.
/// - 413 if `data` is too large.
pub async fn record_progress(wellness: Wellness, request: Request<Report>) -> Result<Json<RegistrationBody>, Error> {
    let report = &request.input;
    request.caller.must_be(&report.user, DOMAIN)?;
    let company = request.caller.confined_to(DOMAIN)?;
    if report.data.as_ref().is_some_and(|JsonObject(data)| data.text().len() > MAX_DATA) {
        return Err(Error::TooLarge(format!("The data of a registration must not exceed {MAX_DATA} bytes.")));
    }
    let mut change = report.change(&wellness.table)?;
    if let Some(company) = company {
        change = change.only_if(Condition::is(Registration::COMPANY, &company));
    }
    match wellness.dynamo.update::<Registration>(change).await {
        Err(table::Error::Refused(refused)) => {
            let found = refused.found::<Registration>(0)?;
            let own = found.filter(|found| company.is_none_or(|company| found.company.as_str() == company));
            own.ok_or(Error::NotFound("registration"))?;
            let detail = "The stored progress or points are higher. Only a correction can lower them.".to_owned();
            Err(Error::Conflict(Problem::ProgressBackwards, detail))
        }
        updated => Ok(Json(updated?.into())),
    }
}

impl Report {
    fn change(&self, table: &Table) -> Result<Change, Error> {
        let progress = Value::of(&self.progress)?;
        let points = self.points.map(|points| Value::from(i64::from(points)));
        let mut change = table.update(Registration::key_of(&self.activity, &self.user));
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
