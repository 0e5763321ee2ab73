use crate::Name;
use keys::wellness::{CompanyId, Department, EmployeeSort, Role, UserId, UserPartition};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// An employee of a company. The key does not contain the company, so a user can be an employee of
/// only one company.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Employee {
    /// Partition key: `UserId-<id>`.
    #[serde(rename = "PK")]
    pub partition: UserPartition,
    /// Sort key: `Employee`.
    #[serde(rename = "SK")]
    pub sort: EmployeeSort,
    /// The employing company.
    #[serde(rename = "CompanyId")]
    pub company: CompanyId,
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
    pub fn key_of(user: &UserId) -> Key {
        Key::new(&UserPartition(user.clone()), &EmployeeSort)
    }

    /// The user id.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.partition.0
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
        let Employee { partition: UserPartition(user_id), company: company_id, role, department, name, .. } = employee;
        Self { user_id, company_id, role, department, name }
    }
}

/// Kind of a change to an employee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LastChange {
    /// The employee is new, or has a new company, role or department.
    Placement,
    /// Any other change.
    Other,
}
