//! W6: moves an activity to another section, or removes it from its section
//! (docs/requirements/wellness.md#sections).
//!
//! The section is an attribute and not part of a key, so one update moves the activity
//! (docs/decisions/wellness-sections.md).

use crate::{
    Activity, ActivityBody, DOMAIN, Section, Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Error, Fields, Function, Input, Json, Request, Route, Trigger};
use keys::wellness::{ActivityId, CompanyId, SectionId};
use table::{
    Condition, Units,
    cost::{Cost, write},
};

/// The Lambda.
#[must_use]
pub fn function() -> Function {
    function::http(move_activity, Wellness::warm_by_get)
}

/// The access pattern.
pub const PATTERN: Pattern = Pattern {
    id: "W6",
    name: "move-activity",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/activities/{activityId}/section",
        scopes: &["wellness:admin", "wellness:operate"],
    }]),
    calls: &[Calls {
        variant: "",
        condition: "get SK = Section#SectionId-… and SK = Program. Then update SectionId of SK = Program if the activity belongs to the company. No key changes",
        formula: "1 R; ⌈activity⌉ R and W; GSI1 ⌈entry⌉ W, because GSI1 projects SectionId. Removing an activity from its section does not read a section",
        cost: |case| {
            Cost::default()
                .read(cost::ACTIVITIES, Units::whole(1) + case.activity_read())
                .write(cost::ACTIVITIES, write(case.activity))
                .write(cost::PROGRAM, write(case.program))
        },
    }],
    function,
};

/// The activity and its new section. `null` removes the activity from its section.
#[derive(Debug, Clone)]
pub struct Move {
    company: CompanyId,
    activity: ActivityId,
    section: Option<SectionId>,
}

impl Input for Move {
    const BODY: bool = true;

    fn read(fields: &mut Fields) -> Option<Self> {
        let (company, activity) = (fields.path("companyId"), fields.path("activityId"));
        let section = fields.body("sectionId");
        Some(Self { company: company?, activity: activity?, section: section? })
    }
}

/// Moves an activity to a section of its company, or removes it from its section.
///
/// The version does not change. No other request changes the section, so a move cannot overwrite
/// another update.
///
/// # Errors
/// - 400 if the input is invalid.
/// - 403 if the caller belongs to another company.
/// - 404 if the activity or the section does not exist.
pub async fn move_activity(wellness: Wellness, request: Request<Move>) -> Result<Json<ActivityBody>, Error> {
    let Move { company, activity, section } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let change = wellness.table.update(Activity::key_of(activity)).only_if(Condition::is(Activity::COMPANY, company));
    let change = match section {
        Some(section) => {
            // Sections are never deleted, so this check need not be part of a transaction.
            let found = wellness.table.get::<Section>(&Section::key_of(company, section)).await?;
            found.ok_or(Error::NotFound("section"))?;
            change.set(Activity::SECTION_ID, section)
        }
        None => change.remove(Activity::SECTION_ID),
    };
    match wellness.dynamo.update::<Activity>(change).await {
        Err(table::Error::Refused(_)) => Err(Error::NotFound("activity")),
        moved => Ok(Json(moved?.body(request.now))),
    }
}
