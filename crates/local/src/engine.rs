//! The DynamoDB endpoint of the stack: an embedded engine, with data in memory or in a file.
mod api;

use std::{path::Path, sync::Arc, time::Duration};

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig};
use aws_sdk_dynamodb::{
    Client,
    config::{
        Credentials, SharedCredentialsProvider,
        retry::{RetryPartition, TokenBucket},
    },
};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode},
};

use api::Api;

use crate::{
    StartError,
    remote::Remote,
    server::{Port, Server},
    store::Store,
    template::{REGION, Table},
};

/// DynamoDB engine with its HTTP endpoint.
pub(crate) struct Engine {
    pub(crate) url: String,
    pub(crate) store: Store,
    server: Server,
}

impl Engine {
    /// Opens the data, creates missing tables and serves the endpoint. If `remote` is set, the
    /// endpoint forwards requests to that DynamoDB.
    pub(crate) async fn start(
        port: Port,
        data: Option<&Path>,
        remote: Option<&str>,
        tables: &[Table],
        patience: Duration,
    ) -> Result<Self, StartError> {
        let store = Store::open(data, tables)?;
        let url = format!("http://{}", port.address);
        let server = match remote {
            None => Server::start(port, Arc::new(Api(store.database())), patience),
            Some(remote) => Server::start(port, Arc::new(Remote::start(remote, tables, &store).await?), patience),
        };
        Ok(Self { url, store, server })
    }

    pub(crate) async fn stop(self) {
        self.server.stop().await;
    }
}

/// DynamoDB client for an endpoint.
pub(crate) fn client(config: &SdkConfig, url: &str) -> Client {
    let config = aws_sdk_dynamodb::config::Builder::from(config)
        .endpoint_url(url)
        // All functions run in one process. Each function must have its own retry budget, as in
        // Lambda.
        .retry_partition(RetryPartition::custom("function").token_bucket(TokenBucket::default()).build())
        .build();
    Client::from_conf(config)
}

/// Base configuration of all clients for the local services.
pub(crate) fn config() -> Result<SdkConfig, StartError> {
    // The endpoints use plain HTTP. Loading the root certificates of the machine would only delay
    // the start.
    let tls = TlsContext::builder().with_trust_store(TrustStore::empty()).build();
    let tls = tls.map_err(|error| StartError::Client(error.to_string()))?;
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::AwsLc)).tls_context(tls).build_https();
    let credentials = Credentials::new("local", "local", None, None, "local");
    Ok(SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static(REGION))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .retry_config(RetryConfig::standard())
        .http_client(http)
        .build())
}
