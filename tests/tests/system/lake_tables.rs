//! Compares the schemas of `crates/lake` with everything that is derived from them: the delivery
//! streams, Glue tables and event source mappings of the template, and the columns in docs/lake.md.
//! `make docs` writes them (docs/decisions/lake.md).

use lake::{Column, Presence, SCHEMAS, Schema};
use serde_json::json;
use std::{collections::BTreeMap, fmt::Write, fs};
use system_tests::{is_current, root, template};

const TEMPLATE: &str = "stacks/lake.yaml";
const BEGIN: &str = "  # The tables of the lake: written from crates/lake by make docs.\n";
const END: &str = "  # The end of the tables of the lake.\n";
/// The line before the permission for the delivery streams.
const PERMISSION: &str = "            # The delivery streams of the tables: written by make docs.\n";

/// The line before the sources of the state machine.
const SOURCES: &str = "        # The tables of each source: written by make docs.\n";

/// Maximum number of consumers of a stream (DynamoDB Developer Guide, "DynamoDB Streams and AWS
/// Lambda triggers").
const MAX_CONSUMERS: usize = 2;

/// The DynamoDB tables of the schemas, each with the types of its exported items.
fn sources() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut sources: Vec<(&str, Vec<&str>)> = Vec::new();
    for schema in &SCHEMAS {
        match sources.iter_mut().find(|(source, _)| *source == schema.source) {
            Some((_, types)) => types.extend(schema.types),
            None => sources.push((schema.source, schema.types.to_vec())),
        }
    }
    sources
}

/// The filter passes the exported items by their type. It also passes items without a type, which
/// the exporter recognises by their keys or puts into the failure bucket.
fn mapping(source: &str, types: &[&str]) -> String {
    let of = |image: &str| json!({"dynamodb": {image: {"Type": {"S": types}}}}).to_string();
    let none = json!({"Type": {"S": [{"exists": false}]}});
    let untyped = json!({"dynamodb": {"NewImage": none, "OldImage": none}}).to_string();
    format!(
        "  {source}Mapping:
    Type: AWS::Lambda::EventSourceMapping
    Condition: Exports{source}
    DependsOn: ReadStreams
    Properties:
      FunctionName: !Ref ExportChanges.Alias
      EventSourceArn: !Ref {source}StreamArn
      StartingPosition: TRIM_HORIZON
      BatchSize: 1000
      MaximumBatchingWindowInSeconds: !Ref ExportWindowSeconds
      ParallelizationFactor: 2
      FunctionResponseTypes: [ReportBatchItemFailures]
      BisectBatchOnFunctionError: true
      MaximumRetryAttempts: 100
      MaximumRecordAgeInSeconds: 82800 # A stream keeps records for a day.
      DestinationConfig: {{OnFailure: {{Destination: !GetAtt FailedChanges.Arn}}}}
      FilterCriteria:
        Filters:
          - {{Pattern: '{}'}}
          - {{Pattern: '{}'}}
          - {{Pattern: '{untyped}'}}

",
        of("NewImage"),
        of("OldImage"),
    )
}

fn delivery_stream(schema: &Schema) -> String {
    let (name, folder) = (schema.delivery(), schema.folder());
    format!(
        "  # Changes of {about}.
  {name}Stream:
    Type: AWS::KinesisFirehose::DeliveryStream
    Properties:
      DeliveryStreamName: !Sub ${{Name}}-{name}
      DeliveryStreamType: DirectPut
      DeliveryStreamEncryptionConfigurationInput: {{KeyType: !If [HasKey, CUSTOMER_MANAGED_CMK, AWS_OWNED_CMK], KeyARN: !If [HasKey, !Ref KmsKeyArn, !Ref AWS::NoValue]}}
      ExtendedS3DestinationConfiguration:
        BucketARN: !GetAtt Lake.Arn
        RoleARN: !GetAtt DeliveryRole.Arn
        Prefix: changes/{folder}/hour=!{{timestamp:yyyy-MM-dd-HH}}/
        ErrorOutputPrefix: errors/{folder}/!{{firehose:error-output-type}}/!{{timestamp:yyyy-MM-dd-HH}}/
        BufferingHints: {{IntervalInSeconds: !Ref DeliveryBufferSeconds, SizeInMBs: 128}}
        CompressionFormat: UNCOMPRESSED
        CloudWatchLoggingOptions: {{Enabled: true, LogGroupName: !Ref DeliveryLogs, LogStreamName: !Ref DeliveryLogStream}}
        DataFormatConversionConfiguration:
          Enabled: true
          InputFormatConfiguration: {{Deserializer: {{HiveJsonSerDe: {{}}}}}}
          OutputFormatConfiguration: {{Serializer: {{ParquetSerDe: {{Compression: SNAPPY}}}}}}
          SchemaConfiguration: {{CatalogId: !Ref AWS::AccountId, DatabaseName: !Ref LakeDatabase, TableName: !Ref {name}Table, Region: !Ref AWS::Region, RoleARN: !GetAtt DeliveryRole.Arn, VersionId: LATEST}}

",
        about = schema.about,
    )
}

