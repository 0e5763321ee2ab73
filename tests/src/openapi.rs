//! Generates docs/openapi.yaml, and checks requests and responses against it
//! (docs/decisions/openapi.md).
#![expect(clippy::expect_used, clippy::missing_panics_doc, clippy::panic, reason = "a test may stop here")]

mod generated;

pub use generated::document;

use crate::{root, yaml};
use jsonschema::Validator;
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    fs,
    sync::{Mutex, OnceLock, PoisonError},
};

/// The OpenAPI document.
#[derive(Debug)]
pub struct Document(pub Value);

/// An operation of the document.
#[derive(Debug, Clone, Copy)]
pub struct Operation<'a> {
    document: &'a Document,
    /// The method in capitals.
    pub method: &'a str,
    /// The path with its parameters.
    pub path: &'a str,
    item: &'a Value,
    /// The operation object.
    pub value: &'a Value,
}

/// A response.
#[derive(Debug)]
pub struct Answered<'a> {
    /// The status.
    pub status: u64,
    /// The headers, with lower-case names.
    pub headers: &'a Value,
    /// The body as text.
    pub body: &'a str,
}

impl Document {
    /// Reads the document of the repository.
    pub fn read() -> Self {
        Self(yaml::read(&fs::read_to_string(root().join("docs/openapi.yaml")).expect("the document")))
    }

    /// All operations.
    pub fn operations(&self) -> Vec<Operation<'_>> {
        let mut operations = Vec::new();
        for (path, item) in self.0["paths"].as_object().expect("paths") {
            for (method, value) in
                item.as_object().expect("operations").iter().filter(|(name, _)| *name != "parameters")
            {
                let method = match method.as_str() {
                    "get" => "GET",
                    "post" => "POST",
                    "put" => "PUT",
                    "patch" => "PATCH",
                    "delete" => "DELETE",
                    other => other,
                };
                operations.push(Operation { document: self, method, path, item, value });
            }
        }
        operations
    }

    /// Resolves a reference, or returns the value itself.
    pub fn follow<'a>(&'a self, value: &'a Value) -> &'a Value {
        let Some(reference) = value["$ref"].as_str() else { return value };
        let pointer = reference.strip_prefix('#').expect("a reference into the document");
        self.0.pointer(pointer).unwrap_or_else(|| panic!("{reference} does not resolve"))
    }

    /// The validator of a schema of the document.
    pub fn validator(&self, schema: &Value) -> Validator {
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        options.build(&schema).expect("a schema")
    }

    /// Validates the value and returns the errors.
    fn faults(&self, schema: &Value, value: &Value) -> Vec<String> {
        self.validator(schema).iter_errors(value).map(|error| format!("{} {error}", error.instance_path())).collect()
    }
}

impl<'a> Operation<'a> {
    /// The names of the parameters of a kind: `path`, `query` or `header`.
    pub fn parameters(self, kind: &str) -> BTreeSet<&'a str> {
        self.all(kind).filter_map(|parameter| parameter["name"].as_str()).collect()
    }

    /// The parameter with this name.
    pub fn parameter(self, kind: &str, name: &str) -> &'a Value {
        self.all(kind).find(|parameter| parameter["name"] == name).expect("a parameter")
    }

    fn all(self, kind: &str) -> impl Iterator<Item = &'a Value> {
        let lists = [&self.item["parameters"], &self.value["parameters"]];
        let all = lists.into_iter().filter_map(Value::as_array).flatten();
        all.map(|parameter| self.document.follow(parameter)).filter(move |parameter| parameter["in"] == kind)
    }

    /// The schema of the body. `None` if requests have no body.
    pub fn body(self) -> Option<&'a Value> {
        Some(&self.value["requestBody"]["content"]["application/json"]["schema"]).filter(|schema| !schema.is_null())
    }

    /// Whether a request needs a body.
    pub fn needs_body(self) -> bool {
        self.value["requestBody"]["required"] == true
    }

    fn object(self) -> Option<&'a Value> {
        self.body().map(|schema| self.document.follow(schema))
    }

    /// The names of the members that the body can have.
    pub fn members(self) -> Vec<&'a str> {
        let members = self.object().and_then(|schema| schema["properties"].as_object()).into_iter().flatten();
        members.map(|(name, _)| name.as_str()).collect()
    }

    /// The scopes of the operation. The caller needs at least one of them.
    pub fn scopes(self) -> BTreeSet<&'a str> {
        let alternatives = self.value["security"].as_array().expect("security");
        alternatives.iter().map(|one| one["token"][0].as_str().expect("a scope")).collect()
    }

    /// Validates the body of a request and returns the errors.
    pub fn faults_of_request(self, body: Option<&str>) -> Vec<String> {
        let schema = &self.value["requestBody"]["content"]["application/json"]["schema"];
        match (body, schema.is_null()) {
            (None, true) => Vec::new(),
            (Some(body), false) => self.document.faults(schema, &serde_json::from_str(body).expect("JSON")),
            (Some(_), true) => vec!["a body is not described".to_owned()],
            (None, false) if self.value["requestBody"]["required"] != true => Vec::new(),
            (None, false) => vec!["the body is missing".to_owned()],
        }
    }

    /// Validates a response and returns the errors.
    pub fn faults_of_answer(self, answered: &Answered<'_>) -> Vec<String> {
        let described = self.document.follow(&self.value["responses"][answered.status.to_string()]);
        let headers = described["headers"].as_object().into_iter().flatten();
        let needed = headers.filter(|(_, header)| self.document.follow(header)["required"] == true);
        let missing = needed.filter(|(name, _)| answered.headers[name.to_lowercase()].is_null());
        let mut faults: Vec<String> = missing.map(|(name, _)| format!("the header {name} is missing")).collect();
        let kind = answered.headers["content-type"].as_str().unwrap_or_default();
        let body = if answered.body.is_empty() { "null" } else { answered.body };
        let body = serde_json::from_str(body).expect("JSON");
        faults.extend(Allowed::get().faults(self.method, self.path, answered.status, kind, &body));
        faults
    }
}

