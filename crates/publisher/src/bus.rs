use crate::{Event, Facts, FailureBucket, events};
use aws_config::SdkConfig;
use aws_sdk_eventbridge::{
    Client,
    config::{Builder, retry::RetryConfig},
    error::DisplayErrorContext,
    primitives::DateTime,
    types::{PutEventsRequestEntry, PutEventsResultEntry},
};
use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use function::{Clients, Deadline, Error, Record, SettingsReader};
use futures::future::join_all;
use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};
use tokio::time::sleep;

/// Maximum number of entries of a `PutEvents` call (quota of EventBridge). The other quota, 256 KB
/// a call, has no effect: an event has at most a few kilobytes.
const MAX_ENTRIES: usize = 10;

/// Maximum time of [`Bus::publish_beside`], before the rest is stored in the failure bucket.
const LONGEST: Duration = Duration::from_secs(10);

/// The EventBridge bus of the parameter `EventBusName`.
#[derive(Debug, Clone)]
pub struct Bus {
    config: SdkConfig,
    /// Name of the bus. `None` if the stack publishes no events.
    name: Option<String>,
    /// Bucket of [`Bus::publish_beside`].
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

    /// Whether the stack publishes events.
    pub fn is_on(&self) -> bool {
        self.name.is_some()
    }

    /// Publishes the facts of stream records beside the main work of a function, which must not
    /// wait for the bus. A record whose event the bus does not accept is stored in the failure
    /// bucket. Returns the sequence numbers of the records for which this failed, too.
    pub async fn publish_beside<F: Facts>(
        &self,
        records: &[Record],
        deadline: Deadline,
        fact: impl Fn(&Record) -> Result<Option<F>, Error>,
    ) -> BTreeSet<String> {
        if !self.is_on() {
            return BTreeSet::new();
        }
        let left = self.publish(events(records, fact), deadline.at_most(LONGEST)).await;
        let left: BTreeSet<String> = left.iter().map(|event| event.record().to_owned()).collect();
        let unpublished = records.iter().filter(|record| left.contains(record.sequence_number()));
        let kept = unpublished.map(|record| async {
            let number = record.sequence_number().to_owned();
            let Some(failures) = &self.failures else { return Some(number) };
            let is_kept = failures.keep(record, "the event bus did not accept the event", deadline).await;
            (!is_kept).then_some(number)
        });
        join_all(kept).await.into_iter().flatten().collect()
    }

    /// Publishes the events, until the deadline. Returns the events that the bus did not accept.
    ///
    /// Two events of the same item are never in the same call, and a rejected event holds back the
    /// later events of its item. The bus therefore gets the events of an item in order.
    pub async fn publish(&self, events: Vec<Event>, until: Deadline) -> Vec<Event> {
        let Some(name) = self.name.as_ref().filter(|_| !events.is_empty()) else { return Vec::new() };
        // The client is created here, so that functions that publish nothing do not contain it. The
        // loop below also repeats failed calls.
        let config = Builder::from(&self.config).retry_config(RetryConfig::disabled());
        let client = Client::from_conf(config.build());
        let (mut left, mut pauses) = (events, pauses());
        loop {
            let (call, rest) = next_call(left);
            let results = put(&client, name, &call, until).await;
            let accepted = |place: usize| results.get(place).is_some_and(|result| result.event_id.is_some());
            let sent = call.len();
            let refused = call.into_iter().enumerate().filter(|(place, _)| !accepted(*place)).map(|(_, event)| event);
            let refused: Vec<Event> = refused.collect();
            let (count, made_progress) = (refused.len(), refused.len() < sent);
            left = refused.into_iter().chain(rest).collect();
            if left.is_empty() {
                return left;
            }
            if made_progress {
                pauses = self::pauses();
            }
            if count > 0 {
                match pauses.next().filter(|pause| until.allows(*pause)) {
                    Some(pause) => sleep(pause).await,
                    None => return left,
                }
            }
        }
    }
}

/// Splits the events into the next call and the rest. Both keep the order of the events.
fn next_call(events: Vec<Event>) -> (Vec<Event>, Vec<Event>) {
    let (mut items, mut count) = (HashSet::new(), 0);
    events.into_iter().partition(|event| {
        let is_next = items.insert(event.item.clone()) && count < MAX_ENTRIES;
        count += usize::from(is_next);
        is_next
    })
}

/// Makes one call. Returns the results of its entries, or none if the call failed.
async fn put(client: &Client, bus: &str, events: &[Event], until: Deadline) -> Vec<PutEventsResultEntry> {
    let entries = events.iter().map(|event| entry(bus, event)).collect();
    match until.bound(client.put_events().set_entries(Some(entries)).send()).await {
        Some(Ok(answer)) => {
            let results = answer.entries.unwrap_or_default();
            for code in results.iter().filter_map(|result| result.error_code()) {
                tracing::warn!(code, "the event bus has rejected an event");
            }
            results
        }
        Some(Err(error)) => {
            tracing::warn!(error = %DisplayErrorContext(&error), "a call to the event bus failed");
            Vec::new()
        }
        None => Vec::new(),
    }
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

/// Returns the pauses between four attempts of a call without progress.
fn pauses() -> ExponentialBackoff {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(100))
        .with_max_delay(Duration::from_secs(1))
        .with_max_times(3)
        .with_jitter()
        .build()
}
