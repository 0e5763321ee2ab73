//! Stored items of any kind.

use keys::wellness::{ActivityPartition, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use table::{Attribute, Item, Key};

/// A stored item with all its attributes, also if its own type cannot be deserialized from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct StoredItem(Map<String, Value>);

impl Item for StoredItem {
    const TYPE: &'static str = "StoredItem";
}

impl StoredItem {
    /// The value of a text attribute, or an empty text.
    pub(crate) fn text(&self, attribute: Attribute) -> &str {
        self.0.get(attribute.as_str()).and_then(Value::as_str).unwrap_or_default()
    }

    /// The sort key.
    pub(crate) fn sort(&self) -> &str {
        self.text(Key::SORT)
    }

    /// The name of the type, such as `Registration`.
    pub(crate) fn kind(&self) -> &str {
        match self.text(Attribute::TYPE) {
            "" => Self::TYPE,
            kind => kind,
        }
    }

    /// Adds the item as a line of JSON.
    pub(crate) fn write_to(&self, lines: &mut Vec<u8>) -> Result<(), serde_json::Error> {
        serde_json::to_writer(&mut *lines, &self.0)?;
        lines.push(b'\n');
        Ok(())
    }
}

/// The id of an activity in an index. All other attributes are ignored, so that none of them can
/// make it unreadable.
#[derive(Serialize, Deserialize)]
pub(crate) struct ListedActivity {
    #[serde(rename = "PK")]
    pub(crate) partition: ActivityPartition,
}

impl Item for ListedActivity {
    const TYPE: &'static str = "Activity";
}

/// The author of an activity. No other attribute can make it unreadable.
#[derive(Serialize, Deserialize)]
pub(crate) struct AuthoredActivity {
    #[serde(rename = "PK")]
    pub(crate) partition: ActivityPartition,
    #[serde(rename = "ChangedBy", default)]
    changed_by: Value,
}

impl Item for AuthoredActivity {
    const TYPE: &'static str = "Activity";
}

impl AuthoredActivity {
    /// The entry of the author with the user id.
    pub(crate) const SUB: &'static str = "sub";

    pub(crate) fn has_author(&self, user: &UserId) -> bool {
        self.changed_by[Self::SUB] == user.as_str()
    }
}
