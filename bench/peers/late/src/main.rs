//! schedule-payment as it is, but for the call before the first event: its connection opens with its first payment.

use lambda_runtime::{Diagnostic, Error, LambdaEvent, run, service_fn};
use serde_json::Value;
use table::Dynamo;

#[path = "../../../../crates/function/src/environment.rs"]
mod environment;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::new(&environment::config().await?));
    let service = bank::schedule_payment::function().bind(&std::env::vars().collect(), dynamo)?;
    let serve = |event: LambdaEvent<Value>| {
        let service = service.clone();
        async move { Ok::<_, Diagnostic>(service.call(event.payload, event.context).await.answer?) }
    };
    run(service_fn(serve)).await
}
