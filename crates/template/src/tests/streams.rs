//! Tests of streams, delivery streams and buckets.
use super::*;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Cart:
    Type: AWS::DynamoDB::Table
    Properties:
      TableName: !Sub ${AWS::StackName}-Cart
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
      TimeToLiveSpecification: {AttributeName: ExpiresAt, Enabled: true}
  Plain:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
  Lake:
    Type: AWS::S3::Bucket
  Role:
    Type: AWS::IAM::Role
    Properties: {AssumeRolePolicyDocument: {}, Policies: []}
  Logs:
    Type: AWS::Logs::LogGroup
  LogStream:
    Type: AWS::Logs::LogStream
    Properties: {LogGroupName: !Ref Logs, LogStreamName: delivery}
  Database:
    Type: AWS::Glue::Database
    Properties: {CatalogId: !Ref AWS::AccountId, DatabaseInput: {Name: lake}}
  Changes:
    Type: AWS::Glue::Table
    Properties: {CatalogId: !Ref AWS::AccountId, DatabaseName: !Ref Database, TableInput: {Name: changes}}
  WorkGroup:
    Type: AWS::Athena::WorkGroup
    Properties: {Name: bi}
  Query:
    Type: AWS::Athena::NamedQuery
    Properties: {Database: !Ref Database, QueryString: SELECT 1, WorkGroup: !Ref WorkGroup}
  Policy:
    Type: AWS::S3::BucketPolicy
    Properties: {Bucket: !Ref Lake, PolicyDocument: {}}
  Delivery:
    Type: AWS::KinesisFirehose::DeliveryStream
    Properties:
      DeliveryStreamType: DirectPut
      ExtendedS3DestinationConfiguration:
        BucketARN: !GetAtt Lake.Arn
        RoleARN: !GetAtt Role.Arn
        Prefix: 'changes/hour=!{timestamp:yyyy-MM-dd-HH}/'
        ErrorOutputPrefix: 'errors/!{firehose:error-output-type}/'
        BufferingHints: {IntervalInSeconds: 60, SizeInMBs: 64}
  Export:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/export
      Events:
        Changes:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Cart.StreamArn
            StartingPosition: TRIM_HORIZON
            BatchSize: 1000
            MaximumBatchingWindowInSeconds: 5
            FunctionResponseTypes: [ReportBatchItemFailures]
            BisectBatchOnFunctionError: true
            MaximumRetryAttempts: 3
            MaximumRecordAgeInSeconds: 3600
            ParallelizationFactor: 10
            FilterCriteria:
              Filters:
                - Pattern: '{\"dynamodb\": {\"Keys\": {\"PK\": {\"S\": [{\"prefix\": \"A\"}]}}}}'
            DestinationConfig:
              OnFailure: {Type: S3, Destination: !GetAtt Lake.Arn}
";

#[test]
fn reads_streams_mappings_and_delivery_streams() {
    let template = read(TEMPLATE, &[]).unwrap();
    let cart = &template.tables[0];
    assert_eq!(cart.expires_by.as_deref(), Some("ExpiresAt"));
    assert_eq!((&template.tables[1].stream, &template.tables[1].expires_by), (&None, &None));
    let delivery = &template.delivery_streams[0];
    assert_eq!((delivery.name.as_str(), delivery.bucket.as_str()), ("stack-Delivery", "stack-lake"));
    assert_eq!(delivery.size, 64 * 1024 * 1024);
    let mapping = &template.lambdas[0].mappings[0];
    assert_eq!((mapping.name.as_str(), mapping.table.as_str()), ("Changes", "stack-Cart"));
    assert_eq!((mapping.start, mapping.batch_size, mapping.window), (Start::TrimHorizon, 1000, Duration::from_secs(5)));
    assert!(mapping.reports_failures && mapping.bisects && mapping.enabled && mapping.lanes == 10);
    assert_eq!((mapping.retries, mapping.record_age), (Some(3), Some(Duration::from_hours(1))));
    assert_eq!(mapping.failure_bucket.as_deref(), Some("stack-lake"));
    let record = |key: &str| serde_json::json!({"dynamodb": {"Keys": {"PK": {"S": key}}}});
    assert!(mapping.wants(&record("A1")) && !mapping.wants(&record("B1")));
}

