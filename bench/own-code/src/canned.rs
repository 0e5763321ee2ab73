//! A fake DynamoDB that returns recorded responses and records requests.

use aws_sdk_dynamodb::{
    Client,
    config::{
        BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RuntimeComponents,
        interceptors::BeforeSerializationInterceptorContextRef,
    },
    error::BoxError,
    operation::{
        batch_get_item::BatchGetItemInput, put_item::PutItemInput, query::QueryInput,
        transact_write_items::TransactWriteItemsInput,
    },
};
use aws_smithy_runtime_api::{
    client::{
        http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
        orchestrator::{HttpRequest, HttpResponse},
        runtime_components::RuntimeComponents as Components,
    },
    http::StatusCode,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A request to DynamoDB.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Put(PutItemInput),
    Query(QueryInput),
    BatchGet(BatchGetItemInput),
    Transact(TransactWriteItemsInput),
}

/// The responses to the DynamoDB calls of a function, by action.
#[derive(Debug, Clone)]
pub(crate) struct Canned(Arc<HashMap<String, Vec<u8>>>);

impl Canned {
    pub(crate) fn of(function: &str) -> Self {
        let all: HashMap<String, HashMap<String, Value>> =
            serde_json::from_str(include_str!("../answers.json")).expect("answers");
        let answers = all[function].iter().map(|(action, answer)| (action.clone(), answer.to_string().into_bytes()));
        Self(Arc::new(answers.collect()))
    }

    pub(crate) fn client(&self) -> Client {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "canned"))
            .http_client(self.clone());
        Client::from_conf(config.build())
    }
}

/// Records the DynamoDB requests of a client.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Input>>>);

impl Recorder {
    pub(crate) fn listen_to(&self, client: &Client) -> Client {
        Client::from_conf(client.config().to_builder().interceptor(self.clone()).build())
    }

    /// Returns the recorded requests.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Intercept for Recorder {
    fn name(&self) -> &'static str {
        "Recorder"
    }

    fn read_before_serialization(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let input = context.input();
        let known = [
            input.downcast_ref().cloned().map(Input::Put),
            input.downcast_ref().cloned().map(Input::Query),
            input.downcast_ref().cloned().map(Input::BatchGet),
            input.downcast_ref().cloned().map(Input::Transact),
        ];
        let input = known.into_iter().flatten().next().ok_or("this action cannot be repeated")?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(input);
        Ok(())
    }
}

/// Repeats the recorded calls.
pub(crate) async fn repeat(client: &Client, inputs: &[Input]) {
    for input in inputs {
        match input.clone() {
            Input::Put(put) => {
                let call = client.put_item().set_table_name(put.table_name).set_item(put.item);
                let call = call.set_condition_expression(put.condition_expression);
                let call = call.set_expression_attribute_names(put.expression_attribute_names);
                let call = call.set_expression_attribute_values(put.expression_attribute_values);
                let call = call.set_return_consumed_capacity(put.return_consumed_capacity);
                let failure = put.return_values_on_condition_check_failure;
                call.set_return_values_on_condition_check_failure(failure).send().await.expect("an answer");
            }
            Input::Query(query) => {
                let call = client.query().set_table_name(query.table_name).set_index_name(query.index_name);
                let call = call.set_key_condition_expression(query.key_condition_expression);
                let call = call.set_filter_expression(query.filter_expression);
                let call = call.set_expression_attribute_names(query.expression_attribute_names);
                let call = call.set_expression_attribute_values(query.expression_attribute_values);
                let call = call.set_consistent_read(query.consistent_read).set_limit(query.limit);
                let call = call.set_return_consumed_capacity(query.return_consumed_capacity);
                call.set_scan_index_forward(query.scan_index_forward).send().await.expect("an answer");
            }
            Input::BatchGet(get) => {
                let call = client.batch_get_item().set_request_items(get.request_items);
                call.set_return_consumed_capacity(get.return_consumed_capacity).send().await.expect("an answer");
            }
            Input::Transact(transaction) => {
                let call = client.transact_write_items().set_transact_items(transaction.transact_items);
                let call = call.set_client_request_token(transaction.client_request_token);
                let capacity = transaction.return_consumed_capacity;
                call.set_return_consumed_capacity(capacity).send().await.expect("an answer");
            }
        }
    }
}

impl HttpClient for Canned {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &Components) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Canned {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").and_then(|target| target.split('.').next_back());
        let answer = self.0[target.expect("an action")].clone();
        let status = StatusCode::try_from(200).expect("a status");
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, answer.into())))
    }
}
