//! Reader of the SAM templates, which declare all tables, routes, schedules and permissions.
//!
//! The reader supports a subset of SAM. Any other construct is an error with a line number. The
//! local stack therefore cannot silently differ from a deployment (docs/decisions/local-stack.md).
mod api;
mod application;
mod filter;
mod lake;
mod lambda;
mod mapping;
pub mod nearest;
mod node;
mod objects;
mod pages;
mod parameters;
mod prefix;
mod resolve;
mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

pub use api::Authorizer;
pub use application::Selection;
use application::file_name;
pub use filter::Pattern;
pub use lake::DeliveryStream;
pub use lambda::{Lambda, Route, Schedule, Statement};
pub use mapping::{Mapping, Start};
pub use nearest::{nearest, suggest};
pub use node::yaml;
use node::{Entry, Fault, Node, fault};
pub use objects::ObjectTrigger;
pub use pages::Pages;
pub use prefix::Prefix;
use resolve::Scope;
pub use table::Table;
pub use table::{STREAM_LABEL, stream_arn};

/// Region of the local stack.
pub const REGION: &str = "us-east-1";
/// Account id of the local stack.
pub const ACCOUNT: &str = "000000000000";
/// EventBridge bus of the local stack.
pub const EVENT_BUS: &str = "local";

const TRANSFORM: &str = "AWS::Serverless-2016-10-31";
const SECTIONS: [&str; 6] = ["Transform", "Parameters", "Conditions", "Globals", "Resources", "Outputs"];
const SECTIONS_MEANINGLESS: [&str; 2] = ["AWSTemplateFormatVersion", "Description"];
const ATTRIBUTES: [&str; 3] = ["Type", "Properties", "Condition"];
const ATTRIBUTES_MEANINGLESS: [&str; 4] = ["DeletionPolicy", "DependsOn", "UpdateReplacePolicy", "Metadata"];
const LOG_GROUP_MEANINGLESS: [&str; 3] = ["KmsKeyId", "LogGroupName", "RetentionInDays"];

/// The error of a template that can't be run. The message has the form `template.yaml:12: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct TemplateError {
    /// Name of the file.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Description of the error.
    pub message: String,
}

/// Resources of a template, with resolved intrinsic functions.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// Tables.
    pub tables: Vec<Table>,
    /// Functions.
    pub lambdas: Vec<Lambda>,
    /// Physical names of the buckets.
    pub buckets: Vec<String>,
    /// Delivery streams.
    pub delivery_streams: Vec<DeliveryStream>,
    /// JWT authorizer of the API.
    pub authorizer: Option<Authorizer>,
    /// Web pages that may call the API.
    pub api_pages: Option<Pages>,
    /// Web pages that may read and write objects, by the physical name of the bucket.
    pub bucket_pages: BTreeMap<String, Pages>,
}

/// Prefix of the objects that a service imports.
const INBOX: &str = "inbox/";

impl Template {
    /// Reads a template and all its nested applications. Relative locations start from the folder
    /// of `file`.
    ///
    /// # Errors
    /// [`TemplateError`] for the first construct that is invalid or unsupported.
    pub fn read(
        text: &str,
        file: &Path,
        stack: &str,
        parameters: &BTreeMap<String, String>,
    ) -> Result<Self, TemplateError> {
        Self::read_some(text, file, stack, parameters, &Selection::default())
    }

    /// Reads a template and the selected nested applications.
    ///
    /// # Errors
    /// The errors of [`Template::read`], and a [`TemplateError`] if a selected application does not
    /// exist.
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
            check_objects(&template)?;
            Ok(template)
        });
        read.map_err(|fault| {
            let Fault { file, line, message } = fault.within(&file_name(file));
            TemplateError { file: file.unwrap_or_default(), line, message }
        })
    }

    /// Names of the services, such as `bank` and `cart`. They are the distinct first segments of
    /// the routes.
    pub fn services(&self) -> BTreeSet<&str> {
        let routes = self.lambdas.iter().flat_map(|lambda| &lambda.routes);
        routes.filter_map(|route| route.path.split('/').nth(1)).collect()
    }

    /// Physical name of the bucket for files to import, if the stack has one.
    pub fn inbox(&self) -> Option<&str> {
        let mut triggers = self.lambdas.iter().flat_map(|lambda| &lambda.objects);
        triggers.find(|trigger| trigger.prefix == INBOX).map(|trigger| trigger.bucket.as_str())
    }

    /// Distinct scopes of all routes, sorted.
    pub fn scopes(&self) -> Vec<String> {
        let mut scopes: Vec<String> =
            self.lambdas.iter().flat_map(|lambda| &lambda.routes).flat_map(|route| route.scopes.clone()).collect();
        scopes.sort();
        scopes.dedup();
        scopes
    }
}

/// Reads a template with the values of its outputs.
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
        return fault(transform.line, format!("the local stack supports only the transform {TRANSFORM}"));
    }
    let parameters = parameters::read(document.get("Parameters"), &with_local_values(&document, stack, given))?;
    let conditions = document.get("Conditions").map(Node::map).transpose()?.unwrap_or_default();
    let resources = document.need("a template", "Resources")?.map()?;
    check_selection(resources, selection)?;
    let selection = &selection.with_sources(resources);
    let folder = file.parent().unwrap_or(Path::new(""));
    let scope = Scope::new((stack, folder), selection, &parameters, conditions, resources);
    for Entry { node, .. } in conditions {
        scope.condition(node)?;
    }
    let globals = lambda::globals(document.get("Globals"), &scope)?;
    let template = read_resources(resources, &scope, &globals, selection)?;
    // Outputs may refer to any application. They are therefore read only if all applications are
    // selected.
    let outputs = document.get("Outputs").filter(|_| selection.is_all());
    Ok((template, outputs.map_or_else(|| Ok(BTreeMap::new()), |outputs| read_outputs(outputs, &scope))?))
}

