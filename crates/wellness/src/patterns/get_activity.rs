//! W5: reads a whole activity, or some of its levels
//! (docs/requirements/wellness.md#pattern-4-get-an-activity).

use crate::{
    Activity, ActivityBody, DOMAIN, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        access::sees,
        groups::GroupsBody,
        object::JsonObject,
        parts::{GoalBody, MAX_REWARDS, ReferenceBody, RewardBody},
        row::Row,
    },
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use futures::future::{try_join, try_join_all};
use keys::wellness::{ActivityId, ActivityPartition, CompanyId, Level};
use schemars::JsonSchema;
use serde::Serialize;
use std::{collections::BTreeSet, str::FromStr};
use table::{
    Query,
    cost::{Cost, read, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W5",
    name: "get-activity",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/activities/{activityId}",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "Get an activity with the requested parts",
        problems: &[Problem::NotFound, Problem::TooLarge],
    }]),
    calls: &[
        Calls::new("", |case| {
            let bytes = case.activity + case.part * case.parts + case.reference * case.references;
            Cost::default().read(cost::ACTIVITIES, read_eventually(bytes))
        }),
        Calls::new(", one level", |case| {
            Cost::default()
                .read(cost::ACTIVITIES, case.activity_read())
                .read(cost::ACTIVITIES, read(case.part * case.parts))
        }),
    ],
    contract: function::contract(&get_activity),
    function: || function::http(get_activity, Wellness::warm_by_query),
};

/// The activity and the levels to read.
#[derive(Debug, Clone, Input)]
pub struct GetActivityInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    /// Parts of the activity. `Program` includes all parts.
    #[input(query = "include", default)]
    levels: Levels,
}

/// The query parameter `include`: comma-separated levels. The default is the whole activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
struct Levels(#[schemars(with = "Vec<Level>", length(min = 1))] BTreeSet<Level>);

impl Default for Levels {
    fn default() -> Self {
        Self(BTreeSet::from([Level::Program]))
    }
}

impl FromStr for Levels {
    type Err = <Level as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').map(|level| level.trim().parse()).collect::<Result<_, _>>().map(Self)
    }
}

impl Levels {
    fn have(&self, some: &[Level]) -> bool {
        some.iter().any(|level| self.0.contains(level))
    }
}

/// The levels that contain references.
const REFERENCES: [Level; 6] =
    [Level::Program, Level::Courses, Level::Files, Level::Notifications, Level::Trackers, Level::Venues];

/// The requested levels of an activity. The response omits other levels and missing parts. Without
/// the level `Program`, the activity itself has only its ids.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActivityParts", transform = function::requires(["activityId", "companyId"]))]
pub struct PartsBody {
    #[serde(flatten)]
    head: Head,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<GoalBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = MAX_REWARDS))]
    rewards: Option<Vec<RewardBody>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<GroupsBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<Vec<ReferenceBody>>,
}

/// The base row if it was requested, and only the ids otherwise.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
enum Head {
    Row(Box<ActivityBody>),
    #[serde(rename_all = "camelCase")]
    Ids {
        activity_id: ActivityId,
        company_id: CompanyId,
    },
}

impl PartsBody {
    fn new(activity: Activity, rows: Vec<Row>, request: &Request<GetActivityInput>) -> Self {
        let levels = &request.input.levels;
        let head = if levels.have(&[Level::Program]) {
            Head::Row(Box::new(ActivityBody::of(activity, &request.caller, request.now)))
        } else {
            Head::Ids { activity_id: activity.partition.0, company_id: activity.company }
        };
        let rewards = levels.have(&[Level::Program, Level::Rewards]).then(Vec::new);
        let references = levels.have(&REFERENCES).then(Vec::new);
        let mut body = Self { head, detail: None, goal: None, rewards, groups: None, references };
        for row in rows {
            body.add(row);
        }
        body
    }

    /// Adds a row to the response. Rows are added in key order, so the `Program#Groups` row
    /// precedes the rows of the groups.
    fn add(&mut self, row: Row) {
        match row {
            Row::Activity(_) => {}
            Row::Detail(detail) => self.detail = Some(JsonObject(detail.detail)),
            Row::Goal(goal) => self.goal = Some(goal.into()),
            Row::Reward(reward) => self.rewards.get_or_insert_default().extend(reward.body()),
            Row::Groups(groups) => self.groups = Some(groups.into()),
            Row::Group(group) => {
                if let Some(groups) = &mut self.groups {
                    groups.items.extend(group.body());
                }
            }
            Row::Reference(reference) => self.references.get_or_insert_default().push(reference.into()),
        }
    }
}

/// Reads an activity with strong consistency. The levels are read concurrently.
///
/// # Errors
/// - 404 if the activity does not exist or belongs to another company, or if an employee requests a
///   draft or a cancelled activity.
pub async fn get_activity(wellness: Wellness, request: Request<GetActivityInput>) -> Result<Json<PartsBody>, Error> {
    let wanted = &request.input;
    request.caller.must_belong_to(&wanted.company, DOMAIN)?;
    let (activity, rows) = if wanted.levels.have(&[Level::Program]) {
        match wellness.all_of(wanted, true).await {
            Ok((activity, _)) if !sees(&request.caller, activity.status) => wellness.all_of(wanted, false).await?,
            Err(Error::NotFound(_)) => wellness.all_of(wanted, false).await?,
            found => found?,
        }
    } else {
        try_join(wellness.activity(&wanted.company, &wanted.activity), wellness.levels_of(wanted)).await?
    };
    if !sees(&request.caller, activity.status) {
        return Err(Error::NotFound("activity"));
    }
    Ok(Json(PartsBody::new(activity, rows, &request)))
}

impl Wellness {
    async fn level_of(&self, activity: &ActivityId, level: Level) -> Result<Vec<Row>, Error> {
        let (partition, range) = (ActivityPartition(activity.clone()), level.range());
        Ok(self.table.query_all(&Query::new(&partition, &range)).await?.complete()?)
    }

    async fn levels_of(&self, wanted: &GetActivityInput) -> Result<Vec<Row>, Error> {
        let levels = wanted.levels.0.iter().map(|level| self.level_of(&wanted.activity, *level));
        Ok(try_join_all(levels).await?.concat())
    }

    /// Reads the base row, which contains the owning company, and the other rows. The base row
    /// comes first, because it has the smallest sort key.
    async fn all_of(&self, wanted: &GetActivityInput, eventually: bool) -> Result<(Activity, Vec<Row>), Error> {
        let (partition, range) = (ActivityPartition(wanted.activity.clone()), Level::Program.range());
        let query = Query::new(&partition, &range);
        let query = if eventually { query.eventually() } else { query };
        let mut rows = self.table.query_all(&query).await?.complete()?.into_iter();
        match rows.next() {
            Some(Row::Activity(activity)) if activity.company == wanted.company => Ok((*activity, rows.collect())),
            _ => Err(Error::NotFound("activity")),
        }
    }
}
