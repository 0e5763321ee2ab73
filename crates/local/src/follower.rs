//! Event source mappings: a poller per mapping reads the stream of a table and invokes the function
//! (docs/decisions/streams-locally.md).
mod batch;
mod destination;
mod poller;
mod positions;
mod verdict;

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

// Maximum time to finish a batch in delivery after the stop.
const PATIENCE: Duration = Duration::from_secs(1);

/// State shared by all mappings.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) store: Store,
    pub(crate) lake: Arc<Lake>,
    pub(crate) positions: Arc<Positions>,
}

impl Context {
    /// Opens the checkpoints beside the data file, if the stack has one.
    pub(crate) fn new(store: Store, lake: Arc<Lake>, data: Option<&Path>) -> io::Result<Self> {
        Ok(Self { store, lake, positions: Arc::new(Positions::open(data)?) })
    }

    /// Creates a poller at the checkpoint of its mapping, or at the starting position.
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

/// Pollers of a stack. Dropping them stops them without waiting.
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

    /// Stops the pollers. A batch in delivery gets a second to finish.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // Dropping the set aborts the remaining tasks. Their batches are delivered again after the
        // next start.
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
