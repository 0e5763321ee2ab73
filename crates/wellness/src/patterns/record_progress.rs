//! W12: records a user's progress in a challenge
//! (docs/requirements/wellness.md#pattern-3-list-registrations-of-a-user).
//!
//! docs/decisions/wellness-registrations.md explains why progress never decreases.
//! docs/decisions/wellness-points.md explains who gets points, and when.

use crate::{
    Activity, DOMAIN, Progress, Registration, RegistrationBody, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        access::OfUser,
        object::JsonObject,
        parts::{Amount, AmountBody, Goal},
        registration::Absence,
    },
};
use function::{BoundedText, Contract, Error, Fields, Input, Json, Problem, Request, Route, Trigger, optimistically};
use futures::future::join4;
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, EmployeeKey, ShownStatus},
};
use schemars::json_schema;
use serde::Deserialize;
use serde_json::json;
use table::{
    Change, Condition, Table, Value,
    cost::{Cost, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W12",
    name: "record-progress",
    trigger: Trigger::Http(&[Route {
        method: "PATCH",
        path: "/wellness/users/{userId}/registrations/{activityId}",
        scopes: &["wellness:write", "wellness:admin", "wellness:operate"],
        summary: "Record progress and points",
        problems: &[
            Problem::NotFound,
            Problem::ProgressBackwards,
            Problem::ActivityNotOpen,
            Problem::GoalWithoutTarget,
        ],
    }]),
    calls: &[
        Calls::new("", |case| update_cost(case).read(cost::ACTIVITIES, case.activity_read())),
        Calls::new(", value", |case| {
            let goal = read(case.part);
            update_cost(case).read(cost::ACTIVITIES, case.activity_read() + goal)
        }),
        Calls::new(", administrator", update_cost),
        Calls::new(", correction", |case| {
            let cost = update_cost(case).read(cost::ACTIVITIES, read(case.registration));
            cost.write(cost::ACTIVITIES, write(case.registration))
        }),
    ],
    contract: function::contract(&record_progress),
    function: || function::http(record_progress, Wellness::warm_by_get),
};

fn update_cost(case: &Named) -> Cost {
    let registration = write(case.registration);
    let cost = Cost::default().read(cost::ACTIVITIES, read(case.registration) + read(case.rewards));
    cost.write(cost::ACTIVITIES, registration).write(cost::REGISTRATIONS, registration)
}

/// Maximum size of a registration's `data`, in bytes.
const MAX_DATA: usize = 2 * 1024;

/// A progress report. Omitted fields keep their stored values.
#[derive(Debug, Clone)]
pub struct RecordProgressInput {
    of: OfUser,
    activity: ActivityId,
    reached: Reported,
    text: Option<ProgressText>,
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

impl Input for RecordProgressInput {
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
        let (data, correction) = (fields.body_if_any("data"), fields.body_if_any("correction").unwrap_or_default());
        Some(Self { of: of?, activity: activity?, reached: reached?, text, data, correction })
    }

    fn describe(contract: &mut Contract) {
        OfUser::describe(contract);
        contract.path::<ActivityId>("activityId", "");
        contract.name_body("ProgressReport");
        contract.body::<Progress>("progress", "", false);
        let value =
            "In the units of the goal, instead of `progress`. The server computes `progress` and `progressText`.";
        contract.body::<AmountBody>("value", value, false);
        contract.body::<ProgressText>("progressText", "", false);
        contract.body::<JsonObject>("data", "", false);
        let lower = "Whether to lower the progress. Only for administrators and operators.";
        contract.body_or::<bool>("correction", lower, Some(false.into()));
        contract.adapt_body(|body| {
            let shapes = json!([
                {"title": "Percent", "required": ["progress"]},
                {"title": "Value", "required": ["value"]},
            ]);
            body.insert("allOf".to_owned(), json!([{"oneOf": shapes}]));
        });
    }
}

/// Progress as text: empty, or at most 200 visible characters and spaces.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct ProgressText(String);

keys::schema!(ProgressText as "ProgressText", |_| json_schema!({
    "description": "Visible characters and spaces, or an empty text. U+200C and U+200D are allowed between two visible \
        characters.",
    "type": "string",
    "maxLength": 200,
    "pattern": format!("{}|^$", keys::schema::plain_text()),
}));

impl TryFrom<String> for ProgressText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.is_empty() || text.parse::<BoundedText<200>>().is_ok() {
            return Ok(Self(text));
        }
        Err("must have at most 200 visible characters or spaces")
    }
}

/// Records the progress, a progress text and metadata, and awards the rewards that the progress
/// earns ([`Registration::awards`]).
///
/// The progress is a percentage, or a `value` in the units of the activity's goal: 404 of a goal
/// with the target 1000 is 40.4 percent, and its text is `404 / 1000 steps`. Digits after the
/// second decimal are dropped, so that 100 percent always means the whole goal.
///
/// Only a correction can lower the stored progress, even if several reports arrive concurrently. A
/// report that repeats the stored progress succeeds, because it may be a retry. A correction takes
/// no awards away.
///
/// Only administrators and operators correct, and they may report at any time. Employees report
/// while the activity is active, from its start date to its end date.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 403 if the caller is another user or belongs to another company, or if an employee corrects.
/// - 404 if the registration does not exist.
/// - 409 if the reported progress is lower than the stored one.
/// - 409 if the caller is an employee and the activity is not active, has not started or has ended.
/// - 409 if a value is reported, and the goal of the activity has no positive `target`.
/// - 413 if `data` is too large.
pub async fn record_progress(
    wellness: Wellness,
    request: Request<RecordProgressInput>,
) -> Result<Json<RegistrationBody>, Error> {
    let report = &request.input;
    let of = report.of.of(&request.caller)?;
    let administers = request.caller.administers(DOMAIN);
    if !administers && report.correction {
        return Err(Error::Forbidden);
    }
    if report.data.as_ref().is_some_and(|JsonObject(data)| data.text().len() > MAX_DATA) {
        return Err(Error::TooLarge(format!("The data of a registration must not exceed {MAX_DATA} bytes.")));
    }
    let recorded = optimistically(|| wellness.record(report, &of, administers, request.now)).await?;
    Ok(Json(recorded.body(request.now)))
}

