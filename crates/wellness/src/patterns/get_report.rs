//! W33: reads the last report of a plan (docs/requirements/wellness.md#plan-report).

use crate::{
    DOMAIN, Name, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::report::{Count, PlanReport, ReportRow},
};
use function::{Cell, Csv, CsvRow, Error, Input, JsonOrCsv, List, MediaType, Problem, Request, Route, Trigger};
use keys::{
    TimestampSeconds,
    wellness::{
        ActivityId, ActivityType, CompanyId, Department, PlanId, PlanTime, ReportRowSort, ReportsPartition, RowOf,
    },
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use table::{
    Query,
    cost::{Cost, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W33",
    name: "get-report",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/plans/{planId}/report",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Read the last report of a plan",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case: &Named| {
        let rows = read_eventually(case.report * case.items);
        Cost::default().read(cost::ACTIVITIES, 1 + rows)
    })],
    contract: function::contract(&get_report),
    function: || function::http(get_report, Wellness::warm_by_get),
};

/// The report to read.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct GetReportInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "planId")]
    plan: PlanId,
    #[input(header = "accept", default)]
    format: MediaType,
}

/// A row of the report.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReportRow")]
pub struct RowBody {
    /// The activity. Absent in the sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    activity_id: Option<ActivityId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    activity_type: Option<ActivityType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_date: Option<TimestampSeconds>,
    /// The time of the report.
    as_of: TimestampSeconds,
    /// A CSV file has a line for each department.
    departments: Vec<DepartmentBody>,
}

/// The counts of a department.
#[derive(Debug, Serialize, JsonSchema)]
struct DepartmentBody {
    /// Absent for removed employees.
    #[serde(skip_serializing_if = "Option::is_none")]
    department: Option<Department>,
    registered: u64,
    completed: u64,
    points: u64,
}

impl From<(Option<Department>, Count)> for DepartmentBody {
    fn from((department, Count { registered, completed, points }): (Option<Department>, Count)) -> Self {
        Self { department, registered, completed, points }
    }
}

impl RowBody {
    fn new(row: ReportRow, as_of: TimestampSeconds) -> Self {
        Self {
            activity_id: match row.sort.of {
                RowOf::Activity(id) => Some(id),
                RowOf::Total => None,
            },
            name: row.name,
            activity_type: row.activity_type,
            end_date: row.end_date.map(PlanTime::second),
            as_of,
            departments: row.counts.into_rows().into_iter().map(DepartmentBody::from).collect(),
        }
    }
}

impl CsvRow for RowBody {
    const COLUMNS: &'static [&'static str] =
        &["activityId", "name", "type", "endDate", "asOf", "department", "registered", "completed", "points"];

    fn add_to(&self, _: &BTreeSet<&str>, csv: &mut Csv) {
        let (as_of, end) = (self.as_of.to_string(), self.end_date.map(|end| end.to_string()));
        for DepartmentBody { department, registered, completed, points } in &self.departments {
            let [registered, completed, points] = [registered, completed, points].map(|count: &u64| count.to_string());
            csv.row([
                self.activity_id.as_ref().map_or(Cell::Empty, |id| Cell::Text(id.as_str())),
                self.name.as_ref().map_or(Cell::Empty, |name| Cell::Text(name.as_str())),
                self.activity_type.map_or(Cell::Empty, |of| Cell::Value(of.as_str())),
                end.as_deref().map_or(Cell::Empty, Cell::Value),
                Cell::Value(&as_of),
                department.as_ref().map_or(Cell::Empty, |department| Cell::Text(department.as_str())),
                Cell::Value(&registered),
                Cell::Value(&completed),
                Cell::Value(&points),
            ]);
        }
    }
}

/// Lists the rows of the last report of a plan: one for each activity, sorted by id, and the sums.
/// A cursor belongs to its report.
///
/// # Errors
/// - 400 if the input is invalid, or the cursor belongs to an earlier report.
/// - 404 if there is no report of the plan.
pub async fn get_report(
    wellness: Wellness,
    request: Request<GetReportInput>,
) -> Result<JsonOrCsv<List<RowBody>>, Error> {
    let GetReportInput { company, plan, format } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let head = wellness.table.get::<PlanReport>(&PlanReport::key_of(company, plan)).await?;
    let PlanReport { report, as_of, .. } = head.ok_or(Error::NotFound("report"))?;
    let listing = request.listing(ReportRowSort::of_report(plan, &report), "")?;
    let query = Query::new(&ReportsPartition(company.clone()), &listing.range);
    let page = wellness.table.page::<ReportRow>(&query, listing.limit).await?;
    Ok(listing.list(page.map(|row| RowBody::new(row, as_of))).in_format(*format))
}
