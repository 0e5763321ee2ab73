use crate::model::{
    change::{self, Exported, Reading},
    row::Time,
    token::TokenKey,
};
use function::Record;
use jiff::Timestamp;
use keys::AccountId;
use money::Decimal;
use serde_json::Value;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole number of 32 bits.
    Int,
    /// Whole number of 64 bits.
    BigInt,
    /// True or false.
    Boolean,
    /// Amount with 16 digits before the decimal point and 4 digits after it.
    Amount,
    /// Time in UTC, with milliseconds.
    Time,
}

impl Kind {
    /// Type in the Glue table (Hive).
    pub const fn hive(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Int => "int",
            Self::BigInt => "bigint",
            Self::Boolean => "boolean",
            Self::Amount => "decimal(20,4)",
            Self::Time => "timestamp",
        }
    }
}

/// Rows in which a column has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Every row: the column identifies the item, or never changes.
    Always,
    /// Rows after which the item exists.
    State,
    /// Like `State`. The column `old_<name>` has the value before the change.
    Tracked,
    /// A column `old_<name>`.
    Old,
}

/// Column of a Glue table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: Kind,
    /// Rows in which the column has a value.
    pub presence: Presence,
    /// Description.
    pub note: String,
}

/// Reads the value of a column from an item. The variant determines the type of the column.
pub(crate) enum Read<T> {
    Text(fn(&T) -> Option<String>),
    /// Account of a customer. The rows have a token instead if account tokens are enabled.
    Account(fn(&T) -> Option<AccountId>),
    /// Id of a person, which is replaced like an account.
    Person(fn(&T) -> Option<String>),
    Int(fn(&T) -> Option<i32>),
    Boolean(fn(&T) -> bool),
    Amount(fn(&T) -> Option<Decimal>),
    Time(fn(&T) -> Option<Time>),
    /// Version of the item, which orders its rows.
    Version,
}

impl<T> Read<T> {
    const fn kind(&self) -> Kind {
        match self {
            Self::Text(_) | Self::Account(_) | Self::Person(_) => Kind::Text,
            Self::Int(_) => Kind::Int,
            Self::Boolean(_) => Kind::Boolean,
            Self::Amount(_) => Kind::Amount,
            Self::Time(_) => Kind::Time,
            Self::Version => Kind::BigInt,
        }
    }
}

/// Column of a table with items of type `T`: the declaration and the mapping in one place.
pub(crate) struct ColumnOf<T> {
    pub(crate) name: &'static str,
    pub(crate) read: Read<T>,
    pub(crate) presence: Presence,
    note: &'static str,
}

/// A column with a value in every row.
pub(crate) const fn always<T>(name: &'static str, read: Read<T>, note: &'static str) -> ColumnOf<T> {
    ColumnOf { name, read, presence: Presence::Always, note }
}

/// A column with a value if the item exists after the change.
pub(crate) const fn state<T>(name: &'static str, read: Read<T>, note: &'static str) -> ColumnOf<T> {
    ColumnOf { name, read, presence: Presence::State, note }
}

/// A column like [`state`], and a column `old_<name>`.
pub(crate) const fn tracked<T>(name: &'static str, read: Read<T>, note: &'static str) -> ColumnOf<T> {
    ColumnOf { name, read, presence: Presence::Tracked, note }
}

/// The version column of every table.
pub(crate) const fn version<T>() -> ColumnOf<T> {
    always("version", Read::Version, "number of the item's changes; the highest version is the current state")
}

/// Declaration of a table with items of type `T`.
pub(crate) struct TableOf<T: 'static> {
    /// Name of the Glue table of the changes.
    pub(crate) changes: &'static str,
    /// Name of the view with the current items.
    pub(crate) items: &'static str,
    /// Logical name of the DynamoDB table.
    pub(crate) source: &'static str,
    /// The items, in plural.
    pub(crate) about: &'static str,
    /// Columns that identify an item.
    pub(crate) key: &'static [&'static str],
    /// Status of rows after which the item no longer exists for its readers.
    pub(crate) ended: Option<&'static str>,
    /// Columns after those that every table has.
    pub(crate) columns: &'static [ColumnOf<T>],
}