#[test]
fn applies_the_defaults_of_a_mapping() {
    let start = TEMPLATE.find("            BatchSize").unwrap();
    let template = read(&TEMPLATE[..start], &[]).unwrap();
    let mapping = &template.lambdas[0].mappings[0];
    assert_eq!((mapping.batch_size, mapping.window, mapping.lanes), (100, Duration::ZERO, 1));
    assert!(!mapping.reports_failures && !mapping.bisects && mapping.enabled);
    assert_eq!((mapping.retries, mapping.record_age, &mapping.failure_bucket), (None, None, &None));
    assert!(mapping.wants(&serde_json::json!({})));
    let endless = TEMPLATE.replace("Attempts: 3", "Attempts: -1").replace("Seconds: 3600", "Seconds: -1");
    let mapping = &read(&endless, &[]).unwrap().lambdas[0].mappings[0];
    assert_eq!((mapping.retries, mapping.record_age), (None, None));
}

#[test]
fn rejects_unsupported_stream_settings_with_their_line() {
    let types = "StreamViewType must be one of KEYS_ONLY, NEW_IMAGE, OLD_IMAGE, NEW_AND_OLD_IMAGES";
    let table = "`arn:aws:dynamodb:us-east-1:000000000000:table/stack-Cart` is not the ARN of a";
    let (no_stream, no_bucket) =
        (format!("{table} table's stream; use !GetAtt Table.StreamArn"), format!("{table} bucket"));
    let unsupported = |what: &str| format!("the local stack does not support {what}");
    let window = unsupported("TumblingWindowInSeconds in a DynamoDB event");
    let parameters = unsupported("Parameters in AWS::Athena::NamedQuery");
    let source = unsupported("KinesisStreamSourceConfiguration in AWS::KinesisFirehose::DeliveryStream");
    let age = "MaximumRecordAgeInSeconds must be between 60 and 604800";
    for (from, to, message) in [
        ("NEW_AND_OLD_IMAGES", "EVERYTHING", types),
        ("{StreamViewType: NEW_AND_OLD_IMAGES}", "{}", "StreamSpecification needs StreamViewType"),
        ("Enabled: true", "Enabled: yes", "`yes` is neither true nor false"),
        ("!GetAtt Cart.StreamArn", "!GetAtt Plain.StreamArn", "Plain has no StreamSpecification"),
        ("!GetAtt Cart.StreamArn", "!GetAtt Cart.Arn", &no_stream),
        ("TRIM_HORIZON", "AT_TIMESTAMP", "StartingPosition must be TRIM_HORIZON or LATEST"),
        ("BatchSize: 1000", "BatchSize: 10001", "BatchSize must be between 1 and 10000"),
        ("WindowInSeconds: 5", "WindowInSeconds: 301", "MaximumBatchingWindowInSeconds must be between 0 and 300"),
        ("[ReportBatchItemFailures]", "[Others]", "the only supported response type is ReportBatchItemFailures"),
        ("MaximumRetryAttempts: 3", "MaximumRetryAttempts: many", "`many` is not a valid number"),
        ("MaximumRecordAgeInSeconds: 3600", "MaximumRecordAgeInSeconds: 59", age),
        ("Factor: 10", "Factor: 11", "ParallelizationFactor must be between 1 and 10"),
        ("ParallelizationFactor: 10", "TumblingWindowInSeconds: 10", &window),
        ("\"prefix\"", "\"wildcard\"", &unsupported("the filter operator wildcard")),
        ("Type: S3, Dest", "Type: SQS, Dest", "the local stack supports only failure destinations of type S3"),
        ("Destination: !GetAtt Lake.Arn", "Destination: !GetAtt Cart.Arn", &no_bucket),
        ("SizeInMBs: 64", "SizeInMBs: 129", "SizeInMBs must be between 1 and 128"),
        ("{timestamp:yyyy-MM-dd-HH}", "{timestamp:EEE}", &unsupported("EEE in a timestamp")),
        ("CatalogId: !Ref AWS::AccountId, Data", "CatalogId: 1, Data", "CatalogId must be the account of the stack"),
        ("QueryString:", "Parameters:", &parameters),
        ("DeliveryStreamType: DirectPut", "KinesisStreamSourceConfiguration: {}", &source),
    ] {
        let line = TEMPLATE.lines().position(|line| line.contains(from)).unwrap() + 1;
        let error = read(&TEMPLATE.replacen(from, to, 1), &[]).unwrap_err();
        assert_eq!(error, format!("template.yaml:{line}: {message}"), "{from} -> {to}");
    }
}

#[test]
fn rejects_a_bucket_outside_the_stack() {
    for (member, reported_at) in [("BucketARN", "DeliveryStreamType"), ("Destination", "Stream: !GetAtt")] {
        let (from, to) = (format!("{member}: !GetAtt Lake.Arn"), format!("{member}: arn:aws:s3:::another"));
        let line = TEMPLATE.lines().position(|line| line.contains(reported_at)).unwrap() + 1;
        let error = read(&TEMPLATE.replacen(&from, &to, 1), &[]).unwrap_err();
        assert_eq!(error, format!("template.yaml:{line}: there is no bucket another"));
    }
}
