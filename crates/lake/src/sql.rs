//! SQL of the lake, in the common subset of Athena (Trino) and `DuckDB`
//! (docs/decisions/lake.md). `make lake-sql` writes the texts to `target/lake-sql`.

use crate::{Column, Presence, SCHEMAS, Schema};
use serde_json::{Value, json};

/// Orders the rows of an item from the newest to the oldest. A sequence number has at most 40
/// digits (DynamoDB API Reference, `StreamRecord`), and a snapshot has none.
const NEWEST: &str = "version DESC, lpad(coalesce(sequence_number, ''), 40, '0') DESC, changed_at DESC";

/// Columns of every row that do not belong to the item.
const OF_CHANGE: [&str; 3] = ["event_id", "operation", "sequence_number"];

/// Maximum number of listed differences of a kind. Their total has no limit.
const MAX_LISTED: u32 = 1_000;

/// Hours after which the arrival of a row is reported as late.
const LATE_HOURS: u32 = 2;

/// An hour before every change, in the format of the partition column `hour`.
pub const FIRST_HOUR: &str = "1970-01-01-00";

/// The texts of a table, each with its name. They have placeholders in braces.
pub fn texts(schema: &Schema) -> Vec<(&'static str, String)> {
    vec![
        ("view", view(schema)),
        ("backfill", backfill(schema)),
        ("compact", compact(schema)),
        ("current", current(schema)),
        ("verify", verify(schema)),
    ]
}

/// The schemas for `DuckDB`, as JSON: names, keys, columns with their Glue types, and the columns
/// of the state.
pub fn schemas() -> Value {
    let of = |columns: &[Column], wanted: &[Presence]| -> Vec<String> {
        columns.iter().filter(|column| wanted.contains(&column.presence)).map(|column| column.name.clone()).collect()
    };
    let table = |schema: &Schema| {
        let columns: Vec<Column> = schema.columns();
        json!({
            "changes": schema.changes,
            "items": schema.items,
            "source": schema.source,
            "folder": schema.folder(),
            "key": schema.key,
            "columns": columns.iter().map(|column| json!([column.name, column.kind.hive()])).collect::<Vec<_>>(),
            "state": of(&columns, &[Presence::State, Presence::Tracked]),
            "tracked": of(&columns, &[Presence::Tracked]),
            "numbered": schema.is_numbered,
        })
    };
    SCHEMAS.iter().map(table).collect()
}

/// Returns a text with values for its placeholders.
pub(crate) fn filled(schema: &Schema, name: &str, values: &[(&str, &str)]) -> String {
    let text = texts(schema).into_iter().find(|(known, _)| *known == name).map(|(_, text)| text).unwrap_or_default();
    values.iter().fold(text, |text, (placeholder, value)| text.replace(&format!("{{{placeholder}}}"), value))
}

/// Adds the rows of a snapshot to the changes. A row that the lake
/// already has gets a copy, which counts once.
fn backfill(schema: &Schema) -> String {
    let Schema { items, changes, .. } = schema;
    let columns = list(&names(schema), "    ");
    format!(
        "-- Adds the items of a snapshot of {items} to {changes}.\n\
         -- Placeholders: the snapshot, and the hour of arrival.\n\
         INSERT INTO {changes}\nSELECT\n{columns},\n    '{{hour}}' AS hour\nFROM {{snapshot}} AS snapshot\n"
    )
}

/// The current items, rebuilt from all changes.
fn view(schema: &Schema) -> String {
    let Schema { items, changes, .. } = schema;
    format!(
        "-- View {items}: the current items, rebuilt from all rows of {changes}.\n{}",
        existing(schema, &format!("(\n{}\n)", newest(schema, &format!("    FROM {changes}"), "    ")))
    )
}

