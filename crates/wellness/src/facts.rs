use crate::{Activity, Award, Registration, model::registration::Absence};
use function::{Error, Record};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ActivityType, CompanyId, RewardKind, SectionId, Status, SubType, UserId},
};
use publisher::Facts;
use schemars::JsonSchema;
use serde::Serialize;
use table::Item;

/// Events of activities and of the employees who take part.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all_fields = "camelCase")]
pub enum Fact {
    /// An administrator created an activity.
    ActivityCreated(ActivityFact),
    /// An administrator changed an activity, its parts or its references. A change of a venue's
    /// record is not a change of the activities that refer to the venue.
    ActivityChanged(ActivityFact),
    /// An administrator cancelled an activity. The registrations stay.
    ActivityCancelled(ActivityFact),
    /// An administrator moved an activity to another section, or removed it from its section. The
    /// version of the activity stays.
    ActivityMoved {
        /// The company that owns the activity.
        company_id: CompanyId,
        /// The activity.
        activity_id: ActivityId,
        /// The new section. Absent if the activity is in no section.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "SectionId")]
        section_id: Option<SectionId>,
    },
    /// The activity was deleted, because the data of its company is erased. Delete your copies.
    ActivityDeleted {
        /// The company that owned the activity.
        company_id: CompanyId,
        /// The activity.
        activity_id: ActivityId,
    },
    /// An employee takes part in an activity. The employee signed up and has a seat, or the service
    /// or an administrator enrolled the employee. This may happen again after the employee left.
    EmployeeEnrolled(RegistrationFact),
    /// An employee signed up for an activity without free seats, and is on the waiting list.
    EmployeeWaiting(RegistrationFact),
    /// An employee on the waiting list got a seat.
    EmployeeMovedUp(RegistrationFact),
    /// An employee left an activity, or was removed from the company. The registration stays with
    /// its progress and its points.
    EmployeeLeft(RegistrationFact),
    /// The registration of an employee was deleted. The employee had done nothing, and is no longer
    /// eligible or was removed from the company. Or the data of the employee or the company is
    /// erased. The event does not say which. Delete your copies.
    RegistrationDeleted(RegistrationFact),
    /// An employee reached the goal of an activity, or an administrator recorded the attendance. If
    /// an administrator removes the attendance, the employee can complete the activity again.
    ActivityCompleted {
        /// The company that owns the activity.
        company_id: CompanyId,
        /// The activity.
        activity_id: ActivityId,
        /// The employee.
        user_id: UserId,
        /// The time at which the attendance was recorded. Absent if the goal was reached.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "TimestampSeconds")]
        attended_at: Option<TimestampSeconds>,
    },
    /// An employee earned the points of a reward. Each reward of a registration is awarded once.
    RewardAwarded {
        /// The company that owns the activity.
        company_id: CompanyId,
        /// The activity.
        activity_id: ActivityId,
        /// The employee.
        user_id: UserId,
        /// The kind of the reward, which is unique within the activity.
        reward_kind: RewardKind,
        /// The points of the reward.
        points: u32,
        /// The points of all rewards that the employee has earned in the activity.
        earned_points: u32,
        /// The time of the report or the attendance that earned the reward.
        awarded_at: TimestampSeconds,
    },
}

/// The activity of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ActivityFact {
    /// The company that owns the activity.
    company_id: CompanyId,
    /// The activity.
    activity_id: ActivityId,
    /// Challenge or event.
    #[serde(rename = "type")]
    activity_type: ActivityType,
    /// The topic.
    sub_type: SubType,
    /// The stored status: draft, active or cancelled. An active activity is completed after its end
    /// date, without another event.
    status: Status,
    /// The start date.
    start_date: TimestampSeconds,
    /// The end date. A time of 00:00:00 in UTC includes that whole day.
    end_date: TimestampSeconds,
    /// The section. Absent if the activity is in no section.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SectionId")]
    section_id: Option<SectionId>,
    /// The version of the activity. It increases with each change, except for moves.
    version: i64,
}

/// The registration of an event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct RegistrationFact {
    /// The company that owns the activity.
    company_id: CompanyId,
    /// The activity.
    activity_id: ActivityId,
    /// The employee.
    user_id: UserId,
    /// The time of the registration. After a return, it is the time of the return.
    registered_at: TimestampSeconds,
}

impl Facts for Fact {
    const SOURCE: &'static str = "wellness";
}

