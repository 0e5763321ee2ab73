//! The tables of the lake. To add one, declare its schema in a module and list it in [`SCHEMAS`].
//! `make docs` writes everything else (docs/lake.md).

mod cart_items;
mod ledger_legs;
mod ledger_transactions;
mod orders;
mod payments;

use crate::model::{change::Dropped, schema::Schema};
use cart::CartItem;
use function::Record;
use ledger::Leg;
use serde_json::Value;
use table::{Attribute, Key};

/// Every table of the lake.
pub const SCHEMAS: [Schema; 6] = [
    Schema::of::<CartItem>(),
    Schema::of::<cart::Order>(),
    Schema::of::<bank::Payment>(),
    Schema::of::<bank::Transaction>(),
    Schema::of::<Leg>(),
    Schema::of::<ledger::Transaction>(),
];

/// Finds the schema of the changed item.
///
/// # Errors
/// The lake does not export the item, or the record does not name the item's table or type.
pub(crate) fn schema_of(record: &Record) -> Result<&'static Schema, Unknown> {
    find(record.source_table().ok_or(Unknown::Table)?, record.item_type(), record.sort_key())
}

/// Finds the schema of an item in an export of a table.
///
/// # Errors
/// The errors of [`schema_of`].
pub(crate) fn schema_of_item(table: &str, item: &Value) -> Result<&'static Schema, Unknown> {
    let text = |attribute: Attribute| item[attribute.as_str()]["S"].as_str();
    find(table, text(Attribute::TYPE), text(Key::SORT))
}

fn find(table: &str, kind: Option<&str>, sort: Option<&str>) -> Result<&'static Schema, Unknown> {
    let mut of_source = SCHEMAS.iter().filter(|schema| table.rsplit('-').next() == Some(schema.source)).peekable();
    of_source.peek().ok_or(Unknown::Table)?;
    if let Some(kind) = kind {
        return of_source.find(|schema| schema.types.contains(&kind)).ok_or(Unknown::Dropped(Dropped::NotExported));
    }
    let sort = sort.ok_or(Unknown::Type)?;
    of_source.find(|schema| schema.has_key(sort)).ok_or(Unknown::Type)
}

/// Reason why a record has no schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// The lake exports no item of this type.
    Dropped(Dropped),
    /// The record is not from the stream of an exported table.
    Table,
    /// The item has no type, and its key is not the key of an exported item.
    Type,
}
