//! A DynamoDB client that delays each call, as a network does.

use crate::calls::count;
use aws_sdk_dynamodb::{
    Client,
    config::{HttpClient, RuntimeComponents, SharedHttpClient, http::HttpRequest},
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

/// The connection between the client and the engine.
#[derive(Debug)]
pub(crate) struct Way {
    delay: Duration,
    calls: AtomicUsize,
}

impl Way {
    /// Creates a client with this delay per call.
    pub(crate) fn client(client: &Client, delay: Duration) -> (Client, Arc<Self>) {
        let way = Arc::new(Self { delay, calls: AtomicUsize::new(0) });
        let inner = client.config().http_client().expect("a client of HTTP");
        let http = Slow { inner, way: Arc::clone(&way) };
        (Client::from_conf(client.config().to_builder().http_client(http).build()), way)
    }

    /// Returns the number of calls. Resets the counter.
    pub(crate) fn calls(&self) -> u64 {
        count(self.calls.swap(0, Relaxed))
    }
}

#[derive(Debug)]
struct Slow {
    inner: SharedHttpClient,
    way: Arc<Way>,
}

impl HttpClient for Slow {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(SlowConnector { inner, way: Arc::clone(&self.way) })
    }
}

#[derive(Debug)]
struct SlowConnector {
    inner: SharedHttpConnector,
    way: Arc<Way>,
}

impl HttpConnector for SlowConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, way) = (self.inner.clone(), Arc::clone(&self.way));
        HttpConnectorFuture::new(async move {
            way.calls.fetch_add(1, Relaxed);
            tokio::time::sleep(way.delay).await;
            inner.call(request).await
        })
    }
}
