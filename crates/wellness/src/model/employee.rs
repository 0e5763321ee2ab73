use crate::{AttributeMap, AttributeValue, Name, Wellness};
use function::{Cell, Csv, CsvRow, Error, Input};
use keys::wellness::{
    CompanyId, Department, EmployeeKey, EmployeeSort, EmployeesPartition, EmployeesPosition, Role, UserId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use table::{Attributes, Condition, Item, Key, Page, Query};

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
    /// What else the company keeps about the employee.
    #[serde(rename = "Attributes", default, skip_serializing_if = "AttributeMap::is_empty")]
    pub attribute_map: AttributeMap,
    /// Kind of the last change. The event filter of the stream needs this attribute, because a
    /// filter cannot compare the old and the new image of an item
    /// (docs/decisions/wellness-registrations.md).
    pub last_change: LastChange,
    /// Version number. It starts at the time of creation in seconds, so that an employee who is
    /// added again does not repeat the version of an earlier one.
    pub version: i64,
}

impl Item for Employee {
    const TYPE: &'static str = "Employee";
}

impl Employee {
    /// Primary key of an employee.
    pub fn key_of(EmployeeKey { company, user }: &EmployeeKey) -> Key {
        Key::new(&EmployeesPartition::of(company.clone(), user), &EmployeeSort(user.clone()))
    }

    /// The condition that the employee has not changed.
    pub(crate) fn is_unchanged(&self) -> [Condition; 1] {
        [Condition::is(Self::VERSION, self.version)]
    }

    /// The employing company.
    pub fn company(&self) -> &CompanyId {
        self.partition.company()
    }

    /// The user id.
    pub fn user(&self) -> &UserId {
        &self.sort.0
    }
}

/// The employee in a path below `/wellness/companies/{companyId}`.
#[derive(Debug, Clone, Input)]
pub(crate) struct EmployeePath {
    #[input(path = "companyId")]
    company: CompanyId,
    #[input(path = "userId")]
    user: UserId,
}

impl From<EmployeePath> for EmployeeKey {
    fn from(EmployeePath { company, user }: EmployeePath) -> Self {
        Self { company, user }
    }
}

/// An employee.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EmployeeBody {
    user_id: UserId,
    company_id: CompanyId,
    role: Role,
    department: Department,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<Name>,
    #[serde(skip_serializing_if = "AttributeMap::is_empty")]
    attributes: AttributeMap,
}

impl CsvRow for EmployeeBody {
    const COLUMNS: &'static [&'static str] = &["userId", "role", "department", "name"];

    /// The attributes of the employees on the page.
    fn more_columns(employees: &[Self]) -> BTreeSet<&str> {
        employees.iter().flat_map(|employee| employee.attributes.names()).collect()
    }

    fn add_to(&self, attributes: &BTreeSet<&str>, csv: &mut Csv) {
        fn cell(text: Option<&str>) -> Cell<'_> {
            text.map_or(Cell::Empty, Cell::Text)
        }
        let own = [
            Cell::Text(self.user_id.as_str()),
            Cell::Text(self.role.as_str()),
            Cell::Text(self.department.as_str()),
            cell(self.name.as_ref().map(Name::as_str)),
        ];
        let attributes = attributes.iter().map(|name| cell(self.attributes.get(name).map(AttributeValue::as_str)));
        csv.row(own.into_iter().chain(attributes));
    }
}

/// Which employees of a company to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EmployeesQuery<'a> {
    pub(crate) company: &'a CompanyId,
    /// Only the employees of this department.
    pub(crate) department: Option<&'a Department>,
    /// Whether the reads are strongly consistent.
    pub(crate) consistent: bool,
}

impl Wellness {
    /// Reads up to `limit` employees after the position `at`, or from the start. The next position
    /// is an [`EmployeesPosition`].
    ///
    /// The page ends early if a department has so few employees that a partition cannot be read at
    /// once. A page therefore makes at most 10 calls, or 100 calls for a department.
    pub(crate) async fn employees(
        &self,
        of: EmployeesQuery<'_>,
        at: Option<EmployeesPosition>,
        limit: usize,
    ) -> Result<Page<Employee>, Error> {
        let mut page = Page { items: Vec::new(), next: None, skipped: 0 };
        let mut at = at.unwrap_or_else(EmployeesPosition::first);
        loop {
            let (partition, range) = at.rest(of.company.clone());
            let query = Query::new(&partition, &range);
            let query = if of.consistent { query.consistent() } else { query };
            let query = match of.department {
                Some(department) => query.only_if(Condition::is(Employee::DEPARTMENT, department)),
                None => query,
            };
            let room = limit.saturating_sub(page.items.len() + page.skipped).max(1);
            let found = self.table.page::<Employee>(&query, room).await?;
            let is_end = found.next.is_some();
            page.items.extend(found.items);
            page.skipped += found.skipped;
            let Some(next) = at.moved_to(found.next) else { return Ok(page) };
            if is_end || page.items.len() + page.skipped >= limit {
                page.next = Some(next.to_string());
                return Ok(page);
            }
            at = next;
        }
    }
}

impl From<Employee> for EmployeeBody {
    fn from(employee: Employee) -> Self {
        let Employee {
            partition, sort: EmployeeSort(user_id), role, department, name, attribute_map: attributes, ..
        } = employee;
        Self { user_id, company_id: partition.company().clone(), role, department, name, attributes }
    }
}

/// Kind of a change to an employee.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum LastChange {
    /// The employee is new, or has a new role, department or attribute.
    Placement,
    /// Any other change.
    Other,
}