/// The newest row of every item, from the previous state and the changes since then. `{state}` is
/// the previous state, or the table of the changes at the first time.
fn compact(schema: &Schema) -> String {
    let Schema { items, changes, .. } = schema;
    let columns = list(&names(schema), "        ");
    let rows = format!(
        "    FROM (\n        SELECT\n    {columns}\n        FROM {{state}}\n        UNION ALL\n        SELECT\n    {columns}\n        FROM \
         {changes}\n        WHERE hour >= '{{since}}'\n    ) AS rows_of_both",
        columns = columns.replace('\n', "\n    "),
    );
    format!(
        "-- State of {items}: the newest row of every item, also of items that no longer exist.\n\
         -- Placeholders: the previous state, and since, the first hour of the changes that are merged.\n\
         SELECT\n{}\nFROM (\n{}\n) AS ranked\nWHERE place = 1\n",
        list(&names(schema), "    "),
        newest(schema, &rows, "    "),
    )
}

/// The current items, from the state and the changes since then. The join avoids sorting the state.
fn current(schema: &Schema) -> String {
    let Schema { items, changes, key, .. } = schema;
    let all = list(&names(schema), "        ");
    let same: Vec<String> = key.iter().map(|name| format!("state.{name} = tail.{name}")).collect();
    let same = same.join(" AND ");
    let number = |of: &str| format!("lpad(coalesce({of}.sequence_number, ''), 40, '0')");
    let newer = format!(
        "(tail.version > state.version OR (tail.version = state.version AND {} > {}))",
        number("tail"),
        number("state")
    );
    let of = |table: &str| {
        let columns: Vec<String> = item_columns(schema).into_iter().map(|name| format!("{table}.{name}")).collect();
        list(&columns, "    ")
    };
    format!(
        "-- View {items}: the current items, from the state and the changes since then.\n\
         -- Placeholders: the state, and since, the first hour that it may lack.\n\
         WITH tail AS (\n    SELECT\n{all}\n    FROM (\n{rows}\n    ) AS ranked\n    WHERE place = 1\n)\n\
         SELECT\n{old}\nFROM {{state}} AS state\nLEFT JOIN tail\n    ON {same}\n    AND {newer}\n\
         WHERE tail.version IS NULL\n    AND {old_exists}\nUNION ALL\nSELECT\n{new}\nFROM tail\nLEFT JOIN {{state}} AS state\n    ON {same}\n    \
         AND NOT {newer}\nWHERE state.version IS NULL\n    AND {new_exists}\n",
        rows = newest(schema, &format!("        FROM {changes}\n        WHERE hour >= '{{since}}'"), "        "),
        old = of("state"),
        new = of("tail"),
        old_exists = exists(schema, "state."),
        new_exists = exists(schema, "tail."),
    )
}

/// The differences between a snapshot and the lake (docs/lake.md#verification). The result starts
/// with one row of each kind, so that the workflow reads all totals from its first rows.
fn verify(schema: &Schema) -> String {
    let pairs = |left: &str, right: &str| {
        let same = |name: &&str| format!("{left}.{name} = {right}.{name}");
        schema.key.iter().map(same).collect::<Vec<_>>().join(" AND ")
    };
    let id = |of: &str| schema.key.iter().map(|name| format!("{of}.{name}")).collect::<Vec<_>>().join(" || ' ' || ");
    let numbered = if schema.is_numbered { ", version" } else { "" };
    let template = VERIFY.to_owned()
        + if schema.is_numbered { STEPS } else { "" }
        + FINDINGS
        + if schema.is_numbered { OF_STEPS } else { "" }
        + REST;
    [
        ("<items>", schema.items.to_owned()),
        ("<changes>", schema.changes.to_owned()),
        ("<columns>", list(&names(schema), "        ")),
        ("<key>", schema.key.join(", ")),
        ("<newest>", NEWEST.to_owned()),
        ("<numbered>", numbered.to_owned()),
        ("<same version>", if schema.is_numbered { " AND l.version = s.version".to_owned() } else { String::new() }),
        ("<s is l>", pairs("s", "l")),
        ("<s is newest>", pairs("s", "newest")),
        ("<s is r>", pairs("s", "r")),
        ("<item s>", id("s")),
        ("<item l>", id("l")),
        ("<item r>", id("r")),
        ("<l exists>", exists(schema, "l.")),
        ("<different>", any(&compared(schema), |name| format!("s.{name} IS DISTINCT FROM l.{name}"))),
        ("<detail>", differing(schema)),
        ("<constants differ>", any(&constants(schema), |name| format!("s.{name} IS DISTINCT FROM r.{name}"))),
        ("<before>", before(schema)),
        ("<old differs>", any(&tracked(schema), |name| format!("r.old_{name} <> r.before_{name}"))),
        ("<late>", LATE_HOURS.to_string()),
        ("<listed>", MAX_LISTED.to_string()),
    ]
    .into_iter()
    .fold(template, |text, (name, value)| text.replace(name, &value))
}

