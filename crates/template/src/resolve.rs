//! Resolves intrinsic functions and names.
use std::{cell::RefCell, collections::BTreeMap, path::Path};

use super::node::{Entry, Node, Result, Value, fault};
use super::{
    ACCOUNT, REGION,
    application::{Application, Selection},
    table::stream_arn,
};

/// Names that intrinsic functions can refer to.
pub(crate) struct Scope<'a> {
    stack: &'a str,
    folder: &'a Path,
    selection: &'a Selection,
    parameters: &'a BTreeMap<String, String>,
    conditions: &'a [Entry],
    resources: &'a [Entry],
    // Names that are being resolved. This list detects circular references, which would otherwise
    // overflow the stack.
    open: RefCell<Vec<String>>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(
        (stack, folder): (&'a str, &'a Path),
        selection: &'a Selection,
        parameters: &'a BTreeMap<String, String>,
        conditions: &'a [Entry],
        resources: &'a [Entry],
    ) -> Self {
        Self { stack, folder, selection, parameters, conditions, resources, open: RefCell::default() }
    }

    /// Reads the nested template of an `AWS::Serverless::Application`.
    pub(crate) fn application(&self, name: &str, line: usize) -> Result<Application> {
        if !self.selection.has(name) {
            return fault(line, format!("this needs the stack {}, which is not selected", name.to_lowercase()));
        }
        self.once(name, line, || {
            let properties = self.value(self.resource(name, line)?.need("an application", "Properties")?)?;
            Application::read(name, &properties, &format!("{}-{name}", self.stack), self.folder)
        })
    }

    /// Resolves the intrinsic functions of a node. Returns `None` for `AWS::NoValue`.
    pub(crate) fn resolve(&self, node: &Node) -> Result<Option<Node>> {
        match node.tag.as_deref() {
            None => self.plain(node).map(Some),
            Some("!Ref") if node.text()? == "AWS::NoValue" => Ok(None),
            Some("!Ref") => self.reference(node).map(|text| Some(Node::of_text(node.line, text))),
            Some("!Split") => self.split(node).map(Some),
            Some("!Sub") => self.substitute(node).map(|text| Some(Node::of_text(node.line, text))),
            Some("!GetAtt") => self.attribute_of(node).map(|text| Some(Node::of_text(node.line, text))),
            Some("!If") => self.choose(node),
            Some("!Equals" | "!Not" | "!And" | "!Or" | "!Condition") => {
                let truth = self.condition(node)?;
                Ok(Some(Node::of_text(node.line, truth.to_string())))
            }
            Some(other) => fault(node.line, format!("the local stack does not support {other}")),
        }
    }

    /// Resolves a node that must not be `AWS::NoValue`.
    pub(crate) fn value(&self, node: &Node) -> Result<Node> {
        self.resolve(node)?.map_or_else(|| fault(node.line, "AWS::NoValue is not allowed here"), Ok)
    }

    fn plain(&self, node: &Node) -> Result<Node> {
        let value = match &node.value {
            Value::Text(text) => Value::Text(text.clone()),
            Value::List(items) => {
                let items: Result<Vec<_>> = items.iter().filter_map(|item| self.resolve(item).transpose()).collect();
                Value::List(items?)
            }
            Value::Map(entries) => Value::Map(self.entries(entries)?),
        };
        Ok(Node::new(node.line, value))
    }

    fn entries(&self, entries: &[Entry]) -> Result<Vec<Entry>> {
        let mut resolved = Vec::with_capacity(entries.len());
        for Entry { key, line, node } in entries {
            if key == "Ref" || key.starts_with("Fn::") {
                let short = key.trim_start_matches("Fn::");
                return fault(*line, format!("use !{short} instead of {key}"));
            }
            if let Some(node) = self.resolve(node)? {
                resolved.push(Entry { key: key.clone(), line: *line, node });
            }
        }
        Ok(resolved)
    }

    fn choose(&self, node: &Node) -> Result<Option<Node>> {
        let [condition, yes, no] = node.list()? else {
            return fault(node.line, "!If needs a condition and two values");
        };
        // Resolve both branches, so that an error in the other branch is found as well.
        let (yes, no) = (self.resolve(yes)?, self.resolve(no)?);
        Ok(if self.named_condition(condition.text()?, condition.line)? { yes } else { no })
    }

    fn split(&self, node: &Node) -> Result<Node> {
        let [separator, text] = node.list()? else {
            return fault(node.line, "!Split needs a separator and a text");
        };
        let (separator, text) = (separator.text()?, self.value(text)?);
        let parts = text.text()?.split(separator).map(|part| Node::of_text(node.line, part)).collect();
        Ok(Node::new(node.line, Value::List(parts)))
    }

    fn reference(&self, node: &Node) -> Result<String> {
        self.name(node.text()?, node.line)
    }

    fn name(&self, name: &str, line: usize) -> Result<String> {
        match name {
            "AWS::Region" => Ok(REGION.to_owned()),
            "AWS::StackName" => Ok(self.stack.to_owned()),
            "AWS::AccountId" => Ok(ACCOUNT.to_owned()),
            "AWS::Partition" => Ok("aws".to_owned()),
            // The local stack has no aliases. An event source mapping finds its function by the id.
            _ if name.ends_with(".Alias") => Ok(name.trim_end_matches(".Alias").to_owned()),
            _ => match self.parameters.get(name) {
                Some(value) => Ok(value.clone()),
                None => self.physical_name(name, line),
            },
        }
    }

    fn substitute(&self, node: &Node) -> Result<String> {
        let mut rest = node.text()?;
        let mut out = String::new();
        while let Some(start) = rest.find("${") {
            let Some(length) = rest[start..].find('}') else {
                return fault(node.line, "!Sub has a ${ without a }");
            };
            out.push_str(&rest[..start]);
            let name = &rest[start + 2..start + length];
            match (name.strip_prefix('!'), name.split_once('.')) {
                (Some(literal), _) => out.extend(["${", literal, "}"]),
                (None, Some((resource, attribute))) => out.push_str(&self.attribute(resource, attribute, node.line)?),
                (None, None) => out.push_str(&self.name(name, node.line)?),
            }
            rest = &rest[start + length + 1..];
        }
        Ok(out + rest)
    }

    fn attribute_of(&self, node: &Node) -> Result<String> {
        match node.text()?.split_once('.') {
            Some((resource, attribute)) => self.attribute(resource, attribute, node.line),
            None => fault(node.line, "!GetAtt must have the form Resource.Attribute"),
        }
    }

    fn attribute(&self, name: &str, attribute: &str, line: usize) -> Result<String> {
        let kind = self.kind(name, line)?;
        let physical = self.physical_name(name, line)?;
        let arn = |service: &str, rest: &str| format!("arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}{physical}");
        match (kind, attribute) {
            ("AWS::DynamoDB::Table", "Arn") => Ok(arn("dynamodb", "table/")),
            ("AWS::DynamoDB::Table", "StreamArn") => self.stream_of(name, line).map(|()| stream_arn(&physical)),
            ("AWS::KinesisFirehose::DeliveryStream", "Arn") => Ok(arn("firehose", "deliverystream/")),
            ("AWS::CloudWatch::Alarm", "Arn") => Ok(arn("cloudwatch", "alarm:")),
            ("AWS::S3::Bucket", "Arn") => Ok(format!("arn:aws:s3:::{physical}")),
            ("AWS::IAM::Role", "Arn") => Ok(format!("arn:aws:iam::{ACCOUNT}:role/{physical}")),
            ("AWS::Serverless::Function", "Arn") => Ok(arn("lambda", "function:")),
            ("AWS::Logs::LogGroup", "Arn") => Ok(arn("logs", "log-group:") + ":*"),
            ("AWS::Serverless::HttpApi", "ApiEndpoint") => Ok("http://127.0.0.1".to_owned()),
            ("AWS::Serverless::Application", output) => self.application(name, line)?.output(output, line),
            _ => fault(line, format!("the local stack does not support the attribute {attribute} of {kind}")),
        }
    }

    /// Checks that the table has a stream.
    fn stream_of(&self, name: &str, line: usize) -> Result<()> {
        let properties = self.resource(name, line)?.get("Properties");
        match properties.and_then(|properties| properties.get("StreamSpecification")) {
            Some(_) => Ok(()),
            None => fault(line, format!("{name} has no StreamSpecification")),
        }
    }

    /// Returns whether this is the role that SAM makes for a function.
    fn is_role_of_function(&self, name: &str) -> bool {
        let Some(function) = name.strip_suffix("Role") else { return false };
        let kind = |name: &str| self.resources.iter().find(|entry| entry.key == name)?.node.get("Type")?.text().ok();
        kind(name).is_none() && kind(function) == Some("AWS::Serverless::Function")
    }

    pub(crate) fn physical_name(&self, name: &str, line: usize) -> Result<String> {
        if self.is_role_of_function(name) {
            return Ok(format!("{}-{name}", self.stack));
        }
        let kind = self.kind(name, line)?;
        let property = match kind {
            "AWS::DynamoDB::Table" => &["TableName"][..],
            "AWS::Logs::LogGroup" => &["LogGroupName"],
            "AWS::Logs::LogStream" => &["LogStreamName"],
            "AWS::KinesisFirehose::DeliveryStream" => &["DeliveryStreamName"],
            "AWS::S3::Bucket" => &["BucketName"],
            "AWS::IAM::Role" => &["RoleName"],
            "AWS::Athena::WorkGroup" => &["Name"],
            "AWS::Serverless::Function" => &["FunctionName"],
            "AWS::Glue::Database" => &["DatabaseInput", "Name"],
            "AWS::Glue::Table" => &["TableInput", "Name"],
            _ => return Ok(format!("{}-{name}", self.stack)),
        };
        let made = format!("{}-{name}", self.stack);
        let properties = self.resource(name, line)?.get("Properties");
        let given = property.iter().fold(properties, |node, key| node.and_then(|node| node.get(key)));
        match given {
            Some(node) => self.once(name, line, || self.value(node)?.text().map(str::to_owned)),
            // Bucket names must be in lower case.
            None if kind == "AWS::S3::Bucket" => Ok(made.to_lowercase()),
            None => Ok(made),
        }
    }

    fn kind(&self, name: &str, line: usize) -> Result<&'a str> {
        self.resource(name, line)?.need("a resource", "Type")?.text()
    }

    fn resource(&self, name: &str, line: usize) -> Result<&'a Node> {
        match self.resources.iter().find(|entry| entry.key == name) {
            Some(entry) => Ok(&entry.node),
            None => fault(line, format!("there is no parameter or resource {name}")),
        }
    }

    /// Evaluates a condition function.
    pub(crate) fn condition(&self, node: &Node) -> Result<bool> {
        let all = |node: &Node| node.list()?.iter().map(|item| self.condition(item)).collect::<Result<Vec<_>>>();
        match node.tag.as_deref() {
            Some("!Condition") => self.named_condition(node.text()?, node.line),
            Some("!And") => Ok(all(node)?.into_iter().all(|truth| truth)),
            Some("!Or") => Ok(all(node)?.into_iter().any(|truth| truth)),
            Some("!Not") => match node.list()? {
                [inner] => Ok(!self.condition(inner)?),
                _ => fault(node.line, "!Not needs one condition"),
            },
            Some("!Equals") => match node.list()? {
                [left, right] => Ok(self.value(left)?.text()? == self.value(right)?.text()?),
                _ => fault(node.line, "!Equals needs two values"),
            },
            Some(other) => fault(node.line, format!("{other} is not a condition")),
            None => fault(node.line, "a condition is expected here"),
        }
    }

    /// Evaluates a condition of the `Conditions` section.
    pub(crate) fn named_condition(&self, name: &str, line: usize) -> Result<bool> {
        match self.conditions.iter().find(|entry| entry.key == name) {
            Some(entry) => self.once(name, line, || self.condition(&entry.node)),
            None => fault(line, format!("there is no condition {name}")),
        }
    }

    fn once<T>(&self, name: &str, line: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.open.borrow().iter().any(|open| open == name) {
            return fault(line, format!("{name} refers to itself"));
        }
        self.open.borrow_mut().push(name.to_owned());
        let result = work();
        self.open.borrow_mut().pop();
        result
    }
}
