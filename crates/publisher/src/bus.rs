use crate::{Event, Facts, FailureBucket, events};
use aws_config::SdkConfig;
use aws_sdk_eventbridge::{
    Client,
    config::{Builder, retry::RetryConfig},
    error::DisplayErrorContext,
    primitives::DateTime,
    types::PutEventsRequestEntry,
};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use function::{Clients, Deadline, Error, Record, SettingsReader};
use futures::{StreamExt, future::join_all, stream};
use std::{
    collections::{BTreeSet, HashSet},
    future::ready,
    time::Duration,
};
use tokio::time::sleep;

/// Maximum number of entries of a `PutEvents` call (quota of EventBridge). The other quota, 256 KB
/// a call, has no effect: an event has at most a few kilobytes.
const MAX_ENTRIES: usize = 10;

/// Maximum time of [`Bus::publish_or_keep`] before it stores the remaining records in the failure
/// bucket. The records behind the batch wait for this time.
const LONGEST: Duration = Duration::from_secs(5);

/// Maximum number of concurrent writes to the failure bucket.
const MAX_WRITES: usize = 8;

/// The EventBridge bus of the parameter `EventBusName`.
#[derive(Debug, Clone)]
pub struct Bus {
    config: SdkConfig,
    /// Name of the bus. `None` if the stack publishes no events.
    name: Option<String>,
    /// Bucket of [`Bus::publish_or_keep`].
    failures: Option<FailureBucket>,
}

impl Bus {
    /// Reads the settings `EVENT_BUS`, which is empty if the stack publishes no events, and
    /// `FAILURE_BUCKET`.
    pub fn start(settings: &mut SettingsReader<'_>, clients: &Clients) -> Self {
        let s3 = clients.config("s3");
        let by_path = settings.s3_by_path(&s3);
        let bucket = settings.optional("FAILURE_BUCKET");
        Self {
            config: clients.config("events"),
            name: settings.optional("EVENT_BUS"),
            failures: bucket.map(|bucket| FailureBucket::new(s3, by_path, bucket)),
        }
    }

    /// Publishes the facts of stream records concurrently with the main work of a function, which
    /// must not wait for the bus. A record whose event the bus does not accept is stored in the
    /// failure bucket. Returns the sequence numbers of the records for which this failed, too.
    pub async fn publish_or_keep<F: Facts>(
        &self,
        records: &[Record],
        deadline: Deadline,
        fact: impl Fn(&Record) -> Result<Option<F>, Error>,
    ) -> BTreeSet<String> {
        let left = self.publish(records, deadline.at_most(LONGEST), fact).await;
        let unpublished = records.iter().filter(|record| left.contains(record.sequence_number()));
        let kept = unpublished.map(|record| async {
            let number = record.sequence_number().to_owned();
            let Some(failures) = &self.failures else { return Some(number) };
            let is_kept = failures.keep(record, "the event bus did not accept the event", deadline).await;
            (!is_kept).then_some(number)
        });
        let kept: Vec<_> = kept.collect();
        stream::iter(kept).buffer_unordered(MAX_WRITES).filter_map(ready).collect().await
    }

    /// Publishes the facts of stream records, until the deadline. Returns the sequence numbers of
    /// the records with an event that the bus did not accept.
    ///
    /// Two events of the same item are never sent concurrently, and a rejected event holds back the
    /// later events of its item. The bus therefore gets the events of an item in order.
    pub async fn publish<F: Facts, I: IntoIterator<Item = F>>(
        &self,
        records: &[Record],
        until: Deadline,
        facts: impl Fn(&Record) -> Result<I, Error>,
    ) -> BTreeSet<String> {
        let Some(name) = &self.name else { return BTreeSet::new() };
        let (mut left, mut pauses) = (events(records, facts), pauses());
        if left.is_empty() {
            return BTreeSet::new();
        }
        // The client is created here, so that functions that publish nothing do not contain it. The
        // loop below also repeats failed calls.
        let config = Builder::from(&self.config).retry_config(RetryConfig::disabled());
        let client = Client::from_conf(config.build());
        while !left.is_empty() {
            let (round, rest) = first_of_each_item(left);
            let calls = round.chunks(MAX_ENTRIES).map(|call| put(&client, name, call, until));
            let accepted: Vec<bool> = join_all(calls).await.into_iter().flatten().collect();
            let sent = round.len();
            let refused = round.into_iter().zip(accepted).filter(|(_, is_accepted)| !is_accepted);
            let refused: Vec<Event> = refused.map(|(event, _)| event).collect();
            let count = refused.len();
            left = refused.into_iter().chain(rest).collect();
            if count < sent {
                pauses = self::pauses();
            }
            if count > 0 {
                match pauses.next().filter(|pause| until.allows(*pause)) {
                    Some(pause) => sleep(pause).await,
                    None => break,
                }
            }
        }
        left.into_iter().map(|event| event.record).collect()
    }
}

/// Splits the events into the first one of each item and the rest. Both keep the order of the
/// events.
fn first_of_each_item(events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
    let mut items = HashSet::new();
    events.into_iter().partition(|event| items.insert(event.item.clone()))
}

/// Makes one call. Returns whether the bus accepted each event.
async fn put(client: &Client, bus: &str, events: &[Event], until: Deadline) -> Vec<bool> {
    let entries = events.iter().map(|event| entry(bus, event)).collect();
    let results = match until.bound(client.put_events().set_entries(Some(entries)).send()).await {
        Some(Ok(answer)) => answer.entries.unwrap_or_default(),
        Some(Err(error)) => {
            tracing::warn!(error = %DisplayErrorContext(&error), "a call to the event bus failed");
            Vec::new()
        }
        None => Vec::new(),
    };
    for code in results.iter().filter_map(|result| result.error_code()) {
        tracing::warn!(code, "the event bus has rejected an event");
    }
    let is_accepted = |place: usize| results.get(place).is_some_and(|result| result.event_id.is_some());
    (0..events.len()).map(is_accepted).collect()
}

fn entry(bus: &str, event: &Event) -> PutEventsRequestEntry {
    let detail = serde_json::to_string(&event.detail).unwrap_or_default();
    PutEventsRequestEntry::builder()
        .event_bus_name(bus)
        .source(&event.source)
        .detail_type(&event.detail_type)
        .time(DateTime::from_millis(event.detail.time.instant().as_millisecond()))
        .detail(detail)
        .build()
}

/// Returns the pauses between four attempts without progress.
fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(1))
        .with_max_times(3)
        .with_jitter()
        .build()
}
