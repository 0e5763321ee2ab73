//! W22: lists the participants of an activity, for administrators
//! (docs/requirements/wellness.md#participants-and-employees).

use crate::{
    DOMAIN, Employee, Name, Progress, Registration, Wellness,
    cost::{self, Calls, Pattern},
    model::registration::RegistrationStatus,
};
use function::{Cell, Csv, CsvRow, Error, Input, JsonOrCsv, List, MediaType, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{ActivityId, ActivityPartition, CompanyId, Department, EmployeeKey, GroupId, RegistrationSort, UserId},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use table::{
    Condition, Key, Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W22",
    name: "list-participants",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/activities/{activityId}/participants",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "List the participants of an activity",
        problems: &[],
    }]),
    calls: &[Calls::new("", |case| {
        let employees = read_eventually(case.employee).times(case.items);
        Cost::default().read(cost::ACTIVITIES, case.listed(case.registration) + employees)
    })],
    contract: function::contract(&list_participants),
    function: || function::http(list_participants, Wellness::warm_by_query),
};

/// The activity whose participants are listed.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListParticipantsInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "activityId")]
    activity: ActivityId,
    #[input(header = "accept", default)]
    format: MediaType,
}

/// A participant.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantBody {
    user_id: UserId,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    /// Absent if the employee was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    department: Option<Department>,
    status: RegistrationStatus,
    progress: Progress,
    progress_text: String,
    #[schemars(range(max = u32::MAX))]
    earned_points: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    group_id: Option<GroupId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attended_at: Option<TimestampSeconds>,
}

impl ParticipantBody {
    fn new(registration: Registration, employee: Option<Employee>, now: TimestampSeconds) -> Self {
        let (name, department) = employee.map_or((None, None), |employee| (employee.name, Some(employee.department)));
        Self {
            status: registration.status(registration.end.0, now),
            user_id: registration.sort.0,
            name,
            department,
            progress: registration.progress,
            progress_text: registration.progress_text,
            earned_points: registration.earned_points,
            group_id: registration.group,
            attended_at: registration.attended_at,
        }
    }
}

impl CsvRow for ParticipantBody {
    const COLUMNS: &'static [&'static str] = &[
        "userId",
        "name",
        "department",
        "status",
        "progress",
        "progressText",
        "earnedPoints",
        "groupId",
        "attendedAt",
    ];

    fn add_to(&self, _: &BTreeSet<&str>, csv: &mut Csv) {
        let (progress, points) = (f64::from(self.progress).to_string(), self.earned_points.to_string());
        let attended = self.attended_at.map(|time| time.to_string());
        csv.row([
            Cell::Text(self.user_id.as_str()),
            self.name.as_ref().map_or(Cell::Empty, |name| Cell::Text(name.as_str())),
            self.department.as_ref().map_or(Cell::Empty, |department| Cell::Text(department.as_str())),
            Cell::Value(self.status.as_str()),
            Cell::Value(&progress),
            Cell::Text(&self.progress_text),
            Cell::Value(&points),
            self.group_id.as_ref().map_or(Cell::Empty, |group| Cell::Text(group.as_str())),
            attended.as_deref().map_or(Cell::Empty, Cell::Value),
        ]);
    }
}

/// Lists the participants of an activity, sorted by user id. The list includes those who wait or
/// have left. It is empty for an activity of another company, and for one that does not exist.
pub async fn list_participants(
    wellness: Wellness,
    request: Request<ListParticipantsInput>,
) -> Result<JsonOrCsv<List<ParticipantBody>>, Error> {
    let ListParticipantsInput { company, activity, format } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let listing = request.listing(RegistrationSort::all(), "")?;
    let query = Query::new(&ActivityPartition(activity.clone()), &listing.range);
    let query = query.only_if(Condition::is(Registration::COMPANY, company));
    let mut page = wellness.table.page::<Registration>(&query, listing.limit).await?;
    let key = |user: &UserId| Employee::key_of(&EmployeeKey { company: company.clone(), user: user.clone() });
    let keys: Vec<Key> = page.items.iter().map(|one| key(&one.sort.0)).collect();
    let mut employees = wellness.table.get_all::<Employee>(&keys, false).await?;
    let found = page.items.len();
    page.items.retain(|one| !employees.unreadable.contains(&key(&one.sort.0)));
    page.skipped += found - page.items.len();
    let list = listing.list(page.map(|registration| {
        let employee = employees.items.remove(&key(&registration.sort.0));
        ParticipantBody::new(registration, employee, request.now)
    }));
    Ok(list.in_format(*format))
}
