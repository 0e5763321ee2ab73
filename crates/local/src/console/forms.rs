//! The forms of the routes. Their examples come from the sample events, and their query parameters
//! from the OpenAPI document.
use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Map, Value, json};

use crate::{domains::domains, events::Events, template::yaml};

/// Returns each route with its function.
pub(super) fn list() -> Value {
    let patterns = domains().into_iter().flat_map(|domain| {
        let service = domain.name;
        domain.patterns.into_iter().map(move |pattern| (service, pattern))
    });
    let forms = patterns.flat_map(|(service, pattern)| {
        let routes = pattern.routes().iter();
        routes.map(move |route| {
            json!({
                "service": service, "function": pattern.name, "id": pattern.id,
                "method": route.method, "path": route.path, "scopes": route.scopes,
            })
        })
    });
    forms.collect()
}

/// Ids by the name of their member, the newest first.
pub(super) type Ids = BTreeMap<String, Vec<String>>;

/// Values of parameters that the sample event lacks. The company is that of the sample data.
const DEFAULTS: [(&str, &str); 3] = [("companyId", "123"), ("kind", "points"), ("groupId", "1")];

/// Adds the ids in a response body.
pub(super) fn add_ids(ids: &mut Ids, body: &Value) {
    match body {
        Value::Array(items) => items.iter().for_each(|item| add_ids(ids, item)),
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(id) if name.ends_with("Id") => {
                        let known = ids.entry(name.clone()).or_default();
                        if !known.iter().any(|known| known == id) {
                            known.push(id.to_owned());
                        }
                    }
                    _ => add_ids(ids, value),
                }
            }
        }
        _ => {}
    }
}

/// An amount that an account of the sample data can pay.
const AMOUNT: &str = "1.00";

/// Replaces an id of the sample event by one that exists. A payment goes from the newest account to
/// the second newest one.
fn existing(ids: &Ids, name: &str) -> Option<String> {
    let (name, place) = match name {
        "debitAccountId" => ("accountId", 0),
        "creditAccountId" | "transferTo" => ("accountId", 1),
        name => (name, 0),
    };
    ids.get(name)?.get(place).cloned()
}

fn with_existing(ids: &Ids, value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| with_existing(ids, item)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| match existing(ids, &name) {
                Some(id) if value.is_string() => (name, id.into()),
                None if name == "amount" && value.is_string() => (name, AMOUNT.into()),
                _ => (name, with_existing(ids, value)),
            })
            .collect(),
        other => other,
    }
}

/// Returns the example of a function, and the descriptions of its parameters.
pub(super) fn form(root: &Path, name: &str, ids: &Ids) -> Value {
    let mut event = sample(root, name).unwrap_or_default();
    for place in ["pathParameters", "queryStringParameters"] {
        let mut given = event[place].as_object().cloned().unwrap_or_default();
        for (name, value) in DEFAULTS {
            given.entry(name).or_insert(value.into());
        }
        event[place] = with_existing(ids, given.into());
    }
    if let Some(body) = event["body"].as_str().and_then(|body| serde_json::from_str(body).ok()) {
        event["body"] = with_existing(ids, body).to_string().into();
    }
    let headers = event["headers"].as_object().cloned().unwrap_or_default();
    let is_shown = |name: &str| matches!(name, "content-type" | "accept" | "idempotency-key");
    let headers: Map<String, Value> = headers.into_iter().filter(|(name, _)| is_shown(name)).collect();
    json!({
        "summary": operation(root, name)["summary"], "parameters": parameters(root, name),
        "path": event["pathParameters"], "query": event["queryStringParameters"],
        "headers": headers, "body": event["body"],
    })
}

/// The sample event of a function.
fn sample(root: &Path, name: &str) -> Option<Value> {
    // The name comes from the page.
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-') {
        return None;
    }
    Events::of(root.join("events")).event(name).ok()
}

fn document(root: &Path) -> Value {
    let text = fs::read_to_string(root.join("docs/openapi.yaml")).unwrap_or_default();
    yaml(&text).unwrap_or_default()
}

fn operation(root: &Path, name: &str) -> Value {
    let document = document(root);
    let paths = document["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(_, path)| path.as_object().into_iter().flatten());
    let mut found = operations.filter(|(_, operation)| operation["operationId"] == name);
    found.next().map(|(_, operation)| operation.clone()).unwrap_or_default()
}

/// The query parameters of a function, with their descriptions.
fn parameters(root: &Path, name: &str) -> Vec<Value> {
    let document = document(root);
    let operation = operation(root, name);
    let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
    let resolve = |parameter: Value| match parameter["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default(),
        None => parameter,
    };
    let all = parameters.into_iter().map(resolve).filter(|parameter| parameter["in"] == "query");
    all.map(|parameter| json!({"name": parameter["name"], "description": parameter["description"]})).collect()
}
