use crate::Name;
use keys::wellness::{CompanyId, Department, EmployeeKey, EmployeeSort, EmployeesPartition, Role, UserId};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// An employee of a company. Two companies may each have an employee with the same user id
/// (docs/decisions/wellness-employees.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Employee {
    /// Partition key: `CompanyId-<id>#Employees#<0-9>`.
    #[serde(rename = "PK")]
    pub partition: EmployeesPartition,
    /// Sort key: `UserId-<id>`.
    #[serde(rename = "SK")]
    pub sort: EmployeeSort,
    /// Name, if the company stored one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// Role in the plan, such as `EmployeeOnPlan`.
    pub role: Role,
    /// Department, such as `Sales`.
    pub department: Department,
    /// Kind of the last change. The event filter of the stream needs this attribute, because a
    /// filter cannot compare the old and the new image of an item
    /// (docs/decisions/wellness-registrations.md).
    pub last_change: LastChange,
    /// Version number, starting at 1.
    pub version: i64,
}

impl Item for Employee {
    const TYPE: &'static str = "Employee";
}

impl Employee {
    /// Primary key of an employee.
    #[must_use]
    pub fn key_of(EmployeeKey { company, user }: &EmployeeKey) -> Key {
        Key::new(&EmployeesPartition::of(company.clone(), user), &EmployeeSort(user.clone()))
    }

    /// The employing company.
    #[must_use]
    pub fn company(&self) -> &CompanyId {
        self.partition.company()
    }

    /// The user id.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.sort.0
    }
}

/// An employee in a response.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EmployeeBody {
    user_id: UserId,
    company_id: CompanyId,
    role: Role,
    department: Department,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
}

impl From<Employee> for EmployeeBody {
    fn from(employee: Employee) -> Self {
        let Employee { partition, sort: EmployeeSort(user_id), role, department, name, .. } = employee;
        Self { user_id, company_id: partition.company().clone(), role, department, name }
    }
}

/// Kind of a change to an employee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LastChange {
    /// The employee is new, or has a new role or department.
    Placement,
    /// Any other change.
    Other,
}
