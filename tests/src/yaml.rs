//! Reads YAML as JSON. The text of a plain scalar determines its type. A quoted scalar is a string.
#![expect(clippy::expect_used, clippy::panic, reason = "a test may stop here")]

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Value};

/// Reads a text that contains one document.
pub fn read(text: &str) -> Value {
    let mut events = Events(Parser::new_from_str(text));
    loop {
        if let Some(value) = events.value() {
            return value;
        }
    }
}

struct Events<'a>(Parser<'a, StrInput<'a>>);

impl Events<'_> {
    /// Reads the value that starts with the next event. `None` if the next event does not start a
    /// value.
    fn value(&mut self) -> Option<Value> {
        let (event, span) = self.0.next().expect("an event").expect("YAML");
        match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) => Some(plain(&text)),
            Event::Scalar(text, ..) => Some(Value::String(text.into_owned())),
            Event::SequenceStart(..) => Some(std::iter::from_fn(|| self.value()).collect()),
            Event::MappingStart(..) => Some(Value::Object(self.members())),
            Event::Alias(_) => panic!("line {}: aliases are not supported", span.start.line()),
            _ => None,
        }
    }

    fn members(&mut self) -> Map<String, Value> {
        let mut members = Map::new();
        while let Some(key) = self.value() {
            let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            let before = members.insert(key.clone(), self.value().expect("a value"));
            assert!(before.is_none(), "duplicate key {key}");
        }
        members
    }
}

/// A JSON number, boolean or null, or else a string.
fn plain(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => value,
        _ => Value::String(text.to_owned()),
    }
}
