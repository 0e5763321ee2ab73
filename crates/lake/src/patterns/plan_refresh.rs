//! K2 and K3: returns the SQL that verifies and refreshes a table of the lake. The workflow runs it
//! in Athena (docs/requirements/lake.md#verification, docs/decisions/lake-refresh.md).

use crate::{Lake, SCHEMAS, Schema, sql};
use function::{Error, Input, Pattern, Scheduled, Trigger};
use jiff::{ToSpan, civil::DateTime};
use keys::TimestampSeconds;
use serde::Serialize;

/// Format of the partition column `hour`.
const HOUR: &str = "%Y-%m-%d-%H";

/// Declares the workflow that invokes the function. There is no cost to declare, because the
/// function calls no service.
pub const PATTERN: Pattern<()> = Pattern {
    id: "K3",
    name: "plan-refresh",
    trigger: Trigger::Workflow("RefreshLake"),
    calls: &[],
    contract: |_| {},
    function: || function::scheduled(plan_refresh, |_: Lake| std::future::ready(())),
};

/// A table to refresh.
#[derive(Debug, Input)]
pub struct PlanRefreshInput {
    /// Name of the view of its items.
    #[input(body)]
    items: String,
    /// Names of its state tables, in any order.
    #[input(body)]
    states: Vec<String>,
    /// Start of the workflow.
    #[input(body)]
    at: TimestampSeconds,
    /// The export of the table that is compared with the lake.
    #[input(body)]
    export: String,
    /// Time of the export.
    #[input(body)]
    exported_at: TimestampSeconds,
}

/// The statements of a refresh.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Query with one row for each difference between the export and the lake.
    verify: String,
    /// Adds the items of the export to the changes.
    backfill: String,
    /// Creates the new state, in files below a new folder.
    compact: String,
    /// Replaces the view, which then reads the new state.
    switch: String,
    /// Name of the new state.
    state: String,
    /// States that no query uses any more.
    unused: Vec<String>,
}

/// Returns the statements for one table.
///
/// # Errors
/// 400 if the lake has no such table, or for an export with an invalid id.
async fn plan_refresh(lake: Lake, run: Scheduled<PlanRefreshInput>) -> Result<Plan, Error> {
    let PlanRefreshInput { items, states, at, export, exported_at } = run.input;
    let schema = SCHEMAS.iter().find(|schema| schema.items == items);
    let schema = schema.ok_or_else(|| Error::invalid("/body/items", "is not a table of the lake"))?;
    if !export.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Err(Error::invalid("/body/export", "is not the id of an export"));
    }
    Ok(plan(schema, states, at, &export, exported_at, lake.exports.bucket()))
}

fn plan(
    schema: &Schema,
    mut states: Vec<String>,
    at: TimestampSeconds,
    export: &str,
    exported_at: TimestampSeconds,
    bucket: &str,
) -> Plan {
    let Schema { items, changes, .. } = schema;
    let prefix = format!("{items}_state_");
    states.retain(|name| name.starts_with(&prefix));
    states.sort_unstable();
    // A repeated run has created the state, and must not merge it with itself.
    let state = prefix.clone() + &suffix(at);
    states.retain(|name| *name < state);
    let previous = states.pop();
    let merged_from = previous.as_ref().and_then(|name| since(&name[prefix.len()..]));
    let merged_from = merged_from.unwrap_or_else(|| sql::FIRST_HOUR.to_owned());
    let read_from = since(&suffix(at)).unwrap_or_default();
    let source = previous.unwrap_or_else(|| (*changes).to_owned());
    let snapshot = format!("(SELECT * FROM {items}_snapshot WHERE export = '{export}')");
    let exported_at = exported_at.to_string().replace('T', " ").replace('Z', "");
    let hour = at.instant().strftime(HOUR).to_string();
    let text = |name: &str, state: &str, since: &str| {
        let values =
            [("state", state), ("since", since), ("snapshot", &snapshot), ("at", &exported_at), ("hour", &hour)];
        sql::filled(schema, name, &values)
    };
    let folder = schema.folder();
    Plan {
        verify: text("verify", &source, &merged_from),
        backfill: text("backfill", &source, &merged_from),
        compact: format!(
            "CREATE TABLE {state} WITH (format = 'PARQUET', external_location = 's3://{bucket}/state/{folder}/{}/') AS\n{}",
            suffix(at),
            text("compact", &source, &merged_from)
        ),
        switch: format!("CREATE OR REPLACE VIEW {items} AS\n{}", text("current", &state, &read_from)),
        state,
        // The previous state stays for a day, for the queries that have started.
        unused: states,
    }
}

/// Part of the name of the state of this time.
fn suffix(at: TimestampSeconds) -> String {
    at.instant().strftime("%Y%m%dt%H%M%S").to_string()
}

/// First hour of the changes that the state may lack. Firehose retries a delivery for a day, so the
/// state has every change that arrived two days before it.
fn since(suffix: &str) -> Option<String> {
    let time = DateTime::strptime("%Y%m%dt%H%M%S", suffix).ok()?;
    Some(time.checked_sub(48.hours()).ok()?.strftime(HOUR).to_string())
}
