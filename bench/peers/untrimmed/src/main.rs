//! schedule-payment without our optimisations: default SDK features and client, system roots, and
//! no call before the first event. The build adds the jitter entropy.

use aws_config::BehaviorVersion;
use lambda_runtime::{Diagnostic, Error, LambdaEvent, run, service_fn, tracing};
use serde_json::Value;
use table::Dynamo;

#[tokio::main]
async fn main() -> Result<(), Error> {
    tracing::init_default_subscriber();
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let dynamo = Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), function::system_random()?);
    let service = bank::patterns::schedule_payment::function().bind(&std::env::vars().collect(), dynamo)?;
    let serve = |event: LambdaEvent<Value>| {
        let service = service.clone();
        async move { Ok::<_, Diagnostic>(service.call(event.payload, event.context).await.answer?) }
    };
    run(service_fn(serve)).await
}
