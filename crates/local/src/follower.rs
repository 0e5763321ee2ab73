//! Event source mappings. Each mapping has a poller, which reads the stream of a table and invokes
//! the function (docs/decisions/streams-locally.md).
mod batch;
mod destination;
mod poller;
mod positions;
mod queue;
pub(crate) mod verdict;

use std::{io, path::Path, sync::Arc, time::Duration};

pub(crate) use poller::EventSourcePoller;
pub(crate) use positions::Positions;
use serde_json::{Value, json};
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::lambda::Lambda;
use engine::store::{Position, Store};
use hostile::{Hostile, Shard};
use objects::Lake;
use template::{Mapping, Start};

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

    /// Creates the pollers of a mapping: one for each shard of the stream.
    pub(crate) fn pollers(
        &self,
        lambda: &Arc<Lambda>,
        mapping: &Mapping,
        hostile: Option<&Arc<Hostile>>,
    ) -> Result<Vec<Arc<EventSourcePoller>>, String> {
        let name = format!("{}/{}/{}", lambda.spec.name, mapping.name, mapping.table);
        let Some(hostile) = hostile else { return Ok(vec![Arc::new(self.poller(name, lambda, mapping)?)]) };
        let poller = |shard: Shard| {
            let name = if shard.of == 1 { name.clone() } else { format!("{name}/{}", shard.number) };
            let batches = hostile.batches(&name);
            Ok(Arc::new(self.poller(name, lambda, mapping)?.of_shard(shard, batches)))
        };
        hostile.shards(&name).into_iter().map(poller).collect()
    }

    /// Creates a poller. It starts at the mapping's checkpoint, or at the starting position if
    /// there is no checkpoint.
    fn poller(&self, name: String, lambda: &Arc<Lambda>, mapping: &Mapping) -> Result<EventSourcePoller, String> {
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
    let mut mappings: Vec<Value> = Vec::new();
    for poller in pollers {
        let report = poller.report()?;
        let is_same = |other: &&mut Value| ["function", "name", "table"].iter().all(|name| other[name] == report[name]);
        match mappings.iter_mut().find(is_same) {
            Some(mapping) => add(mapping, &report),
            None => mappings.push(report),
        }
    }
    Ok(json!({"mappings": mappings}))
}

/// Adds the counters of a further shard. Each poller sees all records as pending.
fn add(mapping: &mut Value, report: &Value) {
    for counter in ["delivered", "filtered", "failedBatches", "retries", "givenUp"] {
        mapping[counter] =
            json!(mapping[counter].as_u64().unwrap_or_default() + report[counter].as_u64().unwrap_or_default());
    }
    mapping["pending"] = json!(mapping["pending"].as_i64().max(report["pending"].as_i64()));
}

#[cfg(test)]
mod tests;
