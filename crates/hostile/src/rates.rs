//! Rates of the faults.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use template::nearest::{nearest, suggest};

/// How often each fault of the hostile mode happens: 0 is never, and 1 is always. With all rates at
/// 0, the stack behaves as without the hostile mode (docs/hostile.md).
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rates {
    /// An eventually consistent read is answered by a replica that lags.
    pub stale: f64,
    /// An index entry appears late.
    pub lag: f64,
    /// A call conflicts with a transaction that is in progress on the same item.
    pub overlap: f64,
    /// A write fails with a transaction conflict that no other call of this stack causes.
    pub conflict: f64,
    /// A call is throttled for a reason outside of the partition model.
    pub throttle: f64,
    /// Throughput of a partition, as a share of the limits of AWS. 1 is 1,000 WCU and 3,000 RCU.
    /// 0 is no limit.
    pub partition: f64,
    /// A call fails with a server error, before or after its effect.
    pub error: f64,
    /// A call is lost before its effect.
    pub lost_before: f64,
    /// The response is lost after the effect.
    pub lost_after: f64,
    /// The connection breaks, and the call has its effect later.
    pub late: f64,
    /// A call takes up to a second longer.
    pub slow: f64,
    /// A call never gets a response. It may have its effect.
    pub stuck: f64,
    /// A part of a batch is not processed.
    pub unprocessed: f64,
    /// A page of a query or a scan is short.
    pub short_page: f64,
    /// Firehose rejects a part of the records, or EventBridge a part of the events.
    pub partial_put: f64,
    /// The execution environment is killed at a call.
    pub kill: f64,
    /// The execution environment freezes at a call, and continues after its deadline.
    pub freeze: f64,
    /// A stream has two shards with a poller each, instead of one.
    pub pollers: f64,
    /// A stream batch is delivered late.
    pub delay: f64,
    /// A stream batch is delivered twice at the same time.
    pub twice: f64,
    /// A poller returns to an earlier checkpoint, and delivers its last batches again.
    pub rewind: f64,
    /// An event of a created object is delivered twice.
    pub object_twice: f64,
    /// An event of a created object is delivered late.
    pub object_late: f64,
    /// A schedule fires twice.
    pub schedule_twice: f64,
    /// A schedule fires late.
    pub schedule_late: f64,
    /// A schedule does not fire.
    pub schedule_missed: f64,
}

impl Rates {
    /// The rates of `make run ARGS='--hostile SEED'`: each fault happens within minutes of normal
    /// use, and nearly every request succeeds after the retries of the SDK.
    pub const fn usual() -> Self {
        Self {
            stale: 0.5,
            lag: 0.3,
            overlap: 1.0,
            conflict: 0.005,
            throttle: 0.005,
            partition: 1.0,
            error: 0.005,
            lost_before: 0.005,
            lost_after: 0.005,
            late: 0.002,
            slow: 0.02,
            stuck: 0.000_5,
            unprocessed: 0.05,
            short_page: 0.1,
            partial_put: 0.05,
            kill: 0.001,
            freeze: 0.000_1,
            pollers: 1.0,
            delay: 0.1,
            twice: 0.05,
            rewind: 0.05,
            object_twice: 0.1,
            object_late: 0.1,
            schedule_twice: 0.2,
            schedule_late: 0.2,
            schedule_missed: 0.1,
        }
    }

    /// Changes rates, such as `stale=1,lost-after=0.1`.
    ///
    /// # Errors
    /// A message of one line if a name is unknown or a rate is not a number from 0 to 1.
    pub fn with(self, changes: &str) -> Result<Self, String> {
        let mut rates = self.named();
        for change in changes.split(',').filter(|change| !change.is_empty()) {
            let (name, rate) = change.split_once('=').ok_or_else(|| format!("expected NAME=RATE, not {change}"))?;
            let known = rates.keys().map(String::as_str);
            let suggestion = nearest(name, known).map(str::to_owned);
            let rate = rate.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
            let rate = rate.ok_or_else(|| format!("the rate {name} must be a number from 0 to 1"))?;
            let known = rates.get_mut(name);
            *known.ok_or_else(|| suggest(format!("there is no rate {name}"), suggestion.as_deref()))? = rate;
        }
        let rates = serde_json::to_value(rates).and_then(serde_json::from_value);
        rates.map_err(|error| error.to_string())
    }

    /// The rates by name.
    pub fn named(&self) -> BTreeMap<String, f64> {
        let Ok(Value::Object(members)) = serde_json::to_value(self) else { return BTreeMap::new() };
        members.into_iter().filter_map(|(name, rate)| Some((name, rate.as_f64()?))).collect()
    }
}