/// Columns of every table: name, type and description.
const COMMON: [(&str, Kind, &str); 4] = [
    ("event_id", Kind::Text, "id of the change; if a row is delivered twice, both copies have the same id"),
    ("operation", Kind::Text, "`insert`, `modify`, `move`, `remove`, `expire` or `snapshot`, described below"),
    ("sequence_number", Kind::Text, "position of the change in its stream shard; omitted in a `snapshot`"),
    (
        "changed_at",
        Kind::Time,
        "time of the change, from DynamoDB's approximate creation time; omitted if DynamoDB omits it; the time of the export in a `snapshot`",
    ),
];

/// A table of the lake. `make docs` writes the Glue table, the delivery stream, the documentation
/// and the views from it.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Name of the Glue table of the changes, such as `cart_changes`.
    pub changes: &'static str,
    /// Name of the view with the current items, such as `cart_items`.
    pub items: &'static str,
    /// Logical name of the DynamoDB table, such as `Cart`.
    pub source: &'static str,
    /// The items, in plural.
    pub about: &'static str,
    /// Columns that identify an item.
    pub key: &'static [&'static str],
    /// Values of the attribute `Type` of the exported items.
    pub types: &'static [&'static str],
    /// Status of rows after which the item no longer exists for its readers.
    pub ended: Option<&'static str>,
    /// Whether the versions count the changes of an item. Otherwise, items never change.
    pub is_numbered: bool,
    columns: fn() -> Vec<Column>,
    is_key: fn(&str) -> bool,
    read: fn(&Record, Option<&TokenKey>) -> Reading,
    read_item: fn(&Value, Timestamp, Option<&TokenKey>) -> Reading,
}

impl Schema {
    pub(crate) const fn of<T: Exported>() -> Self {
        let TableOf { changes, items, source, about, key, ended, .. } = T::TABLE;
        Self {
            changes,
            items,
            source,
            about,
            key,
            types: T::TYPES,
            ended,
            is_numbered: T::IS_NUMBERED,
            columns: columns::<T>,
            is_key: T::is_key,
            read: change::read::<T>,
            read_item: change::read_item::<T>,
        }
    }

    /// Columns in order, without the partition column `hour`.
    pub fn columns(&self) -> Vec<Column> {
        (self.columns)()
    }

    /// Name of the delivery stream without the name of the system, such as `CartChanges`.
    pub fn delivery(&self) -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        self.changes.split('_').map(capital).collect()
    }

    /// Folder of the files in the bucket below `changes/`, such as `cart-items`.
    pub fn folder(&self) -> String {
        self.items.replace('_', "-")
    }

    /// Whether the sort key can belong to an item of this table.
    pub(crate) fn has_key(&self, sort: &str) -> bool {
        (self.is_key)(sort)
    }

    /// Converts a stream record to a row.
    pub(crate) fn row(&self, record: &Record, tokens: Option<&TokenKey>) -> Reading {
        (self.read)(record, tokens)
    }

    /// Converts an item of an export of the table to a row.
    pub(crate) fn snapshot(&self, item: &Value, at: Timestamp, tokens: Option<&TokenKey>) -> Reading {
        (self.read_item)(item, at, tokens)
    }
}

fn columns<T: Exported>() -> Vec<Column> {
    let common = COMMON.into_iter().map(|(name, kind, note)| {
        let (name, note) = (name.to_owned(), note.to_owned());
        Column { name, kind, presence: Presence::Always, note }
    });
    let own = T::TABLE.columns.iter().map(|ColumnOf { name, read, presence, note }| {
        let (name, note) = ((*name).to_owned(), (*note).to_owned());
        Column { name, kind: read.kind(), presence: *presence, note }
    });
    let tracked = T::TABLE.columns.iter().filter(|column| column.presence == Presence::Tracked);
    let old = tracked.map(|ColumnOf { name, read, .. }| Column {
        name: format!("old_{name}"),
        kind: read.kind(),
        presence: Presence::Old,
        note: format!("`{name}` before the change"),
    });
    common.chain(own).chain(old).collect()
}
