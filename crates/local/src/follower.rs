//! Event source mappings. Each mapping has a poller, which reads the stream of a table and invokes
//! the function (docs/decisions/streams-locally.md).
mod batch;
mod destination;
mod poller;
mod positions;
pub(crate) mod verdict;

use std::{io, path::Path, sync::Arc, time::Duration};

pub(crate) use poller::EventSourcePoller;
pub(crate) use positions::Positions;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::{
    lake::Lake,
    lambda::Lambda,
    store::{Position, Store},
    template::{Mapping, Start},
};

// Maximum time that the stop waits for a batch in delivery.
const PATIENCE: Duration = Duration::from_secs(1);

/// State shared by all mappings.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) store: Store,
    pub(crate) lake: Arc<Lake>,
    pub(crate) positions: Arc<Positions>,
}

impl Context {
    /// Opens the checkpoints next to the data file, if the stack has a data file.
    pub(crate) fn new(store: Store, lake: Arc<Lake>, data: Option<&Path>) -> io::Result<Self> {
        Ok(Self { store, lake, positions: Arc::new(Positions::open(data)?) })
    }

    /// Creates a poller. It starts at the mapping's checkpoint, or at the starting position if
    /// there is no checkpoint.
    pub(crate) fn poller(&self, lambda: &Arc<Lambda>, mapping: &Mapping) -> Result<EventSourcePoller, String> {
        let name = format!("{}/{}/{}", lambda.spec.name, mapping.name, mapping.table);
        let position = match (self.positions.get(&name), mapping.start) {
            (Some(position), _) => position,
            (None, Start::TrimHorizon) => Position::default(),
            (None, Start::Latest) => self.store.last(&mapping.table)?,
        };
        Ok(EventSourcePoller::new(name, position, Arc::clone(lambda), mapping.clone(), self.clone()))
    }
}

/// Running pollers of a stack. Dropping this value stops the pollers without waiting.
pub(crate) struct Follower {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Follower {
    /// Starts the enabled pollers.
    pub(crate) fn start(pollers: &[Arc<EventSourcePoller>]) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for poller in pollers.iter().filter(|poller| poller.is_enabled()) {
            tasks.spawn(Arc::clone(poller).follow(stopped.clone()));
        }
        Self { stop, tasks }
    }

    /// Stops the pollers. Waits at most a second for batches in delivery.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // Dropping the set aborts the remaining tasks. The next start delivers their batches again.
        let _ = timeout(PATIENCE, ended).await;
    }
}

/// Body of `GET /_local/streams`: counters and pending records of each mapping.
pub(crate) fn report(pollers: &[Arc<EventSourcePoller>]) -> Result<Value, String> {
    let mappings = pollers.iter().map(|poller| poller.report()).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"mappings": mappings}))
}

#[cfg(test)]
mod tests;
