//! The least that a Lambda in Rust can be: the runtime, as its own documentation begins.

use lambda_runtime::{Error, LambdaEvent, run, service_fn, tracing};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    run(service_fn(hello)).await
}

async fn hello(_: LambdaEvent<Value>) -> Result<Value, Error> {
    Ok(json!({ "statusCode": 201, "body": "hello" }))
}