impl Fact {
    /// Returns the facts of a stream record of `Activities`.
    pub(crate) fn of(record: &Record) -> Result<Vec<Self>, Error> {
        match record.item_type() {
            Some(Activity::TYPE) => Ok(match images(record)? {
                (None, Some(new)) => vec![Self::ActivityCreated(new.into())],
                (Some(old), Some(new)) => Self::of_activity(&old, new),
                (Some(Activity { company, partition, .. }), None) => {
                    vec![Self::ActivityDeleted { company_id: company, activity_id: partition.0 }]
                }
                (None, None) => Vec::new(),
            }),
            Some(Registration::TYPE) => Ok(match images(record)? {
                (old, Some(new)) => Self::of_registration(old.as_ref(), &new),
                (Some(old), None) => vec![Self::RegistrationDeleted((&old).into())],
                (None, None) => Vec::new(),
            }),
            _ => Ok(Vec::new()),
        }
    }

    fn of_activity(old: &Activity, new: Activity) -> Vec<Self> {
        let moved = (old.section_id != new.section_id).then(|| Self::ActivityMoved {
            company_id: new.company.clone(),
            activity_id: new.id().clone(),
            section_id: new.section_id.clone(),
        });
        let is_cancelled = new.status == Status::Cancelled && old.status != new.status;
        // The erasure of an author changes the activity without a new version.
        let changed = (old.version != new.version).then(|| match ActivityFact::from(new) {
            fact if is_cancelled => Self::ActivityCancelled(fact),
            fact => Self::ActivityChanged(fact),
        });
        changed.into_iter().chain(moved).collect()
    }

    fn of_registration(old: Option<&Registration>, new: &Registration) -> Vec<Self> {
        let completed = (new.is_completed() && !old.is_some_and(Registration::is_completed)).then(|| {
            let (company_id, activity_id, user_id) = ids(new);
            Self::ActivityCompleted { company_id, activity_id, user_id, attended_at: new.attended_at }
        });
        let had = |kind: &RewardKind| old.is_some_and(|old| old.awards.iter().any(|award| award.kind == *kind));
        let awarded = new.awards.iter().filter(|award| !had(&award.kind)).map(|Award { kind, points, at }| {
            let (company_id, activity_id, user_id) = ids(new);
            let (reward_kind, points, earned_points, awarded_at) = (kind.clone(), *points, new.earned_points, *at);
            Self::RewardAwarded { company_id, activity_id, user_id, reward_kind, points, earned_points, awarded_at }
        });
        let presence = Self::of_presence(old, new);
        presence.into_iter().chain(completed).chain(awarded).collect()
    }

    /// Returns the fact that the employee takes part, waits or has left, if that is new.
    fn of_presence(old: Option<&Registration>, new: &Registration) -> Option<Self> {
        if old.is_some_and(|old| old.absence == new.absence) {
            return None;
        }
        let (waited, fact) = (old.is_some_and(|old| old.absence == Some(Absence::Waiting)), new.into());
        Some(match new.absence {
            None if waited => Self::EmployeeMovedUp(fact),
            None => Self::EmployeeEnrolled(fact),
            Some(Absence::Waiting) => Self::EmployeeWaiting(fact),
            Some(Absence::Withdrawn) => Self::EmployeeLeft(fact),
        })
    }
}

/// Returns the old and the new image of a record.
fn images<T: Item>(record: &Record) -> Result<(Option<T>, Option<T>), Error> {
    let (is_insertion, is_modification) = (record.is_insertion(), record.is_modification());
    let old = (!is_insertion).then(|| record.old_image()).transpose()?;
    let new = (is_insertion || is_modification).then(|| record.new_image()).transpose()?;
    Ok((old, new))
}

fn ids(registration: &Registration) -> (CompanyId, ActivityId, UserId) {
    (registration.company.clone(), registration.partition.0.clone(), registration.sort.0.clone())
}

impl From<Activity> for ActivityFact {
    fn from(activity: Activity) -> Self {
        Self {
            start_date: activity.start_date.second(),
            end_date: activity.end().second(),
            company_id: activity.company,
            activity_id: activity.partition.0,
            activity_type: activity.activity_type,
            sub_type: activity.sub_type,
            status: activity.status,
            section_id: activity.section_id,
            version: activity.version,
        }
    }
}

impl From<&Registration> for RegistrationFact {
    fn from(registration: &Registration) -> Self {
        let (company_id, activity_id, user_id) = ids(registration);
        Self { company_id, activity_id, user_id, registered_at: registration.registered_at }
    }
}
