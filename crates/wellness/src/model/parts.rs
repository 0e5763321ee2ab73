use crate::{Activity, Name, Progress, Reference, model::object::JsonObject};
use function::{Contract, Fields, Input, Whole};
use keys::wellness::{ActivityId, ActivityPartition, Facet, FacetId, FacetRef, ProgramSort, RewardKind, UseSort};
use money::{Decimal, JsonDecimal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use table::{Item, JsonText, Key};

/// Maximum number of rewards of an activity.
pub(crate) const MAX_REWARDS: usize = 10;
/// Maximum number of references of an activity. With this limit, the largest activity and an
/// idempotency record fit into one transaction of 100 items.
pub(crate) const MAX_REFERENCES: usize = 25;

/// The detail of an activity: the description and other data that lists omit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Detail {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program#Detail`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// The content of the detail: a JSON object.
    pub detail: JsonText,
}

impl Item for Detail {
    const TYPE: &'static str = "Detail";
}

impl Detail {
    pub(crate) fn new(activity: &ActivityId, JsonObject(detail): JsonObject) -> Self {
        Self { partition: ActivityPartition(activity.clone()), sort: ProgramSort::Detail, detail }
    }
}

/// The goal of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Goal {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program#GoalPrimary`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// Type of the goal, such as steps. The attribute name `Type` is reserved for the item type.
    pub goal_type: Name,
    /// Parameters of the goal, such as the target: any JSON value.
    pub parameters: JsonText,
}

impl Item for Goal {
    const TYPE: &'static str = "Goal";
}

/// A goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, Input)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Goal")]
pub(crate) struct GoalBody {
    #[serde(rename = "type")]
    #[input(body = "type")]
    goal_type: Name,
    /// Any JSON.
    #[input(body, via = Box<RawValue>)]
    #[serde(with = "table::raw_json")]
    #[schemars(with = "table::JsonText")]
    parameters: JsonText,
}

impl Goal {
    pub(crate) fn new(activity: &ActivityId, goal: GoalBody) -> Self {
        let GoalBody { goal_type, parameters } = goal;
        let partition = ActivityPartition(activity.clone());
        Self { partition, sort: ProgramSort::GoalPrimary, goal_type, parameters }
    }

    /// Primary key of an activity's goal.
    pub(crate) fn key_of(activity: &ActivityId) -> Key {
        Key::new(&ActivityPartition(activity.clone()), &ProgramSort::GoalPrimary)
    }

    /// The progress of a value in the goal's units, rounded down, and its text, such as `404 / 1000
    /// steps`. `None` if the parameters have no positive `target`.
    pub(crate) fn reached(&self, value: Amount) -> Option<(Progress, String)> {
        #[derive(Deserialize)]
        struct Parameters {
            target: AmountBody,
        }
        let Parameters { target: AmountBody(target) } = serde_json::from_str(self.parameters.text()).ok()?;
        let share = value.hundredths()?.checked_mul(10_000)?.checked_div(target.hundredths()?)?;
        // Keeps the text within 200 characters.
        let units: String = self.goal_type.as_str().chars().take(150).collect();
        Some((Progress::at_most(share), format!("{} / {} {units}", value.0, target.0)))
    }
}

impl From<Goal> for GoalBody {
    fn from(Goal { goal_type, parameters, .. }: Goal) -> Self {
        Self { goal_type, parameters }
    }
}

/// A reward of an activity. The kind of the reward is stored only in the sort key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reward {
    /// Partition key: `ActivityId-<id>`.
    #[serde(rename = "PK")]
    pub partition: ActivityPartition,
    /// Sort key: `Program#Reward#<kind>`.
    #[serde(rename = "SK")]
    pub sort: ProgramSort,
    /// Name, such as `Points`.
    pub name: Name,
    /// Amount of the reward in points.
    pub amount: Points,
    /// The progress that earns the reward. Absent for the whole goal, and for attendance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub percent: Option<Milestone>,
}

impl Item for Reward {
    const TYPE: &'static str = "Reward";
}

/// The kind of the reward for attendance. All other rewards are for progress.
const ATTENDANCE: &str = "Attendance";

/// A reward.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", try_from = "AnyReward")]
#[schemars(rename = "Reward")]
pub(crate) struct RewardBody {
    /// Unique among the rewards of the activity.
    pub(crate) kind: RewardKind,
    name: Name,
    /// Number of points.
    amount: Points,
    #[serde(skip_serializing_if = "Option::is_none")]
    percent: Option<Milestone>,
}

/// A reward in a request that may name a percentage for attendance.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct AnyReward {
    /// Unique among the rewards of the activity.
    kind: RewardKind,
    name: Name,
    /// Number of points.
    amount: Points,
    #[serde(default, deserialize_with = "not_null")]
    #[schemars(!default)]
    percent: Option<Milestone>,
}

/// Deserialises an optional field that must not be `null`.
fn not_null<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(input: D) -> Result<Option<T>, D::Error> {
    T::deserialize(input).map(Some)
}

impl TryFrom<AnyReward> for RewardBody {
    type Error = &'static str;

    fn try_from(AnyReward { kind, name, amount, percent }: AnyReward) -> Result<Self, Self::Error> {
        if is_misspelt(&kind) {
            return Err("the kind of the reward for attendance is written `Attendance`");
        }
        let is_one = percent.is_none() || kind.as_str() != ATTENDANCE;
        is_one.then_some(Self { kind, name, amount, percent }).ok_or("a reward for Attendance must not have a percent")
    }
}