/// The document, with the validators of the responses that occurred.
#[derive(Debug)]
pub struct Allowed {
    document: Document,
    paths: Vec<(Vec<String>, String)>,
    validators: Mutex<HashMap<(String, u64), &'static Validator>>,
}

impl Allowed {
    /// The document of the repository.
    pub fn get() -> &'static Self {
        static ALLOWED: OnceLock<Allowed> = OnceLock::new();
        ALLOWED.get_or_init(|| {
            let document = Document::read();
            let paths = document.0["paths"].as_object().into_iter().flatten().map(|(path, _)| path.clone());
            let mut paths: Vec<_> =
                paths.map(|path| (path.split('/').map(str::to_owned).collect::<Vec<_>>(), path)).collect();
            // A literal segment takes precedence over a parameter.
            paths.sort_by_key(|(parts, _)| parts.iter().map(|part| part.starts_with('{')).collect::<Vec<_>>());
            Self { document, paths, validators: Mutex::default() }
        })
    }

    /// Differences between a response and the document. `kind` is the media type of the response.
    pub fn faults(&self, method: &str, path: &str, status: u64, kind: &str, body: &Value) -> Vec<String> {
        let path = path.split('?').next().unwrap_or_default();
        let given: Vec<_> = path.split('/').collect();
        let matches = |parts: &[String]| {
            parts.len() == given.len()
                && parts.iter().zip(&given).all(|(part, given)| part.starts_with('{') || part == given)
        };
        let operation = |path: &str| &self.document.0["paths"][path][method.to_lowercase()];
        let found = self.paths.iter().find(|(parts, path)| matches(parts) && !operation(path).is_null());
        let Some((_, template)) = found else { return vec![format!("{method} {path} is not described")] };
        let described = &operation(template)["responses"][status.to_string()];
        if described.is_null() {
            return vec![format!("the status {} is not described: {}", status, body)];
        }
        let described = self.document.follow(described);
        let content = &described["content"];
        match (content.is_null(), body.is_null()) {
            (true, true) => return Vec::new(),
            (true, false) => return vec!["a body is not described".to_owned()],
            (false, true) => return vec!["the body is missing".to_owned()],
            (false, false) if content[kind].is_null() => {
                return vec![format!("the media type {kind:?} is not described")];
            }
            (false, false) => {}
        }
        let name = (format!("{method} {template} {kind}"), status);
        let validator = *self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(name)
            .or_insert_with(|| self.validator(&content[kind]["schema"]));
        validator.iter_errors(body).map(|error| format!("{} {error}", error.instance_path())).collect()
    }

    /// The process has one validator for each kind of response, until it ends.
    fn validator(&self, schema: &Value) -> &'static Validator {
        Box::leak(Box::new(self.document.validator(schema)))
    }
}
