//! The points of an employee (docs/decisions/wellness-points.md).

use crate::{Registration, Reward, Wellness};
use function::{Error, Whole};
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityId, ActivityPartition, CorrectionId, CorrectionSort, Level, PointsPartition, ProgramSort, RewardKind,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{Attributes, Change, Condition, Item, Query, Value};

/// Points that a registration earned with a reward of its activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Award {
    /// The kind of the reward. A registration has at most one award of each kind.
    pub kind: RewardKind,
    /// The amount of the reward when it was earned.
    pub points: u32,
    /// The time of the report or the attendance that earned the award.
    pub at: TimestampSeconds,
}

/// A correction of an employee's points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Correction {
    /// Partition key: `CompanyId-<id>#Points`.
    #[serde(rename = "PK")]
    pub partition: PointsPartition,
    /// Sort key: `Correction#UserId-<id>#<time>#CorrectionId-<id>`. The time lies within the
    /// corrected plan.
    #[serde(rename = "SK")]
    pub sort: CorrectionSort,
    /// The points to add. Negative to take points away.
    pub points: i32,
    /// The reason.
    pub reason: Reason,
    /// The user id of the administrator or operator.
    pub corrected_by: String,
    /// The time of the request.
    pub corrected_at: TimestampSeconds,
}

impl Item for Correction {
    const TYPE: &'static str = "Correction";
}

/// The reason of a correction: 1 to 200 visible characters and spaces.
pub type Reason = function::BoundedText<200>;

/// The points that a correction adds: -1,000,000 to 1,000,000, but not 0.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "Whole<-1_000_000, 1_000_000>")]
pub(crate) struct Difference(i32);

keys::schema!(Difference as "Difference": {
    "type": "integer",
    "minimum": -1_000_000,
    "maximum": 1_000_000,
    "not": {"const": 0}
});

impl TryFrom<Whole<-1_000_000, 1_000_000>> for Difference {
    type Error = &'static str;

    fn try_from(points: Whole<-1_000_000, 1_000_000>) -> Result<Self, Self::Error> {
        let points = i32::try_from(i64::from(points)).ok().filter(|points| *points != 0);
        points.map(Self).ok_or("must be a whole number from -1000000 to 1000000, but not 0")
    }
}

impl From<Difference> for i32 {
    fn from(Difference(points): Difference) -> Self {
        points
    }
}

/// A correction.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CorrectionBody {
    correction_id: CorrectionId,
    #[schemars(range(min = -1_000_000, max = 1_000_000))]
    pub(crate) points: i32,
    reason: Reason,
    corrected_by: String,
    pub(crate) at: TimestampSeconds,
}

impl From<Correction> for CorrectionBody {
    fn from(Correction { sort, points, reason, corrected_by, corrected_at, .. }: Correction) -> Self {
        Self { correction_id: sort.id, points, reason, corrected_by, at: corrected_at }
    }
}

impl Registration {
    /// Returns the awards that the registration has earned and does not have.
    pub(crate) fn due(&self, rewards: &[Reward], now: TimestampSeconds) -> Vec<Award> {
        rewards.iter().filter_map(|reward| self.award(reward, now)).collect()
    }

    /// Adds awards to a change of the registration. DynamoDB refuses the change if others were
    /// added in the meantime.
    ///
    /// # Errors
    /// The awards cannot be serialized.
    pub(crate) fn awarding(&self, change: Change, due: &[Award]) -> Result<Change, Error> {
        if due.is_empty() {
            return Ok(change);
        }
        let unchanged = if self.awards.is_empty() {
            Condition::missing(Self::AWARDS)
        } else {
            Condition::is(Self::AWARDS, Value::of(&self.awards)?)
        };
        let points = due.iter().fold(self.earned_points, |points, award| points.saturating_add(award.points));
        let awards = Value::of(&[&self.awards, due].concat())?;
        Ok(change.only_if(unchanged).set(Self::AWARDS, awards).set(Self::EARNED_POINTS, i64::from(points)))
    }

    /// Returns the award for the reward, if the registration has earned it and does not have it.
    fn award(&self, reward: &Reward, at: TimestampSeconds) -> Option<Award> {
        let ProgramSort::Reward(kind) = &reward.sort else { return None };
        let is_new = self.awards.iter().all(|award| award.kind != *kind);
        let is_due = is_new && reward.is_earned(self.progress, self.attended_at.is_some());
        is_due.then(|| Award { kind: kind.clone(), points: reward.amount.into(), at })
    }
}

impl Wellness {
    /// Reads the rewards of an activity with strong consistency. Leaves out unreadable rewards.
    pub(crate) async fn rewards(&self, activity: &ActivityId) -> Result<Vec<Reward>, Error> {
        let range = Level::Rewards.range();
        let query = Query::new(&ActivityPartition(activity.clone()), &range);
        Ok(self.table.query_all::<Reward>(&query).await?.items)
    }
}
