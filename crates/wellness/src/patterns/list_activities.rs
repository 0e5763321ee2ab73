//! W2: lists the activities and sections of a company in a plan year
//! (docs/requirements/wellness.md#pattern-1-list-activities-and-sections-of-a-plan-year).
//!
//! docs/decisions/wellness-activities.md explains how activities and sections share an index.

use crate::{
    Activity, ActivityBody, DOMAIN, Name, Section, Wellness,
    cost::{self, Calls, Pattern},
    model::{activity::Statuses, period::Wanted},
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, CompanyId, EndDateSort, ProgramPartition, SectionId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use table::{
    Item, Page, Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W2",
    name: "list-activities",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/activities",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "List the activities and sections of a period",
        problems: &[Problem::NotFound, Problem::TooLarge],
    }]),
    calls: &[
        Calls::new("", |case| Cost::default().read(cost::PROGRAM, case.listed(case.program))),
        Calls::new(", of a plan", |case| {
            Cost::default()
                .read(cost::PROGRAM, case.listed(case.program))
                .read(cost::ACTIVITIES, read_eventually(case.own))
        }),
    ],
    contract: function::contract(&list_activities),
    function: || function::http(list_activities, Wellness::warm_by_program),
};

/// The company, the period and the statuses to list.
#[derive(Debug, Clone, Input)]
pub struct ListActivitiesInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(part)]
    wanted: Wanted,
    #[input(query = "status", default)]
    statuses: Statuses,
}

/// An item of GSI1: an activity or a section.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "Type")]
enum Entry {
    Activity(Box<Activity>),
    Section(Section),
}

impl Item for Entry {
    const TYPE: &'static str = "activity or section";
}

/// The activities and sections of a company that end within the period.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Programme {
    items: Vec<ActivityBody>,
    sections: Vec<SectionBody>,
    /// Number of unreadable items that were left out.
    #[serde(skip_serializing_if = "function::is_zero")]
    #[schemars(with = "function::Skipped")]
    skipped: usize,
}

/// A section. `activityIds` are its activities in the list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ProgrammeSection")]
struct SectionBody {
    section_id: SectionId,
    name: Name,
    start_date: TimestampSeconds,
    end_date: TimestampSeconds,
    activity_ids: Vec<ActivityId>,
}

/// Lists the activities and sections of a company that end within the period, sorted by end date.
/// The status filter applies to activities only. Employees get only active and completed
/// activities.
///
/// # Errors
/// - 404 if the plan does not exist.
/// - 413 if the query reads more than 5 MB.
pub async fn list_activities(
    wellness: Wellness,
    request: Request<ListActivitiesInput>,
) -> Result<Json<Programme>, Error> {
    let ListActivitiesInput { company, wanted, statuses } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let range = EndDateSort::within(wellness.period(wanted, company, request.now).await?);
    let query = Query::new(&ProgramPartition(company.clone()), &range).on(&wellness.program);
    let page = wellness.table.query_all(&query).await?;
    Ok(Json(Programme::of(page, &statuses.visible_to(&request.caller), request.now)))
}

impl Programme {
    fn of(entries: Page<Entry>, statuses: &Statuses, now: TimestampSeconds) -> Self {
        let (mut activities, mut sections) = (Vec::new(), Vec::new());
        for entry in entries.items {
            match entry {
                Entry::Activity(activity) if statuses.have(activity.shown_status(now)) => activities.push(*activity),
                Entry::Activity(_) => {}
                Entry::Section(section) => sections.push(section),
            }
        }
        let sections = sections.into_iter().map(|section| SectionBody::of(section, &activities)).collect();
        let items = activities.into_iter().map(|activity| activity.body(now)).collect();
        Self { items, sections, skipped: entries.skipped }
    }
}

impl SectionBody {
    fn of(section: Section, activities: &[Activity]) -> Self {
        let within = activities.iter().filter(|activity| activity.section_id.as_ref() == Some(section.id()));
        Self {
            activity_ids: within.map(|activity| activity.id().clone()).collect(),
            start_date: section.start_date.second(),
            end_date: section.end.0.second(),
            name: section.name,
            section_id: section.sort.0,
        }
    }
}
