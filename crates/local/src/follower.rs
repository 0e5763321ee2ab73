//! Event source mappings at work: each follows a table's stream and hands its changes to its function.
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

// What a batch that is being delivered has to end.
const PATIENCE: Duration = Duration::from_secs(1);

/// What every mapping needs of the stack.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) store: Store,
    pub(crate) lake: Arc<Lake>,
    pub(crate) positions: Arc<Positions>,
}

impl Context {
    /// With the positions beside the data, if there is a file of it.
    pub(crate) fn new(store: Store, lake: Arc<Lake>, data: Option<&Path>) -> io::Result<Self> {
        Ok(Self { store, lake, positions: Arc::new(Positions::open(data)?) })
    }

    /// A mapping where it was before, or where it begins.
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

/// All mappings of a stack. Dropping it ends them, without waiting.
pub(crate) struct Follower {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Follower {
    /// Begins to follow.
    pub(crate) fn start(pollers: &[Arc<EventSourcePoller>]) -> Self {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for poller in pollers.iter().filter(|poller| poller.is_enabled()) {
            tasks.spawn(Arc::clone(poller).follow(stopped.clone()));
        }
        Self { stop, tasks }
    }

    /// Ends: what is being delivered has a second for it.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        // The rest ends with the set, and is delivered again after the next start.
        let _ = timeout(PATIENCE, ended).await;
    }
}

/// What the mappings have done and have before them.
pub(crate) fn report(pollers: &[Arc<EventSourcePoller>]) -> Result<Value, String> {
    let mappings = pollers.iter().map(|poller| poller.report()).collect::<Result<Vec<_>, _>>()?;
    Ok(json!({"mappings": mappings}))
}

#[cfg(test)]
mod tests;
