//! Compares docs/http.md with the `OpenAPI` document, and sends its examples to a local stack.

use events::is_accepted;
use regex_lite::Regex;
use serde_json::{Deserializer, Value, json};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use system_tests::{
    Client,
    events::folder,
    openapi::Document,
    root, stack,
    world::{NOW, world},
};

/// The schema of each form of the page, in the order of the page.
const FORMS: [&str; 15] = [
    "Payment",
    "Import",
    "ArchivedPayment",
    "BankDay",
    "CartItem",
    "Order",
    "Activity",
    "GoalPart",
    "Account",
    "Transaction",
    "Batch",
    "Hold",
    "StatementPage",
    "MerchantTotals",
    "TrialBalance",
];

fn page() -> String {
    fs::read_to_string(root().join("docs/http.md")).expect("the page")
}

/// The blocks of the page in a language, each with the text before it.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<(&'a str, &'a str)> {
    let fence = format!("```{language}\n");
    let starts = page.match_indices(&fence).map(|(at, _)| at);
    let block = |at: usize| {
        let body = &page[at + fence.len()..];
        (&page[..at], &body[..body.find("```").expect("the end of a block")])
    };
    starts.map(block).collect()
}

/// The members of a form, which is JSON without most values. A `?` follows an optional member.
fn members(form: &str) -> BTreeMap<&str, bool> {
    let (mut members, mut depth, mut is_name, mut rest) = (BTreeMap::new(), 0, true, form);
    while let Some(at) = rest.find(['"', '{', '[', '}', ']', ',']) {
        let (sign, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = after;
        match sign {
            b'"' => {
                let Some((name, behind)) = after.split_once('"') else { break };
                if depth == 1 && is_name {
                    members.insert(name, behind.starts_with('?'));
                    is_name = false;
                }
                rest = behind;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => is_name |= depth == 1,
        }
        if depth == 0 {
            break;
        }
    }
    members
}

/// The properties of a schema, each with whether it is optional. Alternatives share one list, in
/// which a property is optional unless each of them requires it.
fn properties<'a>(document: &'a Document, schema: &'a Value) -> BTreeMap<&'a str, bool> {
    let schema = document.follow(schema);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let own = schema["properties"].as_object().into_iter().flatten();
    let mut all: BTreeMap<&str, bool> = own.map(|(name, _)| (name.as_str(), true)).collect();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        for (name, is_optional) in properties(document, part) {
            *all.entry(name).or_insert(true) &= is_optional;
        }
    }
    let alternatives = ["oneOf", "anyOf"].map(|name| schema[name].as_array()).into_iter().flatten().flatten();
    let alternatives: Vec<_> = alternatives.map(|part| properties(document, part)).collect();
    for name in alternatives.iter().flat_map(BTreeMap::keys) {
        let is_optional = alternatives.iter().any(|one| one.get(name).is_none_or(|is_optional| *is_optional));
        *all.entry(name).or_insert(true) &= is_optional;
    }
    for name in required {
        all.insert(name, false);
    }
    all
}

/// The differences between a form and a schema. One of several forms may omit required members.
fn differences(form: &str, wanted: &BTreeMap<&str, bool>, is_whole: bool) -> Vec<String> {
    let stated = members(form);
    let unknown = stated.keys().filter(|name| !wanted.contains_key(*name)).map(|name| format!("{name} is unknown"));
    let said = |is_optional: bool| if is_optional { "optional" } else { "required" };
    let other = stated.iter().filter(|(name, is)| is_whole && wanted.get(*name).is_some_and(|wanted| wanted != *is));
    let other = other.map(|(name, is)| format!("{name} is not {}", said(*is)));
    let missing = wanted.iter().filter(|(name, is_optional)| is_whole && !**is_optional && !stated.contains_key(*name));
    unknown.chain(other).chain(missing.map(|(name, _)| format!("{name} is missing"))).collect()
}

/// The forms in code spans of a text.
fn spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|span| span.starts_with('{')).collect()
}

/// The routes in the first cell of a row. A path without a method has the method before it.
fn routes(cell: &str, prefix: &str) -> Vec<(String, String)> {
    let (mut routes, mut method) = (Vec::new(), "");
    for span in cell.split('`').skip(1).step_by(2) {
        let path = match span.split_once(' ') {
            Some((one, path)) => {
                method = one;
                path
            }
            None => span,
        };
        if path.starts_with('/') && !method.is_empty() {
            let is_whole = ["/bank", "/cart", "/wellness", "/ledger"].iter().any(|start| path.starts_with(start));
            routes.push((method.to_owned(), if is_whole { path.to_owned() } else { format!("{prefix}{path}") }));
        }
    }
    routes
}