/// Whether the kind differs from `Attendance` only in case. Its points would not be awarded for
/// attendance.
fn is_misspelt(kind: &RewardKind) -> bool {
    kind.as_str() != ATTENDANCE && kind.as_str().eq_ignore_ascii_case(ATTENDANCE)
}

/// A number of points.
pub type Points = Whole<0, 1_000_000>;

/// The progress that earns a reward: more than 0 and at most 100 percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Progress", into = "Progress")]
pub struct Milestone(Progress);

keys::schema!(Milestone as "Milestone": {
    "description": "The progress that earns the reward, with at most two decimal places. The default is 100. A reward \
        of the kind Attendance is earned by attendance, and has no percentage.",
    "type": "number",
    "exclusiveMinimum": 0,
    "maximum": 100
});

impl TryFrom<Progress> for Milestone {
    type Error = &'static str;

    fn try_from(progress: Progress) -> Result<Self, Self::Error> {
        let is_one = Progress::NONE < progress && progress <= Progress::COMPLETE;
        is_one.then_some(Self(progress)).ok_or("must be more than 0 and at most 100")
    }
}

impl From<Milestone> for Progress {
    fn from(Milestone(progress): Milestone) -> Self {
        progress
    }
}

/// A value in the units of a goal, in a request: a JSON number or string.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct AmountBody(#[serde(deserialize_with = "number")] pub(crate) Amount);

keys::schema!(AmountBody as "GoalValue": {
    "oneOf": [
        {"title": "GoalValueNumber", "type": "number", "minimum": 0, "maximum": 1_000_000_000},
        {
            "title": "GoalValueText",
            "type": "string",
            "pattern": r"^((0|[1-9][0-9]{0,8})(\.[0-9]{1,2})?|1000000000(\.0{1,2})?)$"
        }
    ]
});

/// `kind` is in the path, and the rest in the body.
impl Input for RewardBody {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (kind, name, amount) = (fields.path("kind"), fields.body("name"), fields.body("amount"));
        let percent = fields.body_if_any("percent");
        let reward = AnyReward { kind: kind?, name: name?, amount: amount?, percent };
        let at = if is_misspelt(&reward.kind) { "/path/kind" } else { "/body/percent" };
        reward.try_into().map_err(|wrong: &str| fields.fault::<()>(at, wrong)).ok()
    }

    fn describe(contract: &mut Contract) {
        contract.path::<RewardKind>("kind", "");
        contract.body::<Name>("name", "", true);
        contract.body::<Points>("amount", "Number of points.", true);
        contract.body::<Milestone>("percent", "", false);
    }
}

impl Reward {
    pub(crate) fn new(activity: &ActivityId, RewardBody { kind, name, amount, percent }: RewardBody) -> Self {
        Self { partition: ActivityPartition(activity.clone()), sort: ProgramSort::Reward(kind), name, amount, percent }
    }

    /// Converts the reward for a response. `None` if the sort key does not belong to a reward.
    pub(crate) fn body(self) -> Option<RewardBody> {
        let ProgramSort::Reward(kind) = self.sort else { return None };
        Some(RewardBody { kind, name: self.name, amount: self.amount, percent: self.percent })
    }

    /// Whether a registration with this progress or attendance earns the reward.
    pub(crate) fn is_earned(&self, progress: Progress, has_attended: bool) -> bool {
        match &self.sort {
            ProgramSort::Reward(kind) if kind.as_str() == ATTENDANCE => has_attended,
            _ => progress >= self.percent.map_or(Progress::COMPLETE, Progress::from),
        }
    }
}

/// A value in the units of a goal: 0 to 1,000,000,000 with at most two decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Amount(Decimal);

impl Amount {
    const MAX_HUNDREDTHS: i128 = 100_000_000_000;

    fn hundredths(self) -> Option<i128> {
        self.0.scaled(2)
    }
}

impl TryFrom<Decimal> for Amount {
    type Error = &'static str;

    fn try_from(decimal: Decimal) -> Result<Self, Self::Error> {
        let is_one = |hundredths| (0..=Self::MAX_HUNDREDTHS).contains(&hundredths);
        let amount = decimal.scaled(2).is_some_and(is_one).then_some(Self(decimal));
        amount.ok_or("must be a number from 0 to 1000000000 with at most two decimals")
    }
}

/// Deserialises an amount from a JSON number or string.
fn number<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Amount, D::Error> {
    let JsonDecimal(decimal) = JsonDecimal::deserialize(input)?;
    Amount::try_from(decimal).map_err(serde::de::Error::custom)
}

/// A reference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ReferencePart")]
pub(crate) struct ReferenceBody {
    facet: Facet,
    id: FacetId,
    data: JsonObject,
}

impl ReferenceBody {
    pub(crate) fn of(&self) -> FacetRef {
        FacetRef { facet: self.facet, id: self.id.clone() }
    }

    /// Replaces the data.
    pub(crate) fn with(self, data: JsonText) -> Self {
        Self { data: JsonObject(data), ..self }
    }

    /// Creates the reference from `activity` to the venue.
    pub(crate) fn within(&self, activity: &Activity) -> Reference {
        let place = UseSort { status: activity.status, end: activity.end(), activity: activity.id().clone() };
        Reference::new(activity.company.clone(), self.of(), place, self.data.0.clone())
    }
}

impl From<Reference> for ReferenceBody {
    fn from(Reference { uses, copied_data, .. }: Reference) -> Self {
        Self { facet: uses.of.facet, id: uses.of.id, data: JsonObject(copied_data) }
    }
}
