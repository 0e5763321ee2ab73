//! W6: moves an activity to another section, or removes it from its section
//! (docs/requirements/wellness.md#sections).
//!
//! The section is an attribute and not part of a key, so one update moves the activity
//! (docs/decisions/wellness-activities.md).

use crate::{
    Activity, ActivityBody, DOMAIN, Section, Wellness,
    cost::{self, Calls, Pattern},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger, optimistically};
use keys::wellness::{ActivityId, CompanyId, SectionId};
use table::{
    Condition, Value,
    cost::{Cost, write},
};

pub const PATTERN: Pattern = Pattern {
    id: "W6",
    name: "move-activity",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/activities/{activityId}/section",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Move an activity to a section, or to no section",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| {
        Cost::default()
            .read(cost::ACTIVITIES, 1 + case.activity_read())
            .write(cost::ACTIVITIES, write(case.activity))
            .write(cost::PROGRAM, write(case.program))
            .write(cost::LISTS, write(case.narrow))
    })],
    contract: function::contract(&move_activity),
    function: || function::http(move_activity, Wellness::warm_by_get),
};

/// The activity and its new section. `null` removes the activity from its section.
#[derive(Debug, Clone, Input)]
pub struct MoveActivityInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    /// `null` means no section.
    #[input(body = "sectionId")]
    section: NewSection,
}

/// Required, unlike a field of type `Option`.
type NewSection = Option<SectionId>;

/// Moves an activity to a section of its company, or removes it from its section.
///
/// The version does not change. No other request changes the section, so a move cannot overwrite
/// another update. A move to the current section writes nothing.
///
/// # Errors
/// 404 if the activity or the section does not exist.
pub async fn move_activity(
    wellness: Wellness,
    request: Request<MoveActivityInput>,
) -> Result<Json<ActivityBody>, Error> {
    request.caller.must_belong_to(&request.input.company, DOMAIN)?;
    let moved = optimistically(|| wellness.move_to_section(&request)).await?;
    Ok(Json(ActivityBody::of(moved, &request.caller, request.now)))
}

impl Wellness {
    async fn move_to_section(&self, request: &Request<MoveActivityInput>) -> Result<Activity, Error> {
        let MoveActivityInput { company, activity, section } = &request.input;
        if let Some(section) = section {
            // Sections are never deleted, so this check need not be part of the write.
            let found = self.table.get::<Section>(&Section::key_of(company, section)).await?;
            found.ok_or(Error::NotFound("section"))?;
        }
        let activity = self.activity(company, activity).await?;
        if activity.section_id == *section {
            return Ok(activity);
        }
        let author = request.caller.author(DOMAIN);
        let change = self.table.update(Activity::key_of(activity.id()));
        let change = change.only_if(Condition::is(Activity::VERSION, activity.version));
        let change = change.only_if(Condition::unchanged(Activity::MOVED_BY, activity.moved_by.as_ref()));
        let change = change.set(Activity::MOVED_BY, &request.id).set(Activity::CHANGED_BY, Value::of(&author)?);
        let change = match section {
            Some(section) => change.set(Activity::SECTION_ID, section),
            None => change.remove(Activity::SECTION_ID),
        };
        let (section_id, moved_by) = (section.clone(), Some(request.id));
        let moved = Activity { section_id, moved_by, changed_by: Some(author), ..activity };
        self.dynamo.write_once_as(change, &moved).await?;
        Ok(moved)
    }
}
