use crate::Name;
use keys::wellness::{CompanyId, Department, EmployeeSort, Role, UserId, UserPartition};
use serde::{Deserialize, Serialize};
use table::{Attributes, Item, Key};

/// An employee. A user is one company's: the key has no company in it, so that no two can have the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Attributes)]
#[serde(rename_all = "PascalCase")]
pub struct Employee {
    /// Who.
    #[serde(rename = "PK")]
    pub partition: UserPartition,
    /// `Employee`.
    #[serde(rename = "SK")]
    pub sort: EmployeeSort,
    /// Whose employee.
    #[serde(rename = "CompanyId")]
    pub company: CompanyId,
    /// What the employee is called, if anybody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Name>,
    /// What the employee is to the plan.
    pub role: Role,
    /// Where the employee works.
    pub department: Department,
    /// What the last change was of: the stream's filter reads it, because it can't compare two images.
    pub last_change: LastChange,
    /// Counts the changes. The first is 1.
    pub version: i64,
}

impl Item for Employee {
    const TYPE: &'static str = "Employee";
}

impl Employee {
    /// The key of a user's.
    #[must_use]
    pub fn key_of(user: &UserId) -> Key {
        Key::new(&UserPartition(user.clone()), &EmployeeSort)
    }

    /// Who.
    #[must_use]
    pub fn user(&self) -> &UserId {
        &self.partition.0
    }
}

/// An employee as answered.
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

/// What a change of an employee was of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LastChange {
    /// The role or the department, or the employee is new.
    Placement,
    /// Anything else.
    Other,
}
