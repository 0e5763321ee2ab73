//! Resources of the lake: buckets, delivery streams and the data catalogue.
use super::node::{Entry, Node, Result, fault};
use crate::Prefix;

const BUCKET: &str = "AWS::S3::Bucket";
const BUCKET_MEANINGLESS: [&str; 8] = [
    "BucketEncryption",
    "CorsConfiguration",
    "LifecycleConfiguration",
    "MetricsConfigurations",
    "OwnershipControls",
    "PublicAccessBlockConfiguration",
    "Tags",
    "VersioningConfiguration",
];
const STREAM: &str = "AWS::KinesisFirehose::DeliveryStream";
const DESTINATION: &str = "ExtendedS3DestinationConfiguration";
const DESTINATION_READ: [&str; 4] = ["BucketARN", "Prefix", "ErrorOutputPrefix", "BufferingHints"];
const DESTINATION_MEANINGLESS: [&str; 6] = [
    "CloudWatchLoggingOptions",
    "CompressionFormat",
    "CustomTimeZone",
    "DataFormatConversionConfiguration",
    "EncryptionConfiguration",
    "RoleARN",
];

/// Resource types that have no effect in the local stack, with their known properties.
const MEANINGLESS: [(&str, &[&str]); 15] = [
    (
        "AWS::CloudWatch::Alarm",
        &[
            "AlarmActions",
            "AlarmDescription",
            "AlarmName",
            "ComparisonOperator",
            "DatapointsToAlarm",
            "Dimensions",
            "EvaluationPeriods",
            "ExtendedStatistic",
            "MetricName",
            "Metrics",
            "Namespace",
            "OKActions",
            "Period",
            "Statistic",
            "Tags",
            "Threshold",
            "TreatMissingData",
        ],
    ),
    ("AWS::CloudWatch::Dashboard", &["DashboardBody", "DashboardName"]),
    ("AWS::Logs::QueryDefinition", &["LogGroupNames", "Name", "QueryString"]),
    ("AWS::Logs::MetricFilter", &["FilterPattern", "LogGroupName", "MetricTransformations"]),
    ("AWS::S3::BucketPolicy", &["Bucket", "PolicyDocument"]),
    ("AWS::IAM::Role", &["AssumeRolePolicyDocument", "ManagedPolicyArns", "Path", "Policies", "RoleName", "Tags"]),
    ("AWS::IAM::Policy", &["PolicyDocument", "PolicyName", "Roles"]),
    ("AWS::IAM::ManagedPolicy", &["Description", "ManagedPolicyName", "Path", "PolicyDocument", "Roles"]),
    ("AWS::Glue::Database", &["CatalogId", "DatabaseInput"]),
    ("AWS::Glue::Table", &["CatalogId", "DatabaseName", "TableInput"]),
    (
        "AWS::Athena::WorkGroup",
        &["Name", "Description", "RecursiveDeleteOption", "State", "Tags", "WorkGroupConfiguration"],
    ),
    ("AWS::Athena::NamedQuery", &["Name", "Description", "Database", "QueryString", "WorkGroup"]),
    (
        "AWS::StepFunctions::StateMachine",
        &["Definition", "DefinitionSubstitutions", "RoleArn", "StateMachineName", "TracingConfiguration"],
    ),
    ("AWS::Scheduler::Schedule", &["Description", "FlexibleTimeWindow", "Name", "ScheduleExpression", "Target"]),
    ("AWS::Logs::LogStream", &["LogGroupName", "LogStreamName"]),
];

/// Delivery stream that writes to a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryStream {
    /// Physical name.
    pub name: String,
    /// Physical name of the bucket.
    pub bucket: String,
    /// Prefix of the object names.
    pub prefix: Prefix,
    /// Maximum size of an object in bytes.
    pub size: u64,
    /// Line in the template.
    pub line: usize,
}

impl DeliveryStream {
    pub(crate) fn read(name: String, stream: &Node) -> Result<Self> {
        stream.only(
            STREAM,
            &["DeliveryStreamName", DESTINATION],
            &["DeliveryStreamType", "DeliveryStreamEncryptionConfigurationInput", "Tags"],
        )?;
        let destination = stream.need(STREAM, DESTINATION)?;
        destination.only(DESTINATION, &DESTINATION_READ, &DESTINATION_MEANINGLESS)?;
        prefix(destination, "ErrorOutputPrefix", true)?;
        Ok(Self {
            name,
            bucket: bucket_of(destination.need(DESTINATION, "BucketARN")?)?,
            prefix: prefix(destination, "Prefix", false)?,
            size: size(destination)?,
            line: stream.line,
        })
    }
}

fn prefix(destination: &Node, key: &str, of_errors: bool) -> Result<Prefix> {
    let Some(node) = destination.get(key) else { return Ok(Prefix::default()) };
    Prefix::read(node.text()?, of_errors).or_else(|message| fault(node.line, message))
}

fn size(destination: &Node) -> Result<u64> {
    // Firehose's default.
    let mut megabytes = 5;
    if let Some(hints) = destination.get("BufferingHints") {
        // The local lake writes records immediately, so the buffering interval has no effect.
        hints.only("BufferingHints", &["SizeInMBs"], &["IntervalInSeconds"])?;
        if let Some(size) = hints.get("SizeInMBs") {
            megabytes = size.number()?;
            if !(1..=128).contains(&megabytes) {
                return fault(size.line, "SizeInMBs must be between 1 and 128");
            }
        }
    }
    Ok(megabytes * 1024 * 1024)
}

/// Returns the bucket name in an ARN.
pub(crate) fn bucket_of(arn: &Node) -> Result<String> {
    match arn.text()?.strip_prefix("arn:aws:s3:::") {
        Some(bucket) if !bucket.is_empty() && !bucket.contains('/') => Ok(bucket.to_owned()),
        _ => fault(arn.line, format!("`{}` is not the ARN of a bucket", arn.text()?)),
    }
}

/// Checks that all properties of a bucket are known.
pub(crate) fn check_bucket(bucket: &Node) -> Result<()> {
    bucket.only(BUCKET, &["BucketName"], &BUCKET_MEANINGLESS).map(drop)
}

/// Returns whether the resource type has no effect in the local stack. An unknown property of such
/// a resource is an error.
pub(crate) fn is_meaningless(kind: &str, properties: &Node) -> Result<bool> {
    let Some((kind, known)) = MEANINGLESS.iter().find(|(known, _)| *known == kind) else { return Ok(false) };
    properties.only(kind, &[], known)?;
    for Entry { key, line, .. } in properties.map()?.iter().filter(|entry| entry.key == "CatalogId") {
        // A catalogue of another account would not be part of the stack.
        if properties.get(key).map(Node::text).transpose()? != Some(super::ACCOUNT) {
            return fault(*line, "CatalogId must be the account of the stack");
        }
    }
    Ok(true)
}
