use crate::Attribute;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, fmt::Display};

pub(crate) type Attributes = HashMap<String, AttributeValue>;

/// The primary key of an item.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    #[serde(rename = "PK")]
    pub(crate) partition: String,
    #[serde(rename = "SK")]
    pub(crate) sort: String,
}

impl Key {
    /// The partition key attribute of every table.
    pub const PARTITION: Attribute = Attribute("PK");

    /// The sort key attribute of every table.
    pub const SORT: Attribute = Attribute("SK");

    /// Creates a key. Use the key types of the crate `keys` for both parts.
    pub fn new(partition: &impl Display, sort: &impl Display) -> Self {
        Self { partition: partition.to_string(), sort: sort.to_string() }
    }

    /// A key that no item has. Use this key for calls that only open the connection. Both parts are
    /// `#`.
    pub fn placeholder() -> Self {
        Self { partition: "#".to_owned(), sort: "#".to_owned() }
    }

    /// The partition key.
    pub fn partition(&self) -> &str {
        &self.partition
    }

    /// The sort key.
    pub fn sort(&self) -> &str {
        &self.sort
    }

    pub(crate) fn attributes(&self) -> Attributes {
        let text = |text: &String| AttributeValue::S(text.clone());
        HashMap::from([
            (Self::PARTITION.to_string(), text(&self.partition)),
            (Self::SORT.to_string(), text(&self.sort)),
        ])
    }
}
