//! Compares responses with docs/openapi.yaml.
use std::{
    collections::HashMap,
    fs,
    sync::{Mutex, OnceLock},
};

use jsonschema::Validator;
use serde_json::Value;
use system_tests::{openapi::Document, root, yaml};

use crate::world::{Reply, lock};

/// The document, with the validators of the responses that occurred.
pub(crate) struct Allowed {
    document: Document,
    paths: Vec<(Vec<String>, String)>,
    validators: Mutex<HashMap<(String, u64), Option<&'static Validator>>>,
}

impl Allowed {
    /// The document of the repository.
    ///
    /// # Panics
    /// Panics if the document can't be read.
    pub(crate) fn get() -> &'static Self {
        static ALLOWED: OnceLock<Allowed> = OnceLock::new();
        ALLOWED.get_or_init(|| {
            let text = fs::read_to_string(root().join("docs/openapi.yaml")).expect("the document");
            let document = Document(yaml::read(&text));
            let paths = document.0["paths"].as_object().into_iter().flatten().map(|(path, _)| path.clone());
            let mut paths: Vec<_> =
                paths.map(|path| (path.split('/').map(str::to_owned).collect::<Vec<_>>(), path)).collect();
            // A literal segment takes precedence over a parameter.
            paths.sort_by_key(|(parts, _)| parts.iter().map(|part| part.starts_with('{')).collect::<Vec<_>>());
            Self { document, paths, validators: Mutex::default() }
        })
    }

    /// Differences between the response and the document.
    pub(crate) fn faults(&self, method: &str, path: &str, reply: &Reply) -> Vec<String> {
        let path = path.split('?').next().unwrap_or_default();
        let given: Vec<_> = path.split('/').collect();
        let matches = |parts: &[String]| {
            parts.len() == given.len()
                && parts.iter().zip(&given).all(|(part, given)| part.starts_with('{') || part == given)
        };
        let operation = |path: &str| &self.document.0["paths"][path][method.to_lowercase()];
        let found = self.paths.iter().find(|(parts, path)| matches(parts) && !operation(path).is_null());
        let Some((_, template)) = found else { return vec![format!("{method} {path} is not described")] };
        let described = &operation(template)["responses"][reply.status.to_string()];
        if described.is_null() {
            return vec![format!("the status {} is not described: {}", reply.status, reply.body)];
        }
        let described = self.document.follow(described);
        let kind = reply.headers["content-type"].as_str().unwrap_or_default();
        let content = &described["content"];
        match (content.is_null(), reply.body.is_null()) {
            (true, true) => return Vec::new(),
            (true, false) => return vec!["a body is not described".to_owned()],
            (false, true) => return vec!["the body is missing".to_owned()],
            (false, false) if content[kind].is_null() => {
                return vec![format!("the media type {kind:?} is not described")];
            }
            (false, false) => {}
        }
        let name = (format!("{method} {template} {kind}"), reply.status);
        let validator = *lock(&self.validators).entry(name).or_insert_with(|| self.validator(&content[kind]["schema"]));
        let Some(validator) = validator else { return vec!["the schema is not valid".to_owned()] };
        validator.iter_errors(&reply.body).map(|error| format!("{} {error}", error.instance_path())).collect()
    }

    fn validator(&self, schema: &Value) -> Option<&'static Validator> {
        let mut schema = schema.clone();
        schema["components"] = self.document.0["components"].clone();
        // The process has one validator for each kind of response, until it ends.
        jsonschema::draft202012::new(&schema).ok().map(|validator| &*Box::leak(Box::new(validator)))
    }
}
