use crate::{Attribute, Error, key::Attributes};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use std::{
    collections::HashMap,
    fmt::{self, Display},
};

/// A value in a condition or an update: a string, a number, or another serializable value.
#[derive(Clone, PartialEq)]
pub struct Value(AttributeValue);

/// Does not print the value, because it is customer data.
impl fmt::Debug for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Value")
    }
}

impl<T: Display> From<&T> for Value {
    fn from(text: &T) -> Self {
        Self(AttributeValue::S(text.to_string()))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self(AttributeValue::N(number.to_string()))
    }
}

impl Value {
    /// Creates a DynamoDB number from decimal text. Use this function for attributes in
    /// [`Item::NUMBERS`](crate::Item::NUMBERS).
    pub fn number(number: &impl Display) -> Self {
        Self(AttributeValue::N(number.to_string()))
    }

    /// Serializes the value in the same way as an item field.
    ///
    /// # Errors
    /// The value cannot be serialized.
    pub fn of(value: &impl Serialize) -> Result<Self, Error> {
        let value: AttributeValue =
            serde_dynamo::to_attribute_value(value).map_err(|error| Error::Unreadable("attribute", error))?;
        Ok(Self(value))
    }

    pub(crate) fn attribute(&self) -> AttributeValue {
        self.0.clone()
    }

    /// Returns the sum of this integer and a stored integer, as `ADD` computes it. A missing
    /// attribute counts as 0. A value of another type remains as it is.
    pub(crate) fn plus(&self, stored: Option<&AttributeValue>) -> AttributeValue {
        let integer = |value: &AttributeValue| value.as_n().ok().and_then(|number| number.parse::<i64>().ok());
        match (stored, stored.and_then(integer), integer(&self.0)) {
            (Some(_), Some(stored), Some(more)) => AttributeValue::N(stored.saturating_add(more).to_string()),
            (Some(stored), _, _) => stored.clone(),
            (None, _, _) => self.0.clone(),
        }
    }
}

/// A condition on a stored item, for a [`Change`](crate::Change) or for the filter of a
/// [`Query`](crate::Query).
#[derive(Debug, Clone)]
pub struct Condition {
    path: Path,
    test: Test,
}

/// An attribute, or an entry of an attribute that is a map.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) attribute: Attribute,
    pub(crate) entry: Option<String>,
}

impl From<Attribute> for Path {
    fn from(attribute: Attribute) -> Self {
        Self { attribute, entry: None }
    }
}

impl Path {
    pub(crate) fn of_entry(attribute: Attribute, entry: &impl Display) -> Self {
        Self { attribute, entry: Some(entry.to_string()) }
    }
}

#[derive(Debug, Clone)]
enum Test {
    Is(Value),
    IsNot(Value),
    AtMost(Value),
    Missing,
    FewerEntries(i64),
    MissingOrIs(Value),
    MissingOrOver(i64),
    MissingOrUnder(i64),
    Begins(String),
}

impl Condition {
    /// The attribute must equal the value.
    pub fn is(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { path: attribute.into(), test: Test::Is(value.into()) }
    }

    /// The entry of a map must equal the value.
    pub fn entry_is(attribute: Attribute, entry: &impl Display, value: impl Into<Value>) -> Self {
        Self { path: Path::of_entry(attribute, entry), test: Test::Is(value.into()) }
    }

    /// The map must not have the entry.
    pub fn entry_missing(attribute: Attribute, entry: &impl Display) -> Self {
        Self { path: Path::of_entry(attribute, entry), test: Test::Missing }
    }

    /// The map must have fewer entries than the number.
    pub fn fewer_entries(attribute: Attribute, number: i64) -> Self {
        Self { path: attribute.into(), test: Test::FewerEntries(number) }
    }

    /// The attribute must exist and differ from the value.
    pub fn is_not(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { path: attribute.into(), test: Test::IsNot(value.into()) }
    }

