//! The DynamoDB endpoint of the stack: an embedded engine, with data in memory or in a file.
mod api;
mod remote;
pub mod server;
mod services;
pub mod store;
mod streams;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use aws_config::{BehaviorVersion, Region, SdkConfig, retry::RetryConfig};
use aws_sdk_dynamodb::{
    Client,
    config::{
        Credentials, RuntimeComponents, SharedCredentialsProvider, SharedHttpClient,
        http::{HttpRequest, HttpResponse},
        retry::{RetryPartition, TokenBucket},
    },
};
use aws_smithy_http_client::{
    Builder,
    tls::{Provider, TlsContext, TrustStore, rustls_provider::CryptoMode},
};

use aws_smithy_runtime_api::{
    box_error::BoxError,
    client::{
        http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
        result::ConnectorError,
    },
};
use axum::body::{Body, to_bytes};
use http::Response;

use api::Api;
pub use api::{ForeignWrite, Observer, execute};
use services::Services;

use crate::{
    remote::Remote,
    server::{Endpoint, Near, Port, Server},
    store::Store,
};
use template::{REGION, Table};

/// The error of an engine that cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data file can't be opened.
    #[error("the data file {path} can't be opened: {1}", path = .0.display())]
    Data(PathBuf, String),
    /// A table can't be created.
    #[error("table {0}: {1}")]
    Table(String, String),
    /// A client can't be created.
    #[error("the DynamoDB client can't be created: {0}")]
    Client(String),
}

/// DynamoDB engine with its HTTP endpoint.
pub struct Engine {
    /// URL of the first port.
    pub url: String,
    /// The data.
    pub store: Store,
    /// Calls the endpoint without a connection.
    near: Option<Near>,
    observer: Arc<OnceLock<Observer>>,
    servers: Vec<Server>,
}

impl Engine {
    /// Opens the data, creates missing tables and serves the endpoint at each port. If `remote` is
    /// set, the endpoint forwards requests to that DynamoDB.
    pub async fn start(
        ports: Vec<Port>,
        data: Option<&Path>,
        remote: Option<&str>,
        tables: &[Table],
        others: &Arc<impl Endpoint>,
        patience: Duration,
    ) -> Result<Self, StartError> {
        let store = Store::open(data, tables)?;
        let url = ports.first().map(|port| format!("http://{}", port.address)).unwrap_or_default();
        let observer = Arc::default();
        let api = Api { database: store.database(), observer: Arc::clone(&observer) };
        let servers = match remote {
            None => serve(ports, api, others, patience),
            Some(remote) => serve(ports, Remote::start(remote, tables, &store).await?, others, patience),
        };
        let near = servers.first().map(|server| server.near.clone());
        Ok(Self { url, store, near, observer, servers })
    }

    /// Reports each write of another program from now on. Only the first observer is used.
    pub fn observe(&self, observer: Observer) {
        let _ = self.observer.set(observer);
    }

    /// Base configuration of all clients. Calls of this engine need no connection.
    pub fn config(&self) -> Result<SdkConfig, StartError> {
        let config = config()?;
        let (Some(far), Some(near)) = (config.http_client(), self.near.clone()) else { return Ok(config) };
        let client = Nearest { url: self.url.clone(), near, far };
        Ok(config.to_builder().http_client(client).build())
    }

    /// Stops all servers.
    pub async fn stop(self) {
        for server in self.servers {
            server.stop().await;
        }
    }
}

fn serve(ports: Vec<Port>, dynamodb: impl Endpoint, others: &Arc<impl Endpoint>, patience: Duration) -> Vec<Server> {
    let services = Arc::new(Services { dynamodb, others: Arc::clone(others) });
    ports.into_iter().map(|port| Server::start(port, Arc::clone(&services), patience)).collect()
}

/// DynamoDB client for an endpoint.
pub fn client(config: &SdkConfig, url: &str) -> Client {
    let config = aws_sdk_dynamodb::config::Builder::from(config)
        .endpoint_url(url)
        // All functions run in one process. Each function must have its own retry budget, as in
        // Lambda.
        .retry_partition(RetryPartition::custom("function").token_bucket(TokenBucket::default()).build())
        .build();
    Client::from_conf(config)
}

/// HTTP client that calls the engine without a connection, and other endpoints over one.
#[derive(Debug)]
struct Nearest<T> {
    url: String,
    near: Near,
    far: T,
}

impl HttpClient for Nearest<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let far = self.far.http_connector(settings, components);
        SharedHttpConnector::new(Nearest { url: self.url.clone(), near: self.near.clone(), far })
    }
}

impl HttpConnector for Nearest<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        if request.uri().strip_prefix(&self.url).is_none_or(|path| !path.trim_matches('/').is_empty()) {
            return self.far.call(request);
        }
        let near = self.near.clone();
        HttpConnectorFuture::new(async move {
            let fail = |error: BoxError| ConnectorError::other(error, None);
            let request = request.try_into_http1x().map_err(|error| fail(error.into()))?;
            let (parts, body) = near.send(request.map(Body::new)).await.into_parts();
            let body = to_bytes(body, usize::MAX).await.map_err(|error| fail(error.into()))?;
            HttpResponse::try_from(Response::from_parts(parts, body.into())).map_err(|error| fail(error.into()))
        })
    }
}

/// Base configuration of all clients for the local services.
pub fn config() -> Result<SdkConfig, StartError> {
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