const VERIFY: &str = "\
-- Differences between a snapshot of <items> and the rows of <changes>.
-- Placeholders: the snapshot, at, its time, a state that is older than the snapshot, and since, the
-- first hour that the state may lack. Changes in the last minute before the snapshot are not
-- expected in it, because the times of changes are approximate.
WITH merged AS (
    SELECT
<columns>,
        '' AS hour,
        0 AS delivery
    FROM {state}
    UNION ALL
    SELECT
<columns>,
        hour,
        row_number() OVER (PARTITION BY event_id ORDER BY hour) AS delivery
    FROM <changes>
    WHERE hour >= '{since}'
),
copies AS (
    SELECT *, row_number() OVER (PARTITION BY event_id ORDER BY hour) AS copy
    FROM merged
),
rows_then AS (
    SELECT *
    FROM copies
    WHERE copy = 1 AND (changed_at IS NULL OR changed_at <= TIMESTAMP '{at}' + interval '1' minute)
),
ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY <key> ORDER BY <newest>) AS age,
        row_number() OVER (PARTITION BY <key><numbered> ORDER BY <newest>) AS place
    FROM rows_then
),
compared AS (
    SELECT
        <item s> AS item,
        s.version AS version,
        CASE
            WHEN newest.version IS NULL THEN 'missing'
            WHEN newest.version < s.version THEN 'behind'
            WHEN l.version IS NULL THEN ''
            WHEN <different> THEN 'different'
            ELSE ''
        END AS kind,
        CASE
            WHEN l.version IS NULL THEN ''
            ELSE <detail>
        END AS detail
    FROM {snapshot} AS s
    LEFT JOIN ranked AS newest ON <s is newest> AND newest.age = 1
    LEFT JOIN ranked AS l ON <s is l> AND l.place = 1<same version>
),
";
const STEPS: &str = "\
steps AS (
    SELECT
        *,
<before>
    FROM ranked
    WHERE place = 1
),
";
const FINDINGS: &str = "\
findings AS (
    SELECT kind, item, version, detail
    FROM compared
    WHERE kind <> ''
    UNION ALL
    SELECT 'extra' AS kind, <item l> AS item, l.version AS version, '' AS detail
    FROM ranked AS l
    LEFT JOIN {snapshot} AS s ON <s is l>
    WHERE l.age = 1 AND s.version IS NULL AND <l exists> AND l.changed_at <= TIMESTAMP '{at}' - interval '1' minute
    UNION ALL
";
const OF_STEPS: &str = "    SELECT 'gap' AS kind, <item r> AS item, r.version AS version, 'after version ' || CAST(coalesce(r.before_version, 0) AS varchar) AS detail
    FROM steps AS r
    WHERE r.operation <> 'snapshot' AND r.version > coalesce(r.before_version, 0) + 1
    UNION ALL
    SELECT 'altered' AS kind, <item r> AS item, r.before_version AS version, 'differs from the old values of the next row' AS detail
    FROM steps AS r
    WHERE r.version = r.before_version + 1 AND (<old differs>)
    UNION ALL
    SELECT 'altered' AS kind, <item r> AS item, r.version AS version, 'differs in a value that never changes' AS detail
    FROM steps AS r
    INNER JOIN {snapshot} AS s ON <s is r> AND s.version <> r.version
    WHERE <constants differ>
    UNION ALL
    SELECT 'conflict' AS kind, <item r> AS item, r.version AS version, 'another change has the same version' AS detail
    FROM ranked AS r
    WHERE r.place > 1 AND r.operation <> 'snapshot'
    UNION ALL
