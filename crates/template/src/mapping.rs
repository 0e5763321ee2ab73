//! Event source mappings of table streams to functions.
use std::{fmt::Display, str::FromStr, time::Duration};

use super::filter::Pattern;
use super::node::{Node, Result, fault};
use super::table::STREAM_LABEL;

const WHAT: &str = "a DynamoDB event";
const RESOURCE: &str = "AWS::Lambda::EventSourceMapping";
const READ: [&str; 11] = [
    "StartingPosition",
    "BatchSize",
    "MaximumBatchingWindowInSeconds",
    "ParallelizationFactor",
    "FunctionResponseTypes",
    "BisectBatchOnFunctionError",
    "MaximumRetryAttempts",
    "MaximumRecordAgeInSeconds",
    "FilterCriteria",
    "DestinationConfig",
    "Enabled",
];

/// Starting position of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// The oldest record in the stream.
    TrimHorizon,
    /// The first record after the start of the stack.
    Latest,
}

/// Event source mapping of a table's stream to a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Mapping {
    /// Name of the event or resource in the template.
    pub name: String,
    /// Physical name of the table.
    pub table: String,
    /// Starting position.
    pub start: Start,
    /// Maximum number of records in a batch.
    pub batch_size: usize,
    /// Batching window.
    pub window: Duration,
    /// Maximum number of concurrent batches of a shard: `ParallelizationFactor`.
    pub lanes: usize,
    /// Whether the function returns batch item failures.
    pub reports_failures: bool,
    /// Whether a batch is split into halves if the function fails.
    pub bisects: bool,
    /// Maximum number of retries. `None` means no limit other than `record_age`.
    pub retries: Option<u32>,
    /// Maximum age of a record. `None` means no limit.
    pub record_age: Option<Duration>,
    /// Filter patterns. A record must match one of them. An empty list matches all records.
    pub filters: Vec<Pattern>,
    /// Bucket of the failure destination.
    pub failure_bucket: Option<String>,
    /// Whether the mapping is enabled.
    pub enabled: bool,
    /// Line in the template.
    pub line: usize,
}

impl Mapping {
    pub(crate) fn read(name: &str, event: &Node) -> Result<Self> {
        event.only(WHAT, &[&READ[..], &["Stream"]].concat(), &[])?;
        Self::of(name, event, event.need(WHAT, "Stream")?, failure_bucket(event, &["Type", "Destination"])?)
    }

    /// Reads a mapping that is a resource of its own. Unlike an event of a function, it can have a
    /// condition. Returns the logical id of its function as well.
    pub(crate) fn read_resource(id: &str, properties: &Node) -> Result<(String, Self)> {
        properties.only(RESOURCE, &[&READ[..], &["EventSourceArn", "FunctionName"]].concat(), &[])?;
        let function = properties.need(RESOURCE, "FunctionName")?.text()?.to_owned();
        let bucket = failure_bucket(properties, &["Destination"])?;
        Ok((function, Self::of(id, properties, properties.need(RESOURCE, "EventSourceArn")?, bucket)?))
    }

    fn of(name: &str, event: &Node, stream: &Node, failure_bucket: Option<String>) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            table: table(stream)?,
            start: start(event.need(WHAT, "StartingPosition")?)?,
            batch_size: between(event, "BatchSize", 1, 10_000)?.unwrap_or(100),
            window: Duration::from_secs(between(event, "MaximumBatchingWindowInSeconds", 0, 300)?.unwrap_or(0)),
            lanes: between(event, "ParallelizationFactor", 1, 10)?.unwrap_or(1),
            reports_failures: reports_failures(event)?,
            bisects: flag(event, "BisectBatchOnFunctionError")?.unwrap_or(false),
            retries: bounded(event, "MaximumRetryAttempts", 0, 10_000)?,
            record_age: bounded(event, "MaximumRecordAgeInSeconds", 60, 604_800)?.map(Duration::from_secs),
            filters: filters(event)?,
            failure_bucket,
            enabled: flag(event, "Enabled")?.unwrap_or(true),
            line: event.line,
        })
    }

    /// Whether a record passes the filters.
    pub fn wants(&self, record: &serde_json::Value) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|pattern| pattern.matches(record))
    }
}

trait Number: FromStr + PartialOrd + Display + Copy {}
impl<T: FromStr + PartialOrd + Display + Copy> Number for T {}

fn table(stream: &Node) -> Result<String> {
    let arn = stream.text()?;
    let rest = arn.split_once(":table/").and_then(|(_, rest)| rest.split_once("/stream/"));
    match rest {
        Some((table, label)) if label == STREAM_LABEL => Ok(table.to_owned()),
        _ => fault(stream.line, format!("`{arn}` is not the ARN of a table's stream; use !GetAtt Table.StreamArn")),
    }
}

fn start(position: &Node) -> Result<Start> {
    match position.text()? {
        "TRIM_HORIZON" => Ok(Start::TrimHorizon),
        "LATEST" => Ok(Start::Latest),
        _ => fault(position.line, "StartingPosition must be TRIM_HORIZON or LATEST"),
    }
}

fn between<T: Number>(event: &Node, key: &str, low: T, high: T) -> Result<Option<T>> {
    let Some(node) = event.get(key) else { return Ok(None) };
    let number: T = node.number()?;
    if number < low || number > high {
        return fault(node.line, format!("{key} must be between {low} and {high}"));
    }
    Ok(Some(number))
}

/// Reads a number in a range. Returns `None` for -1, which means no limit.
fn bounded<T: Number>(event: &Node, key: &str, low: T, high: T) -> Result<Option<T>> {
    match event.get(key).map(Node::text).transpose()? {
        Some("-1") => Ok(None),
        _ => between(event, key, low, high),
    }
}

fn flag(event: &Node, key: &str) -> Result<Option<bool>> {
    event.get(key).map(Node::flag).transpose()
}

fn reports_failures(event: &Node) -> Result<bool> {
    let Some(types) = event.get("FunctionResponseTypes") else { return Ok(false) };
    match types.texts()?.as_slice() {
        [] => Ok(false),
        [only] if only == "ReportBatchItemFailures" => Ok(true),
        _ => fault(types.line, "the only supported response type is ReportBatchItemFailures"),
    }
}

fn filters(event: &Node) -> Result<Vec<Pattern>> {
    let Some(criteria) = event.get("FilterCriteria") else { return Ok(Vec::new()) };
    criteria.only("FilterCriteria", &["Filters"], &[])?;
    let filters = criteria.need("FilterCriteria", "Filters")?;
    if filters.list()?.len() > 5 {
        return fault(filters.line, "a mapping must have at most five filters");
    }
    let read = |filter: &Node| {
        let pattern = filter.only("a filter", &["Pattern"], &[])?.need("a filter", "Pattern")?;
        Pattern::read(pattern.text()?).or_else(|message| fault(pattern.line, message))
    };
    filters.list()?.iter().map(read).collect()
}

/// Reads the failure destination. Only SAM has a property for its type.
fn failure_bucket(event: &Node, known: &[&str]) -> Result<Option<String>> {
    let Some(config) = event.get("DestinationConfig") else { return Ok(None) };
    config.only("DestinationConfig", &["OnFailure"], &[])?;
    let on_failure = config.need("DestinationConfig", "OnFailure")?;
    on_failure.only("OnFailure", known, &[])?;
    if let Some(kind) = on_failure.get("Type")
        && kind.text()? != "S3"
    {
        return fault(kind.line, "the local stack supports only failure destinations of type S3");
    }
    let arn = on_failure.need("OnFailure", "Destination")?;
    super::lake::bucket_of(arn).map(Some)
}
