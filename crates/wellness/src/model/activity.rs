use crate::{
    DOMAIN,
    model::{
        access::sees,
        enrolment::Enrolment,
        filters::{Filters, FiltersBody},
        object::JsonObject,
        sizes::{MAX_ROW, must_fit},
    },
};
use function::{Caller, ChangedBy, Error};
use keys::{
    KeyRange, RequestId, TimestampSeconds,
    wellness::{
        ActivityId, ActivityPartition, ActivityType, CompanyId, EndDateSort, ListPartition, Period, PlanTime,
        ProgramPartition, ProgramSort, SectionId, ShownStatus, Status, SubType, TemplateId, UseSort,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, fmt, str::FromStr};
use table::{Attributes, Item, JsonText, Key};

/// The base row of an activity, which has the sort key `Program`. Lists of activities read only
/// base rows.
///
/// The end date is stored only in the index keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Activity {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// GSI1PK: `CompanyId-<id>#Program`.
    #[serde(rename = "GSI1PK")]
    pub program: ProgramPartition,
    /// GSI1SK: the end date.
    #[serde(rename = "GSI1SK")]
    pub end: EndDateSort,
    /// GSI2PK: `CompanyId-<id>#Program#List`. `None` if the row was read from GSI1, which does not
    /// project this attribute.
    #[serde(rename = "GSI2PK", skip_serializing_if = "Option::is_none")]
    pub list: Option<ListPartition>,
    /// GSI2SK: the end date. `None` if the row was read from GSI1.
    #[serde(rename = "GSI2SK", skip_serializing_if = "Option::is_none")]
    pub list_end: Option<EndDateSort>,
    /// The owning company.
    #[serde(rename = "CompanyId")]
    pub company: CompanyId,
    /// Name of the activity.
    pub name: Name,
    /// Challenge or event. The attribute name `Type` is reserved for the item type.
    pub activity_type: ActivityType,
    /// The topic, such as `Fitness`.
    pub sub_type: SubType,
    /// The stored status: draft, active or cancelled.
    pub status: Status,
    /// Start date.
    pub start_date: PlanTime,
    /// The section that contains the activity, if any (docs/decisions/wellness-activities.md).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_id: Option<SectionId>,
    /// The request that has moved the activity to its section. `None` if it was never moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_by: Option<RequestId>,
    /// The employees who are eligible.
    pub filters: Filters,
    /// How employees come to take part. Absent for the default of the activity type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enrolment: Option<Enrolment>,
    /// The number of seats. Absent if there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Supplementary metadata: a JSON object. It is not authoritative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<JsonText>,
    /// The template that the activity was created from, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<TemplateId>,
    /// Version number, starting at 1. A move to another section does not change it
    /// (docs/decisions/wellness-activities.md).
    pub version: i64,
    /// Time of creation.
    pub created_at: TimestampSeconds,
    /// The caller who last changed the activity, its parts, its references or its section. `None`
    /// if the erasure of an employee has removed the author, or if the row was read from GSI1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<ChangedBy>,
}

impl Item for Activity {
    const TYPE: &'static str = "Activity";
}

impl Activity {
    /// Primary key of an activity's base row.
    pub fn key_of(activity: &ActivityId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &ProgramSort::Program)
    }

    /// The activity id.
    pub fn id(&self) -> &ActivityId {
        &self.partition.0
    }

    /// The end date.
    pub fn end(&self) -> PlanTime {
        self.end.0
    }

    /// Checks the size of the base row without the author. A change by a caller with a longer id
    /// therefore never makes a full row too large.
    ///
    /// # Errors
    /// 413 if the row is larger than 8 KB.
    pub(crate) fn must_fit(&self) -> Result<(), Error> {
        must_fit(&Self { changed_by: None, ..self.clone() }, MAX_ROW)
    }

    /// The status at the time `now`.
    pub fn shown_status(&self, now: TimestampSeconds) -> ShownStatus {
        self.status.shown(self.end(), now)
    }
}

