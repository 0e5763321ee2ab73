//! Compares docs/openapi.yaml with the template, the code and the responses of the functions.

use function::Problem;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};
use system_tests::{
    events::{Event, all},
    openapi::{Answered, Document, Operation, document},
    patterns, root,
    world::{NOW, world},
};

/// A route: its method and path, its function, its scopes, and its path parameters.
type Route = (String, String, BTreeSet<String>, BTreeSet<String>);

/// The function of an operation. If a function has several routes, operation ids have a suffix.
fn function(operation: Operation<'_>) -> &'static str {
    let id = operation.value["operationId"].as_str().expect("a name");
    let is_of = |name: &&str| id.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let names = patterns::all().into_iter().map(|pattern| pattern.name).filter(is_of);
    names.max_by_key(|name| name.len()).expect("a function")
}

fn owned(texts: BTreeSet<&str>) -> BTreeSet<String> {
    texts.into_iter().map(str::to_owned).collect()
}

#[test]
fn describes_exactly_the_routes_of_the_patterns() {
    let document = Document::read();
    let described = document.operations().into_iter().map(|operation| {
        let key = format!("{} {}", operation.method, operation.path);
        (key, function(operation).to_owned(), owned(operation.scopes()), owned(operation.parameters("path")))
    });
    let mut routes = BTreeSet::<Route>::new();
    for pattern in patterns::all() {
        for route in pattern.routes() {
            let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            let parameters = names.map(str::to_owned).collect();
            let key = format!("{} {}", route.method, route.path);
            let scopes = route.scopes.iter().copied().collect();
            routes.insert((key, pattern.name.to_owned(), owned(scopes), parameters));
        }
    }
    assert_eq!(described.collect::<BTreeSet<_>>(), routes);
}

#[test]
fn is_generated() {
    let path = root().join("docs/openapi.yaml");
    let generated = document(&patterns::all());
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, generated).expect("written");
    } else {
        assert_eq!(fs::read_to_string(&path).expect("the document"), generated, "stale: run make docs");
    }
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    let document = Document::read();
    let (mut used, mut names) = (BTreeSet::new(), BTreeSet::new());
    walk(&document.0, &mut |value| {
        if let Some(reference) = value["$ref"].as_str() {
            used.insert(reference.to_owned());
        }
    });
    for (kind, components) in document.0["components"].as_object().expect("components") {
        let of_kind = components.as_object().into_iter().flatten().filter(|_| kind != "securitySchemes");
        names.extend(of_kind.map(|(name, _)| format!("#/components/{kind}/{name}")));
    }
    assert_eq!(names, used);
}

#[test]
fn describes_exactly_the_problem_types_of_the_code() {
    let mut described = BTreeSet::new();
    walk(&Document::read().0, &mut |value| {
        described.extend(value.as_str().and_then(|text| text.strip_prefix("/problems/")).map(str::to_owned));
    });
    assert_eq!(described, Problem::ALL.iter().map(|problem| problem.name().to_owned()).collect());
}

fn walk(value: &Value, visit: &mut impl FnMut(&Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|member| walk(member, visit)),
        Value::Array(items) => items.iter().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn responses_to_all_events_match_the_document() {
    let document = Document::read();
    let operations = document.operations().into_iter();
    let operations: BTreeMap<String, Operation<'_>> =
        operations.map(|operation| (format!("{} {}", operation.method, operation.path), operation)).collect();
    let stack = world(NOW).await;
    let (mut failures, mut seen) = (Vec::new(), BTreeSet::new());
    for Event { name: file, content: event, .. } in all().into_iter().filter(Event::is_request) {
        let operation = operations[event["routeKey"].as_str().expect("a route")];
        let answer = stack.invoke(function(operation), event.clone()).await.answer.expect("an answer");
        let status = answer["statusCode"].as_u64().expect("a status");
        let answered =
            Answered { status, headers: &answer["headers"], body: answer["body"].as_str().unwrap_or_default() };
        let mut faults = operation.faults_of_answer(&answered);
        if status < 300 {
            faults.extend(operation.faults_of_request(event["body"].as_str()));
            let query = event["queryStringParameters"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
            let known = operation.parameters("query");
            let unknown = query.filter(|name| !known.contains(name));
            faults.extend(unknown.map(|name| format!("the parameter {name} is not described")));
        }
        seen.insert(status);
        failures.extend(faults.into_iter().map(|fault| format!("{file}: {status}: {fault}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!([200, 201, 202, 400, 403, 404, 409].iter().all(|status| seen.contains(status)), "{seen:?}");
}
