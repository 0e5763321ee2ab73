//! Reads the templates, the one place that says which tables, routes, schedules and permissions exist.
//!
//! It is a strict subset: what this reader does not understand stops it with the line, so that the local stack
//! never runs something else than what is deployed.
mod api;
mod application;
mod filter;
mod lake;
mod lambda;
mod mapping;
mod node;
mod parameters;
mod resolve;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

pub use crate::lake::Prefix;
pub use api::Authorizer;
pub use application::Selection;
use application::file_name;
pub use filter::Pattern;
pub use lake::DeliveryStream;
pub use lambda::{Lambda, Route, Schedule, Statement};
pub use mapping::{Mapping, Start};
use node::{Entry, Fault, Node, fault};
use resolve::Scope;
pub use table::Table;
pub(crate) use table::stream_arn;

/// The region that the stack is in.
pub(crate) const REGION: &str = "us-east-1";
/// The account that the stack is in.
pub(crate) const ACCOUNT: &str = "000000000000";

const TRANSFORM: &str = "AWS::Serverless-2016-10-31";
const SECTIONS: [&str; 6] = ["Transform", "Parameters", "Conditions", "Globals", "Resources", "Outputs"];
const SECTIONS_MEANINGLESS: [&str; 2] = ["AWSTemplateFormatVersion", "Description"];
const ATTRIBUTES: [&str; 3] = ["Type", "Properties", "Condition"];
const ATTRIBUTES_MEANINGLESS: [&str; 3] = ["DeletionPolicy", "UpdateReplacePolicy", "Metadata"];
const LOG_GROUP_MEANINGLESS: [&str; 2] = ["LogGroupName", "RetentionInDays"];

/// Why a template can't be run: `template.yaml:12: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TemplateError {
    /// The file's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// The stack that a template describes, with every intrinsic resolved.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// The tables.
    pub tables: Vec<Table>,
    /// The functions.
    pub lambdas: Vec<Lambda>,
    /// The physical names of the buckets.
    pub buckets: Vec<String>,
    /// The delivery streams.
    pub delivery_streams: Vec<DeliveryStream>,
    /// Whose tokens the API takes.
    pub authorizer: Option<Authorizer>,
}

