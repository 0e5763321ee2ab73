//! Sends the examples of docs/http.md to a local stack, and compares the requests in the sentences
//! of all pages with the `OpenAPI` document.

use events::is_accepted;
use regex_lite::Regex;
use serde_json::{Deserializer, Value};
use std::{
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
    stack.stop().await;
}
