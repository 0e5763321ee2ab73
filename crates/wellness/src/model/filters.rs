//! Filters of activities, and the attributes of employees that they can name
//! (docs/decisions/wellness-employees.md).

use crate::Employee;
use function::{BoundedText, Error};
use keys::wellness::{ActivityType, AttributeName, Department, Role, SubType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::json;
use std::{borrow::Cow, collections::BTreeMap, fmt, str::FromStr};

/// Maximum number of attributes of an employee
/// (docs/requirements/wellness.md#attributes-of-employees).
const MAX_ATTRIBUTES: usize = 20;
/// Maximum size of the filters of an activity, in bytes of JSON without white space. GSI2 projects
/// the filters, and every list in short form reads them.
const MAX_FILTERS: usize = 2 * 1024;

/// The value of an attribute of an employee, such as `Berlin`.
pub type AttributeValue = BoundedText<100>;

/// What a company keeps about an employee besides the role and the department.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<AttributeName, AttributeValue>", into = "BTreeMap<AttributeName, AttributeValue>")]
pub struct AttributeMap(BTreeMap<AttributeName, AttributeValue>);

impl AttributeMap {
    /// Whether there are no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.0.iter().find(|(own, _)| own.as_str() == name).map(|(_, value)| value)
    }

    /// The names of the attributes, in their order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AttributeName::as_str)
    }

    /// Returns the attributes after the change. `None` removes an attribute.
    pub(crate) fn with(
        mut self,
        changes: BTreeMap<AttributeName, Option<AttributeValue>>,
    ) -> Result<Self, &'static str> {
        for (name, value) in changes {
            match value {
                Some(value) => drop(self.0.insert(name, value)),
                None => drop(self.0.remove(&name)),
            }
        }
        self.0.try_into()
    }
}

impl TryFrom<BTreeMap<AttributeName, AttributeValue>> for AttributeMap {
    type Error = &'static str;

    fn try_from(attributes: BTreeMap<AttributeName, AttributeValue>) -> Result<Self, &'static str> {
        if attributes.len() > MAX_ATTRIBUTES { Err("must have at most 20 attributes") } else { Ok(Self(attributes)) }
    }
}

impl From<AttributeMap> for BTreeMap<AttributeName, AttributeValue> {
    fn from(AttributeMap(attributes): AttributeMap) -> Self {
        attributes
    }
}

impl JsonSchema for AttributeMap {
    fn schema_name() -> Cow<'static, str> {
        "Attributes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Values by the name of the attribute.",
            "type": "object",
            "propertyNames": generator.subschema_for::<AttributeName>(),
            "additionalProperties": generator.subschema_for::<AttributeValue>(),
            "maxProperties": MAX_ATTRIBUTES,
        })
    }
}

/// Attributes in a query parameter, as JSON.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttributeQuery(pub(crate) AttributeMap);

impl FromStr for AttributeQuery {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const EXPECTED: &str = "must be a JSON object of at most 20 attributes, such as {\"location\":\"Berlin\"}";
        serde_json::from_str(text).map(Self).map_err(|_| EXPECTED)
    }
}

impl JsonSchema for AttributeQuery {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "AttributeQuery".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^\s*\{",
            "contentMediaType": "application/json",
            "contentSchema": generator.subschema_for::<AttributeMap>(),
        })
    }
}

/// Someone whom an activity admits or not.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// `None` stands for every role.
    pub role: Option<&'a Role>,
    /// `None` stands for every department.
    pub department: Option<&'a Department>,
    /// The attributes of the employee.
    pub attributes: &'a AttributeMap,
    /// Whether a missing attribute stands for every value. An employee without an attribute matches
    /// no list of it.
    pub is_partial: bool,
}

impl Employee {
    pub(crate) fn candidate(&self) -> Candidate<'_> {
        let (role, department) = (Some(&self.role), Some(&self.department));
        Candidate { role, department, attributes: &self.attribute_map, is_partial: false }
    }
}

/// Who can take part in an activity. An employee must match every list. An empty list admits all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Filters {
    /// The type of the activity, if the request repeated it.
    #[serde(rename = "Type", skip_serializing_if = "Option::is_none")]
    pub activity_type: Option<ActivityType>,
    /// The subtype of the activity, if the request repeated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sub_type: Option<SubType>,
    /// Eligible roles.
    pub roles: Vec<Role>,
    /// Eligible departments.
    pub departments: Vec<Department>,
    /// Eligible values of each attribute.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<AttributeName, Vec<AttributeValue>>,
}

