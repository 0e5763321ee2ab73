use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;
use function::Invocation;
use serde_json::{Value, json};
use table::Usage;
use tokio::{sync::mpsc, time::timeout};

use crate::{
    Stack, StartError,
    engine::{self, Engine},
    lambda::{Bind, Handler},
    server::Port,
};

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Timeout: 1}}
Resources:
  Cart:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Export:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: target/lambda/export
      Events:
        Changes:
          Type: DynamoDB
          Properties: {Stream: !GetAtt Cart.StreamArn, StartingPosition: TRIM_HORIZON, BatchSize: 1}
";

/// Returns a function that sends each event to the channel.
fn export(events: mpsc::UnboundedSender<Value>) -> Vec<(String, Bind)> {
    let handler: Handler = Arc::new(move |event, _| {
        events.send(event).unwrap();
        Box::pin(async { Invocation { answer: Ok(Value::Null), usage: Usage::default() } })
    });
    let bind: Bind = Box::new(move |_, _| Ok(Arc::clone(&handler)));
    vec![("export".to_owned(), bind)]
}

#[tokio::test]
async fn creates_the_tables_and_delivers_their_stream_records() {
    let other = Engine::start(Port::bind(0).await.unwrap(), None, None, &[]).await.unwrap();
    let (events, mut delivered) = mpsc::unbounded_channel();
    let stack = Stack::of_text(TEMPLATE).bound(export(events)).dynamodb(&other.url).start().await.unwrap();
    let client = stack.client().unwrap();
    for id in ["1", "2", "3"] {
        let put = client.put_item().table_name("local-Cart").item("PK", AttributeValue::S(id.into()));
        put.send().await.unwrap();
        let event = timeout(Duration::from_mins(1), delivered.recv()).await.unwrap().unwrap();
        let record = &event["Records"][0];
        let told = (&record["eventName"], &record["dynamodb"]["NewImage"]);
        assert_eq!(told, (&json!("INSERT"), &json!({"PK": {"S": id}})), "{event}");
    }
    let there = engine::client(&engine::config().unwrap(), &other.url);
    assert_eq!(there.scan().table_name("local-Cart").send().await.unwrap().count(), 3);
    stack.stop().await;
    other.stop().await;
}

#[tokio::test]
async fn fails_to_start_if_nothing_listens_at_the_endpoint() {
    let gone = Port::bind(0).await.unwrap();
    let url = format!("http://{}", gone.address);
    drop(gone);
    let (events, _) = mpsc::unbounded_channel();
    let started = Stack::of_text(TEMPLATE).bound(export(events)).dynamodb(url).start().await;
    assert!(matches!(started, Err(StartError::Table(table, _)) if table == "local-Cart"));
}
