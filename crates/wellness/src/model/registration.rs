use crate::model::activity::json_of_some;
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityId, ActivityPartition, CompanyId, PlanTime, RegistrationSort,
        RegistrationsPartition, UserId,
    },
};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, JsonText, Key};

/// An employee's part in a challenge: an item of the challenge's collection, outside `Program`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Registration {
    /// For which challenge.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Whose it is.
    #[serde(rename = "SK")]
    pub sort: RegistrationSort,
    /// All of the user.
    #[serde(rename = "GSI3PK")]
    pub of_user: RegistrationsPartition,
    /// When the activity ends; moves with it.
    #[serde(rename = "GSI3SK")]
    pub end: ActivityEndDateSort,
    /// The company whose activity it is.
    #[serde(rename = "CompanyId")]
    pub company: CompanyId,
    /// How much of the goal is reached.
    pub progress: Progress,
    /// The same for people, such as `404 / 1000 steps`; empty at first.
    pub progress_text: String,
    /// What was earned.
    pub earned_points: u32,
    /// What is not of record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<JsonText>,
    /// When it was made.
    pub registered_at: TimestampSeconds,
}

impl Item for Registration {
    const TYPE: &'static str = "Registration";
}

impl Registration {
    /// A new one, with nothing done yet.
    #[must_use]
    pub fn new(company: CompanyId, activity: ActivityId, end: PlanTime, user: UserId, now: TimestampSeconds) -> Self {
        Self {
            partition: ActivityPartition(activity),
            sort: RegistrationSort(user.clone()),
            of_user: RegistrationsPartition(user),
            end: ActivityEndDateSort(end),
            company,
            progress: Progress::NONE,
            progress_text: String::new(),
            earned_points: 0,
            data: None,
            registered_at: now,
        }
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(&self.partition, &self.sort)
    }

    /// The key of a user's.
    #[must_use]
    pub fn key_of(activity: &ActivityId, user: &UserId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &RegistrationSort(user.clone()))
    }
}

/// A registration as it is answered to who reports progress.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationBody {
    activity_id: ActivityId,
    user_id: UserId,
    end_date: TimestampSeconds,
    progress: Progress,
    progress_text: String,
    earned_points: u32,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json_of_some")]
    data: Option<JsonText>,
    registered_at: TimestampSeconds,
}

impl From<Registration> for RegistrationBody {
    fn from(registration: Registration) -> Self {
        Self {
            activity_id: registration.partition.0,
            user_id: registration.sort.0,
            end_date: registration.end.0.second(),
            progress: registration.progress,
            progress_text: registration.progress_text,
            earned_points: registration.earned_points,
            data: registration.data,
            registered_at: registration.registered_at,
        }
    }
}

/// How much of a goal is reached, in percent with two decimals at most: 0 to 10,000. Kept in hundredths, written as `40.4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Progress(u32);

impl Progress {
    /// Nothing yet.
    pub const NONE: Self = Self(0);
    /// The most, in hundredths.
    const MOST: f64 = 1_000_000.0;
}

impl TryFrom<f64> for Progress {
    type Error = &'static str;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is within the limits by then")]
    fn try_from(percent: f64) -> Result<Self, Self::Error> {
        let hundredths = (percent * 100.0).round();
        // A percent with two decimals is off by less than this, however it was written.
        if (0.0..=Self::MOST).contains(&hundredths) && (percent * 100.0 - hundredths).abs() < 1e-6 {
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
