//! W28: puts one part of an activity: the detail, the goal, a reward, the groups or a group
//! (docs/requirements/wellness.md#edit-all-parts-of-an-activity).
//!
//! docs/decisions/wellness-activities.md explains the version and the routes.

use crate::{
    Activity, DOMAIN, Detail, Goal, Group, Name, Reward, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        groups::{GroupBody, GroupsBody},
        job::awarding,
        object::JsonObject,
        part::{PartLevel, PartRoute},
        parts::{GoalBody, RewardBody},
        row::Row,
        sizes::{MAX_PART, must_fit},
    },
};
use function::{Contract, Error, Fields, Input, Problem, Put, Request, Route, Trigger, Version, optimistically};
use keys::wellness::{ActivityId, CompanyId, GroupId, JobId, ProgramSort};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Change,
    cost::{Cost, read, write},
};

/// The routes of all parts, for one method. Only rewards and groups have a limit.
pub(super) const fn routes(
    method: &'static str,
    [detail, goal, reward, groups, group]: [&'static str; 5],
    [problems, of_limited]: [&'static [Problem]; 2],
) -> [Route; 5] {
    const SCOPES: &[&str] = &["wellness:admin", "wellness:operate"];
    let path = "/wellness/companies/{companyId}/activities/{activityId}/detail";
    let of_detail = Route { method, path, scopes: SCOPES, summary: detail, problems };
    let path = "/wellness/companies/{companyId}/activities/{activityId}/goal";
    let of_goal = Route { path, summary: goal, ..of_detail };
    let path = "/wellness/companies/{companyId}/activities/{activityId}/rewards/{kind}";
    let of_reward = Route { path, summary: reward, problems: of_limited, ..of_detail };
    let path = "/wellness/companies/{companyId}/activities/{activityId}/groups";
    let of_groups = Route { path, summary: groups, ..of_detail };
    let path = "/wellness/companies/{companyId}/activities/{activityId}/groups/{groupId}";
    [of_detail, of_goal, of_reward, of_groups, Route { path, summary: group, ..of_reward }]
}

pub const PATTERN: Pattern = Pattern {
    id: "W28",
    name: "update-part",
    trigger: Trigger::Http(&routes(
        "PUT",
        [
            "Create or replace the detail of an activity",
            "Create or replace the goal of an activity",
            "Create or replace a reward of an activity",
            "Create or replace the type and the rules of the groups of an activity",
            "Create or replace a group of an activity",
        ],
        [
            &[Problem::NotFound, Problem::AnotherVersion],
            &[Problem::NotFound, Problem::PartLimit, Problem::AnotherVersion],
        ],
    )),
    calls: &[
        Calls::new("", part_cost),
        Calls::new(", new groups", |case| part_cost(case).write(cost::LISTS, 1)),
        Calls::new(", reward", |case| part_cost(case).write(cost::JOBS, write(case.job).times(2))),
    ],
    contract: |contract| {
        function::contract(&update_part)(contract);
        let (member, name) = match contract.route.rsplit('/').next() {
            Some("{kind}") => ("reward", "RewardPart"),
            Some("{groupId}") => ("group", "GroupPart"),
            Some("detail") => ("detail", "DetailPart"),
            Some("goal") => ("goal", "GoalPart"),
            _ => ("groups", "GroupsPart"),
        };
        contract.requires(member, name);
    },
    function: || function::http(update_part, Wellness::warm_by_get),
};

fn part_cost(case: &Named) -> Cost {
    Cost::default()
        .read(cost::ACTIVITIES, case.activity_read())
        .read(cost::ACTIVITIES, read(case.part * case.parts))
        .write(cost::ACTIVITIES, (write(case.activity) + write(case.part)).times(2))
        .write(cost::PROGRAM, write(case.program))
}

/// A request to put a part.
#[derive(Debug, Clone, Input)]
pub struct UpdatePartInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    #[input(body, via = Version)]
    version: i64,
    #[input(part)]
    part: Part,
}

/// The new content of a part.
#[derive(Debug, Clone)]
enum Part {
    Detail(JsonObject),
    Goal(GoalBody),
    Reward(RewardBody),
    Groups(GroupsBody),
    Group(GroupId, Name),
}

impl Input for Part {
    fn read(fields: &mut Fields) -> Option<Self> {
        match PartRoute::of(fields)? {
            PartRoute::Detail => fields.body("detail").map(Self::Detail),
            PartRoute::Goal => GoalBody::read(fields).map(Self::Goal),
            PartRoute::Reward => RewardBody::read(fields).map(Self::Reward),
            PartRoute::Groups => GroupsBody::read(fields).map(Self::Groups),
            PartRoute::Group => {
                let (id, name) = (fields.path("groupId"), fields.body("name"));
                Some(Self::Group(id?, name?))
            }
        }
    }

    fn describe(contract: &mut Contract) {
        let name = match contract.route.rsplit('/').next() {
            Some("detail") => {
                contract.body::<JsonObject>("detail", "", true);
                "NewDetailPart"
            }
            Some("goal") => {
                GoalBody::describe(contract);
                "NewGoalPart"
            }
            Some("groups") => {
                GroupsBody::describe(contract);
                "NewGroupsPart"
            }
            Some("{kind}") => {
                RewardBody::describe(contract);
                "NewRewardPart"
            }
            _ => {
                contract.path::<GroupId>("groupId", "");
                contract.body::<Name>("name", "", true);
                "NewGroupPart"
            }
        };
        contract.name_body(name);
    }
}

impl Part {
    fn sort(&self) -> ProgramSort {
        match self {
            Self::Detail(_) => ProgramSort::Detail,
            Self::Goal(_) => ProgramSort::GoalPrimary,
            Self::Reward(reward) => ProgramSort::Reward(reward.kind.clone()),
            Self::Groups(_) => ProgramSort::Groups,
            Self::Group(id, _) => ProgramSort::Group(id.clone()),
        }
    }

    /// Returns the row to store. A group keeps its progress.
    fn row(&self, company: &CompanyId, activity: &ActivityId, old: Option<&Row>) -> Row {
        match self.clone() {
            Self::Detail(detail) => Row::Detail(Detail::new(activity, detail)),
            Self::Goal(goal) => Row::Goal(Goal::new(activity, goal)),
            Self::Reward(reward) => Row::Reward(Reward::new(activity, reward)),
            Self::Groups(groups) => Row::Groups(groups.row(company, activity)),
            Self::Group(id, name) => {
                let new = Group::new(activity, id, name.clone());
                Row::Group(if let Some(Row::Group(old)) = old { Group { name, ..old.clone() } } else { new })
            }
        }
    }
}

/// A part, with the version of its activity.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PartBody {
    activity_id: ActivityId,
    #[schemars(range(min = 1))]
    version: i64,
    #[serde(flatten)]
    content: Option<ContentBody>,
    /// The id of the job that awards a reward to the employees who have already earned it. Present
    /// for a new reward, and for a reward with another percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<JobId>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum ContentBody {
    Detail(JsonObject),
    Goal(GoalBody),
    Reward(RewardBody),
    Groups(GroupsBody),
    Group(GroupBody),
}