impl Filters {
    /// Whether the filters admit the candidate.
    pub fn admit(&self, candidate: Candidate<'_>) -> bool {
        fn holds<T: PartialEq>(list: &[T], one: Option<&T>, is_partial: bool) -> bool {
            list.is_empty() || one.map_or(is_partial, |one| list.contains(one))
        }
        let Candidate { role, department, attributes: AttributeMap(attributes), is_partial } = candidate;
        holds(&self.roles, role, true)
            && holds(&self.departments, department, true)
            && self.attributes.iter().all(|(name, values)| holds(values, attributes.get(name), is_partial))
    }

    /// Returns the filters for an activity of another type.
    pub(crate) fn without_type(self) -> Self {
        Self { activity_type: None, sub_type: None, ..self }
    }

    /// Checks that the filters state no other type or subtype than the activity has. `None` is a
    /// type that a template leaves open.
    ///
    /// # Errors
    /// 400 if they do.
    pub(crate) fn must_be_of(
        &self,
        activity_type: Option<ActivityType>,
        sub_type: Option<&SubType>,
    ) -> Result<(), Error> {
        fn agree<T: PartialEq + fmt::Display>(stated: Option<T>, right: Option<T>, name: &str) -> Result<(), Error> {
            match stated.zip(right) {
                Some((stated, right)) if stated != right => Err(Error::invalid(
                    &format!("/body/filters/{name}"),
                    format!("must be {right}, the {name} of the activity"),
                )),
                _ => Ok(()),
            }
        }
        agree(self.activity_type, activity_type, "type")?;
        agree(self.sub_type.as_ref(), sub_type, "subType")
    }
}

/// Filters in requests, responses and templates: one object, whose members are the lists.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FiltersBody(pub(crate) Filters);

impl From<Filters> for FiltersBody {
    fn from(filters: Filters) -> Self {
        Self(filters)
    }
}

impl From<FiltersBody> for Filters {
    fn from(FiltersBody(filters): FiltersBody) -> Self {
        filters
    }
}

impl Serialize for FiltersBody {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Self(Filters { activity_type, sub_type, roles, departments, attributes }) = self;
        let mut members = out.serialize_map(None)?;
        if let Some(activity_type) = activity_type {
            members.serialize_entry("type", activity_type)?;
        }
        if let Some(sub_type) = sub_type {
            members.serialize_entry("subType", sub_type)?;
        }
        members.serialize_entry("roles", roles)?;
        members.serialize_entry("departments", departments)?;
        for (name, values) in attributes {
            members.serialize_entry(name, values)?;
        }
        members.end()
    }
}

impl<'de> Deserialize<'de> for FiltersBody {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let body = input.deserialize_map(Members)?;
        let size = serde_json::to_string(&body).map_err(D::Error::custom)?.len();
        if size > MAX_FILTERS {
            let detail = format!("must have at most {MAX_FILTERS} bytes as JSON without white space, and has {size}");
            return Err(D::Error::custom(detail));
        }
        Ok(body)
    }
}

/// A member of the filters.
enum Member {
    Type,
    SubType,
    Roles,
    Departments,
    Attribute(AttributeName),
}

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(input)?.as_str() {
            "type" => Self::Type,
            "subType" => Self::SubType,
            "roles" => Self::Roles,
            "departments" => Self::Departments,
            name => Self::Attribute(name.parse().map_err(D::Error::custom)?),
        })
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = FiltersBody;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<FiltersBody, A::Error> {
        let mut filters = Filters::default();
        while let Some(member) = members.next_key()? {
            match member {
                Member::Type => filters.activity_type = Some(members.next_value()?),
                Member::SubType => filters.sub_type = Some(members.next_value()?),
                Member::Roles => filters.roles = members.next_value()?,
                Member::Departments => filters.departments = members.next_value()?,
                Member::Attribute(name) => drop(filters.attributes.insert(name, members.next_value()?)),
            }
        }
        Ok(FiltersBody(filters))
    }
}

impl JsonSchema for FiltersBody {
    fn schema_name() -> Cow<'static, str> {
        "Filters".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({
            "description": "Who can take part. An employee must match every list. An empty list admits everybody. \
                Further members are attributes of employees. The filters have at most 2,048 bytes as JSON without \
                white space.",
            "type": "object",
            "properties": {
                "type": generator.subschema_for::<ActivityType>(),
                "subType": generator.subschema_for::<SubType>(),
                "roles": generator.subschema_for::<Vec<Role>>(),
                "departments": generator.subschema_for::<Vec<Department>>(),
            },
            "additionalProperties": generator.subschema_for::<Vec<AttributeValue>>(),
            "propertyNames": {"anyOf": [
                {"enum": ["type", "subType", "roles", "departments"]},
                generator.subschema_for::<AttributeName>(),
            ]},
        });
        if generator.contract().is_serialize() {
            schema.insert("required".to_owned(), json!(["roles", "departments"]));
        }
        schema
    }
}
