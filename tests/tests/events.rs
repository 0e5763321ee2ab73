//! Every event of `events/` does what its name says.

use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};
use system_tests::{Client, root, stack};

/// The function, the reason in the file's name, and the status; none for an event that is no request.
const EVENTS: [(&str, &str, Option<u16>); 19] = [
    ("schedule-payment", "", Some(201)),
    ("schedule-payment", "day-is-over", Some(400)),
    ("list-account-payments", "", Some(200)),
    ("list-account-payments", "another-account", Some(403)),
    ("list-due-payments", "", Some(200)),
    ("list-due-payments", "no-such-day", Some(400)),
    ("update-payment-status", "", Some(404)),
    ("update-payment-status", "no-transaction-id", Some(400)),
    ("archive-processed-payments", "", None),
    ("archive-processed-payments", "by-hand", None),
    ("archive-processed-payments", "no-such-day", None),
    ("list-account-transactions", "", Some(200)),
    ("list-account-transactions", "bad-cursor", Some(400)),
    ("list-transactions-by-date", "", Some(200)),
    ("list-transactions-by-date", "no-operator", Some(403)),
    ("find-transaction", "", Some(404)),
    ("find-transaction", "no-operator", Some(403)),
    ("get-payment", "", Some(404)),
    ("get-payment", "no-payment-id", Some(400)),
];

fn file(function: &str, why: &str) -> String {
    if why.is_empty() { format!("{function}.json") } else { format!("{function}.{why}.json") }
}

#[tokio::test]
async fn every_event_does_what_its_name_says() {
    let stack = stack().start().await.expect("a stack");
    let client = Client::operator(&stack);
    for (function, why, status) in EVENTS {
        let file = file(function, why);
        let event = fs::read_to_string(root().join("events/bank").join(&file)).expect("an event");
        let answer = client.invoke(function, &serde_json::from_str(&event).expect("JSON")).await;
        let failed = answer.headers.contains_key("x-amz-function-error");
        match status {
            Some(status) => assert_eq!(answer.body["statusCode"], json!(status), "{file}: {}", answer.body),
            None if why.starts_with("no-") => assert!(failed, "{file}: {}", answer.body),
            None => assert_eq!((failed, &answer.body["left"]), (false, &json!(false)), "{file}: {}", answer.body),
        }
    }
    let due = client.get("/bank/payments/due?date=2099-12-01").await;
    assert_eq!(due.body["items"].as_array().map(Vec::len), Some(1), "the event's payment comes due");
    stack.stop().await;
}

#[test]
fn every_function_has_an_event_to_take_and_one_to_refuse() {
    let files =
        fs::read_dir(root().join("events/bank")).expect("the events").map(|file| file.expect("a file").file_name());
    let files: BTreeSet<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    let known: BTreeSet<String> = EVENTS.iter().map(|(function, why, _)| file(function, why)).collect();
    assert_eq!(files, known);
    for (function, _) in bank::functions() {
        assert!(EVENTS.iter().any(|(name, why, _)| *name == function && why.is_empty()), "{function}");
        assert!(EVENTS.iter().any(|(name, why, _)| *name == function && why.contains('-')), "{function}");
    }
}

#[test]
fn the_identity_in_an_event_is_the_authorizers() {
    for (function, why, status) in EVENTS.iter().filter(|(_, _, status)| status.is_some()) {
        let text = fs::read_to_string(root().join("events/bank").join(file(function, why))).expect("an event");
        let event: Value = serde_json::from_str(&text).expect("JSON");
        assert!(event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"].is_string(), "{function} {status:?}");
    }
}
