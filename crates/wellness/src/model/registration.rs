use crate::model::{activity::json_of_some, award::Award, object::JsonObject};
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityId, ActivityPartition, CompanyId, GroupId, PlanTime, RegistrationSort,
        RegistrationsPartition, UserId,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Condition, Item, JsonText, Key, Value};

/// An employee's registration for a challenge. It is part of the activity's item collection, but
/// its sort key does not begin with `Program`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Registration {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Registration#UserId-<id>`.
    #[serde(rename = "SK")]
    pub sort: RegistrationSort,
    /// GSI3PK: `CompanyId-<id>#UserId-<id>#Registrations`.
    #[serde(rename = "GSI3PK")]
    pub of_user: RegistrationsPartition,
    /// GSI3SK: the end date of the activity. A job updates it when the activity's end date changes.
    #[serde(rename = "GSI3SK")]
    pub end: ActivityEndDateSort,
    /// The company that owns the activity.
    #[serde(rename = "CompanyId")]
    pub company: CompanyId,
    /// Progress towards the goal.
    pub progress: Progress,
    /// Progress as text, such as `404 / 1000 steps`. Initially empty.
    pub progress_text: String,
    /// Points earned: the sum of the awards.
    pub earned_points: u32,
    /// The rewards that the registration has earned, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub awards: Vec<Award>,
    /// The time at which an administrator recorded the attendance. Absent if nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attended_at: Option<TimestampSeconds>,
    /// Supplementary metadata: a JSON object. It is not authoritative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<JsonText>,
    /// Time of registration.
    pub registered_at: TimestampSeconds,
    /// Whether the employee waits or has left. Absent if the employee is enrolled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub absence: Option<Absence>,
    /// The number of the ticket, if the employee signed up (docs/decisions/wellness-seats.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket: Option<i64>,
    /// The highest ticket that the employee has given up by leaving.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_ticket: Option<i64>,
    /// Present if an administrator put the employee in, who may not be eligible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned: Option<bool>,
    /// The group of the employee. The group may have been removed since.
    #[serde(rename = "GroupId", skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupId>,
}

/// Why an employee with a registration does not take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Absence {
    /// The employee is on the waiting list.
    Waiting,
    /// The employee has left. Automatic enrolment does not enrol this employee again.
    Withdrawn,
}

impl Item for Registration {
    const TYPE: &'static str = "Registration";
}

impl Registration {
    /// Creates a registration without progress.
    pub fn new(company: CompanyId, activity: ActivityId, end: PlanTime, user: UserId, now: TimestampSeconds) -> Self {
        Self {
            partition: ActivityPartition(activity),
            sort: RegistrationSort(user.clone()),
            of_user: RegistrationsPartition { company: company.clone(), user },
            end: ActivityEndDateSort(end),
            company,
            progress: Progress::NONE,
            progress_text: String::new(),
            earned_points: 0,
            awards: Vec::new(),
            attended_at: None,
            data: None,
            registered_at: now,
            absence: None,
            ticket: None,
            last_ticket: None,
            assigned: None,
            group: None,
        }
    }

    /// Primary key of this registration.
    pub fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// Primary key of a user's registration.
    pub fn key_of(activity: &ActivityId, user: &UserId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &RegistrationSort(user.clone()))
    }
}

/// A registration, with its status at the time of the request.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationBody {
    activity_id: ActivityId,
    user_id: UserId,
    end_date: TimestampSeconds,
    progress: Progress,
    #[schemars(length(max = 200))]
    progress_text: String,
    #[schemars(range(max = u32::MAX))]
    earned_points: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    attended_at: Option<TimestampSeconds>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json_of_some")]
    #[schemars(with = "Option<JsonObject>")]
    data: Option<JsonText>,
    registered_at: TimestampSeconds,
    status: RegistrationStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<GroupId>,
    /// The place on the waiting list, starting at 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    place: Option<u64>,
}

/// The status of a registration (docs/decisions/wellness-activities.md). It is `completed` if the
/// goal is reached or the attendance is recorded. Otherwise, it is `not-completed` after the end of
/// the activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RegistrationStatus {
    Enrolled,
    Waiting,
    Withdrawn,
    /// The goal is reached, or the attendance is recorded.
    Completed,
    /// The activity ended before that.
    NotCompleted,
}