impl Wellness {
    /// Makes one attempt to record the progress.
    async fn record(
        &self,
        report: &RecordProgressInput,
        of: &EmployeeKey,
        administers: bool,
        now: TimestampSeconds,
    ) -> Result<Registration, Error> {
        let is_value = matches!(report.reached, Reported::Value(_));
        let (activity, goal) = (Activity::key_of(&report.activity), Goal::key_of(&report.activity));
        let old = Registration::key_of(&report.activity, &of.user);
        let reads = join4(
            optional(!administers || is_value, self.table.get::<Activity>(&activity)),
            optional(is_value, self.table.get::<Goal>(&goal)),
            self.table.get::<Registration>(&old),
            self.rewards(&report.activity),
        );
        let (activity, goal, old, rewards) = Box::pin(reads).await;
        let activity = activity?.flatten();
        let old = old?.filter(|old| old.company == of.company && old.absence != Some(Absence::Withdrawn));
        let old = old.ok_or(Error::NotFound("registration"))?;
        if !administers {
            activity.as_ref().ok_or(Error::NotFound("registration"))?.must_take_reports(now)?;
        }
        if old.absence == Some(Absence::Waiting) {
            return Err(Error::Conflict(Problem::ActivityNotOpen, "The employee is on the waiting list.".to_owned()));
        }
        let (progress, text) = report.reached.in_percent(goal?.flatten().as_ref())?;
        if !report.correction && progress < old.progress {
            let detail = "The stored progress is higher. Only a correction can lower it.".to_owned();
            return Err(Error::Conflict(Problem::ProgressBackwards, detail));
        }
        let change = report.change(&self.table, &old, progress, text.as_deref())?;
        let new = Registration { progress, ..old };
        let change = new.awarding(change, &new.due(&rewards?, now))?;
        if !report.correction {
            return Ok(self.dynamo.update_as_read(change).await?);
        }
        // Without its client token, an attempt that arrives late would overwrite a later report.
        self.dynamo.transact(vec![change]).await?;
        self.table.get(&new.key()).await?.ok_or_else(Error::stale)
    }
}

/// Awaits the read if it is wanted.
async fn optional<T>(is_wanted: bool, read: impl Future<Output = Result<T, table::Error>>) -> Result<Option<T>, Error> {
    if is_wanted { Ok(Some(read.await?)) } else { Ok(None) }
}

impl Reported {
    /// Converts the report to a percentage and, for a value in the units of the goal, its text.
    fn in_percent(self, goal: Option<&Goal>) -> Result<(Progress, Option<String>), Error> {
        match self {
            Self::Percent(progress) => Ok((progress, None)),
            Self::Value(value) => {
                let reached = goal.and_then(|goal| goal.reached(value)).map(|(progress, text)| (progress, Some(text)));
                reached.ok_or_else(|| {
                    let detail = "The goal of the activity has no positive target. Report progress in percent.";
                    Error::Conflict(Problem::GoalWithoutTarget, detail.to_owned())
                })
            }
        }
    }
}

impl Activity {
    /// Requires the activity to be active, to have started and not to have ended.
    ///
    /// The update that follows does not check the activity again. A transaction would consume more
    /// write units, and thousands of reports would contend for the activity.
    fn must_take_reports(&self, now: TimestampSeconds) -> Result<(), Error> {
        let reason = match self.shown_status(now) {
            ShownStatus::Active if self.start_date.second() > now => "has not started",
            ShownStatus::Active => return Ok(()),
            ShownStatus::Completed => "has ended",
            ShownStatus::Cancelled => "was cancelled",
            ShownStatus::Draft => "is not published yet",
        };
        let detail = format!("The activity {reason}. Only an administrator can change the progress.");
        Err(Error::Conflict(Problem::ActivityNotOpen, detail))
    }
}

impl RecordProgressInput {
    /// Returns the change of the registration. DynamoDB refuses it if the progress has risen above
    /// the reported one, or if the employee has left.
    fn change(
        &self,
        table: &Table,
        old: &Registration,
        progress: Progress,
        text: Option<&str>,
    ) -> Result<Change, Error> {
        let reported = Value::of(&progress)?;
        let mut change = table.update(old.key()).only_if(Condition::missing(Registration::ABSENCE));
        change = change.only_if(Condition::is(Registration::COMPANY, &old.company));
        if !self.correction {
            change = change.only_if(Condition::at_most(Registration::PROGRESS, reported.clone()));
        }
        change = change.set(Registration::PROGRESS, reported);
        if let Some(text) = self.text.as_ref().map(|ProgressText(text)| text.as_str()).or(text) {
            change = change.set(Registration::PROGRESS_TEXT, &text);
        }
        if let Some(JsonObject(data)) = &self.data {
            change = change.set(Registration::DATA, Value::of(data)?);
        }
        Ok(change)
    }
}
