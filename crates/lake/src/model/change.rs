use crate::model::{
    row::{Origin, line},
    schema::TableOf,
    token::TokenKey,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use function::{EventRecord, Record};
use jiff::Timestamp;
use serde::Serialize;
use serde_dynamo::AttributeValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use table::{Item, Key};

/// Result of reading a stream record.
#[derive(Debug, PartialEq)]
pub(crate) enum Reading {
    /// Row to send: one line of JSON, including the line break.
    Row(String),
    /// The record does not describe a change that the lake stores.
    Dropped(Dropped),
    /// The record can never be sent. The reason may quote the record, so do not log the reason.
    Unsendable(String),
}

/// Reason for dropping a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dropped {
    /// The lake has no table for items of this type.
    NotExported,
    /// A status change deleted the item under its old key. The insertion under the new key is
    /// exported instead.
    MovedAway,
    /// An item that no longer exists for its readers was changed or deleted.
    Ended,
    /// The old and the new item are equal.
    Unchanged,
}

/// Reason why a record is no row.
pub(crate) enum Why {
    Dropped(Dropped),
    Unsendable(String),
}

impl From<Dropped> for Why {
    fn from(dropped: Dropped) -> Self {
        Self::Dropped(dropped)
    }
}

pub(crate) fn unsendable(reason: impl Into<String>) -> Why {
    Why::Unsendable(reason.into())
}

/// Kind of change: the value of the column `operation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Operation {
    Insert,
    Modify,
    Move,
    Remove,
    Expire,
    /// The item as an export of the table contains it.
    Snapshot,
}

/// An item type that the lake exports: its columns, and the mapping of its changes to rows.
pub(crate) trait Exported: Item + Clone + PartialEq + 'static {
    /// The Glue table.
    const TABLE: TableOf<Self>;

    /// Values of the attribute `Type` of the exported items.
    const TYPES: &'static [&'static str] = &[Self::TYPE];

    /// Whether the versions count the changes of an item. Otherwise, items never change.
    const IS_NUMBERED: bool = false;

    /// Whether the sort key can belong to an item of this type. Only items without the attribute
    /// `Type` are recognised by their keys.
    fn is_key(sort: &str) -> bool;

    /// Number of changes of the item. Items that never change have version 1.
    fn version(&self) -> i64 {
        1
    }

    /// Version of the row of a deletion. A deletion by TTL does not change the version of the item,
    /// but two rows of an item must not have the same version. Rows of items that never change are
    /// ordered by their sequence numbers (docs/decisions/export.md).
    fn version_of_deletion(&self) -> i64 {
        self.version().saturating_add(Self::IS_NUMBERED.into())
    }

    /// Converts an item of an export of the table to a row, unless the item has ended.
    fn snapshot(self) -> Result<Change<Self>, Why> {
        Ok(Change::to(Operation::Snapshot, self, None))
    }

    /// Converts the images of a stream record to a change.
    fn change(images: Images<Self>) -> Result<Change<Self>, Why> {
        Ok(Change::plain(images))
    }
}

/// Images of a stream record.
pub(crate) enum Images<T> {
    Inserted(T),
    /// The old item is `None` if it cannot be read: the change has repaired it.
    Modified(T, Option<T>),
    Removed {
        item: T,
        by_ttl: bool,
    },
}

/// Change of an item.
pub(crate) struct Change<T> {
    pub(crate) operation: Operation,
    /// The item after the change, or the deleted item.
    pub(crate) item: T,
    pub(crate) version: i64,
    /// Whether the item exists after the change.
    pub(crate) is_there: bool,
    /// The item before the change.
    pub(crate) old: Option<T>,
}

impl<T: Exported> Change<T> {
    /// A change after which the item exists.
    pub(crate) fn to(operation: Operation, item: T, old: Option<T>) -> Self {
        Self { operation, version: item.version(), item, is_there: true, old }
    }

    /// A change after which the item no longer exists.
    pub(crate) fn gone(operation: Operation, item: T, old: T, version: i64) -> Self {
        Self { operation, item, version, is_there: false, old: Some(old) }
    }