/// The `status` filter of a list: comma-separated names. The default is `active`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Statuses(#[schemars(with = "Vec<ShownStatus>", length(min = 1))] BTreeSet<ShownStatus>);

impl Statuses {
    pub(crate) fn have(&self, status: ShownStatus) -> bool {
        self.0.contains(&status)
    }

    /// Returns the statuses without those that the caller may not see.
    pub(crate) fn visible_to(&self, caller: &Caller) -> Self {
        Self(self.0.iter().copied().filter(|status| sees(caller, status.stored())).collect())
    }
}

impl Statuses {
    /// Returns the key ranges that contain a venue's references to activities with these statuses.
    /// The activities end within the period. The ranges are in the order of their keys. Active and
    /// completed activities share a range.
    pub(crate) fn ranges(&self, period: Period, now: TimestampSeconds) -> Vec<KeyRange> {
        let of = |stored: Status| {
            let mut shown = self.0.iter().filter(|status| status.stored() == stored);
            let first = shown.next()?;
            let period = if shown.next().is_some() { period } else { first.within(period, now)? };
            (!period.is_empty()).then(|| UseSort::within(stored, period))
        };
        Status::ALL.into_iter().filter_map(of).collect()
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(|status| status.as_str()).collect();
        out.write_str(&names.join(","))
    }
}

impl Default for Statuses {
    fn default() -> Self {
        Self(BTreeSet::from([ShownStatus::default()]))
    }
}

impl FromStr for Statuses {
    type Err = <ShownStatus as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// A name of at most 200 characters, such as the name of an activity or the type of a goal.
pub type Name = function::BoundedText<200>;

/// An activity.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActivityBody {
    activity_id: ActivityId,
    company_id: CompanyId,
    name: Name,
    #[serde(rename = "type")]
    activity_type: ActivityType,
    sub_type: SubType,
    start_date: TimestampSeconds,
    end_date: TimestampSeconds,
    status: ShownStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    section_id: Option<SectionId>,
    filters: FiltersBody,
    enrolment: Enrolment,
    /// Number of seats. Absent if it has no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = crate::model::ticket::MAX_CAPACITY))]
    capacity: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json_of_some")]
    #[schemars(with = "Option<JsonObject>")]
    data: Option<JsonText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template_id: Option<TemplateId>,
    #[schemars(range(min = 1))]
    version: i64,
    created_at: TimestampSeconds,
    /// The caller who last changed the activity, its parts, its references or its section. Only
    /// administrators and operators see it, and lists omit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
}

impl ActivityBody {
    /// The activity at the time `now`, with its author if the caller may see it.
    pub(crate) fn of(activity: Activity, caller: &Caller, now: TimestampSeconds) -> Self {
        let author = activity.changed_by.clone();
        let changed_by = author.and_then(|author| author.seen_in_company(caller, DOMAIN));
        Self { changed_by, ..activity.body(now) }
    }
}

/// Serialises optional JSON text as nested JSON.
#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
pub(crate) fn json_of_some<S: serde::Serializer>(json: &Option<JsonText>, out: S) -> Result<S::Ok, S::Error> {
    match json {
        Some(json) => table::raw_json::serialize(json, out),
        None => out.serialize_none(),
    }
}

impl Activity {
    /// Returns the activity with its status at the time `now`, without its author.
    pub fn body(self, now: TimestampSeconds) -> ActivityBody {
        let activity = self;
        ActivityBody {
            status: activity.shown_status(now),
            end_date: activity.end().second(),
            enrolment: activity.enrolment(),
            capacity: activity.capacity,
            activity_id: activity.partition.0,
            company_id: activity.company,
            name: activity.name,
            activity_type: activity.activity_type,
            sub_type: activity.sub_type,
            start_date: activity.start_date.second(),
            section_id: activity.section_id,
            filters: activity.filters.into(),
            data: activity.data,
            template_id: activity.template_id,
            version: activity.version,
            created_at: activity.created_at,
            changed_by: None,
        }
    }
}
