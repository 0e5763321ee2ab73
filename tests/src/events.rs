//! The events of `events/` and their variants.
#![expect(clippy::expect_used, reason = "a test may stop here")]

use crate::{patterns, root};
use events::{Events, Expected, is_accepted};
use serde_json::{Value, json};

/// An event, with its expected outcome in its world.
#[derive(Debug, Clone)]
pub struct Event {
    /// `<function>`, or `<function>.<case>` for a variant.
    pub name: String,
    /// The content.
    pub content: Value,
    /// The expected outcome.
    pub expected: Expected,
}

impl Event {
    /// The function that the event invokes.
    pub fn function(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Whether it is the event that the function accepts, not a variant.
    pub fn is_base(&self) -> bool {
        !self.name.contains('.')
    }

    /// Whether it is an HTTP request.
    pub fn is_request(&self) -> bool {
        self.content["routeKey"].is_string()
    }

    /// The difference between the response and the expected outcome, if there is one. The response
    /// is that of Lambda, or the error of the function.
    pub fn fault(&self, answer: &Result<Value, String>) -> Option<String> {
        let status = answer.as_ref().ok().and_then(|answer| answer["statusCode"].as_u64());
        let is_expected = match self.expected {
            Expected::Status(expected) => status == Some(expected.into()),
            Expected::Succeeds(false) => answer.is_err(),
            Expected::Succeeds(true) => answer.as_ref().is_ok_and(is_accepted),
        };
        (!is_expected).then(|| format!("{}: expected {:?}, got {answer:?}", self.name, self.expected))
    }
}

/// Every event. A function without a variant has one whose caller has no claims except `sub`.
pub fn all() -> Vec<Event> {
    let folder = folder();
    let names = folder.names().expect("the events");
    let listed = names.iter().map(|name| Event {
        content: folder.event(name).expect("an event"),
        expected: folder.expected(name).expect("an expected outcome"),
        name: name.clone(),
    });
    let has_variant =
        |function: &str| names.iter().any(|name| name.split_once('.').is_some_and(|(of, _)| of == function));
    let patterns = patterns::all();
    let bare = patterns.iter().filter(|pattern| !has_variant(pattern.name)).map(|pattern| {
        let mut content = event(pattern.name, "");
        let claims = &mut content["requestContext"]["authorizer"]["jwt"]["claims"];
        *claims = json!({"sub": claims["sub"]});
        Event { name: format!("{}.no-claims", pattern.name), content, expected: Expected::Status(403) }
    });
    listed.chain(bare).collect()
}

/// The content of an event: of the one that the function accepts, or of a case.
pub fn event(function: &str, why: &str) -> Value {
    let name = if why.is_empty() { function.to_owned() } else { format!("{function}.{why}") };
    folder().event(&name).expect("an event")
}

/// The folder `events/`.
pub fn folder() -> Events {
    Events::of(root().join("events"))
}
