//! W23: lists the employees of a company, or of one department
//! (docs/requirements/wellness.md#participants-and-employees).

use crate::{
    DOMAIN, EmployeeBody, Wellness,
    cost::{self, Calls, Named, Pattern},
    model::employee::EmployeesQuery,
};
use function::{Error, Input, JsonOrCsv, List, MediaType, Problem, Request, Route, Trigger};
use keys::wellness::{CompanyId, Department, EmployeesPosition};
use table::{
    BadCursor,
    cost::{Cost, Term, read_eventually},
};

pub const PATTERN: Pattern = Pattern {
    id: "W23",
    name: "list-employees",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/employees",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "List the employees of a company or a department",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case: &Named| {
        let others = Term::halves(9);
        Cost::default().read(cost::ACTIVITIES, read_eventually(case.employee * case.items) + others)
    })],
    contract: function::contract(&list_employees),
    function: || function::http(list_employees, Wellness::warm_by_query),
};

/// The employees to list.
#[derive(Debug, Clone, Input)]
#[input(page = 50)]
pub struct ListEmployeesInput {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(query)]
    department: Option<Department>,
    #[input(header = "accept", default)]
    format: MediaType,
}

/// Lists employees. The order is stable, but has no meaning. A page of a department may have fewer
/// employees than the limit, or none, although there are further pages.
pub async fn list_employees(
    wellness: Wellness,
    request: Request<ListEmployeesInput>,
) -> Result<JsonOrCsv<List<EmployeeBody>>, Error> {
    let ListEmployeesInput { company, department, format } = &request.input;
    request.caller.must_belong_to(company, DOMAIN)?;
    let filter = department.as_ref().map_or("", |department| department.as_str());
    let listing = request.listing(EmployeesPosition::all(), filter)?;
    let at = listing.position.as_ref().map(|position| position.parse()).transpose();
    let at = at.map_err(|_| Error::invalid("/query/cursor", BadCursor))?;
    let of = EmployeesQuery { company, department: department.as_ref(), consistent: false };
    let page = wellness.employees(of, at, listing.limit).await?;
    Ok(listing.list(page.map(EmployeeBody::from)).in_format(*format))
}
