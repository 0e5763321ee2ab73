//! The schemas of the published events, in docs/events.
#![expect(clippy::expect_used, clippy::missing_panics_doc, reason = "a test may stop here")]

use crate::root;
use jsonschema::Validator;
use serde_json::Value;
use std::{collections::BTreeMap, fs};

/// Returns the validator of a schema, which also checks the formats of texts.
pub fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::options().should_validate_formats(true).build(schema).expect("a schema")
}

/// Validators of the member `detail`, by source and detail type.
pub struct Schemas(BTreeMap<(String, String), Validator>);

impl Schemas {
    /// Reads the schemas of docs/events.
    pub fn read() -> Self {
        let folders =
            fs::read_dir(root().join("docs/events")).expect("the folder").map(|entry| entry.expect("an entry").path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).expect("a folder"));
        let read = files.map(|file| {
            let path = file.expect("a file").path();
            let name = |path: &std::path::Path| path.file_stem().expect("a name").to_string_lossy().into_owned();
            let schema = serde_json::from_slice(&fs::read(&path).expect("a schema")).expect("JSON");
            ((name(path.parent().expect("a folder")), name(&path)), validator(&schema))
        });
        Self(read.collect())
    }

    /// Returns the differences between the event and its schema.
    pub fn faults(&self, event: &Value) -> Vec<String> {
        let text = |member: &str| event[member].as_str().unwrap_or_default().to_owned();
        match self.0.get(&(text("source"), text("detail-type"))) {
            None => vec!["there is no schema".to_owned()],
            Some(schema) => {
                let errors = schema.iter_errors(&event["detail"]);
                errors.map(|error| format!("{} {error}", error.instance_path())).collect()
            }
        }
    }
}
