//! YAML nodes, read as `CloudFormation` does: every scalar is text. Each node has its line and its
//! tag, such as `!Ref`.
use std::{
    collections::BTreeMap,
    iter::Peekable,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use saphyr_parser::{Event, Parser, ScanError, Span, StrInput, Tag};

/// Error in a template, with the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// File of the nested template. `None` for the root template.
    pub(crate) file: Option<String>,
    pub(crate) line: usize,
    pub(crate) message: String,
}

pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// Returns an error at a line.
pub(crate) fn fault<T>(line: usize, message: impl Into<String>) -> Result<T> {
    Err(Fault { file: None, line, message: message.into() })
}

impl Fault {
    /// Sets the file of the error, unless the error already has a file.
    pub(crate) fn within(self, file: &str) -> Self {
        Self { file: self.file.or_else(|| Some(file.to_owned())), ..self }
    }
}

/// Node of the document. A tag is an intrinsic function, such as `!Ref`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) tag: Option<String>,
    pub(crate) value: Value,
}

/// Value of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// Entry of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn new(line: usize, value: Value) -> Self {
        Self { line, tag: None, value }
    }

    pub(crate) fn of_text(line: usize, text: impl Into<String>) -> Self {
        Self::new(line, Value::Text(text.into()))
    }

    pub(crate) fn text(&self) -> Result<&str> {
        match &self.value {
            Value::Text(text) => Ok(text),
            _ => fault(self.line, "a single value is expected here"),
        }
    }

    pub(crate) fn list(&self) -> Result<&[Node]> {
        match &self.value {
            Value::List(items) => Ok(items),
            _ => fault(self.line, "a list is expected here"),
        }
    }

    pub(crate) fn map(&self) -> Result<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Ok(entries),
            _ => fault(self.line, "a map is expected here"),
        }
    }

    pub(crate) fn number<T: FromStr>(&self) -> Result<T> {
        let text = self.text()?;
        text.parse().or_else(|_| fault(self.line, format!("`{text}` is not a valid number")))
    }

    pub(crate) fn flag(&self) -> Result<bool> {
        match self.text()? {
            "true" => Ok(true),
            "false" => Ok(false),
            other => fault(self.line, format!("`{other}` is neither true nor false")),
        }
    }

    pub(crate) fn texts(&self) -> Result<Vec<String>> {
        self.list()?.iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(crate) fn need(&self, what: &str, key: &str) -> Result<&Node> {
        self.get(key).map_or_else(|| fault(self.line, format!("{what} needs {key}")), Ok)
    }

    /// Checks that each key of a map is in one of the two lists. `read` contains the supported
    /// keys. `meaningless` contains the keys that have no effect in the local stack.
    pub(crate) fn only(&self, what: &str, read: &[&str], meaningless: &[&str]) -> Result<&Self> {
        for Entry { key, line, .. } in self.map()? {
            if !read.contains(&key.as_str()) && !meaningless.contains(&key.as_str()) {
                return fault(*line, format!("the local stack does not support {key} in {what}"));
            }
        }
        Ok(self)
    }
}

/// Parses the text, which must be exactly one YAML document. The process keeps the nodes, because
/// tests start hundreds of stacks with the same templates, and parsing took half of each start.
pub(crate) fn parse(text: &str) -> Result<Node> {
    static PARSED: Mutex<BTreeMap<String, Node>> = Mutex::new(BTreeMap::new());
    let known = || PARSED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(node) = known().get(text) {
        return Ok(node.clone());
    }
    let node = document(text)?;
    known().insert(text.to_owned(), node.clone());
    Ok(node)
}

fn document(text: &str) -> Result<Node> {
    let mut reader = Reader { events: Parser::new_from_str(text).peekable(), line: 1 };
    let mut document = None;
    loop {
        match reader.peek()? {
            None => break,
            Some(
                Event::StreamStart | Event::StreamEnd | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing,
            ) => {
                reader.next()?;
            }
            Some(_) if document.is_some() => return fault(reader.line, "the template must be one YAML document"),
            Some(_) => document = Some(reader.node()?),
        }
    }
    document.map_or_else(|| fault(1, "the template is empty"), Ok)
}

/// Reads YAML as JSON in which every scalar is a string.
pub fn yaml(text: &str) -> Option<serde_json::Value> {
    fn json(node: Node) -> serde_json::Value {
        match node.value {
            Value::Text(text) => text.into(),
            Value::List(items) => items.into_iter().map(json).collect(),
            Value::Map(entries) => entries.into_iter().map(|entry| (entry.key, json(entry.node))).collect(),
        }
    }
    parse(text).ok().map(json)
}

struct Reader<'a> {
    events: Peekable<Parser<'a, StrInput<'a>>>,
    line: usize,
}

impl<'a> Reader<'a> {
    fn peek(&mut self) -> Result<Option<Event<'a>>> {
        match self.events.peek() {
            None => Ok(None),
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                Ok(Some(event.clone()))
            }
            Some(Err(error)) => scan_fault(error),
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span)> {
        match self.events.next() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => scan_fault(&error),
            None => fault(self.line, "the YAML ends unexpectedly"),
        }
    }

    fn node(&mut self) -> Result<Node> {
        let (event, span) = self.next()?;
        let line = span.start.line();
        let (tag, value) = match event {
            Event::Scalar(text, _, _, tag) => (tag, Value::Text(text.into_owned())),
            Event::SequenceStart(_, tag) => (tag, self.items()?),
            Event::MappingStart(_, tag) => (tag, self.entries()?),
            Event::Alias(_) => return fault(line, "CloudFormation does not support YAML aliases"),
            _ => return fault(line, "a value is expected here"),
        };
        Ok(Node { line, tag: tag.map(|tag| Tag::to_string(&tag)), value })
    }

    fn items(&mut self) -> Result<Value> {
        let mut items = Vec::new();
        while self.peek()? != Some(Event::SequenceEnd) {
            items.push(self.node()?);
        }
        self.next()?;
        Ok(Value::List(items))
    }

    fn entries(&mut self) -> Result<Value> {
        let mut entries: Vec<Entry> = Vec::new();
        while self.peek()? != Some(Event::MappingEnd) {
            let key = self.node()?;
            let (line, key) = (key.line, key.text()?.to_owned());
            if entries.iter().any(|entry| entry.key == key) {
                return fault(line, format!("{key} is declared twice"));
            }
            entries.push(Entry { key, line, node: self.node()? });
        }
        self.next()?;
        Ok(Value::Map(entries))
    }
}

fn scan_fault<T>(error: &ScanError) -> Result<T> {
    fault(error.marker().line(), error.info())
}
