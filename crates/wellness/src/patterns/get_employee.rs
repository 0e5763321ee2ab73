//! W23: reads an employee (docs/requirements/wellness.md#participants-and-employees).

use crate::{
    DOMAIN, Employee, EmployeeBody, Wellness,
    cost::{self, Calls, Pattern},
    model::employee::EmployeePath,
};
use function::{Error, Input, Json, Problem, Request, Route, Trigger};
use keys::wellness::EmployeeKey;
use table::cost::{Cost, read_eventually};

pub const PATTERN: Pattern = Pattern {
    id: "W23",
    name: "get-employee",
    trigger: Trigger::Http(&[Route {
        method: "GET",
        path: "/wellness/companies/{companyId}/employees/{userId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Get an employee",
        problems: &[Problem::NotFound],
    }]),
    calls: &[Calls::new("", |case| Cost::default().read(cost::ACTIVITIES, read_eventually(case.employee)))],
    contract: function::contract(&get_employee),
    function: || function::http(get_employee, Wellness::warm_by_get),
};

/// The employee that a request names.
#[derive(Debug, Clone, Input)]
pub struct EmployeeInput(#[input(part, via = EmployeePath)] pub(crate) EmployeeKey);

/// Reads an employee.
///
/// # Errors
/// 404 if the company has no such employee.
pub async fn get_employee(wellness: Wellness, request: Request<EmployeeInput>) -> Result<Json<EmployeeBody>, Error> {
    let EmployeeInput(key) = &request.input;
    request.caller.must_belong_to(&key.company, DOMAIN)?;
    let found = wellness.table.look_up::<Employee>(&Employee::key_of(key)).await?;
    Ok(Json(found.ok_or(Error::NotFound("employee"))?.into()))
}
