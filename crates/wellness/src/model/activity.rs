use keys::{
    TimestampSeconds,
    wellness::{
        ActivityId, ActivityPartition, ActivityType, CompanyId, Department, EndDateSort, ListPartition, PlanTime,
        ProgramPartition, ProgramSort, Role, SectionId, Status, SubType, TemplateId,
    },
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, str::FromStr};
use table::{Attributes, Item, JsonText, Key};

/// An activity: the row `Program` of its collection, which lists are made of.
///
/// Its end stands in its index keys and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Activity {
    /// Which.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// `Program`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// The company's programme.
    #[serde(rename = "GSI1PK")]
    pub program: ProgramPartition,
    /// When it ends.
    #[serde(rename = "GSI1SK")]
    pub end: EndDateSort,
    /// The company's narrow list; none where the activity was read from GSI1, which does not carry it.
    #[serde(rename = "GSI2PK", skip_serializing_if = "Option::is_none")]
    pub list: Option<ListPartition>,
    /// When it ends, with `list`.
    #[serde(rename = "GSI2SK", skip_serializing_if = "Option::is_none")]
    pub list_end: Option<EndDateSort>,
    /// Whose it is.
    #[serde(rename = "CompanyId")]
    pub company: CompanyId,
    /// Its name.
    pub name: Name,
    /// Challenge or event. `Type` is every item's own.
    pub activity_type: ActivityType,
    /// What it is about.
    pub sub_type: SubType,
    /// Where it stands.
    pub status: Status,
    /// When it begins.
    pub start_date: PlanTime,
    /// Where it is grouped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_id: Option<SectionId>,
    /// Whom it is for.
    pub filters: Filters,
    /// What is not of record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<JsonText>,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<TemplateId>,
    /// Counts its changes, moves between sections left out. The first is 1.
    pub version: i64,
    /// When it was made.
    pub created_at: TimestampSeconds,
}

impl Item for Activity {
    const TYPE: &'static str = "Activity";
}

impl Activity {
    /// The key of an activity.
    #[must_use]
    pub fn key_of(activity: &ActivityId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &ProgramSort::Program)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &ActivityId {
        &self.partition.0
    }

    /// When it ends.
    #[must_use]
    pub fn end(&self) -> PlanTime {
        self.end.0
    }
}

/// Where the activities of a list stand: names separated by commas; active where nobody says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statuses(BTreeSet<Status>);

impl Statuses {
    pub(crate) fn have(&self, status: Status) -> bool {
        self.0.contains(&status)
    }
}

impl Default for Statuses {
    fn default() -> Self {
        Self(BTreeSet::from([Status::default()]))
    }
}

impl FromStr for Statuses {
    type Err = <Status as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').map(|name| name.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// Whom an activity is for. An empty list admits everybody.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Filters {
    /// Employees of one of these roles.
    pub roles: Vec<Role>,
    /// And of one of these departments.
    pub departments: Vec<Department>,
}

impl Filters {
    /// Whether they admit a role and a department; one that is not asked about is no hindrance.
    #[must_use]
    pub fn admit(&self, role: Option<&Role>, department: Option<&Department>) -> bool {
        fn holds<T: PartialEq>(list: &[T], one: Option<&T>) -> bool {
            list.is_empty() || one.is_none_or(|one| list.contains(one))
        }
        holds(&self.roles, role) && holds(&self.departments, department)
    }
}

/// Filters as they are sent and answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FiltersBody {
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    departments: Vec<Department>,
}

impl From<Filters> for FiltersBody {
    fn from(Filters { roles, departments }: Filters) -> Self {
        Self { roles, departments }
    }
}

impl From<FiltersBody> for Filters {
    fn from(FiltersBody { roles, departments }: FiltersBody) -> Self {
        Self { roles, departments }
    }
}

/// What an activity, a group and the like are called, and kinds of them.
pub type Name = function::BoundedText<200>;

/// An activity as it is answered.
#[derive(Debug, Clone, Serialize)]
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
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    section_id: Option<SectionId>,
    filters: FiltersBody,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json_of_some")]
    data: Option<JsonText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    template_id: Option<TemplateId>,
    version: i64,
    created_at: TimestampSeconds,
}

/// JSON that may be missing, as JSON within JSON.
#[expect(clippy::ref_option, reason = "serde hands the field over so")]
pub(crate) fn json_of_some<S: serde::Serializer>(json: &Option<JsonText>, out: S) -> Result<S::Ok, S::Error> {
    match json {
        Some(json) => table::raw_json::serialize(json, out),
        None => out.serialize_none(),
    }
}

impl From<Activity> for ActivityBody {
    fn from(activity: Activity) -> Self {
        Self {
            end_date: activity.end().second(),
            activity_id: activity.partition.0,
            company_id: activity.company,
            name: activity.name,
            activity_type: activity.activity_type,
            sub_type: activity.sub_type,
            start_date: activity.start_date.second(),
            status: activity.status,
            section_id: activity.section_id,
            filters: activity.filters.into(),
            data: activity.data,
            template_id: activity.template_id,
            version: activity.version,
            created_at: activity.created_at,
        }
    }
}