    /// The attribute must be less than or equal to the value.
    pub fn at_most(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { path: attribute.into(), test: Test::AtMost(value.into()) }
    }

    /// The attribute has this value, or is missing if `value` is `None`.
    pub fn unchanged(attribute: Attribute, value: Option<&impl Display>) -> Self {
        value.map_or_else(|| Self::missing(attribute), |value| Self::is(attribute, value))
    }

    /// The attribute must not exist.
    pub fn missing(attribute: Attribute) -> Self {
        Self { path: attribute.into(), test: Test::Missing }
    }

    /// The attribute must equal the value, or must not exist.
    pub fn missing_or_is(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { path: attribute.into(), test: Test::MissingOrIs(value.into()) }
    }

    /// The attribute must be greater than the number, or must not exist. Use this condition for
    /// expiry times.
    pub fn missing_or_over(attribute: Attribute, number: impl Into<i64>) -> Self {
        Self { path: attribute.into(), test: Test::MissingOrOver(number.into()) }
    }

    /// The attribute must be less than the number, or must not exist. Use this condition for
    /// counters with a limit.
    pub fn missing_or_under(attribute: Attribute, number: i64) -> Self {
        Self { path: attribute.into(), test: Test::MissingOrUnder(number) }
    }

    /// The string attribute must start with the prefix.
    pub fn begins(attribute: Attribute, prefix: impl Into<String>) -> Self {
        Self { path: attribute.into(), test: Test::Begins(prefix.into()) }
    }

    /// Whether the condition can accept the item. Only [`Condition::is`] is evaluated.
    pub(crate) fn may_accept(&self, item: &Attributes) -> bool {
        let stored = item.get(self.path.attribute.as_str());
        match &self.test {
            Test::Is(value) if self.path.entry.is_none() => stored == Some(&value.0),
            _ => true,
        }
    }

    pub(crate) fn expression(&self, placeholders: &mut Placeholders) -> String {
        let name = placeholders.name(&self.path);
        match &self.test {
            Test::Is(value) => format!("{name} = {}", placeholders.value(value)),
            Test::IsNot(value) => {
                format!("(attribute_exists({name}) AND {name} <> {})", placeholders.value(value))
            }
            Test::AtMost(value) => format!("{name} <= {}", placeholders.value(value)),
            Test::Missing => format!("attribute_not_exists({name})"),
            Test::FewerEntries(number) => format!("size({name}) < {}", placeholders.value(&Value::from(*number))),
            Test::MissingOrIs(value) => {
                format!("(attribute_not_exists({name}) OR {name} = {})", placeholders.value(value))
            }
            Test::MissingOrOver(number) => {
                let number = placeholders.value(&Value::from(*number));
                format!("(attribute_not_exists({name}) OR {name} > {number})")
            }
            Test::MissingOrUnder(number) => {
                let number = placeholders.value(&Value::from(*number));
                format!("(attribute_not_exists({name}) OR {name} < {number})")
            }
            Test::Begins(prefix) => format!("begins_with({name}, {})", placeholders.value(&Value::from(prefix))),
        }
    }
}

/// Numbered placeholders for the names and values in an expression. Placeholders allow attribute
/// names that are reserved words.
#[derive(Default)]
pub(crate) struct Placeholders {
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: Attributes,
}

impl Placeholders {
    pub(crate) fn name(&mut self, path: &Path) -> String {
        let mut placeholder = |name: &str| {
            let placeholder = format!("#{}", self.names.len());
            self.names.insert(placeholder.clone(), name.to_owned());
            placeholder
        };
        let attribute = placeholder(path.attribute.as_str());
        path.entry.as_deref().map_or(attribute.clone(), |entry| format!("{attribute}.{}", placeholder(entry)))
    }

    pub(crate) fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":{}", self.values.len());
        self.values.insert(placeholder.clone(), value.0.clone());
        placeholder
    }
}
