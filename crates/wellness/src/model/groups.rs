//! The groups of an activity (docs/decisions/wellness-points.md).

use crate::{Name, Progress};
use function::{Contract, Fields, Input};
use keys::{
    Random, TimestampMillis, TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, CompanyId, GroupId, GroupsPartition, GroupsSort, ProgramSort},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use table::{Attributes, Item, JsonText, Key};

/// Maximum number of groups of an activity.
pub(crate) const MAX_GROUPS: usize = 50;

/// The row that describes the groups of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Groups {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program#Groups`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// Type of the groups, such as teams. The attribute name `Type` is reserved for the item type.
    pub group_type: Name,
    /// Rules of the groups: any JSON value. The member `progress` of an object is the rule of the
    /// group progress: `average` or `sum`.
    pub rules: JsonText,
    /// GSI2PK: `Groups#<0-9>`. Absent after the last computation of the progress.
    #[serde(rename = "GSI2PK", skip_serializing_if = "Option::is_none")]
    pub list: Option<GroupsPartition>,
    /// GSI2SK: `CompanyId-<id>#ActivityId-<id>`.
    #[serde(rename = "GSI2SK", skip_serializing_if = "Option::is_none")]
    pub place: Option<GroupsSort>,
}

impl Item for Groups {
    const TYPE: &'static str = "Groups";
}

/// A group of an activity. The id of the group is stored only in the sort key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Group {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program#Groups#GroupId-<id>`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// Name of the group.
    pub name: Name,
    /// Progress of the group towards the goal (docs/decisions/wellness-points.md).
    pub progress: GroupProgress,
    /// Number of employees of the group who take part. Absent before the first computation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<u32>,
    /// The time of the last computation of the progress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<TimestampSeconds>,
}

impl Item for Group {
    const TYPE: &'static str = "Group";
}

/// Groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Groups")]
pub(crate) struct GroupsBody {
    #[serde(rename = "type")]
    group_type: Name,
    /// Any JSON. The member `progress` of an object must be `average` or `sum`.
    #[serde(with = "table::raw_json")]
    #[schemars(with = "table::JsonText")]
    rules: JsonText,
    #[schemars(length(max = MAX_GROUPS))]
    pub(crate) items: Vec<GroupBody>,
}

/// A group. A request has only the name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Group")]
pub(crate) struct GroupBody {
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    group_id: Option<GroupId>,
    name: Name,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    progress: Option<GroupProgress>,
    /// Number of employees. Absent before the first computation.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    members: Option<u32>,
    /// The time of the last computation.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    as_of: Option<TimestampSeconds>,
}

/// Progress of a group in percent of the goal. Unlike the progress of an employee, it has no
/// maximum. In memory, it is in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct GroupProgress(u64);

keys::schema!(GroupProgress as "GroupProgress": {
    "description": "Percentage of the goal. It has no maximum. Templates have none.",
    "type": "number",
    "minimum": 0
});

impl GroupProgress {
    /// The maximum, in hundredths of a percent. Numbers below it are exact in floating point.
    const MAX: f64 = 1e15;
}

impl TryFrom<f64> for GroupProgress {
    type Error = &'static str;

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range has been checked")]
    fn try_from(percent: f64) -> Result<Self, Self::Error> {
        let hundredths = (percent * 100.0).round();
        let is_valid = (0.0..=Self::MAX).contains(&hundredths);
        is_valid.then_some(Self(hundredths as u64)).ok_or("must be a percentage")
    }
}

impl From<GroupProgress> for f64 {
    #[expect(clippy::cast_precision_loss, reason = "the maximum is exact")]
    fn from(progress: GroupProgress) -> Self {
        progress.0 as Self / 100.0
    }
}

/// How the progress of a group follows from the progress of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Rule {
    #[default]
    Average,
    Sum,
}

