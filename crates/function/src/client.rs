use crate::{environment, system_random};
use aws_config::SdkConfig;
use keys::Random;
use std::collections::BTreeMap;
use table::Dynamo;

/// The AWS clients of a process: the DynamoDB client, and the configuration for clients of other
/// services.
#[derive(Debug, Clone)]
pub struct Clients {
    dynamo: Dynamo,
    config: SdkConfig,
    endpoints: BTreeMap<&'static str, String>,
}

impl Clients {
    /// Creates the clients. The handlers share the random source of `dynamo`.
    #[must_use]
    pub fn new(dynamo: Dynamo, config: SdkConfig) -> Self {
        Self { dynamo, config, endpoints: BTreeMap::new() }
    }

    /// Creates the clients of a Lambda. Call it once per process.
    #[expect(clippy::disallowed_methods, reason = "the one random source of a Lambda")]
    pub(crate) async fn of_environment() -> Result<Self, lambda_runtime::Error> {
        let config = environment::config().await?;
        Ok(Self::new(Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), system_random()?), config))
    }

    /// Sets the endpoint of `service` to `url`. The local stack uses it to replace the AWS
    /// endpoint.
    #[must_use]
    pub fn at(mut self, service: &'static str, url: impl Into<String>) -> Self {
        self.endpoints.insert(service, url.into());
        self
    }

    /// The DynamoDB client.
    #[must_use]
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The random source of the process.
    #[must_use]
    pub fn random(&self) -> &Random {
        self.dynamo.random()
    }

    /// Returns the configuration for the client of another service, such as `firehose` or `s3`.
    #[must_use]
    pub fn config(&self, service: &str) -> SdkConfig {
        match self.endpoints.get(service) {
            Some(url) => self.config.to_builder().endpoint_url(url).build(),
            None => self.config.clone(),
        }
    }
}

/// Creates the clients of functions that call only DynamoDB.
impl From<Dynamo> for Clients {
    fn from(dynamo: Dynamo) -> Self {
        Self::new(dynamo, SdkConfig::builder().build())
    }
}