/// The rows of exports, as JSON. A query names the export.
fn snapshot_table(schema: &Schema) -> String {
    let (name, folder) = (schema.delivery().replace("Changes", ""), schema.folder());
    let column = |column: Column| format!("{{Name: {}, Type: \"{}\"}}", column.name, column.kind.hive());
    let columns = schema.columns().into_iter().map(column).collect::<Vec<_>>().join(", ");
    format!(
        "  {name}SnapshotTable:
    Type: AWS::Glue::Table
    Properties:
      CatalogId: !Ref AWS::AccountId
      DatabaseName: !Ref LakeDatabase
      TableInput:
        Name: {items}_snapshot
        Description: Exports of {about}
        TableType: EXTERNAL_TABLE
        Parameters:
          EXTERNAL: \"TRUE\"
          classification: json
          projection.enabled: \"true\"
          projection.export.type: injected
          storage.location.template: !Sub s3://${{Lake}}/snapshots/{folder}/export=${{!export}}/
        PartitionKeys:
          - {{Name: export, Type: string, Comment: id of the export}}
        StorageDescriptor:
          Location: !Sub s3://${{Lake}}/snapshots/{folder}/
          InputFormat: org.apache.hadoop.mapred.TextInputFormat
          OutputFormat: org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat
          SerdeInfo:
            SerializationLibrary: org.apache.hive.hcatalog.data.JsonSerDe
          Columns: [{columns}]

",
        items = schema.items,
        about = schema.about,
    )
}

