//! Nested applications: templates whose resources are added to the stack.
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::node::{Entry, Node, Result, Value, fault};
use super::{Template, build};

/// Selection of nested applications by name. Without names, all applications are selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(BTreeSet<String>);

impl Selection {
    /// Selects the applications with these names, ignoring case. Selects all applications if there
    /// are no names.
    pub fn of(names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(names.into_iter().map(|name| name.as_ref().to_lowercase()).collect())
    }

    pub(crate) fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, application: &str) -> bool {
        self.is_all() || self.0.contains(&application.to_lowercase())
    }

    /// Also selects the applications whose outputs a selected application takes as parameters.
    pub(crate) fn with_sources(&self, resources: &[Entry]) -> Self {
        let mut selection = self.clone();
        loop {
            let chosen = resources.iter().filter(|entry| !selection.is_all() && selection.has(&entry.key));
            let found: BTreeSet<_> = chosen.flat_map(|entry| sources(&entry.node)).collect();
            if found.is_subset(&selection.0) {
                return selection;
            }
            selection.0.extend(found);
        }
    }

    /// Returns the first selected name that is not an application.
    pub(crate) fn unknown(&self, applications: &[String]) -> Option<&String> {
        self.0.iter().find(|name| !applications.contains(name))
    }
}

/// Returns the names in lower case of the applications whose outputs the node refers to.
fn sources(node: &Node) -> BTreeSet<String> {
    let output = |text: &String| Some(text.split_once(".Outputs.")?.0.to_lowercase());
    match &node.value {
        Value::Text(text) if node.tag.as_deref() == Some("!GetAtt") => output(text).into_iter().collect(),
        Value::Text(_) => BTreeSet::new(),
        Value::List(items) => items.iter().flat_map(sources).collect(),
        Value::Map(entries) => entries.iter().flat_map(|entry| sources(&entry.node)).collect(),
    }
}

/// Nested template with the values of its outputs.
pub(crate) struct Application {
    pub(crate) template: Template,
    outputs: BTreeMap<String, String>,
    location: PathBuf,
}

impl Application {
    pub(crate) fn read(id: &str, properties: &Node, stack: &str, folder: &Path) -> Result<Self> {
        properties.only("an application", &["Location", "Parameters"], &[])?;
        let location = properties.need("an application", "Location")?;
        let path = folder.join(location.text()?);
        let text = fs::read_to_string(&path);
        let text = text.or_else(|error| fault(location.line, format!("{}: {error}", location.text()?)))?;
        let mut given = BTreeMap::new();
        for entry in properties.get("Parameters").map(Node::map).transpose()?.unwrap_or_default() {
            given.insert(entry.key.clone(), entry.node.text()?.to_owned());
        }
        let name = file_name(&path);
        let (mut template, outputs) =
            build(&text, &path, stack, &given, &Selection::default()).map_err(|fault| fault.within(&name))?;
        for lambda in &mut template.lambdas {
            lambda.file = Some(name.clone());
            lambda.id = format!("{id}/{}", lambda.id);
        }
        Ok(Self { template, outputs, location: path })
    }

    /// Returns the value of `Outputs.<name>`.
    pub(crate) fn output(&self, attribute: &str, line: usize) -> Result<String> {
        let value = attribute.strip_prefix("Outputs.").and_then(|name| self.outputs.get(name));
        value.map_or_else(
            || fault(line, format!("{} has no {attribute}", self.location.display())),
            |value| Ok(value.clone()),
        )
    }
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
