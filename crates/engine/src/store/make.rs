//! Creates and updates tables to match the template, as a deployment does.
use std::collections::BTreeSet;

use dynoxide::{Database, errors::DynoxideError};
use serde_json::{Value, json};

use crate::StartError;
use template::Table;

/// Creates the table, or updates the indexes, the stream and TTL of an existing table.
pub(super) fn ensure(database: &Database, table: &Table) -> Result<(), StartError> {
    let fail = |error: String| StartError::Table(table.name.clone(), error);
    let description = match database.describe_table(request(&json!({"TableName": table.name})).map_err(fail)?) {
        Ok(described) => serde_json::to_value(described.table).map_err(|error| fail(error.to_string()))?,
        Err(DynoxideError::ResourceNotFoundException(_)) => {
            let create = request(&table.definition).map_err(fail)?;
            database.create_table(create).map_err(|error| fail(error.to_string()))?;
            return ensure_expiry(database, table).map_err(fail);
        }
        Err(error) => return Err(fail(error.to_string())),
    };
    if !same_key(&description, &table.definition) {
        return Err(fail("the data file contains the table with different keys; use another data file".to_owned()));
    }
    for update in index_updates(&description, &table.definition) {
        let update = json!({
            "TableName": table.name,
            "AttributeDefinitions": table.definition["AttributeDefinitions"],
            "GlobalSecondaryIndexUpdates": [update],
        });
        database.update_table(request(&update).map_err(fail)?).map_err(|error| fail(error.to_string()))?;
    }
    ensure_protection(database, table, &description).map_err(fail)?;
    ensure_stream(database, table, &description).map_err(fail)?;
    ensure_expiry(database, table).map_err(fail)
}

fn ensure_protection(database: &Database, table: &Table, description: &Value) -> Result<(), String> {
    const PROTECTION: &str = "DeletionProtectionEnabled";
    let is = |table: &Value| table[PROTECTION].as_bool().unwrap_or_default();
    let should = is(&table.definition);
    if is(description) == should {
        return Ok(());
    }
    let update = json!({"TableName": table.name, PROTECTION: should});
    database.update_table(request(&update)?).map(drop).map_err(|error| error.to_string())
}

fn ensure_stream(database: &Database, table: &Table, description: &Value) -> Result<(), String> {
    let (is, should) = (&description["StreamSpecification"], &table.definition["StreamSpecification"]);
    if is == should {
        return Ok(());
    }
    // The view type of an enabled stream can't be changed. Disable the stream first, and then
    // enable it with the new view type.
    if !is.is_null() {
        set_stream(database, table, &json!({"StreamEnabled": false}))?;
    }
    if should.is_null() { Ok(()) } else { set_stream(database, table, should) }
}

fn set_stream(database: &Database, table: &Table, specification: &Value) -> Result<(), String> {
    let update = json!({"TableName": table.name, "StreamSpecification": specification});
    database.update_table(request(&update)?).map(drop).map_err(|error| error.to_string())
}

fn ensure_expiry(database: &Database, table: &Table) -> Result<(), String> {
    let is = database.get_table_metadata(&table.name).map_err(|error| error.to_string())?;
    let is = is.filter(|metadata| metadata.ttl_enabled).and_then(|metadata| metadata.ttl_attribute);
    if is == table.expires_by {
        return Ok(());
    }
    let set = |attribute: &str, enabled: bool| -> Result<(), String> {
        let specification = json!({"AttributeName": attribute, "Enabled": enabled});
        let update = json!({"TableName": table.name, "TimeToLiveSpecification": specification});
        database.update_time_to_live(request(&update)?).map(drop).map_err(|error| error.to_string())
    };
    is.map_or(Ok(()), |old| set(&old, false))?;
    table.expires_by.as_ref().map_or(Ok(()), |new| set(new, true))
}

pub(super) fn request<T: serde::de::DeserializeOwned>(body: &Value) -> Result<T, String> {
    serde_json::from_value(body.clone()).map_err(|error| error.to_string())
}

fn same_key(left: &Value, right: &Value) -> bool {
    left["KeySchema"] == right["KeySchema"]
}

/// Projection type and projected attributes of an index, without their order.
fn projection(index: &Value) -> (&Value, BTreeSet<&str>) {
    let projection = &index["Projection"];
    let attributes = projection["NonKeyAttributes"].as_array().into_iter().flatten().filter_map(Value::as_str);
    (&projection["ProjectionType"], attributes.collect())
}

fn index_updates(is: &Value, should: &Value) -> Vec<Value> {
    let indexes = |table: &Value| table["GlobalSecondaryIndexes"].as_array().cloned().unwrap_or_default();
    let (is, should) = (indexes(is), indexes(should));
    let same =
        |a: &Value, b: &Value| a["IndexName"] == b["IndexName"] && same_key(a, b) && projection(a) == projection(b);
    let gone = is.iter().filter(|old| !should.iter().any(|new| same(old, new)));
    let new = should.iter().filter(|new| !is.iter().any(|old| same(old, new)));
    gone.map(|index| json!({"Delete": {"IndexName": index["IndexName"]}}))
        .chain(new.map(|index| json!({"Create": index})))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recreates_an_index_with_another_projection() {
        let table = |attributes: &[&str]| {
            let projection = json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": attributes});
            json!({"GlobalSecondaryIndexes": [{"IndexName": "GSI1", "KeySchema": [], "Projection": projection}]})
        };
        assert!(index_updates(&table(&["A", "B"]), &table(&["B", "A"])).is_empty());
        assert_eq!(index_updates(&table(&["A"]), &table(&["A", "B"])).len(), 2, "deleted and created");
    }
}
