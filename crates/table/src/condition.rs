use crate::item::Attributes;
use aws_sdk_dynamodb::types::AttributeValue;
use std::{collections::HashMap, fmt::Display};

/// What an attribute is compared with or set to: the text of a key, an identifier or a time, or a whole number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A string.
    Text(String),
    /// A number.
    Number(i64),
}

impl<T: Display> From<&T> for Value {
    fn from(text: &T) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl Value {
    fn attribute(&self) -> AttributeValue {
        match self {
            Self::Text(text) => AttributeValue::S(text.clone()),
            Self::Number(number) => AttributeValue::N(number.to_string()),
        }
    }
}

/// What must hold of an item, for a [`Change`](crate::Change) to happen or a [`Query`](crate::Query) to return it.
#[derive(Debug, Clone)]
pub struct Condition {
    attribute: &'static str,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Is(Value),
    MissingOrOver(i64),
    Begins(String),
}

impl Condition {
    /// The attribute has that value.
    #[must_use]
    pub fn is(attribute: &'static str, value: impl Into<Value>) -> Self {
        Self { attribute, test: Test::Is(value.into()) }
    }

    /// The attribute is greater than that number, or is not there: what a time to live asks.
    #[must_use]
    pub fn missing_or_over(attribute: &'static str, number: impl Into<i64>) -> Self {
        Self { attribute, test: Test::MissingOrOver(number.into()) }
    }

    /// The attribute, a string, begins so.
    #[must_use]
    pub fn begins(attribute: &'static str, prefix: impl Into<String>) -> Self {
        Self { attribute, test: Test::Begins(prefix.into()) }
    }

    pub(crate) fn expression(&self, placeholders: &mut Placeholders) -> String {
        let name = placeholders.name(self.attribute);
        match &self.test {
            Test::Is(value) => format!("{name} = {}", placeholders.value(value)),
            Test::MissingOrOver(number) => {
                let number = placeholders.value(&Value::Number(*number));
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
    pub(crate) fn name(&mut self, attribute: &str) -> String {
        let name = format!("#{}", self.names.len());
        self.names.insert(name.clone(), attribute.to_owned());
        name
    }

    pub(crate) fn value(&mut self, value: &Value) -> String {
        let placeholder = format!(":{}", self.values.len());
        self.values.insert(placeholder.clone(), value.attribute());
        placeholder
    }
}
