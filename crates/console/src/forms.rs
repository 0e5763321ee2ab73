//! The forms of the routes. Their examples come from the sample events, and their query parameters
//! from the OpenAPI document.
use std::{fs, path::Path};

use serde_json::{Map, Value, json};

use events::{EventRequest, Events, Expected, domains};
use template::yaml;

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
                "method": route.method, "path": route.path, "scopes": route.scopes, "summary": route.summary,
            })
        })
    });
    forms.collect()
}

/// Returns the example of a route of a function, and the descriptions of its parameters. `id` is
/// the name of the function for SAM.
pub(super) fn form(root: &Path, id: &str, name: &str, path: &str) -> Value {
    let mut event = accepted(root, name, path).unwrap_or_default();
    let sample = event.clone();
    if let Some(company) = EventRequest::of(&event).as_ref().and_then(EventRequest::company) {
        event["queryStringParameters"]["companyId"] = company.into();
    }
    let headers = event["headers"].as_object().cloned().unwrap_or_default();
    let is_shown = |name: &str| matches!(name, "content-type" | "accept" | "idempotency-key");
    let headers: Map<String, Value> = headers.into_iter().filter(|(name, _)| is_shown(name)).collect();
    let method = event["routeKey"].as_str().and_then(|route| route.split(' ').next()).unwrap_or_default();
    json!({
        "parameters": parameters(root, method, path), "function": id, "event": sample,
        "path": event["pathParameters"], "query": event["queryStringParameters"],
        "headers": headers, "body": event["body"],
    })
}

/// The event that the route accepts: that of the function, or a variant with another route.
fn accepted(root: &Path, name: &str, path: &str) -> Option<Value> {
    let events = Events::of(root.join("events"));
    let names = events.names().ok()?;
    let mut own = names.iter().filter(|event| event.split('.').next() == Some(name)).filter_map(|one| {
        let is_accepted = events.expected(one).ok()? == Expected::Succeeds(true);
        events.event(one).ok().filter(|_| is_accepted)
    });
    own.find(|event| event["routeKey"].as_str().and_then(|route| route.split(' ').nth(1)) == Some(path))
}

/// The query parameters of a route, with their descriptions.
fn parameters(root: &Path, method: &str, path: &str) -> Vec<Value> {
    let text = fs::read_to_string(root.join("docs/openapi.yaml")).unwrap_or_default();
    let document = yaml(&text).unwrap_or_default();
    let operation = &document["paths"][path][method.to_lowercase()];
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let resolve = |parameter: &Value| match parameter["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).cloned().unwrap_or_default(),
        None => parameter.clone(),
    };
    let all = parameters.map(resolve).filter(|parameter| parameter["in"] == "query");
    all.map(|parameter| json!({"name": parameter["name"], "description": parameter["description"]})).collect()
}
