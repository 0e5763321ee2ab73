//! Recorded calls of DynamoDB, for the console and for the pages of the access patterns.

use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// The value of an attribute as text, without its type.
pub fn text(value: &Value) -> String {
    let value = value.as_object().and_then(|attribute| attribute.values().next()).unwrap_or(value);
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether the action consumes read units.
pub fn is_read(action: &str) -> bool {
    matches!(action, "GetItem" | "BatchGetItem" | "Query" | "Scan" | "TransactGetItems")
}

/// Returns the consumed units of each table and index, from a response.
pub fn units_of(response: &Value) -> BTreeMap<String, f64> {
    let mut places = BTreeMap::new();
    let capacity = &response["ConsumedCapacity"];
    for capacity in capacity.as_array().map_or(std::slice::from_ref(capacity), Vec::as_slice) {
        let Some(table) = capacity["TableName"].as_str() else { continue };
        let mut add = |place: String, units: &Value| {
            let units = units["CapacityUnits"].as_f64().unwrap_or_default();
            if units > 0.0 {
                places.insert(place, units);
            }
        };
        if capacity["Table"].is_object() {
            add(table.to_owned(), &capacity["Table"]);
        } else if capacity["GlobalSecondaryIndexes"].is_null() {
            add(table.to_owned(), capacity);
        }
        for (index, units) in capacity["GlobalSecondaryIndexes"].as_object().into_iter().flatten() {
            add(format!("{table}/{index}"), units);
        }
    }
    places
}

/// Replaces the names and values of an expression. Values stand between quotes. The longest ones
/// come first, because a name can be the start of another one.
pub fn replaced(expression: &str, request: &Value, quote: char) -> String {
    let names = request["ExpressionAttributeNames"].as_object().into_iter().flatten();
    let names = names.map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()));
    let values = request["ExpressionAttributeValues"].as_object().into_iter().flatten();
    let values = values.map(|(name, value)| (name, format!("{quote}{}{quote}", text(value))));
    let all: HashMap<&String, String> = names.chain(values).collect();
    // A value can contain the text of a placeholder, such as a time with `:00`.
    let (mut replaced, mut rest) = (String::new(), expression);
    while let Some(at) = rest.find(['#', ':']) {
        let (before, placeholder) = rest.split_at(at);
        let is_end = |(_, letter): &(usize, char)| !letter.is_alphanumeric() && *letter != '_';
        let end = placeholder.char_indices().skip(1).find(is_end).map_or(placeholder.len(), |(end, _)| end);
        let (name, after) = placeholder.split_at(end);
        replaced += before;
        replaced += all.get(&name.to_owned()).map_or(name, String::as_str);
        rest = after;
    }
    replaced + rest
}
