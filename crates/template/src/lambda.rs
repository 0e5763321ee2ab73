//! Functions: settings, events and permissions.
use std::{collections::BTreeMap, time::Duration};

use super::mapping::Mapping;
use super::node::{Entry, Fault, Node, Result, Value, fault};
use super::objects::ObjectTrigger;
use super::resolve::Scope;

const WHAT: &str = "AWS::Serverless::Function";
const READ: [&str; 7] = ["CodeUri", "Environment", "EventInvokeConfig", "Events", "MemorySize", "Policies", "Timeout"];
const INVOKE: &str = "EventInvokeConfig";
/// Maximum number of retries of an asynchronous invocation in AWS, which is also the default.
const MAX_RETRIES: u32 = 2;
// The local stack runs the current build, without versions, aliases or concurrency limits.
const MEANINGLESS: [&str; 10] = [
    "Architectures",
    "AutoPublishAlias",
    "AutoPublishAliasAllProperties",
    "DeploymentPreference",
    "FunctionName",
    "Handler",
    "LoggingConfig",
    "ReservedConcurrentExecutions",
    "Runtime",
    "Tracing",
];

/// Function in the template.
#[derive(Debug, Clone, PartialEq)]
pub struct Lambda {
    /// Logical id. It starts with the application if the template is nested: `Bank/GetPayment`.
    pub id: String,
    /// Name of the binary. It is the last segment of `CodeUri`.
    pub name: String,
    /// Timeout.
    pub timeout: Duration,
    /// Memory in MB.
    pub memory: i32,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
    /// Routes that invoke the function.
    pub routes: Vec<Route>,
    /// Schedules that invoke the function.
    pub schedules: Vec<Schedule>,
    /// Event source mappings that invoke the function.
    pub mappings: Vec<Mapping>,
    /// Objects whose creation invokes the function.
    pub objects: Vec<ObjectTrigger>,
    /// Maximum number of retries of an asynchronous invocation.
    pub retries: u32,
    /// Bucket of the failure destination of asynchronous invocations.
    pub failure_bucket: Option<String>,
    /// Statements of the function's policy.
    pub statements: Vec<Statement>,
    /// File of the nested template that declares the function.
    pub file: Option<String>,
    /// Line in the template.
    pub line: usize,
}

/// Route of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// HTTP method in upper case.
    pub method: String,
    /// Path, with parameters such as `{accountId}`.
    pub path: String,
    /// Accepted scopes. The caller needs at least one of these scopes.
    pub scopes: Vec<String>,
    /// Line in the template.
    pub line: usize,
}

/// Schedule that invokes a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Name of the event in the template.
    pub name: String,
    /// Schedule expression, such as `cron(0/15 * * * ? *)`.
    pub expression: String,
}

/// Statement of a function's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Actions, such as `dynamodb:Query`.
    pub actions: Vec<String>,
    /// ARNs of the resources.
    pub resources: Vec<String>,
    /// Partition key patterns. A call must match one of them. An empty list allows any key.
    pub leading_keys: Vec<String>,
}

/// Reads the settings in `Globals`, which apply to all functions.
pub(crate) fn globals(section: Option<&Node>, scope: &Scope<'_>) -> Result<Node> {
    let Some(section) = section else { return Ok(Node::new(1, Value::Map(Vec::new()))) };
    section.only("Globals", &["Function"], &[])?;
    let function = scope.value(section.need("Globals", "Function")?)?;
    function.only("Globals.Function", &READ, &MEANINGLESS)?;
    Ok(function)
}

