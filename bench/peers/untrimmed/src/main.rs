//! schedule-payment without our optimisations. It has the default features and client of the SDK,
//! the root certificates of the system, and no DynamoDB call before the first event. Its build also
//! includes the jitter entropy of aws-lc.

use aws_config::BehaviorVersion;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, run, service_fn, tracing};
use serde_json::Value;
use table::Dynamo;

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), function::system_random()?);
    let service = (bank::patterns::schedule_payment::PATTERN.function)().bind(&std::env::vars().collect(), dynamo)?;
    let serve = |event: LambdaEvent<Value>| {
        let service = service.clone();
        async move { Ok::<_, Diagnostic>(service.call(event.payload, event.context).await.answer?) }
    };
    run(service_fn(serve)).await
}