impl Rule {
    /// Reads the member `progress` of the rules.
    fn of(rules: &JsonText) -> Result<Self, &'static str> {
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(rules.text()).unwrap_or_default();
        let rule = members.get("progress").map(|rule| serde_json::from_str(rule.get()));
        rule.transpose().map(Option::unwrap_or_default).map_err(|_| "must be average or sum")
    }
}

/// The number of members of a group and the sum of their progress, in hundredths of a percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Members {
    pub(crate) count: u32,
    pub(crate) sum: u64,
}

impl Members {
    pub(crate) fn add(&mut self, progress: Progress) {
        self.count += 1;
        self.sum += u64::from(progress.hundredths());
    }
}

impl Groups {
    /// Creates the `Groups` row and the groups. The group ids sort in request order.
    pub(crate) fn new(
        company: &CompanyId,
        activity: &ActivityId,
        mut body: GroupsBody,
        now: TimestampMillis,
        random: &Random,
    ) -> (Self, Vec<Group>) {
        let mut ids: Vec<GroupId> = body.items.iter().map(|_| GroupId::new(now.instant(), random)).collect();
        ids.sort();
        let group = |(id, GroupBody { name, .. })| Group::new(activity, id, name);
        let items = ids.into_iter().zip(std::mem::take(&mut body.items)).map(group).collect();
        (body.row(company, activity), items)
    }

    /// Returns the progress of a group by the rule.
    pub(crate) fn progress(&self, members: Members) -> GroupProgress {
        GroupProgress(match Rule::of(&self.rules).unwrap_or_default() {
            Rule::Average => members.sum / u64::from(members.count.max(1)),
            Rule::Sum => members.sum,
        })
    }
}

/// The members `type` and `rules` of a body.
impl Input for GroupsBody {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (group_type, rules) = (fields.body("type"), fields.body::<Box<RawValue>>("rules"));
        let body = Self { group_type: group_type?, rules: rules?.into(), items: Vec::new() };
        body.checked(fields, "/body")
    }

    fn describe(contract: &mut Contract) {
        contract.body::<Name>("type", "", true);
        contract.body::<JsonText>(
            "rules",
            "Any JSON. The member `progress` of an object must be `average` or `sum`.",
            true,
        );
    }
}

impl GroupsBody {
    /// Checks the rule of the group progress. `pointer` is the place of the body.
    pub(crate) fn checked(self, fields: &mut Fields, pointer: &str) -> Option<Self> {
        match Rule::of(&self.rules) {
            Ok(_) => Some(self),
            Err(detail) => fields.fault(&format!("{pointer}/rules/progress"), detail),
        }
    }

    /// Returns the `Groups` row of the activity.
    pub(crate) fn row(self, company: &CompanyId, activity: &ActivityId) -> Groups {
        Groups {
            partition: ActivityPartition(activity.clone()),
            sort: ProgramSort::Groups,
            group_type: self.group_type,
            rules: self.rules,
            list: Some(GroupsPartition::of(activity)),
            place: Some(GroupsSort { company: company.clone(), activity: activity.clone() }),
        }
    }
}

impl From<Groups> for GroupsBody {
    fn from(Groups { group_type, rules, .. }: Groups) -> Self {
        Self { group_type, rules, items: Vec::new() }
    }
}

impl Group {
    /// Creates a group without members.
    pub(crate) fn new(activity: &ActivityId, id: GroupId, name: Name) -> Self {
        let (partition, sort) = (ActivityPartition(activity.clone()), ProgramSort::Group(id));
        Self { partition, sort, name, progress: GroupProgress::default(), members: None, as_of: None }
    }

    /// Primary key of a group.
    pub(crate) fn key_of(activity: &ActivityId, id: &GroupId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &ProgramSort::Group(id.clone()))
    }

    /// Converts the group for a response. `None` if the sort key does not belong to a group.
    pub(crate) fn body(self) -> Option<GroupBody> {
        let ProgramSort::Group(id) = self.sort else { return None };
        let Self { name, progress, members, as_of, .. } = self;
        Some(GroupBody { group_id: Some(id), name, progress: Some(progress), members, as_of })
    }
}
