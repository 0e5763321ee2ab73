//! Tests of events of created objects.
use super::*;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Inbox:
    Type: AWS::S3::Bucket
  Import:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/import
      EventInvokeConfig:
        MaximumRetryAttempts: 1
        DestinationConfig: {OnFailure: {Type: S3Bucket, Destination: !GetAtt Inbox.Arn}}
      Events:
        Created:
          Type: S3
          Properties:
            Bucket: !Ref Inbox
            Events: [s3:ObjectCreated:Put, s3:ObjectCreated:Copy]
            Filter: {S3Key: {Rules: [{Name: prefix, Value: in/}]}}
";

#[test]
fn reads_the_bucket_the_events_and_the_filter() {
    let template = read(TEMPLATE, &[]).unwrap();
    let lambda = &template.lambdas[0];
    assert_eq!((lambda.retries, lambda.failure_bucket.as_deref()), (1, Some("stack-inbox")));
    let [trigger] = &lambda.objects[..] else { panic!("{lambda:?}") };
    for (bucket, key, event, wanted) in [
        ("stack-inbox", "in/a", "Put", true),
        ("stack-inbox", "in/a", "CompleteMultipartUpload", false),
        ("stack-inbox", "out/a", "Put", false),
        ("other", "in/a", "Put", false),
    ] {
        assert_eq!(trigger.wants(bucket, key, event), wanted, "{bucket} {key} {event}");
    }
    let any = read(&TEMPLATE.replace("[s3:ObjectCreated:Put, s3:ObjectCreated:Copy]", "s3:ObjectCreated:*"), &[]);
    assert!(any.unwrap().lambdas[0].objects[0].wants("stack-inbox", "in/a", "CompleteMultipartUpload"));
}

#[test]
fn names_the_line_of_an_unsupported_event() {
    for (from, to, message) in [
        ("s3:ObjectCreated:Put", "s3:ObjectRemoved:*", "the local stack supports only events s3:ObjectCreated:*"),
        ("Name: prefix", "Name: middle", "the name of a rule must be prefix or suffix"),
        ("!Ref Inbox", "other", "there is no bucket other"),
        ("!GetAtt Inbox.Arn", "'arn:aws:s3:::other'", "there is no bucket other"),
        ("Type: S3Bucket", "Type: SQS", "the local stack supports only failure destinations of type S3Bucket"),
        ("Attempts: 1", "Attempts: 3", "MaximumRetryAttempts must be between 0 and 2"),
    ] {
        let error = read(&TEMPLATE.replace(from, to), &[]).unwrap_err();
        assert!(error.starts_with("template.yaml:") && error.ends_with(message), "{from}: {error}");
    }
}