impl RegistrationStatus {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Enrolled => "enrolled",
            Self::Waiting => "waiting",
            Self::Withdrawn => "withdrawn",
            Self::Completed => "completed",
            Self::NotCompleted => "not-completed",
        }
    }
}

impl RegistrationBody {
    /// Adds the place on the waiting list.
    pub(crate) fn at(self, place: Option<u64>) -> Self {
        Self { place, ..self }
    }
}

impl Registration {
    /// Returns the condition that the employee takes part, waits or has left as before.
    pub(crate) fn same_absence(&self) -> Result<Condition, table::Error> {
        Ok(match self.absence {
            Some(absence) => Condition::is(Self::ABSENCE, Value::of(&absence)?),
            None => Condition::missing(Self::ABSENCE),
        })
    }

    /// Whether the employee has done nothing yet.
    pub(crate) fn is_untouched(&self) -> bool {
        self.progress == Progress::NONE
            && self.earned_points == 0
            && self.progress_text.is_empty()
            && self.attended_at.is_none()
            && self.data.is_none()
    }

    /// Whether the goal is reached or the attendance is recorded.
    pub(crate) fn is_completed(&self) -> bool {
        self.progress >= Progress::COMPLETE || self.attended_at.is_some()
    }

    /// Returns the status at the time `now`, if the activity ends at `end`.
    pub(crate) fn status(&self, end: PlanTime, now: TimestampSeconds) -> RegistrationStatus {
        match self.absence {
            Some(Absence::Waiting) => RegistrationStatus::Waiting,
            Some(Absence::Withdrawn) => RegistrationStatus::Withdrawn,
            None if self.is_completed() => RegistrationStatus::Completed,
            None if end.is_over(now) => RegistrationStatus::NotCompleted,
            None => RegistrationStatus::Enrolled,
        }
    }

    /// Returns the registration with its status at the time `now`.
    pub(crate) fn body(self, now: TimestampSeconds) -> RegistrationBody {
        let registration = self;
        RegistrationBody {
            status: registration.status(registration.end.0, now),
            activity_id: registration.partition.0,
            user_id: registration.sort.0,
            end_date: registration.end.0.second(),
            progress: registration.progress,
            progress_text: registration.progress_text,
            earned_points: registration.earned_points,
            attended_at: registration.attended_at,
            data: registration.data,
            registered_at: registration.registered_at,
            group_id: registration.group,
            place: None,
        }
    }
}

/// Progress towards a goal: 0 to 10,000 percent with at most two decimals.
///
/// In memory, the value is an integer in hundredths of a percent. In JSON and in DynamoDB, it is a
/// number such as `40.4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Progress(u32);

keys::schema!(Progress as "Progress": {
    "description": "Percentage with at most two decimal places.",
    "type": "number",
    "minimum": 0,
    "maximum": 10_000
});

impl Progress {
    /// No progress.
    pub const NONE: Self = Self(0);
    /// The whole goal: 100 percent.
    pub const COMPLETE: Self = Self(10_000);
    /// The maximum, in hundredths of a percent.
    const MAX: f64 = 1_000_000.0;

    /// The progress in hundredths of a percent.
    pub(crate) const fn hundredths(self) -> u32 {
        self.0
    }

    /// Creates the progress from hundredths of a percent, or the maximum if they exceed it.
    pub(crate) fn at_most(hundredths: i128) -> Self {
        Self(u32::try_from(hundredths.clamp(0, 1_000_000)).unwrap_or_default())
    }
}

impl TryFrom<f64> for Progress {
    type Error = &'static str;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range has been checked")]
    fn try_from(percent: f64) -> Result<Self, Self::Error> {
        let hundredths = (percent * 100.0).round();
        // For a percentage with two decimals, the floating-point error is less than 1e-6.
        if (0.0..=Self::MAX).contains(&hundredths) && (percent * 100.0 - hundredths).abs() < 1e-6 {
            return Ok(Self(hundredths as u32));
        }
        Err("must be a number from 0 to 10000 with at most two decimals")
    }
}

impl From<Progress> for f64 {
    fn from(progress: Progress) -> Self {
        Self::from(progress.0) / 100.0
    }
}
