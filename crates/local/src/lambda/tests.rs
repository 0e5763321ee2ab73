use std::{collections::BTreeMap, path::Path};

use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Config, Credentials, Region, StalledStreamProtectionConfig, retry::RetryConfig},
};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn},
    orchestrator::{HttpRequest, HttpResponse},
};
use hostile::{Hostile, Rates};
use http::StatusCode;
use template::Template;
use tokio::time::Instant;

use super::*;

const TEMPLATE: &str = "\
Transform: AWS::Serverless-2016-10-31
Resources:
  Writer:
    Type: AWS::Serverless::Function
    Properties: {CodeUri: target/lambda/writer, Timeout: 10}
";

/// DynamoDB that accepts every call.
#[derive(Debug)]
struct Accepting;

impl HttpConnector for Accepting {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::ready(Ok(HttpResponse::new(StatusCode::OK.into(), "{}".into())))
    }
}

/// Invokes a function that makes two calls. Returns the error type and the duration.
async fn invoke(rates: Rates) -> (Option<String>, Duration) {
    let hostile = Hostile::new(1, rates, &[], None).unwrap();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"))
        .endpoint_url("http://127.0.0.1:1")
        .retry_config(RetryConfig::disabled())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .http_client(hostile.around(http_client_fn(|_, _| SharedHttpConnector::new(Accepting))));
    let client = Client::from_conf(config.build());
    let handler: Handler = Arc::new(move |_, _| {
        let client = client.clone();
        Box::pin(async move {
            for _ in 0..2 {
                client.list_tables().send().await.unwrap();
            }
            Invocation { answer: Ok(Value::Null), usage: Usage::default() }
        })
    });
    let template = Template::read(TEMPLATE, Path::new("template.yaml"), "local", &BTreeMap::default()).unwrap();
    let spec = template.lambdas.into_iter().next().unwrap();
    let start = Instant::now();
    let outcome = Lambda::new(spec, handler, None).can_fail(true).invoke(Value::Null).await;
    (outcome.answer.err().map(|failure| failure.kind), start.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_killed_or_frozen_function_fails_as_in_lambda() {
    let calm = Rates::default();
    assert_eq!(invoke(calm).await, (None, Duration::ZERO));
    assert_eq!(invoke(Rates { kill: 1.0, ..calm }).await.0.as_deref(), Some("Runtime.ExitError"));
    let frozen = invoke(Rates { freeze: 1.0, ..calm }).await;
    assert_eq!((frozen.0.as_deref(), frozen.1), (Some("Sandbox.Timedout"), Duration::from_secs(10)));
}
