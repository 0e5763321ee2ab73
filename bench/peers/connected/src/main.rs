//! A minimal function that opens its DynamoDB connection before the first event. It consists of our
//! client, one call and the runtime.

use aws_sdk_dynamodb::{Client, types::AttributeValue};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::{Value, json};

#[path = "../../../../crates/function/src/environment.rs"]
mod environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let client = Client::new(&environment::config().await?);
    let nobody = AttributeValue::S("#".to_owned());
    // Any response shows that the connection is open.
    let _ = client.get_item().table_name("payments").key("PK", nobody.clone()).key("SK", nobody).send().await;
    run(service_fn(hello)).await
}

async fn hello(_: LambdaEvent<Value>) -> Result<Value, Error> {
    Ok(json!({ "statusCode": 201, "body": "hello" }))
}
