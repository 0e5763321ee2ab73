//! W10: creates or replaces an employee of a company
//! (docs/requirements/wellness.md#new-employees-join-eligible-challenges).

use crate::{
    DOMAIN, EmployeeBody, Wellness,
    cost::{self, Calls, Pattern},
    employees::{Placement, PutEmployeeInput},
};
use function::{Error, Put, Request, Route, Trigger, optimistically};
use table::cost::{Cost, read, write};

pub const PATTERN: Pattern = Pattern {
    id: "W10",
    name: "put-employee",
    trigger: Trigger::Http(&[Route {
        method: "PUT",
        path: "/wellness/companies/{companyId}/employees/{userId}",
        scopes: &["wellness:admin", "wellness:operate"],
        summary: "Create or change an employee and enrol the employee in challenges asynchronously",
        problems: &[],
    }]),
    calls: &[
        Calls::new("", |case| {
            let written = write(case.employee).times(2);
            Cost::default().read(cost::ACTIVITIES, read(0)).write(cost::ACTIVITIES, written)
        }),
        Calls::new(", change", |case| {
            let (read, write) = (read(case.employee), write(case.employee));
            Cost::default().read(cost::ACTIVITIES, read).write(cost::ACTIVITIES, write)
        }),
    ],
    contract: function::contract(&put_employee),
    function: || function::http(put_employee, Wellness::warm_by_get),
};

/// Creates or replaces an employee.
///
/// If the data is unchanged, nothing is written. A retry therefore triggers no second enrollment.
/// An employee of another company with the same user id is a different employee, and is not read.
/// An unreadable employee is replaced.
pub async fn put_employee(wellness: Wellness, request: Request<PutEmployeeInput>) -> Result<Put<EmployeeBody>, Error> {
    request.caller.must_belong_to(&request.input.key.company, DOMAIN)?;
    let (placement, employee) = optimistically(|| wellness.place(&request.input, request.now)).await?;
    Ok(Put { is_new: placement == Placement::Added, body: employee.into() })
}
