use crate::{Attribute, Error, item::Attributes};
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;
use std::{
    collections::HashMap,
    fmt::{self, Display},
};

/// What an attribute is compared with or set to: the text of a key, an identifier or a time, a whole number, or whatever
/// else an item may hold.
#[derive(Clone, PartialEq)]
pub struct Value(AttributeValue);

/// Without the value: it is somebody's data.
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
    /// A decimal number, by its text: one of [`Item::NUMBERS`](crate::Item::NUMBERS).
    #[must_use]
    pub fn number(number: &impl Display) -> Self {
        Self(AttributeValue::N(number.to_string()))
    }

    /// As it would stand in an item.
    ///
    /// # Errors
    /// It can't be written as an attribute.
    pub fn of(value: &impl Serialize) -> Result<Self, Error> {
        let value: AttributeValue =
            serde_dynamo::to_attribute_value(value).map_err(|error| Error::Unreadable("attribute", error))?;
        Ok(Self(value))
    }
}

/// What must hold of an item, for a [`Change`](crate::Change) to happen or a [`Query`](crate::Query) to return it.
#[derive(Debug, Clone)]
pub struct Condition {
    attribute: Attribute,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Is(Value),
    IsNot(Value),
    AtMost(Value),
    Missing,
    MissingOrOver(i64),
    Begins(String),
}

impl Condition {
    /// The attribute has that value.
    #[must_use]
    pub fn is(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { attribute, test: Test::Is(value.into()) }
    }

    /// The attribute is there, and has another value.
    #[must_use]
    pub fn is_not(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { attribute, test: Test::IsNot(value.into()) }
    }

    /// The attribute is no greater than that.
    #[must_use]
    pub fn at_most(attribute: Attribute, value: impl Into<Value>) -> Self {
        Self { attribute, test: Test::AtMost(value.into()) }
    }

    /// The attribute is not there.
    #[must_use]
    pub fn missing(attribute: Attribute) -> Self {
        Self { attribute, test: Test::Missing }
    }

    /// The attribute is greater than that number, or is not there: what a time to live asks.
    #[must_use]
    pub fn missing_or_over(attribute: Attribute, number: impl Into<i64>) -> Self {
        Self { attribute, test: Test::MissingOrOver(number.into()) }
    }

    /// The attribute, a string, begins so.
    #[must_use]
    pub fn begins(attribute: Attribute, prefix: impl Into<String>) -> Self {
        Self { attribute, test: Test::Begins(prefix.into()) }
    }

    pub(crate) fn expression(&self, placeholders: &mut Placeholders) -> String {
        let name = placeholders.name(self.attribute);
        match &self.test {
            Test::Is(value) => format!("{name} = {}", placeholders.value(value)),
            Test::IsNot(value) => {
                format!("(attribute_exists({name}) AND {name} <> {})", placeholders.value(value))
            }
            Test::AtMost(value) => format!("{name} <= {}", placeholders.value(value)),
            Test::Missing => format!("attribute_not_exists({name})"),
            Test::MissingOrOver(number) => {
                let number = placeholders.value(&Value::from(*number));
                format!("(attribute_not_exists({name}) OR {name} > {number})")
            }
            Test::Begins(prefix) => format!("begins_with({name}, {})", placeholders.value(&Value::from(prefix))),
        }
    }
}

/// Names and values of an expression, numbered: any name may be a reserved word.
#[derive(Default)]
pub(crate) struct Placeholders {
    pub(crate) names: HashMap<String, String>,
    pub(crate) values: Attributes,
}

impl Placeholders {
    pub(crate) fn name(&mut self, attribute: Attribute) -> String {
        let name = format!("#{}", self.names.len());
        self.names.insert(name.clone(), attribute.as_str().to_owned());
        name
    }

    pub(crate) fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":{}", self.values.len());
        self.values.insert(placeholder.clone(), value.0.clone());
        placeholder
    }
}