/// Adds the values of a local stack: the token issuer, the audience and the stack name, which every
/// deployment must set, the event bus, and the lag of the indexes. The indexes of the engine have
/// none.
fn with_local_values(document: &Node, stack: &str, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let declared = |name: &str| document.get("Parameters").is_some_and(|section| section.get(name).is_some());
    let mut given = given.clone();
    let own = [
        ("JwtIssuer", "local"),
        ("JwtAudience", "local"),
        ("Name", stack),
        ("EventBusName", EVENT_BUS),
        ("IndexLagSeconds", "0"),
    ];
    for (name, value) in own.into_iter().filter(|(name, _)| declared(name)) {
        given.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    }
    given
}

fn check_selection(resources: &[Entry], selection: &Selection) -> node::Result<()> {
    let applications = resources.iter().filter(|entry| is_application(&entry.node));
    let applications: Vec<_> = applications.map(|entry| entry.key.to_lowercase()).collect();
    match selection.unknown(&applications) {
        Some(name) => {
            let stacks = format!("there is no stack {name}; the stacks are {}", applications.join(", "));
            fault(1, suggest(stacks, nearest(name, applications.iter().map(String::as_str))))
        }
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
    let (mut template, mut mappings) = (Template::default(), Vec::new());
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
        let kind = node.need("a resource", "Type")?;
        if exists && kind.text()? == "AWS::Lambda::EventSourceMapping" {
            mappings.push(Mapping::read_resource(key, &properties)?);
        } else if exists {
            template.add(key, kind, &properties, scope, globals)?;
        }
    }
    for (function, mapping) in mappings {
        match template.lambdas.iter_mut().find(|lambda| lambda.id == function) {
            Some(lambda) => lambda.mappings.push(mapping),
            None => return fault(mapping.line, format!("there is no function {function}")),
        }
    }
    template.delivery_streams.iter().try_for_each(|stream| check_bucket(&template, &stream.bucket, stream.line))?;
    Ok(template)
}

impl Template {
    /// Adds the resources of a nested application. One gateway serves all APIs.
    fn merge(&mut self, nested: Template, line: usize) -> node::Result<()> {
        match (&self.authorizer, nested.authorizer) {
            (Some(own), Some(other)) if *own != other => {
                return fault(line, "all APIs of a local stack must have the same issuer and audience");
            }
            (None, Some(other)) => self.authorizer = Some(other),
            _ => {}
        }
        self.api_pages = self.api_pages.take().or(nested.api_pages);
        self.bucket_pages.extend(nested.bucket_pages);
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
            "AWS::Serverless::Function" => self.lambdas.push(Lambda::read(key, globals, properties)?),
            "AWS::Serverless::Application" => {
                self.merge(scope.application(key, kind.line)?.template, kind.line)?;
            }
            "AWS::Serverless::HttpApi" if self.authorizer.is_some() => {
                return fault(kind.line, "the local stack supports only one HTTP API");
            }
            "AWS::Serverless::HttpApi" => {
                self.authorizer = Some(Authorizer::read(properties)?);
                self.api_pages = properties.get("CorsConfiguration").map(Pages::of_api).transpose()?;
            }
            "AWS::Logs::LogGroup" => {
                properties.only("AWS::Logs::LogGroup", &[], &LOG_GROUP_MEANINGLESS)?;
            }
            "AWS::S3::Bucket" => {
                lake::check_bucket(properties)?;
                let name = scope.physical_name(key, kind.line)?;
                let pages = properties.get("CorsConfiguration").map(Pages::of_bucket).transpose()?;
                self.bucket_pages.extend(pages.map(|pages| (name.clone(), pages)));
                self.buckets.push(name);
            }
            "AWS::KinesisFirehose::DeliveryStream" => {
                let name = scope.physical_name(key, kind.line)?;
                self.delivery_streams.push(DeliveryStream::read(name, properties)?);
            }
            other if lake::is_meaningless(other, properties)? => {}
            other => return fault(kind.line, format!("the local stack does not support resources of type {other}")),
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
        // Routes that differ only in parameter names are duplicates.
        let shape: Vec<_> = route.path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part }).collect();
        let shape = (route.method.as_str(), shape.join("/"));
        if seen.contains(&shape) {
            let again = format!("another function already has the route {} {}", route.method, route.path);
            return lambda.fault(route.line, again);
        }
        seen.push(shape);
    }
    Ok(())
}

/// Checks that the stack contains the bucket of each event and of each failure destination.
fn check_objects(template: &Template) -> node::Result<()> {
    for lambda in &template.lambdas {
        let triggers = lambda.objects.iter().map(|trigger| (&trigger.bucket, trigger.line));
        for (bucket, line) in triggers.chain(lambda.failure_bucket.as_ref().map(|bucket| (bucket, lambda.line))) {
            check_bucket(template, bucket, line).or_else(|fault| lambda.fault(fault.line, fault.message))?;
        }
    }
    Ok(())
}

/// Checks that the stack contains the table and the failure bucket of each mapping.
fn check_streams(template: &Template) -> node::Result<()> {
    let has_stream = |name: &str| template.tables.iter().any(|table| table.name == name && table.stream.is_some());
    let mappings =
        template.lambdas.iter().flat_map(|lambda| lambda.mappings.iter().map(move |mapping| (lambda, mapping)));
    for (lambda, mapping) in mappings {
        if !has_stream(&mapping.table) {
            return lambda.fault(mapping.line, format!("the stack has no table {} with a stream", mapping.table));
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