impl Template {
    /// Reads a template's text. `file` is what errors call it.
    ///
    /// # Errors
    /// The first thing that the reader does not understand, with its line.
    pub fn read(
        text: &str,
        file: &Path,
        stack: &str,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Self, TemplateError> {
        Self::read_some(text, file, stack, parameters, &Selection::default())
    }

    /// Reads a template's text, and of its nested applications those that are selected.
    ///
    /// # Errors
    /// As [`Template::read`], and a selected application that the template does not nest.
    pub fn read_some(
        text: &str,
        file: &Path,
        stack: &str,
        parameters: &BTreeMap<String, String>,
        selection: &Selection,
    ) -> Result<Self, TemplateError> {
        let read = build(text, file, stack, parameters, selection).and_then(|(template, _)| {
            check_routes(&template)?;
            check_streams(&template)?;
            Ok(template)
        });
        read.map_err(|fault| {
            let Fault { file, line, message } = fault.within(&file_name(file));
            TemplateError { file: file.unwrap_or_default(), line, message }
        })
    }

    /// The first parts of the routes' paths, once each: `bank`, `cart`.
    #[must_use]
    pub fn services(&self) -> BTreeSet<&str> {
        let routes = self.lambdas.iter().flat_map(|lambda| &lambda.routes);
        routes.filter_map(|route| route.path.split('/').nth(1)).collect()
    }

    /// Every scope that some route lets in, once each.
    #[must_use]
    pub fn scopes(&self) -> Vec<String> {
        let mut scopes: Vec<String> =
            self.lambdas.iter().flat_map(|lambda| &lambda.routes).flat_map(|route| route.scopes.clone()).collect();
        scopes.sort();
        scopes.dedup();
        scopes
    }
}

/// The template and the values of its outputs.
fn build(
    text: &str,
    file: &Path,
    stack: &str,
    given: &BTreeMap<String, String>,
    selection: &Selection,
) -> node::Result<(Template, BTreeMap<String, String>)> {
    let document = node::parse(text)?;
    document.only("a template", &SECTIONS, &SECTIONS_MEANINGLESS)?;
    let transform = document.need("a template", "Transform")?;
    if transform.text()? != TRANSFORM {
        return fault(transform.line, format!("the local stack reads {TRANSFORM} only"));
    }
    let parameters = parameters::read(document.get("Parameters"), &with_local_identity(&document, stack, given))?;
    let conditions = document.get("Conditions").map(Node::map).transpose()?.unwrap_or_default();
    let resources = document.need("a template", "Resources")?.map()?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let scope = Scope::new((stack, folder), selection, &parameters, conditions, resources);
    for Entry { node, .. } in conditions {
        scope.condition(node)?;
    }
    check_selection(resources, selection)?;
    let globals = lambda::globals(document.get("Globals"), &scope)?;
    let template = read_resources(resources, &scope, &globals, selection)?;
    // Some outputs are those of applications that are left out.
    let outputs = document.get("Outputs").filter(|_| selection.is_all());
    Ok((template, outputs.map_or_else(|| Ok(BTreeMap::new()), |outputs| read_outputs(outputs, &scope))?))
}

/// A deployment must say whose tokens it takes, and what its stack is called; here it is the stack's own name, and its own tokens.
fn with_local_identity(document: &Node, stack: &str, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let declared = |name: &str| document.get("Parameters").is_some_and(|section| section.get(name).is_some());
    let mut given = given.clone();
    let own = [("JwtIssuer", "local"), ("JwtAudience", "local"), ("Name", stack)];
    for (name, value) in own.into_iter().filter(|(name, _)| declared(name)) {
        given.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    given
}

fn check_selection(resources: &[Entry], selection: &Selection) -> node::Result<()> {
    let applications = resources.iter().filter(|entry| is_application(&entry.node));
    let applications: Vec<_> = applications.map(|entry| entry.key.to_lowercase()).collect();
    match selection.unknown(&applications) {
        Some(name) => fault(1, format!("there is no stack {name} here; there are {}", applications.join(", "))),
        None => Ok(()),
    }
}

fn is_application(resource: &Node) -> bool {
    resource.get("Type").is_some_and(|kind| kind.text() == Ok("AWS::Serverless::Application"))
}

fn read_outputs(outputs: &Node, scope: &Scope<'_>) -> node::Result<BTreeMap<String, String>> {
    let mut values = BTreeMap::new();
    for Entry { key, node, .. } in outputs.map()? {
        node.only("an output", &["Value"], &["Description"])?;
        values.insert(key.clone(), scope.value(node.need("an output", "Value")?)?.text()?.to_owned());
    }
    Ok(values)
}

fn read_resources(
    resources: &[Entry],
    scope: &Scope<'_>,
    globals: &Node,
    selection: &Selection,
) -> node::Result<Template> {
    let mut template = Template::default();
    let selected = |entry: &&Entry| !is_application(&entry.node) || selection.has(&entry.key);
    for Entry { key, line, node } in resources.iter().filter(selected) {
        node.only("a resource", &ATTRIBUTES, &ATTRIBUTES_MEANINGLESS)?;
        let exists = match node.get("Condition") {
            Some(condition) => scope.named_condition(condition.text()?, condition.line)?,
            None => true,
        };
        let properties = match node.get("Properties") {
            Some(properties) => scope.value(properties)?,
            None => Node::new(*line, node::Value::Map(Vec::new())),
        };
        if exists {
            template.add(key, node.need("a resource", "Type")?, &properties, scope, globals)?;
        }
    }
    template.delivery_streams.iter().try_for_each(|stream| check_bucket(&template, &stream.bucket, stream.line))?;
    Ok(template)
}

impl Template {
    /// Takes in what a nested application has. One gateway serves the APIs of all.
    fn merge(&mut self, nested: Template, line: usize) -> node::Result<()> {
        match (&self.authorizer, nested.authorizer) {
            (Some(own), Some(other)) if *own != other => {
                return fault(line, "the local stack serves APIs with the same issuer and audience only");
            }
            (None, Some(other)) => self.authorizer = Some(other),
            _ => {}
        }
        self.tables.extend(nested.tables);
        self.lambdas.extend(nested.lambdas);
        self.buckets.extend(nested.buckets);
        self.delivery_streams.extend(nested.delivery_streams);
        Ok(())
    }

    fn add(
        &mut self,
        key: &str,
        kind: &Node,
        properties: &Node,
        scope: &Scope<'_>,
        globals: &Node,
    ) -> node::Result<()> {
        match kind.text()? {
            "AWS::DynamoDB::Table" => {
                let name = scope.physical_name(key, kind.line)?;
                self.tables.push(Table::read(name, properties)?);
            }
            "AWS::Serverless::Function" => self.lambdas.push(Lambda::read(globals, properties)?),
            "AWS::Serverless::Application" => {
                self.merge(scope.application(key, kind.line)?.template, kind.line)?;
            }
            "AWS::Serverless::HttpApi" if self.authorizer.is_some() => {
                return fault(kind.line, "the local stack serves one HTTP API");
            }
            "AWS::Serverless::HttpApi" => self.authorizer = Some(Authorizer::read(properties)?),
            "AWS::Logs::LogGroup" => {
                properties.only("AWS::Logs::LogGroup", &[], &LOG_GROUP_MEANINGLESS)?;
            }
            "AWS::S3::Bucket" => {
                lake::check_bucket(properties)?;
                self.buckets.push(scope.physical_name(key, kind.line)?);
            }
            "AWS::KinesisFirehose::DeliveryStream" => {
                let name = scope.physical_name(key, kind.line)?;
                self.delivery_streams.push(DeliveryStream::read(name, properties)?);
            }
            other if lake::is_meaningless(other, properties)? => {}
            other => return fault(kind.line, format!("the local stack does not know resources of type {other}")),
        }
        Ok(())
    }
}

fn check_routes(template: &Template) -> node::Result<()> {
    let mut seen: Vec<(&str, String)> = Vec::new();
    let routes = template.lambdas.iter().flat_map(|lambda| lambda.routes.iter().map(move |route| (lambda, route)));
    for (lambda, route) in routes {
        if template.authorizer.is_none() {
            return lambda.fault(route.line, "a route needs an AWS::Serverless::HttpApi");
        }
        // Parameters' names don't tell routes apart.
        let shape: Vec<_> = route.path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
        let shape = (route.method.as_str(), shape.join("/"));
        if seen.contains(&shape) {
            let again = format!("another function has the route {} {}", route.method, route.path);
            return lambda.fault(route.line, again);
        }
        seen.push(shape);
    }
    Ok(())
}

/// What a stream comes from and goes to must be the stack's own, or a nested application's.
fn check_streams(template: &Template) -> node::Result<()> {
    let has_stream = |name: &str| template.tables.iter().any(|table| table.name == name && table.stream.is_some());
    let mappings =
        template.lambdas.iter().flat_map(|lambda| lambda.mappings.iter().map(move |mapping| (lambda, mapping)));
    for (lambda, mapping) in mappings {
        if !has_stream(&mapping.table) {
            return lambda.fault(mapping.line, format!("no table {} here has a stream", mapping.table));
        }
        if let Some(bucket) = &mapping.failure_bucket {
            check_bucket(template, bucket, mapping.line).or_else(|fault| lambda.fault(fault.line, fault.message))?;
        }
    }
    Ok(())
}

fn check_bucket(template: &Template, bucket: &str, line: usize) -> node::Result<()> {
    if template.buckets.iter().any(|known| known == bucket) {
        return Ok(());
    }
    fault(line, format!("there is no bucket {bucket}"))
}

#[cfg(test)]
mod tests;