impl Lambda {
    pub(crate) fn read(id: &str, globals: &Node, properties: &Node) -> Result<Self> {
        properties.only(WHAT, &READ, &MEANINGLESS)?;
        let merged = merge(globals, properties);
        let code = merged.need(WHAT, "CodeUri")?.text()?;
        let mut lambda = Self {
            id: id.to_owned(),
            name: code.trim_end_matches('/').rsplit('/').next().unwrap_or(code).to_owned(),
            timeout: Duration::from_secs(merged.get("Timeout").map_or(Ok(3), Node::number)?),
            memory: merged.get("MemorySize").map_or(Ok(128), Node::number)?,
            environment: environment(&merged)?,
            routes: Vec::new(),
            schedules: Vec::new(),
            mappings: Vec::new(),
            objects: Vec::new(),
            retries: retries(&merged)?,
            failure_bucket: failure_bucket(&merged)?,
            statements: statements(&merged)?,
            file: None,
            line: properties.line,
        };
        for event in merged.get("Events").map(Node::map).transpose()?.unwrap_or_default() {
            lambda.add_event(event)?;
        }
        Ok(lambda)
    }

    /// Returns an error at a line of the template that declares the function.
    pub(crate) fn fault<T>(&self, line: usize, message: impl Into<String>) -> Result<T> {
        fault(line, message).map_err(|fault: Fault| match &self.file {
            Some(file) => fault.within(file),
            None => fault,
        })
    }

    fn add_event(&mut self, Entry { key, node, .. }: &Entry) -> Result<()> {
        node.only("an event", &["Type", "Properties"], &[])?;
        let kind = node.need("an event", "Type")?;
        let properties = node.need("an event", "Properties")?;
        match kind.text()? {
            "HttpApi" => self.routes.push(route(properties)?),
            "Schedule" => {
                properties.only("a schedule", &["Schedule"], &["Description", "Name"])?;
                let expression = properties.need("a schedule", "Schedule")?.text()?.to_owned();
                self.schedules.push(Schedule { name: key.clone(), expression });
            }
            "DynamoDB" => self.mappings.push(Mapping::read(key, properties)?),
            "S3" => self.objects.push(ObjectTrigger::read(properties)?),
            other => return fault(kind.line, format!("the local stack does not support events of type {other}")),
        }
        Ok(())
    }
}

/// Merges global settings into a function as SAM does. Maps are merged by key, and lists are
/// concatenated. Other values of the function replace the global values.
fn merge(global: &Node, own: &Node) -> Node {
    let value = match (&global.value, &own.value) {
        (Value::List(global), Value::List(own)) => Value::List(global.iter().chain(own).cloned().collect()),
        (Value::Map(global), Value::Map(entries)) => {
            let kept = global.iter().filter(|entry| own.get(&entry.key).is_none()).cloned();
            let over = |entry: &Entry| global.iter().find(|global| global.key == entry.key);
            let merged = entries.iter().map(|entry| match over(entry) {
                Some(global) => Entry { node: merge(&global.node, &entry.node), ..entry.clone() },
                None => entry.clone(),
            });
            Value::Map(kept.chain(merged).collect())
        }
        (_, own) => own.clone(),
    };
    Node::new(own.line, value)
}

fn environment(lambda: &Node) -> Result<BTreeMap<String, String>> {
    let Some(environment) = lambda.get("Environment") else { return Ok(BTreeMap::new()) };
    environment.only("Environment", &["Variables"], &[])?;
    let variables = environment.need("Environment", "Variables")?.map()?;
    variables.iter().map(|entry| Ok((entry.key.clone(), entry.node.text()?.to_owned()))).collect()
}

/// Reads the retries of asynchronous invocations (docs/decisions/streams-locally.md). The maximum
/// age of an event has no effect in the local stack, because its retries follow within a second.
fn retries(lambda: &Node) -> Result<u32> {
    let Some(config) = lambda.get(INVOKE) else { return Ok(MAX_RETRIES) };
    config.only(INVOKE, &["MaximumRetryAttempts", "DestinationConfig"], &["MaximumEventAgeInSeconds"])?;
    match config.get("MaximumRetryAttempts") {
        None => Ok(MAX_RETRIES),
        Some(retries) => match retries.number()? {
            number @ 0..=MAX_RETRIES => Ok(number),
            _ => fault(retries.line, format!("MaximumRetryAttempts must be between 0 and {MAX_RETRIES}")),
        },
    }
}