impl ContentBody {
    /// `groups` are the stored groups, for a response with the row `Program#Groups`.
    fn of(row: Row, groups: Vec<Row>) -> Option<Self> {
        match row {
            Row::Detail(detail) => Some(Self::Detail(JsonObject(detail.detail))),
            Row::Goal(goal) => Some(Self::Goal(goal.into())),
            Row::Reward(reward) => reward.body().map(Self::Reward),
            Row::Group(group) => group.body().map(Self::Group),
            Row::Groups(row) => {
                let group = |row| if let Row::Group(group) = row { group.body() } else { None };
                let mut body = GroupsBody::from(row);
                body.items = groups.into_iter().filter_map(group).collect();
                Some(Self::Groups(body))
            }
            Row::Activity(_) | Row::Reference(_) => None,
        }
    }
}

/// Creates or replaces one part of an activity. The version in the request must be the activity's
/// current version. A request that changes nothing keeps the version.
///
/// For a new reward, or a reward with another percentage, the same transaction starts the job that
/// awards it to the employees who have already earned it.
///
/// # Errors
/// - 404 if the activity does not exist, or if a group is added to an activity without groups.
/// - 409 if the activity has the maximum number of rewards or groups.
/// - 412 if the activity has a different version.
/// - 413 if the part exceeds 16 KB.
pub async fn update_part(wellness: Wellness, request: Request<UpdatePartInput>) -> Result<Put<PartBody>, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    optimistically(|| wellness.put_part(&request)).await
}

impl Wellness {
    async fn put_part(&self, request: &Request<UpdatePartInput>) -> Result<Put<PartBody>, Error> {
        let new = &request.input;
        let activity = self.activity_at(&new.company, &new.activity, Some(new.version)).await?;
        let sort = new.part.sort();
        let level = self.level_with(&new.activity, &sort).await?;
        let is_new = !level.has(&sort);
        if is_new {
            level.must_admit(&sort)?;
        }
        let old = level.find(&sort);
        let row = new.part.row(&new.company, &new.activity, old);
        if old == Some(&row) {
            return Ok(Put { is_new, body: body(&activity, activity.version, row, level) });
        }
        let mut changes = vec![self.next_version(&activity, &request.caller)?, self.put_of(&row)?];
        let is_due = may_be_earned(old, &row);
        if is_due {
            let job = awarding(&new.company, &new.activity, request.id, request.now)?;
            changes.push(self.jobs.table().put(&job)?);
        }
        self.dynamo.transact(changes).await?;
        let body = body(&activity, activity.version + 1, row, level);
        let job_id = is_due.then(|| JobId::Rewards(new.activity.clone()));
        Ok(Put { is_new, body: PartBody { job_id, ..body } })
    }

    /// Returns the put of the part.
    ///
    /// # Errors
    /// 413 if the part exceeds 16 KB.
    fn put_of(&self, row: &Row) -> Result<Change, Error> {
        let changed = match row {
            Row::Detail(row) => must_fit(row, MAX_PART).map(|()| self.table.put(row)),
            Row::Goal(row) => must_fit(row, MAX_PART).map(|()| self.table.put(row)),
            Row::Reward(row) => must_fit(row, MAX_PART).map(|()| self.table.put(row)),
            Row::Groups(row) => must_fit(row, MAX_PART).map(|()| self.table.put(row)),
            Row::Group(row) => must_fit(row, MAX_PART).map(|()| self.table.put(row)),
            Row::Activity(_) | Row::Reference(_) => Err(Error::Internal("the row is no part".to_owned())),
        };
        Ok(changed??)
    }
}

/// Whether employees may have already earned the new reward. Another amount changes no award.
fn may_be_earned(old: Option<&Row>, new: &Row) -> bool {
    match (old, new) {
        (Some(Row::Reward(old)), Row::Reward(new)) => old.percent != new.percent,
        (_, Row::Reward(_)) => true,
        _ => false,
    }
}

fn body(activity: &Activity, version: i64, row: Row, level: PartLevel) -> PartBody {
    PartBody { activity_id: activity.id().clone(), version, content: ContentBody::of(row, level.rows), job_id: None }
}
