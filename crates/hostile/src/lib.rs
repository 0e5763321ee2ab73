//! The hostile mode: faults that AWS documents and the embedded engine does not have, from a seed
//! (docs/hostile.md).
//!
//! [`Hostile::around`] wraps an HTTP client of the functions. The faults use only the clock of
//! Tokio and the seed, so that they also run on a paused clock.
mod answers;
mod attempt;
mod conflicts;
mod dice;
mod events;
mod invocation;
mod partitions;
mod planned;
mod rates;
mod replica;
mod request;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use aws_config::SdkConfig;
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient, http::HttpRequest};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};

pub use self::events::{BatchFate, Batches, Shard};
pub use self::invocation::{Notes, Run, noted, noting};
use self::{
    attempt::Attempt,
    conflicts::InProgress,
    dice::Dice,
    partitions::Partitions,
    replica::Replica,
    request::{Schemas, schemas},
};
pub use self::{
    invocation::Injected,
    planned::{Fault, LATE, Plan, Planner, Watch, planned},
    rates::Rates,
    request::{Call, Kind},
};
use engine::store::Store;
use template::Table;

/// The faults of one stack.
pub struct Hostile {
    rates: Rates,
    dice: Dice,
    schemas: Schemas,
    replica: Option<Replica>,
    progress: Arc<InProgress>,
    partitions: Mutex<Partitions>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    is_calm: AtomicBool,
}

impl fmt::Debug for Hostile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Hostile").field("dice", &self.dice).field("rates", &self.rates).finish_non_exhaustive()
    }
}

impl Hostile {
    /// Creates the faults for the tables. Without a store, all reads are answered by the service.
    ///
    /// # Errors
    /// The replicas cannot be created.
    pub fn new(seed: u64, rates: Rates, tables: &[Table], store: Option<&Store>) -> Result<Arc<Self>, String> {
        let replica = store.map(|store| Replica::open(store, &rates)).transpose()?.flatten();
        Ok(Arc::new(Self {
            rates,
            dice: Dice::new(seed),
            schemas: schemas(tables),
            replica,
            progress: Arc::default(),
            partitions: Mutex::new(Partitions::new(rates.partition)),
            counts: Mutex::default(),
            is_calm: AtomicBool::new(false),
        }))
    }

    /// Wraps an HTTP client, so that its calls have faults.
    pub fn around(self: &Arc<Self>, inner: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(Around { inner, hostile: Arc::clone(self) })
    }

    /// Configuration of clients whose calls have faults. Retries and timeouts are those of a
    /// deployed function.
    pub fn configure(self: &Arc<Self>, config: SdkConfig) -> SdkConfig {
        let Some(http) = config.http_client() else { return config };
        let hostile = config.to_builder().http_client(self.around(http));
        hostile.retry_config(function::retries()).timeout_config(function::timeouts()).build()
    }

    /// Stops or resumes the faults. Changes that are still due reach the replicas in any case.
    pub fn set_calm(&self, is_calm: bool) {
        self.is_calm.store(is_calm, Ordering::Relaxed);
    }

    /// Lets the replicas receive all changes so far.
    pub fn catch_up(&self) {
        if let Some(replica) = &self.replica {
            replica.observe(&self.rates(), &self.dice, &self.schemas);
            replica.catch_up();
        }
    }

    fn rates(&self) -> Rates {
        if self.is_calm.load(Ordering::Relaxed) { Rates::default() } else { self.rates }
    }

    /// The number of injected faults of each rate.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.count().clone()
    }

    fn count(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn partitions(&self) -> MutexGuard<'_, Partitions> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts and logs a fault.
    fn record(&self, fault: &'static str, place: &str, detail: impl Into<String>) -> Injected {
        let detail = detail.into();
        tracing::debug!(fault, place, detail, "a fault was injected");
        *self.count().entry(fault).or_default() += 1;
        Injected { fault, detail }
    }
}

/// HTTP client or HTTP connector with faults.
#[derive(Debug)]
struct Around<T> {
    inner: T,
    hostile: Arc<Hostile>,
}

impl HttpClient for Around<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Around { inner, hostile: Arc::clone(&self.hostile) })
    }
}

impl HttpConnector for Around<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let call = Call::of(&request);
        let attempt = Attempt::new(Arc::clone(&self.hostile), self.inner.clone(), call);
        HttpConnectorFuture::new(attempt.run(request))
    }
}

#[cfg(test)]
mod tests;
