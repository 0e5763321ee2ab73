//! Puts employees, for W10 and for imports.

use crate::{AttributeMap, AttributeValue, Employee, LastChange, Name, Wellness, model::employee::EmployeePath};
use function::{Error, Input};
use keys::{
    TimestampSeconds,
    wellness::{AttributeName, Department, EmployeeKey, EmployeeSort, EmployeesPartition, Role},
};
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use std::collections::BTreeMap;
use table::{Condition, Item};

/// A request to put an employee.
#[derive(Debug, Clone, Input)]
pub struct PutEmployeeInput {
    #[input(part, via = EmployeePath)]
    pub(crate) key: EmployeeKey,
    #[input(body)]
    pub(crate) role: Role,
    #[input(body)]
    pub(crate) department: Department,
    #[input(body, via = Name)]
    pub(crate) name: Option<PlacedName>,
    #[input(body, via = AttributeMap)]
    pub(crate) attributes: Option<PlacedAttributes>,
}

/// The name of an employee who is put.
#[derive(Debug, Clone)]
pub(crate) enum PlacedName {
    Is(Name),
    /// The name that is stored, if there is one.
    Unchanged,
}

impl From<Name> for PlacedName {
    fn from(name: Name) -> Self {
        Self::Is(name)
    }
}

impl PlacedName {
    fn after(self, old: Option<Name>) -> Option<Name> {
        match self {
            Self::Is(name) => Some(name),
            Self::Unchanged => old,
        }
    }
}

/// The attributes of an employee who is put.
#[derive(Debug, Clone)]
pub(crate) enum PlacedAttributes {
    Are(AttributeMap),
    /// The stored attributes with these changes. `None` removes an attribute.
    Change(BTreeMap<AttributeName, Option<AttributeValue>>),
}

impl From<AttributeMap> for PlacedAttributes {
    fn from(attributes: AttributeMap) -> Self {
        Self::Are(attributes)
    }
}

impl PlacedAttributes {
    fn after(self, old: AttributeMap) -> Result<AttributeMap, Error> {
        match self {
            Self::Are(attributes) => Ok(attributes),
            Self::Change(changes) => old.with(changes).map_err(|error| Error::invalid("/body/attributes", error)),
        }
    }
}

/// What a request to put an employee has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// The employee is new.
    Added,
    /// The employee has other data.
    Changed,
    /// Nothing.
    Unchanged,
}

impl Employee {
    /// Creates an employee. `old` is the stored name and the stored attributes.
    ///
    /// # Errors
    /// 400 if the employee would have too many attributes.
    fn new(placed: PutEmployeeInput, old: (Option<Name>, AttributeMap), version: i64) -> Result<Self, Error> {
        let EmployeeKey { company, user } = placed.key;
        let (name, attributes) = old;
        Ok(Self {
            partition: EmployeesPartition::of(company, &user),
            sort: EmployeeSort(user),
            name: placed.name.and_then(|placed| placed.after(name)),
            role: placed.role,
            department: placed.department,
            attribute_map: placed.attributes.map(|placed| placed.after(attributes)).transpose()?.unwrap_or_default(),
            last_change: LastChange::Placement,
            version,
        })
    }

    /// Returns the employee after the change. `None` if nothing changes.
    fn changed_to(&self, placed: PutEmployeeInput) -> Result<Option<Self>, Error> {
        let new = Self::new(placed, (self.name.clone(), self.attribute_map.clone()), self.version + 1)?;
        let is_placed =
            (&self.role, &self.department, &self.attribute_map) == (&new.role, &new.department, &new.attribute_map);
        let last_change = if is_placed { LastChange::Other } else { LastChange::Placement };
        let new = Self { last_change, ..new };
        Ok((!is_placed || self.name != new.name).then_some(new))
    }
}

impl Wellness {
    /// Makes one attempt to create or replace the employee.
    pub(crate) async fn place(
        &self,
        wanted: &PutEmployeeInput,
        now: TimestampSeconds,
    ) -> Result<(Placement, Employee), Error> {
        let old = match self.table.get::<Employee>(&Employee::key_of(&wanted.key)).await {
            Err(table::Error::Unreadable(..)) => return self.repair(wanted, now).await,
            read => read?,
        };
        let Some(old) = old else {
            let new = Employee::new(wanted.clone(), Default::default(), now.instant().as_second())?;
            // Without its client token, an attempt that arrives late would bring back an employee
            // who was removed or erased in the meantime.
            self.dynamo.transact(vec![self.table.put_new(&new)?]).await?;
            return Ok((Placement::Added, new));
        };
        let Some(new) = old.changed_to(wanted.clone())? else { return Ok((Placement::Unchanged, old)) };
        let change = self.table.replace(&new)?.only_if_all(old.is_unchanged());
        self.dynamo.write_once_as(change, &new).await?;
        Ok((Placement::Changed, new))
    }

    /// Replaces an unreadable employee, and enrols the employee again. Enrolment is idempotent. If
    /// the version can be read, the new version follows it (docs/decisions/unreadable-items.md).
    async fn repair(&self, wanted: &PutEmployeeInput, now: TimestampSeconds) -> Result<(Placement, Employee), Error> {
        let remains = match self.table.get::<Remains>(&Employee::key_of(&wanted.key)).await {
            Ok(remains) => remains.unwrap_or_default(),
            Err(table::Error::Unreadable(..)) => Remains::default(),
            Err(error) => return Err(error.into()),
        };
        let version = remains.version.map_or(now.instant().as_second(), |version| version.saturating_add(1));
        let new = Employee::new(wanted.clone(), (remains.name, remains.attributes.unwrap_or_default()), version)?;
        let change = match remains.version {
            Some(version) => self.table.replace(&new)?.only_if(Condition::is(Employee::VERSION, version)),
            None => self.table.put(&new)?,
        };
        self.dynamo.write(change).await?;
        Ok((Placement::Changed, new))
    }
}

/// The attributes of an unreadable employee that can be read.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Remains {
    #[serde(deserialize_with = "readable")]
    version: Option<i64>,
    #[serde(deserialize_with = "readable")]
    name: Option<Name>,
    #[serde(deserialize_with = "readable")]
    attributes: Option<AttributeMap>,
}

impl Item for Remains {
    const TYPE: &'static str = Employee::TYPE;
}

/// Reads an attribute. `None` if it has another type or an invalid value.
fn readable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(input: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Readable<T> {
        Yes(T),
        No(IgnoredAny),
    }
    Ok(match Readable::deserialize(input)? {
        Readable::Yes(value) => Some(value),
        Readable::No(_) => None,
    })
}