fn glue_table(schema: &Schema) -> String {
    let (name, folder) = (schema.delivery(), schema.folder());
    let mut text = format!(
        "  {name}Table:
    Type: AWS::Glue::Table
    Properties:
      CatalogId: !Ref AWS::AccountId
      DatabaseName: !Ref LakeDatabase
      TableInput:
        Name: {changes}
        Description: Changes of {about}. A change can occur more than once, and the rows have no order
        TableType: EXTERNAL_TABLE
        Parameters:
          EXTERNAL: \"TRUE\"
          classification: parquet
          projection.enabled: \"true\"
          projection.hour.type: date
          projection.hour.format: yyyy-MM-dd-HH
          projection.hour.interval: \"1\"
          projection.hour.interval.unit: HOURS
          projection.hour.range: !Sub NOW-${{LakeRetentionDays}}DAYS,NOW
          storage.location.template: !Sub s3://${{Lake}}/changes/{folder}/hour=${{!hour}}/
        PartitionKeys:
          - {{Name: hour, Type: string, Comment: \"hour of arrival in UTC, such as 2026-12-01-09\"}}
        StorageDescriptor:
          Location: !Sub s3://${{Lake}}/changes/{folder}/
          InputFormat: org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat
          OutputFormat: org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat
          SerdeInfo:
            SerializationLibrary: org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe
          Columns:
",
        changes = schema.changes,
        about = schema.about,
    );
    for Column { name, kind, note, .. } in schema.columns() {
        let _ = writeln!(text, "            - {{Name: {name}, Type: \"{}\", Comment: {note:?}}}", kind.hive());
    }
    text + "\n"
}

/// An alarm on the maximum of a metric of all delivery streams.
fn alarm(id: &str, description: &str, metric: &str, stat: &str, rest: &str) -> String {
    let names: Vec<String> = SCHEMAS.iter().map(Schema::delivery).collect();
    let mut text = format!(
        "  {id}:
    Type: AWS::CloudWatch::Alarm
    Properties:
      AlarmDescription: {description}
      Metrics:
        - {{Id: all, Expression: \"MAX(METRICS())\", ReturnData: true}}
"
    );
    for (place, name) in (1..).zip(names) {
        let _ = writeln!(
            text,
            "        - {{Id: m{place}, ReturnData: false, MetricStat: {{Period: 300, Stat: {stat}, Metric: {{Namespace: AWS/Firehose, MetricName: {metric}, \
             Dimensions: [{{Name: DeliveryStreamName, Value: !Ref {name}Stream}}]}}}}}}"
        );
    }
    text + rest
        + "      TreatMissingData: notBreaching\n      AlarmActions: !If [HasAlarmTopic, [!Ref AlarmTopicArn], !Ref AWS::NoValue]\n\n"
}

fn section() -> String {
    let mut text = String::new();
    for (source, types) in sources() {
        text += &mapping(source, &types);
    }
    for schema in &SCHEMAS {
        text += &delivery_stream(schema);
        text += &glue_table(schema);
        text += &snapshot_table(schema);
    }
    text += &alarm(
        "DeliveryLate",
        "Changes waited in a delivery stream for an hour",
        "DeliveryToS3.DataFreshness",
        "Maximum",
        "      EvaluationPeriods: 3\n      Threshold: 3600\n      ComparisonOperator: GreaterThanThreshold\n",
    );
    text + &alarm(
        "ConversionFails",
        "Rows did not match their Glue table, and were written to the lake under errors/",
        "FailedConversion.Records",
        "Sum",
        "      EvaluationPeriods: 1\n      Threshold: 1\n      ComparisonOperator: GreaterThanOrEqualToThreshold\n",
    )
}

/// The sources in `JSONata`, each with its stream and its tables.
fn sources_of_workflow() -> String {
    let of = |(source, _): &(&str, Vec<&str>)| {
        let tables = SCHEMAS.iter().filter(|schema| schema.source == *source);
        let items: Vec<String> = tables.map(|schema| format!("'{}'", schema.items)).collect();
        format!("{{'name': '{source}', 'stream': '${{{source}StreamArn}}', 'items': [{}]}}", items.join(", "))
    };
    let sources: Vec<String> = sources().iter().map(of).collect();
    format!("        Sources: !Sub \"[{}]\"\n", sources.join(", "))
}

fn permission() -> String {
    let arns: Vec<String> = SCHEMAS.iter().map(|schema| format!("!GetAtt {}Stream.Arn", schema.delivery())).collect();
    format!("            - {{Effect: Allow, Action: [firehose:PutRecordBatch], Resource: [{}]}}\n", arns.join(", "))
}

#[test]
fn template_has_the_tables_of_the_schemas() {
    let text = fs::read_to_string(root().join(TEMPLATE)).expect("the template");
    let (before, rest) = text.split_once(BEGIN).expect("the begin marker");
    let (_, after) = rest.split_once(END).expect("the end marker");
    let (start, rest) = before.split_once(PERMISSION).expect("the marker of the permission");
    let (after, last) = after.split_once(SOURCES).expect("the marker of the sources");
    let (_, last) = last.split_once('\n').expect("the sources");
    let (_, middle) = rest.split_once('\n').expect("the permission");
    let parts = [
        start,
        PERMISSION,
        &permission(),
        middle,
        BEGIN,
        &section(),
        END,
        after,
        SOURCES,
        &sources_of_workflow(),
        last,
    ];
    is_current(TEMPLATE, &parts.concat());
}

#[test]
fn page_has_the_columns_of_the_schemas() {
    let path = "docs/lake.md";
    let page = fs::read_to_string(root().join(path)).expect("the page");
    let (begin, end) = ("<!-- written by make docs -->\n", "<!-- end -->\n");
    let (before, rest) = page.split_once(begin).expect("the begin marker");
    let (_, after) = rest.split_once(end).expect("the end marker");
    let mut text = String::new();
    for schema in &SCHEMAS {
        let _ = write!(
            text,
            "\n### {}\n\nChanges of {}, from the stream of `{}`. Key: `{}`. Current items: `{}`.\n\n\
             | column | type | rows | description |\n| --- | --- | --- | --- |\n",
            schema.changes,
            schema.about,
            schema.source,
            schema.key.join("`, `"),
            schema.items,
        );
        for Column { name, kind, presence, note } in schema.columns() {
            let rows = match presence {
                Presence::Always => "all",
                Presence::State | Presence::Tracked => "if the item exists",
                Presence::Old => "if it existed before",
            };
            let _ = writeln!(text, "| `{name}` | `{}` | {rows} | {note} |", kind.hive());
        }
    }
    is_current(path, &[before, begin, &text, "\n", end, after].concat());
}

/// The columns that were ever declared. Older files contain them, so they must remain.
#[test]
fn columns_are_never_removed_or_retyped() {
    type Released = BTreeMap<String, BTreeMap<String, String>>;
    let path = "analytics/released.json";
    let text = fs::read_to_string(root().join(path)).unwrap_or_else(|_| "{}".to_owned());
    let released: Released = serde_json::from_str(&text).expect("the released columns");
    let mut current: Released = SCHEMAS
        .iter()
        .map(|schema| {
            let columns = schema.columns().into_iter().map(|column| (column.name, column.kind.hive().to_owned()));
            (schema.changes.to_owned(), columns.collect())
        })
        .collect();
    for (table, columns) in &released {
        for (name, kind) in columns {
            let found = current.get(table).and_then(|columns| columns.get(name));
            assert_eq!(found, Some(kind), "{table}.{name} was released, and must keep its type");
        }
    }
    for (table, columns) in released {
        current.entry(table).or_default().extend(columns);
    }
    is_current(path, &(serde_json::to_string_pretty(&current).expect("JSON") + "\n"));
}

#[test]
fn names_of_tables_and_columns_are_unique() {
    for schema in &SCHEMAS {
        let mut names: Vec<String> = schema.columns().into_iter().map(|column| column.name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{}: a column is declared twice", schema.changes);
        assert!(schema.key.iter().all(|key| names.iter().any(|name| name == key)), "{}: the key", schema.changes);
    }
    let mut names: Vec<_> = SCHEMAS.iter().flat_map(|schema| [schema.changes, schema.items]).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 2 * SCHEMAS.len());
}

#[test]
fn no_stream_has_more_than_two_consumers() {
    let template = template();
    let mut consumers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for lambda in &template.lambdas {
        for mapping in &lambda.mappings {
            consumers.entry(&mapping.table).or_default().push(&lambda.name);
        }
    }
    assert!(consumers.len() >= sources().len());
    let busy: Vec<_> = consumers.iter().filter(|(_, functions)| functions.len() > MAX_CONSUMERS).collect();
    assert!(busy.is_empty(), "{busy:?}");
}