";
const REST: &str = "    SELECT 'repeated' AS kind, <item r> AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery > 1 AND r.operation <> 'snapshot'
    UNION ALL
    SELECT 'late' AS kind, <item r> AS item, r.version AS version, r.hour AS detail
    FROM merged AS r
    WHERE r.delivery = 1 AND r.operation <> 'snapshot'
        AND TRY_CAST(substr(r.hour, 1, 10) || ' ' || substr(r.hour, 12, 2) || ':00:00' AS timestamp) > r.changed_at + interval '<late>' hour
),
numbered AS (
    SELECT
        *,
        count(*) OVER (PARTITION BY kind) AS total,
        row_number() OVER (PARTITION BY kind ORDER BY item, version) AS place
    FROM findings
)
SELECT kind, item, version, detail, total
FROM numbered
WHERE place <= <listed>
ORDER BY place > 1, kind, place
";

/// The values of the tracked columns in the row before.
fn before(schema: &Schema) -> String {
    let keys = schema.key.join(", ");
    let lag = |name: &str| format!("        lag({name}) OVER (PARTITION BY {keys} ORDER BY version) AS before_{name}");
    let columns = tracked(schema);
    columns.iter().map(String::as_str).chain(["version"]).map(lag).collect::<Vec<_>>().join(",\n")
}

fn any(names: &[String], condition: impl Fn(&String) -> String) -> String {
    names.iter().map(condition).collect::<Vec<_>>().join("\n                OR ")
}

/// The names of the columns that differ.
fn differing(schema: &Schema) -> String {
    let name = |name: &String| format!("CASE WHEN s.{name} IS DISTINCT FROM l.{name} THEN '{name} ' ELSE '' END");
    compared(schema).iter().map(name).collect::<Vec<_>>().join("\n                || ")
}

/// The columns that must be equal in the snapshot and in the lake.
fn compared(schema: &Schema) -> Vec<String> {
    let is_compared = |column: &Column| column.presence != Presence::Old && !schema.key.contains(&column.name.as_str());
    let columns = schema.columns().into_iter().filter(is_compared).map(|column| column.name);
    columns
        .filter(|name| !OF_CHANGE.contains(&name.as_str()) && !["changed_at", "version"].contains(&name.as_str()))
        .collect()
}

fn tracked(schema: &Schema) -> Vec<String> {
    let columns = schema.columns().into_iter().filter(|column| column.presence == Presence::Tracked);
    columns.map(|column| column.name).collect()
}

/// The columns that never change, other than the key.
fn constants(schema: &Schema) -> Vec<String> {
    let is_constant = |column: &Column| column.presence == Presence::Always;
    let columns = schema.columns().into_iter().filter(is_constant).map(|column| column.name);
    let is_own = |name: &String| !schema.key.contains(&name.as_str()) && !OF_CHANGE.contains(&name.as_str());
    columns.filter(|name| is_own(name) && name != "changed_at" && name != "version").collect()
}

/// Selects the columns of the existing items from ranked rows.
fn existing(schema: &Schema, rows: &str) -> String {
    let columns = list(&item_columns(schema), "    ");
    format!("SELECT\n{columns}\nFROM {rows} AS ranked\nWHERE place = 1\n    AND {}\n", exists(schema, ""))
}

/// Ranks the rows of each item. The newest row has the place 1.
fn newest(schema: &Schema, from: &str, indent: &str) -> String {
    format!(
        "{indent}SELECT\n{indent}    *,\n{indent}    row_number() OVER (PARTITION BY {} ORDER BY {NEWEST}) AS place\n{from}",
        schema.key.join(", ")
    )
}

/// Whether an item exists after the change.
fn exists(schema: &Schema, prefix: &str) -> String {
    let deleted = format!("{prefix}operation NOT IN ('remove', 'expire')");
    match schema.ended {
        None => deleted,
        Some(status) => format!("{deleted}\n    AND {prefix}status <> '{status}'"),
    }
}

fn names(schema: &Schema) -> Vec<String> {
    schema.columns().into_iter().map(|column| column.name).collect()
}

/// The columns of the current items.
fn item_columns(schema: &Schema) -> Vec<String> {
    let columns = schema.columns().into_iter().filter(|column| column.presence != Presence::Old);
    columns.map(|column| column.name).filter(|name| !OF_CHANGE.contains(&name.as_str())).collect()
}

fn list(names: &[String], indent: &str) -> String {
    names.iter().map(|name| format!("{indent}{name}")).collect::<Vec<_>>().join(",\n")
}
