//! W3: lists the activities of a company in a plan year in short form, filtered by type, role,
//! department and attributes
//! (docs/requirements/wellness.md#pattern-2-list-active-activities-in-short-form).

use crate::{
    AttributeMap, DOMAIN, FiltersBody, Name, Wellness,
    cost::{self, Calls, Pattern},
    model::{
        activity::Statuses,
        filters::{AttributeQuery, Candidate},
        option::ActivityOption,
        period::Wanted,
    },
};
use function::{Error, Input, List, Problem, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ActivityType, CompanyId, Department, Role, ShownStatus, SubType},
};
use schemars::JsonSchema;
use serde::Serialize;
use table::{
    Page,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W3",
    name: "list-activity-options",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/activity-options",
        scopes: &["wellness:read", "wellness:admin", "wellness:operate"],
        summary: "List the activities of a period in short form, by role, department and attributes",
        problems: &[Problem::NotFound, Problem::TooLarge],
    }]),
    calls: &[
        Calls::new("", |case| Cost::default().read(cost::LISTS, case.listed(case.narrow))),
        Calls::new(", of a plan", |case| {
            Cost::default()
                .read(cost::LISTS, case.listed(case.narrow))
                .read(cost::ACTIVITIES, read_eventually(case.own))
        }),
    ],
    contract: function::contract(&list_activity_options),
    function: || function::http(list_activity_options, Wellness::warm_by_lists),
};

/// The company, the period and the filters of the list.
#[derive(Debug, Clone, Input)]
pub struct ListActivityOptionsInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(part)]
    wanted: Wanted,
    #[input(query = "status", default)]
    statuses: Statuses,
    #[input(query = "type")]
    activity_type: Option<ActivityType>,
    #[input(query)]
    sub_type: Option<SubType>,
    #[input(query)]
    role: Option<Role>,
    #[input(query)]
    department: Option<Department>,
    /// Only activities whose filters admit these attributes, such as `{"location":"Berlin"}`.
    #[input(query)]
    attributes: Option<AttributeQuery>,
}

impl ListActivityOptionsInput {
    fn admits(&self, option: &ActivityOption, statuses: &Statuses, now: TimestampSeconds) -> bool {
        let none = AttributeMap::default();
        let attributes = self.attributes.as_ref().map_or(&none, |AttributeQuery(attributes)| attributes);
        let (role, department) = (self.role.as_ref(), self.department.as_ref());
        let candidate = Candidate { role, department, attributes, is_partial: true };
        statuses.have(option.shown_status(now))
            && self.activity_type.is_none_or(|wanted| wanted == option.activity_type)
            && self.sub_type.as_ref().is_none_or(|wanted| *wanted == option.sub_type)
            && option.filters.admit(candidate)
    }
}

/// The short form of an activity.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActivityOption")]
pub struct OptionBody {
    activity_id: ActivityId,
    name: Name,
    #[serde(rename = "type")]
    activity_type: ActivityType,
    sub_type: SubType,
    status: ShownStatus,
    end_date: TimestampSeconds,
    filters: FiltersBody,
}

impl OptionBody {
    fn new(option: ActivityOption, now: TimestampSeconds) -> Self {
        Self {
            status: option.shown_status(now),
            activity_id: option.partition.0,
            name: option.name,
            activity_type: option.activity_type,
            sub_type: option.sub_type,
            end_date: option.end.0.second(),
            filters: option.filters.into(),
        }
    }
}

/// Lists the activities of a company that end within the period, sorted by end date. Employees get
/// only active and completed activities.
///
/// # Errors
/// - 404 if the plan does not exist.
/// - 413 if the query reads more than 5 MB.
pub async fn list_activity_options(
    wellness: Wellness,
    request: Request<ListActivityOptionsInput>,
) -> Result<List<OptionBody>, Error> {
    let asked = &request.input;
    request.caller.must_belong_to(&asked.company, DOMAIN)?;
    let period = wellness.period(&asked.wanted, &asked.company, request.now).await?;
    let Page { items, next, skipped } = wellness.options(&asked.company, period).await?;
    let statuses = asked.statuses.visible_to(&request.caller);
    let items = items.into_iter().filter(|option| asked.admits(option, &statuses, request.now));
    let items = items.map(|option| OptionBody::new(option, request.now)).collect();
    Ok(List::whole(Page { items, next, skipped }))
}
