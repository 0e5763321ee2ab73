//! Requests with raw bodies, edited cursors, and the faults of a problem.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::{Asking, Client};
use axum::body::Bytes;
use serde_json::Value;
use std::collections::BTreeSet;

/// The pointers of the errors in a problem.
pub fn faults_of(problem: &Value) -> BTreeSet<&str> {
    let faults = problem["errors"].as_array().map_or(&[][..], Vec::as_slice);
    assert!(faults.iter().all(|fault| fault["detail"].as_str().is_some_and(|detail| !detail.is_empty())), "{faults:?}");
    faults.iter().map(|fault| fault["pointer"].as_str().expect("a text")).collect()
}

/// A request with the content type JSON. The body may be invalid.
pub fn sent(client: &Client, method: &str, path: &str, body: impl Into<Bytes>) -> Asking {
    client.request(method, path).header("content-type", "application/json").body(body)
}

/// Edited cursors: with a character removed or replaced at each position, truncated at each
/// position, and some other variants.
pub fn changes_of(cursor: &str) -> BTreeSet<String> {
    let forms = ["{}A", "{}AAAA", "A{}", "{}=", "{}%20", "%20{}", "{}%00", "{}{}"];
    let mut changed: BTreeSet<String> = forms.map(|form| form.replace("{}", cursor)).into();
    changed.extend([cursor.to_lowercase(), cursor.to_uppercase()]);
    for at in 0..cursor.len() {
        changed.insert(cursor[..at].to_owned());
        changed.extend(["", "A", "9", "_"].map(|by| format!("{}{by}{}", &cursor[..at], &cursor[at + 1..])));
    }
    changed.remove(cursor);
    changed
}
