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
use tokio::sync::Semaphore;

/// The connection between the client and the engine.
#[derive(Debug)]
pub(crate) struct Way {
    delay: Duration,
    /// Limits the number of concurrent calls.
    room: Semaphore,
    busy: AtomicUsize,
    calls: AtomicUsize,
    waits: AtomicUsize,
}

impl Way {
    /// Creates a client with this delay per call and this maximum number of concurrent calls.
    pub(crate) fn client(client: &Client, delay: Duration, at_once: usize) -> (Client, Arc<Self>) {
        let way = Arc::new(Self {
            delay,
            room: Semaphore::new(at_once),
            busy: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            waits: AtomicUsize::new(0),
        });
        let inner = client.config().http_client().expect("a client of HTTP");
        let http = Slow { inner, way: Arc::clone(&way) };
        (Client::from_conf(client.config().to_builder().http_client(http).build()), way)
    }

    /// Returns the number of calls, and the number of calls that started while no other call was
    /// running. Resets both counters.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (count(self.calls.swap(0, Relaxed)), count(self.waits.swap(0, Relaxed)))
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
            let _room = way.room.acquire().await.expect("the semaphore is never closed");
            way.calls.fetch_add(1, Relaxed);
            if way.busy.fetch_add(1, Relaxed) == 0 {
                way.waits.fetch_add(1, Relaxed);
            }
            if !way.delay.is_zero() {
                tokio::time::sleep(way.delay).await;
            }
            let answer = inner.call(request).await;
            way.busy.fetch_sub(1, Relaxed);
            answer
        })
    }
}
