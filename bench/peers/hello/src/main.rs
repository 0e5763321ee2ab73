//! A minimal Lambda function in Rust. It has only the runtime, one thread and no logs.

use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    run(service_fn(hello)).await
}

async fn hello(_: LambdaEvent<Value>) -> Result<Value, Error> {
    Ok(json!({ "statusCode": 201, "body": "hello" }))
}