fn failure_bucket(lambda: &Node) -> Result<Option<String>> {
    let Some(config) = lambda.get(INVOKE).and_then(|config| config.get("DestinationConfig")) else { return Ok(None) };
    config.only("DestinationConfig", &["OnFailure"], &[])?;
    let on_failure = config.need("DestinationConfig", "OnFailure")?;
    on_failure.only("OnFailure", &["Type", "Destination"], &[])?;
    let kind = on_failure.need("OnFailure", "Type")?;
    if kind.text()? != "S3Bucket" {
        return fault(kind.line, "the local stack supports only failure destinations of type S3Bucket");
    }
    super::lake::bucket_of(on_failure.need("OnFailure", "Destination")?).map(Some)
}

fn statements(lambda: &Node) -> Result<Vec<Statement>> {
    let mut statements = Vec::new();
    for policy in lambda.get("Policies").map(Node::list).transpose()?.unwrap_or_default() {
        policy.only("a policy", &["Statement"], &["Version"])?;
        for statement in policy.need("a policy", "Statement")?.list()? {
            statements.push(read_statement(statement)?);
        }
    }
    Ok(statements)
}

fn read_statement(statement: &Node) -> Result<Statement> {
    statement.only("a statement", &["Effect", "Action", "Resource", "Condition"], &["Sid"])?;
    let effect = statement.need("a statement", "Effect")?;
    if effect.text()? != "Allow" {
        return fault(effect.line, "the local stack supports only statements with the effect Allow");
    }
    let one_or_more = |node: &Node| match &node.value {
        Value::List(_) => node.texts(),
        _ => Ok(vec![node.text()?.to_owned()]),
    };
    let actions = one_or_more(statement.need("a statement", "Action")?)?;
    let resources = one_or_more(statement.need("a statement", "Resource")?)?;
    let leading_keys = statement.get("Condition").map(leading_keys).transpose()?.unwrap_or_default();
    Ok(Statement { actions, resources, leading_keys })
}

/// Reads the partition key patterns of a statement. `dynamodb:LeadingKeys` is the only supported
/// condition.
fn leading_keys(condition: &Node) -> Result<Vec<String>> {
    const TEST: &str = "ForAllValues:StringLike";
    const KEYS: &str = "dynamodb:LeadingKeys";
    condition.only("a condition", &[TEST], &[])?;
    let test = condition.need("a condition", TEST)?;
    test.only(TEST, &[KEYS], &[])?;
    test.need(TEST, KEYS)?.texts()
}

fn route(properties: &Node) -> Result<Route> {
    properties.only("a route", &["Method", "Path", "Auth"], &["ApiId"])?;
    let method = properties.need("a route", "Method")?;
    let path = properties.need("a route", "Path")?;
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    if !known.contains(&method.text()?) {
        return fault(method.line, format!("the method must be one of {}", known.join(", ")));
    }
    check_path(path)?;
    let auth = properties.need("a route", "Auth")?;
    auth.only("Auth", &["AuthorizationScopes"], &[])?;
    Ok(Route {
        method: method.text()?.to_owned(),
        path: path.text()?.to_owned(),
        scopes: auth.need("Auth", "AuthorizationScopes")?.texts()?,
        line: properties.line,
    })
}

fn check_path(path: &Node) -> Result<()> {
    let Some(parts) = path.text()?.strip_prefix('/') else {
        return fault(path.line, "a path must start with /");
    };
    let known = |part: &str| match part.strip_prefix('{') {
        Some(name) => name.strip_suffix('}').is_some_and(|name| !name.is_empty() && !name.contains(['{', '}', '+'])),
        None => !part.is_empty() && !part.contains(['{', '}', '+']),
    };
    match parts.split('/').find(|part| !known(part)) {
        Some(part) => fault(path.line, format!("the local stack does not support the path segment `{part}`")),
        None => Ok(()),
    }
}
