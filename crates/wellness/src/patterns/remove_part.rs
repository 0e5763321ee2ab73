//! W28: removes one part of an activity: the detail, the goal, a reward, all groups or one group
//! (docs/requirements/wellness.md#edit-all-parts-of-an-activity).

use crate::{
    DOMAIN, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::part::{PartRoute, name},
    patterns::update_part::routes,
};
use function::{Contract, Error, Fields, Input, NoContent, Problem, Request, Trigger, Version, optimistically};
use keys::wellness::{ActivityId, ActivityPartition, CompanyId, GroupId, ProgramSort, RewardKind};
use table::{
    Key,
    cost::{Cost, Term, read, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W28",
    name: "remove-part",
    trigger: Trigger::Http(&routes(
        "DELETE",
        [
            "Remove the detail of an activity",
            "Remove the goal of an activity",
            "Remove a reward of an activity",
            "Remove all groups of an activity",
            "Remove a group of an activity",
        ],
        [&[Problem::NotFound, Problem::AnotherVersion]; 2],
    )),
    calls: &[
        Calls::new("", |case| removal(case, write(case.part))),
        Calls::new(", groups", |case| removal(case, case.parts_write()).write(cost::LISTS, 1)),
    ],
    contract: function::contract(&remove_part),
    function: || function::http(remove_part, Wellness::warm_by_get),
};

fn removal(case: &Named, removed: Term) -> Cost {
    Cost::default()
        .read(cost::ACTIVITIES, case.activity_read())
        .read(cost::ACTIVITIES, read(case.part * case.parts))
        .write(cost::ACTIVITIES, (write(case.activity) + removed).times(2))
        .write(cost::PROGRAM, write(case.program))
}

/// A request to remove a part.
#[derive(Debug, Clone)]
pub struct RemovePartInput {
    company: CompanyId,
    activity: ActivityId,
    version: Option<i64>,
    part: ProgramSort,
}

impl Input for RemovePartInput {
    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, activity) = (fields.path("companyId"), fields.path("activityId"));
        let version = fields.query::<Version>("version").map(i64::from);
        let part = PartRoute::of(fields).and_then(|route| route.sort(fields));
        Some(Self { company: company?, activity: activity?, version, part: part? })
    }

    fn describe(contract: &mut Contract) {
        contract.path::<CompanyId>("companyId", "");
        contract.path::<ActivityId>("activityId", "");
        contract.query::<Version>("version", "", None);
        contract.path::<RewardKind>("kind", "");
        contract.path::<GroupId>("groupId", "");
    }
}

/// Removes one part of an activity. The removal of the groups also removes each group.
///
/// # Errors
/// - 404 if the activity or the part does not exist.
/// - 412 if the activity has a different version than the request names.
pub async fn remove_part(wellness: Wellness, request: Request<RemovePartInput>) -> Result<NoContent, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    optimistically(|| wellness.delete_part(&request)).await
}

impl Wellness {
    async fn delete_part(&self, request: &Request<RemovePartInput>) -> Result<NoContent, Error> {
        let RemovePartInput { company, activity: id, version, part } = &request.input;
        let activity = self.activity_at(company, id, *version).await?;
        let level = self.level_with(id, part).await?;
        if !level.has(part) {
            return Err(Error::NotFound(name(part)));
        }
        let keys = match part {
            ProgramSort::Groups => level.keys(id),
            part => vec![Key::new(&ActivityPartition(id.clone()), part)],
        };
        let deletes = keys.into_iter().map(|key| self.table.delete(key));
        let version = self.next_version(&activity, &request.caller)?;
        self.dynamo.transact([version].into_iter().chain(deletes).collect()).await?;
        Ok(NoContent)
    }
}