    /// The change of an item whose key never changes.
    pub(crate) fn plain(images: Images<T>) -> Self {
        match images {
            Images::Inserted(item) => Self::to(Operation::Insert, item, None),
            Images::Modified(item, old) => Self::to(Operation::Modify, item, old),
            Images::Removed { item, by_ttl } => {
                let operation = if by_ttl { Operation::Expire } else { Operation::Remove };
                let version = item.version_of_deletion();
                let old = item.clone();
                Self::gone(operation, item, old, version)
            }
        }
    }
}

/// Converts an item of an export to a row. The row of an item and its version has the same id in
/// every export.
pub(crate) fn read_item<T: Exported>(item: &Value, at: Timestamp, tokens: Option<&TokenKey>) -> Reading {
    let row = || {
        let attributes: serde_dynamo::Item =
            serde_json::from_value(item.clone()).map_err(|error| unsendable(format!("not an item: {error}")))?;
        let change = image::<T>(&attributes, "Item")?.snapshot()?;
        let key = [Key::PARTITION, Key::SORT].map(|name| item[name.as_str()]["S"].as_str().unwrap_or_default());
        let id = json!([T::TABLE.items, key, change.version]).to_string();
        let event_id = format!("snapshot-{}", URL_SAFE_NO_PAD.encode(Sha256::digest(id)));
        let origin = Origin { event_id: &event_id, sequence_number: None, changed_at: Some(at) };
        line(&origin, &change, tokens).map_err(unsendable)
    };
    Reading::from(row())
}

impl From<Result<String, Why>> for Reading {
    fn from(row: Result<String, Why>) -> Self {
        match row {
            Ok(row) => Self::Row(row),
            Err(Why::Dropped(dropped)) => Self::Dropped(dropped),
            Err(Why::Unsendable(reason)) => Self::Unsendable(reason),
        }
    }
}

/// Converts a stream record to a row.
pub(crate) fn read<T: Exported>(record: &Record, tokens: Option<&TokenKey>) -> Reading {
    row::<T>(record, tokens).into()
}

fn row<T: Exported>(record: &Record, tokens: Option<&TokenKey>) -> Result<String, Why> {
    let event = record.read().map_err(|error| unsendable(format!("not a stream record: {error}")))?;
    let images = images::<T>(&event)?;
    if let Images::Modified(new, Some(old)) = &images
        && new == old
    {
        return Err(Dropped::Unchanged.into());
    }
    let change = T::change(images)?;
    let origin = Origin {
        event_id: &event.event_id,
        sequence_number: Some(record.sequence_number()),
        changed_at: record.created_at(),
    };
    line(&origin, &change, tokens).map_err(unsendable)
}

fn images<T: Exported>(event: &EventRecord) -> Result<Images<T>, Why> {
    let (new, old) = (&event.change.new_image, &event.change.old_image);
    match event.event_name.as_str() {
        "INSERT" => Ok(Images::Inserted(image(new, "NewImage")?)),
        "MODIFY" => {
            let new = image(new, "NewImage")?;
            match image(old, "OldImage") {
                Err(missing) if old.is_empty() => Err(missing),
                old => Ok(Images::Modified(new, old.ok())),
            }
        }
        "REMOVE" => Ok(Images::Removed { item: image(old, "OldImage")?, by_ttl: is_by_ttl(event) }),
        _ => Err(unsendable("eventName is not INSERT, MODIFY or REMOVE")),
    }
}

fn image<T: Exported>(item: &serde_dynamo::Item, name: &str) -> Result<T, Why> {
    if item.is_empty() {
        return Err(unsendable(format!("{name} is missing: the stream view type must be NEW_AND_OLD_IMAGES")));
    }
    let mut attributes: HashMap<String, AttributeValue> = item.clone().into();
    // serde reads a decimal number only from text.
    for number in T::NUMBERS {
        if let Some(AttributeValue::N(text)) = attributes.get_mut(number.as_str()) {
            let text = std::mem::take(text);
            attributes.insert(number.to_string(), AttributeValue::S(text));
        }
    }
    let read = serde_dynamo::from_item(attributes);
    read.map_err(|error| unsendable(format!("{name} is not a {}: {error}", T::TYPE)))
}

/// Returns whether TTL deleted the item (DynamoDB Developer Guide, "DynamoDB Streams and Time to
/// Live").
fn is_by_ttl(event: &EventRecord) -> bool {
    event
        .user_identity
        .as_ref()
        .is_some_and(|user| user.type_ == "Service" && user.principal_id == "dynamodb.amazonaws.com")
}
