//! W4: lists the registrations of a user in a plan year
//! (docs/requirements/wellness.md#pattern-3-list-registrations-of-a-user).
//!
//! docs/decisions/wellness-registrations.md explains why this pattern reads the activities as
//! well.

use crate::{
    Activity, DOMAIN, Name, Progress, Registration, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::{
        activity::json_of_some,
        object::JsonObject,
        period::UserPeriod,
        registration::{Absence, RegistrationStatus},
    },
    registrations::WHOLE_PAGE,
};
use function::{Error, Input, List, Problem, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityEndDateSort, ActivityId, ActivityPartition, CompanyId, EndDateSort, GroupId, ListPartition, SectionId,
        ShownStatus, Status,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use table::{
    Item, JsonText, Key, Page, Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W4",
    name: "list-registrations",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/users/{userId}/registrations",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "List the registrations of a user in a period",
        problems: &[Problem::NotFound, Problem::TooLarge],
    }]),
    calls: &[
        Calls::new("", list_cost),
        Calls::new(", of a plan", |case| list_cost(case).read(cost::ACTIVITIES, read_eventually(case.own))),
    ],
    contract: function::contract(&list_registrations),
    function: || function::http(list_registrations, Wellness::warm_by_registrations),
};

fn list_cost(case: &Named) -> Cost {
    Cost::default()
        .read(cost::REGISTRATIONS, case.listed(case.registration))
        .read(cost::LISTS, case.listed(case.narrow))
}

/// Maximum number of entries of the list of activities that are read for a registration.
const ENTRIES: usize = 2;

/// What a list of registrations shows of an activity. GSI2 projects these attributes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Shown {
    #[serde(rename = "PK")]
    partition: ActivityPartition,
    #[serde(rename = "GSI2SK")]
    end: EndDateSort,
    name: Name,
    status: Status,
    section_id: Option<SectionId>,
}

impl Item for Shown {
    const TYPE: &'static str = Activity::TYPE;
}

impl Wellness {
    /// Reads the activities of registrations, and returns the number of unreadable ones.
    ///
    /// One query of the list of activities covers their end dates. Employees take part in most
    /// activities of their company, so it finds most of them. The others are read by key: those
    /// behind the last entry that is read, and those whose end has just changed.
    async fn activities_shown(
        &self,
        company: &CompanyId,
        registrations: &[Registration],
    ) -> Result<(BTreeMap<ActivityId, Shown>, usize), Error> {
        let ends = registrations.iter().map(|one| one.end.0);
        let Some((first, last)) = ends.clone().min().zip(ends.max()) else { return Ok((BTreeMap::new(), 0)) };
        let (partition, range) = (ListPartition(company.clone()), EndDateSort::between(first, last));
        let query = Query::new(&partition, &range).on(&self.lists);
        let listed = self.table.page::<Shown>(&query, ENTRIES * registrations.len()).await?.items;
        let mut found: BTreeMap<_, _> = listed.into_iter().map(|one| (one.partition.0.clone(), one)).collect();
        let missing = registrations.iter().map(|one| &one.partition.0).filter(|id| !found.contains_key(id));
        let missing: Vec<Key> = missing.map(Activity::key_of).collect();
        let others = self.table.get_existing::<Shown>(&missing, &[]).await?;
        found.extend(others.items.into_values().map(|one| (one.partition.0.clone(), one)));
        Ok((found, others.unreadable.len()))
    }
}

/// The user, the period and the page to list.
#[derive(Debug, Clone, Input)]
#[input(page = WHOLE_PAGE)]
pub struct ListRegistrationsInput(#[input(part)] UserPeriod);

/// A registration with the current name, status and section of its activity.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RegistrationOfUser")]
pub struct OnHomePage {
    activity_id: ActivityId,
    name: Name,
    end_date: TimestampSeconds,
    activity_status: ShownStatus,
    status: RegistrationStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    section_id: Option<SectionId>,
    progress: Progress,
    #[schemars(length(max = 200))]
    progress_text: String,
    #[schemars(range(max = u32::MAX))]
    earned_points: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<GroupId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attended_at: Option<TimestampSeconds>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "json_of_some")]
    #[schemars(with = "Option<JsonObject>")]
    data: Option<JsonText>,
}

impl OnHomePage {
    fn new(registration: Registration, activity: Shown, now: TimestampSeconds) -> Self {
        let end = activity.end.0;
        Self {
            status: registration.status(end, now),
            activity_status: activity.status.shown(end, now),
            activity_id: registration.partition.0,
            name: activity.name,
            end_date: registration.end.0.second(),
            section_id: activity.section_id,
            progress: registration.progress,
            progress_text: registration.progress_text,
            earned_points: registration.earned_points,
            group_id: registration.group,
            attended_at: registration.attended_at,
            data: registration.data,
        }
    }
}

/// Lists a user's registrations for activities that end within the period, sorted by end date. A
/// registration is omitted if its activity does not exist. Employees do not see registrations for
/// drafts. Without a limit, a page has up to 1,000 registrations.
///
/// A user id may belong to employees of several companies. The list contains the registrations of
/// one of them.
///
/// # Errors
/// - 400 if the input is invalid, or an operator does not name the company.
/// - 403 if the caller is another user or belongs to another company.
/// - 404 if the plan does not exist.
pub async fn list_registrations(
    wellness: Wellness,
    request: Request<ListRegistrationsInput>,
) -> Result<List<OnHomePage>, Error> {
    let ListRegistrationsInput(UserPeriod { of, wanted }) = &request.input;
    let of = of.of(&request.caller)?;
    let range = ActivityEndDateSort::within(wellness.period(wanted, &of.company, request.first_page).await?);
    let listing = request.listing(range, of.company.as_str())?;
    let page = wellness.registrations_page(&of, &listing.whole, listing.position.as_deref(), listing.limit).await?;
    let Page { items: mut registrations, next, skipped } = page;
    registrations.retain(|one: &Registration| one.absence != Some(Absence::Withdrawn));
    let (mut activities, unreadable) = wellness.activities_shown(&of.company, &registrations).await?;
    if !request.caller.administers(DOMAIN) {
        activities.retain(|_, activity| activity.status != Status::Draft);
    }
    // A user has one registration per activity, so each activity is needed only once.
    let items = registrations.into_iter().filter_map(|registration| {
        let activity = activities.remove(&registration.partition.0)?;
        Some(OnHomePage::new(registration, activity, request.now))
    });
    Ok(listing.list(Page { items: items.collect(), next, skipped: skipped + unreadable }))
}
