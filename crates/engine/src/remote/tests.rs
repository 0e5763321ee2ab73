use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};
use template::Template;
use uuid::Uuid;

use super::{Remote, Stream, wire::Wire};
use crate::{
    StartError,
    server::{Endpoint, Origins, PATIENCE, Port, Received, Refusal, Server},
    store::{Position, Store},
};

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Cart:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      AttributeDefinitions: [{AttributeName: PK, AttributeType: S}]
      KeySchema: [{AttributeName: PK, KeyType: HASH}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
";

#[tokio::test]
async fn fails_to_start_if_nothing_listens_at_the_endpoint() {
    let gone = Port::bind(0).await.unwrap();
    let url = format!("http://{}", gone.address);
    drop(gone);
    let template = Template::read(TEMPLATE, Path::new("template.yaml"), "local", &BTreeMap::new()).unwrap();
    let store = Store::open(None, &[]).unwrap();
    let started = Remote::start(&url, &template.tables, &store).await;
    assert!(matches!(started, Err(StartError::Table(table, _)) if table == "local-Cart"));
}

/// Stream of another DynamoDB. Each response makes all earlier iterators invalid, as 15 minutes do.
#[derive(Default)]
struct Forgetful {
    records: Mutex<Vec<Value>>,
    valid: Mutex<String>,
}

impl Forgetful {
    fn put(&self, number: usize) {
        let change = json!({
            "SequenceNumber": (1000 + number).to_string(),
            "ApproximateCreationDateTime": 1,
            "Keys": {},
        });
        self.records.lock().unwrap().push(json!({"eventName": "INSERT", "eventID": "1", "dynamodb": change}));
    }

    fn iterator(&self, index: usize) -> String {
        let mut valid = self.valid.lock().unwrap();
        *valid = format!("{index}-{}", Uuid::new_v4());
        valid.clone()
    }

    fn act(&self, action: &str, body: &Value) -> Result<Value, &'static str> {
        match action {
            "DescribeStream" => Ok(json!({"StreamDescription": {"Shards": [{"ShardId": "shard"}]}})),
            "GetShardIterator" => {
                let after = body["SequenceNumber"].as_str().map_or(0, |last| last.parse::<usize>().unwrap() - 999);
                Ok(json!({"ShardIterator": self.iterator(after)}))
            }
            _ => {
                let iterator = body["ShardIterator"].as_str().unwrap();
                if *self.valid.lock().unwrap() != iterator {
                    return Err("com.amazonaws.dynamodb.v20120810#ExpiredIteratorException");
                }
                let records = self.records.lock().unwrap().clone();
                let next = self.iterator(records.len());
                let index: usize = iterator.split('-').next().unwrap().parse().unwrap();
                Ok(json!({"Records": records[index..], "NextShardIterator": next}))
            }
        }
    }
}

impl Endpoint for Forgetful {
    const MAX_BODY: usize = 1000;
    const ORIGINS: Origins = Origins::None;

    async fn answer(&self, request: Received) -> Response {
        let action = super::target(&request.parts.headers).rsplit('.').next().unwrap_or_default();
        let body = serde_json::from_slice(&request.body).unwrap();
        match self.act(action, &body) {
            Ok(body) => body.to_string().into_response(),
            Err(kind) => (StatusCode::BAD_REQUEST, json!({"__type": kind}).to_string()).into_response(),
        }
    }

    fn refuse(refusal: Refusal) -> Response {
        refusal.status().into_response()
    }
}

#[tokio::test]
async fn an_idle_table_keeps_its_stream() {
    let (port, other) = (Port::bind(0).await.unwrap(), Arc::new(Forgetful::default()));
    let wire = Wire::new(&format!("http://{}", port.address)).unwrap();
    let server = Server::start(port, Arc::clone(&other), PATIENCE);
    let store = Store::open(None, &[]).unwrap();
    let stream = Stream::open(&wire, "arn", "T", store.clone()).await.unwrap();
    let mut count = 0;
    for (records, are_forgotten) in [(0, false), (1, false), (0, false), (0, false), (2, false), (0, true), (1, true)] {
        for _ in 0..records {
            other.put(count);
            count += 1;
        }
        if are_forgotten {
            other.iterator(0);
        }
        stream.read(&wire).await.unwrap();
        let copied = store.count_after("T", Position::default()).unwrap();
        assert_eq!(usize::try_from(copied).unwrap(), count);
    }
    server.stop().await;
}
