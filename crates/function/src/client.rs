use crate::{environment, system_random};
use aws_config::SdkConfig;
use keys::Random;
use std::collections::BTreeMap;
use table::Dynamo;

/// The AWS clients of a process: the DynamoDB client, and the configuration of clients for other
/// AWS services.
#[derive(Debug, Clone)]
pub struct Clients {
    dynamo: Dynamo,
    config: SdkConfig,
    endpoints: BTreeMap<&'static str, String>,
}

impl Clients {
    /// Creates the clients. Handlers use the random source of `dynamo`.
    pub fn new(dynamo: Dynamo, config: SdkConfig) -> Self {
        Self { dynamo, config, endpoints: BTreeMap::new() }
    }

    /// Creates the clients of a Lambda from the environment variables. Call this function once per
    /// process.
    #[expect(clippy::disallowed_methods, reason = "the one random source of a Lambda")]
    pub(crate) async fn of_environment() -> Result<Self, lambda_runtime::Error> {
        let config = environment::config().await?;
        Ok(Self::new(Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), system_random()?), config))
    }

    /// Replaces the AWS endpoint of `service` with `url`, for the local stack.
    pub fn at(mut self, service: &'static str, url: impl Into<String>) -> Self {
        self.endpoints.insert(service, url.into());
        self
    }

    /// Replaces the DynamoDB client, for tests.
    pub fn with_dynamo(mut self, dynamo: Dynamo) -> Self {
        self.dynamo = dynamo;
        self
    }

    /// The DynamoDB client.
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The random source of the process.
    pub fn random(&self) -> &Random {
        self.dynamo.random()
    }

    /// Returns the client configuration of another AWS service, such as `firehose` or `s3`.
    pub fn config(&self, service: &str) -> SdkConfig {
        match self.endpoints.get(service) {
            Some(url) => self.config.to_builder().endpoint_url(url).build(),
            None => self.config.clone(),
        }
    }
}

/// Creates clients for functions that call only DynamoDB.
impl From<Dynamo> for Clients {
    fn from(dynamo: Dynamo) -> Self {
        Self::new(dynamo, SdkConfig::builder().build())
    }
}
