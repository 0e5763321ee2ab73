use crate::{environment, system_random};
use aws_config::SdkConfig;
use keys::Random;
use std::collections::BTreeMap;
use table::Dynamo;

/// What a process makes its clients of: DynamoDB's, which every function has, and the configuration that those of other
/// services share.
#[derive(Debug, Clone)]
pub struct Clients {
    dynamo: Dynamo,
    config: SdkConfig,
    endpoints: BTreeMap<&'static str, String>,
}

impl Clients {
    /// From DynamoDB's client, whose random source the handlers share, and the configuration of all others.
    #[must_use]
    pub fn new(dynamo: Dynamo, config: SdkConfig) -> Self {
        Self { dynamo, config, endpoints: BTreeMap::new() }
    }

    /// Those of a Lambda, once a process.
    #[expect(clippy::disallowed_methods, reason = "the one random source of a Lambda")]
    pub(crate) async fn of_environment() -> Result<Self, lambda_runtime::Error> {
        let config = environment::config().await?;
        Ok(Self::new(Dynamo::new(&aws_sdk_dynamodb::Client::new(&config), system_random()?), config))
    }

    /// The service is at that URL in place of AWS: on one machine.
    #[must_use]
    pub fn at(mut self, service: &'static str, url: impl Into<String>) -> Self {
        self.endpoints.insert(service, url.into());
        self
    }

    /// DynamoDB.
    #[must_use]
    pub fn dynamo(&self) -> &Dynamo {
        &self.dynamo
    }

    /// The random source of the process.
    #[must_use]
    pub fn random(&self) -> &Random {
        self.dynamo.random()
    }

    /// What the client of another service, `firehose` or `s3`, is made of.
    #[must_use]
    pub fn config(&self, service: &str) -> SdkConfig {
        match self.endpoints.get(service) {
            Some(url) => self.config.to_builder().endpoint_url(url).build(),
            None => self.config.clone(),
        }
    }
}

/// For functions that call nothing but DynamoDB.
impl From<Dynamo> for Clients {
    fn from(dynamo: Dynamo) -> Self {
        Self::new(dynamo, SdkConfig::builder().build())
    }
}