#[test]
fn the_members_of_each_route_are_those_of_the_openapi_document() {
    let (document, page) = (Document::read(), page());
    let (mut prefix, mut faults, mut checked) = ("", Vec::new(), 0);
    for line in page.lines() {
        prefix = match line {
            "## bank" | "## cart" => "",
            "## wellness" => "/wellness/companies/{companyId}",
            "## ledger" => "/ledger",
            _ => prefix,
        };
        let Some((cell, rest)) = line.strip_prefix("| ").and_then(|row| row.split_once(" | ")) else { continue };
        for (method, path) in routes(cell, prefix) {
            let operation = &document.0["paths"][&path][method.to_lowercase()];
            let (before, after) = rest.split_once('→').map_or((rest, None), |(before, after)| (before, Some(after)));
            let request = &document.follow(&operation["requestBody"])["content"]["application/json"]["schema"];
            let (asked, answered) = match after {
                Some(after) => (spans(before), spans(after)),
                None if request.is_null() => (Vec::new(), spans(before)),
                None => (spans(before), Vec::new()),
            };
            let statuses = operation["responses"].as_object().into_iter().flatten();
            let done = statuses.filter(|(status, _)| status.starts_with('2'));
            let bodies = done.map(|(_, answer)| &document.follow(answer)["content"]["application/json"]["schema"]);
            let mut response = BTreeMap::new();
            bodies.filter(|body| !body.is_null()).for_each(|body| response.extend(properties(&document, body)));
            let request = properties(&document, request);
            let pairs = [(&asked, &request), (&answered, &response)];
            for (form, wanted) in pairs.iter().flat_map(|(forms, wanted)| forms.iter().map(move |form| (form, wanted)))
            {
                checked += 1;
                let found = differences(form, wanted, asked.len() < 2 || wanted == &&response);
                faults.extend(found.into_iter().map(|fault| format!("{method} {path}: {fault} in {form}")));
            }
            if operation.is_null() {
                faults.push(format!("{method} {path} is no route"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 60, "only {checked} forms were found");
}

#[test]
fn the_forms_are_those_of_the_openapi_document() {
    let (document, page) = (Document::read(), page());
    let forms = blocks(&page, "text").into_iter().flat_map(|(_, block)| block.split("\n{"));
    let forms: Vec<String> = forms.map(|form| format!("{{{}", form.trim_start_matches('{'))).collect();
    assert_eq!(forms.len(), FORMS.len(), "{forms:?}");
    for (form, schema) in forms.iter().zip(FORMS) {
        let wanted = properties(&document, &document.0["components"]["schemas"][schema]);
        // The form of an import adds its members to those of a job.
        let faults = differences(form, &wanted, schema != "Import");
        assert!(faults.is_empty(), "{}: {form}", faults.join("\n"));
    }
}

/// All pages below docs/, with their names.
fn pages(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut pages = Vec::new();
    for path in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            let text = fs::read_to_string(&path).expect("a page");
            pages.push((path, text));
        }
    }
    pages
}

/// Each request of a page that is written as "`PUT /path` with `{…}`" matches its schema.
#[test]
fn requests_in_sentences_match_the_openapi_document() {
    let (document, mut faults, mut found) = (Document::read(), Vec::new(), 0);
    let request = Regex::new(r"`(PUT|POST|PATCH|DELETE)\s+(/[^`\s]*)`\s+with\s+`(\{[^`]*\})`").expect("an expression");
    for (file, text) in pages(&root().join("docs")) {
        for parts in request.captures_iter(&text) {
            let operations = document.operations();
            let operation = operations.iter().find(|one| one.method == &parts[1] && one.path == &parts[2]);
            let Some(operation) = operation else {
                faults.push(format!("{}: there is no {} {}", file.display(), &parts[1], &parts[2]));
                continue;
            };
            faults.extend(
                operation.faults_of_request(Some(&parts[3])).iter().map(|fault| format!("{}: {fault}", file.display())),
            );
            found += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(found > 0, "no page has such a request");
}

/// Each event of a page that is written as "invoke function with `{…}`" succeeds.
#[tokio::test(start_paused = true)]
async fn events_in_sentences_succeed() {
    let (stack, mut found) = (world(NOW).await, 0);
    let event = Regex::new(r"invoke\s+`?([a-z-]+)`?\s+with\s+`(\{[^`…]*\})`").expect("an expression");
    for (file, text) in pages(&root().join("docs")) {
        for parts in event.captures_iter(&text) {
            let content = serde_json::from_str(&parts[2]).expect("JSON");
            let answer = stack.invoke(&parts[1], content).await.answer;
            assert!(answer.as_ref().is_ok_and(is_accepted), "{}: {}: {answer:?}", file.display(), &parts[0]);
            found += 1;
        }
    }
    assert!(found > 0, "no page has such an event");
}

#[tokio::test]
async fn the_examples_work_as_they_stand_on_a_fresh_stack() {
    let stack = stack().start().await.expect("a stack");
    stack.create_world(&folder()).await.expect("the worlds");
    let (client, page, mut sent) = (Client::operator(&stack), page(), 0);
    for (before, block) in blocks(&page, "json") {
        let (_, route) = before.rsplit_once("`POST ").expect("a route");
        let (path, _) = route.split_once('`').expect("the end of the route");
        for body in Deserializer::from_str(block).into_iter::<Value>() {
            let body = body.expect(block);
            sent += 1;
            let answer = client.post_once(path, &format!("example-{sent}"), &body).await;
            assert_eq!(answer.status, 201, "{path} {body}: {}", answer.body);
        }
    }
    assert_eq!(sent, 3);
    // Complete bodies in the tables are valid requests.
    let (document, mut valid) = (Document::read(), 0);
    for (line, form) in page.lines().flat_map(|line| spans(line).into_iter().map(move |form| (line, form))) {
        let (Ok(body), Some(row)) = (serde_json::from_str::<Value>(form), line.strip_prefix("| ")) else { continue };
        let (cell, rest) = row.split_once(" | ").expect("two cells");
        if rest.split_once('→').is_some_and(|(before, _)| !before.contains(form)) || body == json!({}) {
            continue;
        }
        for (method, path) in
            ["", "/ledger", "/wellness/companies/{companyId}"].into_iter().flat_map(|prefix| routes(cell, prefix))
        {
            let operations = document.operations();
            let Some(operation) = operations.iter().find(|one| one.method == method && one.path == path) else {
                continue;
            };
            let faults = operation.faults_of_request(Some(form));
            assert!(faults.is_empty(), "{method} {path} {form}: {faults:?}");
            valid += 1;
        }
    }
    assert!(valid > 4, "only {valid} requests were found");
    stack.stop().await;
}
