use aws_config::{BehaviorVersion, SdkConfig, retry::RetryConfig, timeout::TimeoutConfig};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode},
};
use std::{collections::BTreeMap, time::Duration};
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
    /// From DynamoDB's client, and the configuration of all others.
    #[must_use]
    pub fn new(dynamo: Dynamo, config: SdkConfig) -> Self {
        Self { dynamo, config, endpoints: BTreeMap::new() }
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

/// The five roots that AWS endpoints chain to (Amazon Trust Services). The system's 140 take 3 to 20 ms to load.
const AMAZON_ROOTS: &[u8] = include_bytes!("../roots/amazon.pem");

/// The clients, once a process. Region, credentials and endpoint come from the environment, as everywhere in AWS.
pub(crate) async fn clients() -> Result<Clients, lambda_runtime::Error> {
    let tls = TlsContext::builder().with_trust_store(trust_store()?).build()?;
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).tls_context(tls).build_https();
    // A call that takes longer than two seconds has met a bad connection: the next attempt is faster.
    // The invocation's deadline bounds all attempts together.
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(1))
        .operation_attempt_timeout(Duration::from_secs(2))
        .build();
    let config = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .retry_config(RetryConfig::standard().with_max_attempts(5).with_max_backoff(Duration::from_secs(1)))
        .timeout_config(timeouts)
        .load()
        .await;
    Ok(Clients::new(Dynamo::new(&aws_sdk_dynamodb::Client::new(&config)), config))
}

/// Amazon's roots, or those of the file that somebody behind a proxy of their own names.
fn trust_store() -> Result<TrustStore, lambda_runtime::Error> {
    let named = ["AWS_CA_BUNDLE", "SSL_CERT_FILE"].into_iter().find_map(std::env::var_os);
    let roots = named.map_or_else(|| Ok(AMAZON_ROOTS.to_vec()), std::fs::read)?;
    Ok(TrustStore::empty().with_native_roots(false).with_pem_certificate(roots))
}
