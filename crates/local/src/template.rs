//! Reads template.yaml, the one place that says which tables, routes, schedules and permissions exist.
//!
//! It is a strict subset: what this reader does not understand stops it with the line, so that the local stack
//! never runs something else than what is deployed.
mod api;
mod filter;
mod lake;
mod lambda;
mod mapping;
mod node;
mod parameters;
mod resolve;
mod table;

use std::{collections::BTreeMap, path::Path};

pub use crate::lake::Prefix;
pub use api::Authorizer;
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
        let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        build(text, stack, parameters).map_err(|Fault { line, message }| TemplateError { file, line, message })
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

fn build(text: &str, stack: &str, given: &BTreeMap<String, String>) -> node::Result<Template> {
    let document = node::parse(text)?;
    document.only("a template", &SECTIONS, &SECTIONS_MEANINGLESS)?;
    let transform = document.need("a template", "Transform")?;
    if transform.text()? != TRANSFORM {
        return fault(transform.line, format!("the local stack reads {TRANSFORM} only"));
    }
    let parameters = parameters::read(document.get("Parameters"), &with_local_identity(&document, given))?;
    let conditions = document.get("Conditions").map(Node::map).transpose()?.unwrap_or_default();
    let resources = document.need("a template", "Resources")?.map()?;
    let scope = Scope::new(stack, &parameters, conditions, resources);
    for Entry { node, .. } in conditions {
        scope.condition(node)?;
    }
    if let Some(outputs) = document.get("Outputs") {
        check_outputs(outputs, &scope)?;
    }
    let globals = lambda::globals(document.get("Globals"), &scope)?;
    read_resources(resources, &scope, &globals)
}

/// A deployment must say whose tokens it takes; here they are the stack's own.
fn with_local_identity(document: &Node, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let declared = |name: &str| document.get("Parameters").is_some_and(|section| section.get(name).is_some());
    let mut given = given.clone();
    for name in ["JwtIssuer", "JwtAudience"].into_iter().filter(|name| declared(name)) {
        given.entry(name.to_owned()).or_insert_with(|| "local".to_owned());
    }
    given
}

fn check_outputs(outputs: &Node, scope: &Scope<'_>) -> node::Result<()> {
    for Entry { node, .. } in outputs.map()? {
        node.only("an output", &["Value"], &["Description"])?;
        scope.value(node.need("an output", "Value")?)?;
    }
    Ok(())
}

fn read_resources(resources: &[Entry], scope: &Scope<'_>, globals: &Node) -> node::Result<Template> {
    let mut template = Template::default();
    for Entry { key, line, node } in resources {
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
    check_routes(&template)?;
    check_streams(&template)?;
    Ok(template)
}

impl Template {
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
    for route in template.lambdas.iter().flat_map(|lambda| &lambda.routes) {
        if template.authorizer.is_none() {
            return fault(route.line, "a route needs an AWS::Serverless::HttpApi");
        }
        // Parameters' names don't tell routes apart.
        let shape: Vec<_> = route.path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
        let shape = (route.method.as_str(), shape.join("/"));
        if seen.contains(&shape) {
            return fault(route.line, format!("another function has the route {} {}", route.method, route.path));
        }
        seen.push(shape);
    }
    Ok(())
}

/// What a stream comes from and goes to must be the stack's own.
fn check_streams(template: &Template) -> node::Result<()> {
    let has_stream = |name: &str| template.tables.iter().any(|table| table.name == name && table.stream.is_some());
    for mapping in template.lambdas.iter().flat_map(|lambda| &lambda.mappings) {
        if !has_stream(&mapping.table) {
            return fault(mapping.line, format!("no table {} here has a stream", mapping.table));
        }
        if let Some(bucket) = &mapping.failure_bucket {
            check_bucket(template, bucket, mapping.line)?;
        }
    }
    template.delivery_streams.iter().try_for_each(|stream| check_bucket(template, &stream.bucket, stream.line))
}

fn check_bucket(template: &Template, bucket: &str, line: usize) -> node::Result<()> {
    if template.buckets.iter().any(|known| known == bucket) {
        return Ok(());
    }
    fault(line, format!("there is no bucket {bucket}"))
}

#[cfg(test)]
mod tests;
