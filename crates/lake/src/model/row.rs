//! Rows: one line of JSON per change.

use crate::model::{
    change::{Change, Exported, Operation},
    schema::{ColumnOf, Presence, Read},
    token::TokenKey,
};
use jiff::Timestamp;
use keys::{TimestampMillis, TimestampSeconds};
use money::Decimal;
use serde::{Serialize, Serializer, ser::SerializeMap};

/// Origin of a row.
pub(crate) struct Origin<'a> {
    pub(crate) event_id: &'a str,
    pub(crate) sequence_number: Option<&'a str>,
    pub(crate) changed_at: Option<Timestamp>,
}

/// Value of a column.
#[derive(Serialize)]
#[serde(untagged)]
enum Cell {
    Text(String),
    Number(i64),
    Flag(bool),
    Amount(Decimal),
    Time(Time),
}

/// A row, which is serialized in the order of the columns. Columns without a value are omitted.
struct Row<'a, T> {
    origin: &'a Origin<'a>,
    change: &'a Change<T>,
    tokens: Option<&'a TokenKey>,
}

/// Converts a change to a line of JSON.
///
/// # Errors
/// Names the first amount that does not fit into its column.
pub(crate) fn line<T: Exported>(
    origin: &Origin<'_>,
    change: &Change<T>,
    tokens: Option<&TokenKey>,
) -> Result<String, String> {
    let row = Row { origin, change, tokens };
    if let Some(name) = row.cells().find(|(.., cell)| !cell.fits()).map(|(_, name, _)| name) {
        return Err(format!("the {name} does not fit into decimal(20,4)"));
    }
    serde_json::to_string(&row).map(|json| json + "\n").map_err(|error| error.to_string())
}

impl<T: Exported> Row<'_, T> {
    /// The values of the item's columns, each with a prefix and the name of its column.
    fn cells(&self) -> impl Iterator<Item = (&'static str, &'static str, Cell)> {
        let Change { item, old, is_there, version, .. } = self.change;
        let columns = T::TABLE.columns.iter();
        let own = columns.filter(move |column| *is_there || column.presence == Presence::Always);
        let own = own.filter_map(move |column| Some(("", column.name, self.cell(column, item, *version)?)));
        let tracked = T::TABLE.columns.iter().filter(|column| column.presence == Presence::Tracked);
        let before =
            tracked.filter_map(move |column| Some(("old_", column.name, self.cell(column, old.as_ref()?, 0)?)));
        own.chain(before)
    }

    fn cell(&self, column: &ColumnOf<T>, item: &T, version: i64) -> Option<Cell> {
        let token = |id: &str| Cell::Text(self.tokens.map_or_else(|| id.to_owned(), |key| key.token(id)));
        match column.read {
            Read::Text(read) => read(item).map(Cell::Text),
            Read::Account(read) => read(item).map(|account| token(account.as_str())),
            Read::Person(read) => read(item).map(|person| token(&person)),
            Read::Int(read) => read(item).map(|number| Cell::Number(number.into())),
            Read::Boolean(read) => Some(Cell::Flag(read(item))),
            Read::Amount(read) => read(item).map(Cell::Amount),
            Read::Time(read) => read(item).map(Cell::Time),
            Read::Version => Some(Cell::Number(version)),
        }
    }
}

impl<T: Exported> Serialize for Row<'_, T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let Origin { event_id, sequence_number, changed_at } = self.origin;
        let operation: Operation = self.change.operation;
        let mut map = out.serialize_map(None)?;
        map.serialize_entry("event_id", event_id)?;
        map.serialize_entry("operation", &operation)?;
        if let Some(number) = sequence_number {
            map.serialize_entry("sequence_number", number)?;
        }
        if let Some(at) = changed_at {
            map.serialize_entry("changed_at", &Time(*at))?;
        }
        for (prefix, name, cell) in self.cells() {
            if prefix.is_empty() {
                map.serialize_entry(name, &cell)?;
            } else {
                map.serialize_entry(&format!("{prefix}{name}"), &cell)?;
            }
        }
        map.end()
    }
}

impl Cell {
    fn fits(&self) -> bool {
        if let Self::Amount(amount) = self { fits(*amount) } else { true }
    }
}

/// Returns whether `decimal(20,4)` can store the amount: 16 digits before the decimal point and 4
/// after it.
pub(crate) fn fits(amount: Decimal) -> bool {
    amount.scaled(4).is_some_and(|scaled| scaled.unsigned_abs() < 10_u128.pow(20))
}

/// Timestamp in the format of Hive, Athena and `DuckDB`: `2026-01-02 10:30:00.123`, in UTC.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time(Timestamp);

impl Time {
    pub(crate) fn of_seconds(seconds: i64) -> Option<Self> {
        Timestamp::from_second(seconds).ok().map(Self)
    }
}

impl From<TimestampMillis> for Time {
    fn from(milli: TimestampMillis) -> Self {
        Self(milli.instant())
    }
}

impl From<TimestampSeconds> for Time {
    fn from(second: TimestampSeconds) -> Self {
        Self(second.instant())
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&self.0.strftime("%Y-%m-%d %H:%M:%S%.3f"))
    }
}
